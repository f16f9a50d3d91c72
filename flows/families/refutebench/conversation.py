"""A dialogue while it is held: the evaluated model's answers (section 5) and their refutations (section 4.2).

The state of a dialogue is its turns. They are sent whole with every message, and each answer is cached under them
before it is used. A dialogue that was interrupted starts again and passes through the cached answers to the turn at
which it stopped, without asking, or paying, for any of them again.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from flows.construct.engine import Context, Drop
from flows.families.refutebench import prompts
from flows.families.refutebench.protocol import (
    MOST_TRIES,
    fault_of,
    focus_of,
    letters_and_digits,
    same_words,
    strong_of,
)
from flows.families.refutebench.requirements import (
    Requirement,
    goes_with,
    of_style,
    packaged_lexicon,
    parse_all,
)
from flows.families.refutebench.settings import RefuteBenchSettings
from flows.language import en
from flows.llm.model import InvalidAnswer, Problem, Said
from schemas.base import content_hash
from schemas.refutebench import FOCUSES, PLAIN, DialogueTurn, Focus, RefutationDialogue, Seed, SeedTask

SAME_ABOVE = 0.9
"""Cosine above which two refutations of a dialogue say the same; the paper gives no number."""


@dataclass
class Conversation:
    """A dialogue as far as it has come."""

    opened: RefutationDialogue
    ctx: Context[RefuteBenchSettings]
    seeds: Mapping[str, Seed]
    """Query -> its seed."""
    turns: list[DialogueTurn] = field(default_factory=list)

    async def ask(self, query: str, *, unrelated: bool = False) -> None:
        """Put a query to the evaluated model."""
        await self._say(DialogueTurn(role="user", kind="unrelated" if unrelated else "query", text=query), query)

    async def refute(self, *, standing: bool = False) -> None:
        """Have the latest answer refuted, and answered anew.

        Section 4.2, fairness: the focus of a refutation is drawn from the seed query and the turn alone, so that every
        evaluated model meets the same. Section 3 leaves open how a persistent refutation is worded: it is a `standing`
        one, which holds from now on.
        """
        refute = self._by_template if self.opened.refuter == "template" else self._by_agent
        text, focus = await refute(standing)
        await self._say(DialogueTurn(role="user", kind="refutation", text=text, focus=focus), self.opened.query)

    async def _say(self, turn: DialogueTurn, query: str) -> None:
        """Section 5: greedily, with the whole history, as far as the model's window holds it.

        Departure: the paper's dialogues fit into any window. In one that does not, the longest messages are cut in the
        middle (so that refutations stay whole), and the turn says so.
        """
        seed = self.seeds[query]
        asked = prompts.ToAnswer(
            dialogue=tuple(Said(role=turn.role, text=turn.text) for turn in self.turns),
            said=turn.text,
            task=seed.task,
            text=seed.text,
            reference=seed.reference,
            forgetting=self.ctx.settings.forgetting.get(self.opened.model, 0.0),
            ignoring=self.ctx.settings.ignoring.get(self.opened.model, 0.0),
        )
        try:
            answer = await self.ctx.ask(prompts.RESPOND, asked, model=self.opened.model)
        except InvalidAnswer as invalid:
            raise Drop(f"evaluated model: {invalid.reason}", invalid.evidence) from invalid
        answered = DialogueTurn(
            role="assistant",
            kind=turn.kind,
            text=answer.text.strip(),
            cut_off=answer.cut_off,
            prompt_cut=answer.prompt_cut,
        )
        self.turns += [turn, answered]

    # ---- the refuter (section 4.2) ----

    @property
    def _earlier(self) -> tuple[str, ...]:
        return tuple(turn.text for turn in self.turns if turn.role == "user" and turn.kind == "refutation")

    async def _by_template(self, standing: bool) -> tuple[str, Focus]:
        """Version 1.0, on the same seeds."""
        seed, response = self.seeds[self.opened.query], self.turns[-1].text
        lexicon = self.ctx.settings.lexicon or packaged_lexicon()
        rng = Random(content_hash("template", self.opened.query, response, len(self._earlier)))
        return refute_by_template(seed.text, seed.task, response, self._earlier, lexicon, rng, standing)

    async def _by_agent(self, standing: bool) -> tuple[str, Focus]:
        """Figure 3, with a check: not met yet, on focus, one aspect, no repetition, no contradiction.

        Departure: the paper's prompt says that several requirements may be given, and section 4.2 that each is about a
        certain aspect; we ask for one. The paper has no check. A refutation that fails ours is asked for again with the
        reason, and after `MOST_TRIES` the dialogue is dropped.
        """
        settings = self.ctx.settings
        focus = focus_of(self.opened.query, len(self._earlier), FOCUSES)
        refused: list[tuple[str, str]] = []
        for draw in range(MOST_TRIES):
            asked = prompts.ToRefute(
                task=self.opened.task,
                query=self.opened.query,
                response=self.turns[-1].text,
                earlier=self._earlier,
                focus=focus,
                style=settings.style,
                strong=strong_of(self.opened.query, settings.style),
                standing=standing,
                refused=tuple(refused),
            )
            try:
                text = " ".join((await self.ctx.ask(prompts.REFUTE, asked, draw=draw)).refutation.split())
            except InvalidAnswer as invalid:
                raise Drop(f"refuter: {invalid.reason}", invalid.evidence) from invalid
            problem = await self._problem(text, focus)
            if problem is None:
                return text, focus
            refused.append((text, problem[1]))
            reason = problem[0]
        raise Drop(f"refutation {reason}", "; ".join(text for text, _ in refused))

    async def _problem(self, text: str, focus: Focus) -> Problem:
        if not letters_and_digits(text):
            return "without words", "it says nothing"
        earlier = self._earlier
        same = same_words(text, earlier)
        if same is None and earlier and self.opened.style != PLAIN:  # plain ones differ in a word: "say this for that"
            same = await asyncio.to_thread(self._same_meaning, text)
        if same is not None:
            return "repeated", f"it says again: {same}"
        asked = prompts.ToCheck(
            query=self.opened.query, response=self.turns[-1].text, refutation=text, focus=focus, earlier=earlier
        )
        try:
            return fault_of(await self.ctx.ask(prompts.CHECK_REFUTATION, asked), focus, earlier)
        except InvalidAnswer as invalid:
            raise Drop(f"check of the refutation: {invalid.reason}", invalid.evidence) from invalid

    def _same_meaning(self, text: str) -> str | None:
        """Return the earlier refutation that means the same in other words; None if there is none."""
        embedder = self.ctx.step.embedder
        # The embedder does not tell Chinese words apart: refutations that name others do not say the same.
        readable = [other for other in self._earlier if embedder.reads(other) and _chinese(other) == _chinese(text)]
        if not readable or not embedder.reads(text):
            return None
        vectors = embedder.embed([text, *readable])
        cosines = vectors[1:] @ vectors[0]
        nearest = int(cosines.argmax())
        return readable[nearest] if cosines[nearest] > SAME_ABOVE else None


def _chinese(text: str) -> str:
    return "".join(character for character in text if "\u3400" <= character <= "\u9fff")


# ---- the template refuter, the baseline beside the agent ----


def refute_by_template(
    seed_text: str,
    task: SeedTask,
    response: str,
    earlier: Sequence[str],
    lexicon: Mapping[str, Sequence[str]],
    rng: Random,
    standing: bool,
) -> tuple[str, Focus]:
    """Version 1.0's refuter (Yan, Luo and Zhang, 2024): a formulaic refutation of `response`, and what it is about.

    Of a translation: another translation of a word of the source sentence, by the lexicon (base forms in lower case to
    translations). Of anything else: one of the checkable requirements that the response does not meet. Raises `Drop`:
    "no word of the table", "no translation left" (the sentence's words are used up, or the response has every
    translation of them), "no requirement left".
    """
    before = parse_all(earlier)
    if task == "translation":
        words = _known(seed_text, lexicon)
        if not words:
            raise Drop("no word of the table", seed_text)
        used = {requirement.old for requirement in before if requirement.kind == "translation"}
        left = {word: _left(word, lexicon[word], response, before) for word in words if word not in used}
        left = {word: requirements for word, requirements in left.items() if requirements}
        if not left:
            raise Drop("no translation left", ", ".join(words))
        chosen = rng.choice(left[rng.choice(list(left))])
    else:
        free = [requirement for requirement in of_style(response, task) if goes_with(requirement, before)]
        if not free:
            raise Drop("no requirement left", response)
        chosen = rng.choice(free)
    return chosen.in_words(standing), chosen.focus


def _known(sentence: str, lexicon: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the words of the lexicon that are in the sentence in any form, in order."""
    forms = ((word, en.lemma(word)) for word in en.words(sentence))
    matches = (next((form for form in either if form in lexicon), None) for either in forms)
    return list(dict.fromkeys(word for word in matches if word is not None))


def _left(word: str, translations: Sequence[str], response: str, before: Sequence[Requirement]) -> list[Requirement]:
    free = (
        Requirement("translation", translation, word) for translation in translations if translation not in response
    )
    return [requirement for requirement in free if goes_with(requirement, before)]
