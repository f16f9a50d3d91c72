"""RefuteBench 2.0 (Yan, Luo and Zhang, 2025): dialogues in which a model's answers are refuted, and their ratings."""

from collections.abc import Sequence
from typing import ClassVar, Literal, get_args

from pydantic import Field

from schemas.base import Frozen, Record, RowProvenance

SeedTask = Literal["translation", "summarisation", "writing"]
"""Section 4.1."""
Focus = Literal["style", "word usage", "phrase usage"]
"""The subjects of a refutation (figure 3)."""
Protocol = Literal["transient", "persistent"]
"""Section 3: refutations one after another of the answers to one query; or one that is to hold for later queries."""
Refuter = Literal["agent", "template"]
"""Who refutes: a model (version 2.0), or the templates of version 1.0 as a baseline."""
Aspect = Literal["refutation", "task"]
"""The thing rated: R(a, r), how an answer follows a refutation, or R(q, a), how it does what the query asks."""

TASKS: tuple[SeedTask, ...] = get_args(SeedTask)
FOCUSES: tuple[Focus, ...] = get_args(Focus)
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)
RATINGS = range(1, 6)
PLAIN = "plain"
"""The style of refutations without style rules: those of templates, and of the rules."""


class Seed(Record):
    """An initial query (section 4.1, table 3)."""

    DEFINES: ClassVar[tuple[str, ...]] = ("task", "query", "text", "reference", "language")
    TEXTS: ClassVar[tuple[str, ...]] = ("text",)
    BOOKKEEPING: ClassVar[tuple[str, ...]] = ("source",)

    task: SeedTask = Field(description="What is asked for")
    kind: str = Field(description="The form of the query: translation, summary, news, counter-argument, story, request")
    query: str = Field(min_length=1, description="The initial query, as a model gets it")
    text: str = Field(min_length=1, description="What the query is about: sentence, document, headline, prompt")
    reference: str = Field(
        "",
        description="What a person made of it, as the source has it; no evaluated model behind a server is shown it, "
        "while the rules translate by it",
    )
    language: str = Field("en", description="Code of the query's language")
    source: str = Field(description="Format and name of the source: `ntrex:newstest2019.en-zh.jsonl`")
    provenance: RowProvenance


class DialogueTurn(Frozen):
    """A message of a dialogue between the refuter's user and the evaluated model."""

    role: Literal["user", "assistant"]
    kind: Literal["query", "refutation", "unrelated"] = Field(
        description="What the user says, or what an answer is the answer to; `query` is the seed's, each time it is put"
    )
    text: str
    focus: str = Field("", description="Of a refutation: what it is about (style, word usage, phrase usage)")
    cut_off: bool = Field(False, description="Of an answer: whether it ended at the limit of its tokens")
    prompt_cut: bool = Field(
        False, description="Of an answer: whether the dialogue before it was cut to the model's window as it was asked"
    )


class RefutationDialogue(Record):
    """A dialogue: (q, a0, r0, a1, r1, a2, r2, a3), or (q, a0, r0, a0', C unrelated pairs, q, a), section 3."""

    DEFINES: ClassVar[tuple[str, ...]] = ("seed", "protocol", "unrelated", "refuter", "style", "model", "turns")
    SHOWS: ClassVar[tuple[str, ...]] = ("turns",)
    TEXTS: ClassVar[tuple[str, ...]] = ("query",)

    seed: str = Field(description="Key of the seed")
    task: SeedTask = Field(description="What is asked for: translation, summarisation or writing")
    query: str = Field(description="The seed's query")
    protocol: Protocol = Field(
        description="`transient`: refuted again and again; `persistent`: the query is put again after unrelated ones"
    )
    unrelated: int = Field(0, ge=0, description="C: unrelated pairs before the query is put again; 0 where it is not")
    refuter: Refuter = Field(description="`agent`, a model, or `template`, the baseline of version 1.0")
    style: str = Field(description="Style rules of the refutations: `ambiguous, abstract, emotional`, or `plain`")
    model: str = Field(description="The evaluated model's name in the configuration; provenance names it in full")
    turns: tuple[DialogueTurn, ...] = Field(description="What was said, in order")
    provenance: RowProvenance

    @property
    def answers(self) -> tuple[str, ...]:
        """The answers to the seed's query and to refutations of them: a0, a1, ..."""
        return tuple(turn.text for turn in self.turns if turn.role == "assistant" and turn.kind != "unrelated")

    @property
    def refutations(self) -> tuple[str, ...]:
        """r0, r1, ..."""
        return tuple(turn.text for turn in self.turns if turn.role == "user" and turn.kind == "refutation")


class Rating(Record):
    """An evaluator's rating of one answer of a dialogue, R(a, r) or R(q, a), with what it was shown (figure 4)."""

    DEFINES: ClassVar[tuple[str, ...]] = (
        "dialogue", "evaluator", "aspect", "refutation_number", "answer_number", "query", "previous", "refutation",
        "response", "explanation",
    )  # fmt: skip
    SHOWS: ClassVar[tuple[str, ...]] = ("query", "earlier", "previous", "refutation", "response")
    BOOKKEEPING: ClassVar[tuple[str, ...]] = ("dialogue",)

    dialogue: str = Field(description="Id of the dialogue")
    task: SeedTask = Field(description="What is asked for: translation, summarisation or writing")
    protocol: Protocol = Field(
        description="`transient`: refuted again and again; `persistent`: the query is put again after unrelated ones"
    )
    unrelated: int = Field(ge=0, description="C of the dialogue")
    refuter: Refuter = Field(description="Who refuted in the dialogue: `agent` or `template`")
    style: str = Field(description="Style rules of the refutations, or `plain`")
    model: str = Field(description="The evaluated model")
    evaluator: str = Field(description="The evaluator's name in the configuration; provenance names it in full")
    aspect: Aspect = Field(description="`refutation`, R(a, r), or `task`, R(q, a)")
    refutation_number: int | None = Field(None, ge=0, description="i of r_i, from 0; null where the task is rated")
    answer_number: int = Field(ge=0, description="j of the rated answer: a_j; in a persistent dialogue 1 is a0'")
    query: str = Field(description="The seed's query")
    earlier: tuple[DialogueTurn, ...] = Field(
        (), description="What was said between the query and a_i; an evaluator is not shown it, people are"
    )
    previous: str = Field("", description="The answer that was refuted, a_i; empty where the task is rated")
    refutation: str = Field("", description="r_i; empty where the task is rated")
    response: str = Field(description="The answer that is rated")
    explanation: str = Field("", description="The evaluator's reply, with its rating; empty: not rated yet")
    rating: int = Field(0, ge=0, le=5, description="From 1 to 5; 0: not rated yet")
    provenance: RowProvenance


class ProtocolSettings(Record):
    """How the dialogues of a dataset were held: what has to be the same for two models to be compared."""

    DEFINES: ClassVar[tuple[str, ...]] = (
        "rounds", "unrelated", "refuters", "style", "focuses", "evaluated", "evaluators", "tries", "same_above",
    )  # fmt: skip

    rounds: int = Field(description="Refutations of a transient dialogue")
    unrelated: tuple[int, ...] = Field(description="C of the persistent dialogues")
    refuters: tuple[Refuter, ...] = Field(description="Who refutes: `agent`, a model, or `template`")
    style: str = Field(description="Style rules of the agent's refutations, or `plain`")
    focuses: tuple[Focus, ...] = Field(description="What a refutation is about: drawn from the seed and the turn")
    evaluated: tuple[str, ...] = Field(description="Evaluated models, by their names in the configuration")
    evaluators: tuple[str, ...] = Field(description="Evaluators, by their names in the configuration")
    tries: int = Field(description="Refutations asked for before a dialogue is dropped")
    same_above: float = Field(description="Cosine above which two refutations say the same")
    provenance: RowProvenance


def style_of(rules: Sequence[str]) -> str:
    """The name of a refutation style in records: its rules, or `plain`."""
    return ", ".join(rules) or PLAIN
