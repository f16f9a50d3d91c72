"""What can be built from somebody's material: for each family its settings, or what it lacks."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flows.families import family_names, load_family
from flows.families.lveval.datasets import LEVELS as PAPER_LEVELS
from flows.families.lveval.distractor_index import count
from flows.families.refutebench.method import LENGTHS
from flows.families.uraq.settings import CONTEXT_COUNTS, statements_for
from flows.language import language_of
from flows.new.languages import NAMES, READ
from flows.new.look import Material, spec_for
from flows.project.config_problems import source_problems
from schemas.base import counted
from schemas.errors import WrongInput
from schemas.source import Assignment, Dialogue, Passage, QASource, Statement

LEVELS = ("1k", "2k", "4k", "8k", *PAPER_LEVELS)
MOST_PAIRS = 40
"""Pairs of a dataset of LV-Eval, where its author has not said how many."""
DISTRACTING = 0.7
"""Share of the other texts that may distract, at least: those that hold an answer do not."""
MOST_QUESTIONS, FEWEST_QUESTIONS = 100, 10
LEAST_DIALOGUES = LEAST_STATEMENTS = LEAST_TEXTS = 2
TASKS: Mapping[str, str] = {
    "ntrex": "translation", "writingbench": "writing", "ifeval": "writing", "self-instruct": "writing",
    "mt-bench": "writing",
}  # fmt: skip
"""Format -> the task of RefuteBench that it is for; the others' texts are summarised."""
TEXTS_OF_RULES = ("translation", "summarisation")


class Lacking(Exception):  # noqa: N818 - it is no error
    """What a family cannot be built from this material for."""


@dataclass(frozen=True)
class Proposal:
    """A family's block of the configuration."""

    family: str
    settings: Mapping[str, Any]
    what: str
    """What is built from what, in a few words."""
    comments: Mapping[str, str] = field(default_factory=dict)
    """Place in the settings (`levels`, `sources[0]`, `datasets.faq.pairs`) -> what stands behind its line."""
    shows: str = ""
    """The part whose rows are worth a look, if the family's main one will have none."""


@dataclass(frozen=True)
class Found:
    """The material, and what the families' settings depend on besides."""

    material: Sequence[Material]
    name: str
    by_rules: bool
    pairs_from_documents: bool = False
    """Whether the family documents is built, so that the others can read its parts."""

    def giving(self, shape: type, languages: Iterable[str] = READ) -> list[Material]:
        """Return the material that gives a type of record, in one of the languages."""
        return [some for some in self.material if some.records.get(shape) and some.language in languages]

    @property
    def documents(self) -> list[Material]:
        """What questions are asked of: documents, and texts that come without questions."""
        return [some for some in self.giving(Passage) if not some.records.get(QASource)]

    @property
    def answered(self) -> list[Material]:
        """Questions whose answers are in their evidence, for some at least, and which give that as passages, too."""
        return [some for some in self.giving(QASource) if some.records.get(Passage) and some.with_answers()]


def propose(material: Sequence[Material], name: str, *, by_rules: bool) -> tuple[list[Proposal], dict[str, str]]:
    """Return the families that can be built, and what each of the others lacks."""
    found = Found(material, name, by_rules)
    proposals: list[Proposal] = []
    lacking: dict[str, str] = {}
    for family, make in MAKERS.items():
        if family not in family_names():
            continue
        asks_documents = any(proposal.family == "documents" for proposal in proposals)
        try:
            proposal = make(Found(material, name, by_rules, asks_documents))
            _check(proposal)
        except Lacking as error:
            lacking[family] = f"{error}{_foreign(found)}"
        else:
            proposals.append(proposal)
    return proposals, lacking


def _check(proposal: Proposal) -> None:
    """Raise `Lacking` if the family refuses its block, or finds too little in its sources."""
    family = load_family(proposal.family)
    settings = family.settings.model_validate(proposal.settings)
    problems = list(source_problems(family, settings))
    if not problems and family.shortages is not None:
        try:
            problems += family.shortages(settings)
        except WrongInput as error:
            problems += error.problems
    if problems:
        raise Lacking(problems[0])


def _foreign(found: Found) -> str:
    """Return what to say of languages that no family reads."""
    languages = dict.fromkeys(some.language for some in found.material if some.language not in READ)
    names = " and ".join(NAMES[language] for language in languages)
    return f"; it does not read {names}" if names else ""


# ---- the families ----


def _documents(found: Found) -> Proposal:
    texts = found.documents
    if not texts:
        raise Lacking("wants documents, or a table with a column of texts")
    passages = sum(round(len(some.records[Passage]) * some.more) for some in texts)
    pairs = max(FEWEST_QUESTIONS, min(MOST_QUESTIONS, passages))
    return Proposal(
        "documents",
        {"pairs": pairs, "sources": [source(some) for some in texts]},
        f"questions on about {counted(passages, 'passage')}",
        {"pairs": "questions wanted", **_comments("sources", texts)},
    )


def _reeval(found: Found) -> Proposal:
    asked = found.answered
    if not asked and not found.pairs_from_documents:
        raise Lacking("wants questions with the passage that has the answer, word for word")
    sources, passages = [source(some) for some in asked], [source(some) for some in found.documents]
    if found.pairs_from_documents:
        part = _language_of_parts(found)
        sources.append({"part": "documents-pairs", **part})
        passages = [{"part": "documents-passages", **part}]
    seeds: dict[str, Any] = {"seeds": "all", "entailment": "off"}
    comments = {"seeds": "with a model write pivot, and right: em: it takes what the model can answer"}
    if not found.by_rules:
        seeds = {"seeds": "pivot", "right": "em", "entailment": "off"}
        comments = {
            "seeds": "what the model can answer; all takes everything",
            "entailment": "for right: either leave this line out: a model is loaded from the Hub",
        }
    if not passages:
        comments["sources"] = "category 2 mixes in other texts on the same things: name them under passages"
    settings = {**seeds, "sources": sources, **({"passages": passages} if passages else {})}
    return Proposal("reeval", settings, _questions_of(asked, found), {**comments, **_comments("sources", asked)})


def _lveval(found: Found) -> Proposal:
    if not found.answered and not found.pairs_from_documents:
        raise Lacking("wants questions with the passage that has the answer, and more text to hide it in")
    levels: tuple[str, ...] = LEVELS
    datasets: dict[str, Any] = {}
    comments: dict[str, str] = {}
    for language in READ:
        name = found.name if language == READ[0] or not datasets else f"{found.name}-{language}"
        room = _dataset(found, language)
        if room is None:
            continue
        datasets[name], words, asked = room
        levels = tuple(level for level in levels if int(level[:-1]) * 1000 <= words)
        unit = "characters" if language == "zh" else "words"
        comments[f"datasets.{name}.task"] = "without confusing facts: single-hop-qa"
        comments[f"datasets.{name}.pairs"] = f"their passages distract from none; about {words:,} {unit} do"
        comments |= _comments(f"datasets.{name}.sources", asked)
    if not datasets or not levels:
        raise Lacking("wants more text to hide the answers in: at least 1,000 words that no chosen question is about")
    levels = tuple(level for level in levels if level in PAPER_LEVELS) or levels[-2:]
    if levels[-1] != LEVELS[-1]:
        comments["levels"] = "words (in Chinese characters); more text fills the paper's, 16k to 256k"
    settings = {"levels": [*levels], "datasets": datasets}
    return Proposal("lveval", settings, f"questions in contexts of {', '.join(levels)}", comments)


def _dataset(found: Found, language: str) -> tuple[dict[str, Any], int, list[Material]] | None:
    """Return a dataset of LV-Eval, the words that can distract, and its sources of questions; None without any."""
    asked = [some for some in found.answered if some.language == language]
    texts = [some for some in found.documents if some.language == language]
    from_parts = found.pairs_from_documents and _documents_language(found) == language
    if not asked and not from_parts:
        return None
    evidence = {question.evidence or "" for some in asked for question in some.with_answers()}
    sizes = [count(text, language) for text in evidence]
    passages = sum(round(len(some.records[Passage]) * some.more) for some in texts)
    other = round(sum(some.words * some.more for some in texts))
    if from_parts:
        sizes += [other // max(passages, 1)] * passages
        other = 0
    # Half of the texts that are asked about are left to distract.
    pairs = min(MOST_PAIRS, max(1, len(sizes) // 2))
    words = round(DISTRACTING * (other + sum(sizes) - sum(sorted(sizes)[-pairs:])))
    sources, distractors = [source(some) for some in asked], [source(some) for some in texts]
    if from_parts:
        part = _language_of_parts(found)
        sources.append({"part": "documents-pairs", **part})
        distractors = [{"part": "documents-passages", **part}]
    settings: dict[str, Any] = {"task": "single-hop-cqa", "language": language, "pairs": pairs, "sources": sources}
    return {**settings, **({"distractors": distractors} if distractors else {})}, words, asked


def _uraq(found: Found) -> Proposal:
    stated = sorted(found.giving(Statement, ("en",)), key=lambda some: -len(some.records[Statement]))
    stated = [some for some in stated if len(some.records[Statement]) >= LEAST_STATEMENTS]
    opposed = [some for some in found.giving(QASource, ("en",)) if any(q.sides for q in some.records[QASource])]
    by_parts = found.pairs_from_documents and _documents_language(found) == "en"
    if not stated and not opposed and not by_parts:
        raise Lacking("wants English statements, one a row, or questions with two sides")
    if found.by_rules and not opposed:
        raise Lacking("wants a model, see --model: the rules ask no questions on statements of yours")
    settings: dict[str, Any] = {}
    comments: dict[str, str] = {}
    built, shows = [], ""
    if stated:
        statements = len(stated[0].records[Statement])
        settings["statements_from"] = source(stated[0])
        comments["statements_from"] = _or_others(some.name for some in stated[1:])
        built.append(counted(statements, "statement"))
    elif by_parts:
        settings["statements_from"] = {"part": "documents-statements"}
        built.append("statements of the documents")
    if opposed:
        settings["qa_sources"] = [source(some) for some in opposed]
        built.append("questions with two sides")
        shows = "uraq-evaluation"
    if stated and stated[0].is_whole:
        fitting = [number for number in CONTEXT_COUNTS if statements_for(number) <= statements]
        settings["context_counts"] = fitting or [1]
    comments = {place: said for place, said in comments.items() if said}
    return Proposal("uraq", settings, " and ".join(built), comments, shows)


def _charpeval(found: Found) -> Proposal:
    talked = found.giving(Dialogue, ("en",))
    if not talked:
        raise Lacking("wants English dialogues in JSONL, with history, knowledge and response")
    dialogues = sum(len(some.records[Dialogue]) for some in talked)
    return Proposal(
        "charpeval",
        {"sources": [source(some) for some in talked]},
        f"{counted(dialogues, 'dialogue')}; people write the wrong responses",
        _comments("sources", talked),
        "charpeval-utterances",
    )


def _refutebench(found: Found) -> Proposal:
    sources: dict[str, list[Any]] = {}
    comments: dict[str, str] = {}
    number = 0
    for some in (*found.giving(Assignment), *(some for some in found.documents if some.spec.format == "documents")):
        task = TASKS.get(some.spec.format, "summarisation")
        given = some.records.get(Assignment) or some.records[Passage]
        texts = [text for text in given if task != "summarisation" or _suits(text)]
        if (found.by_rules and task not in TEXTS_OF_RULES) or len(texts) < LEAST_TEXTS:
            continue
        comments |= _comments(f"sources.{task}[{len(sources.get(task, ()))}]", [some], one=True)
        sources.setdefault(task, []).append(source(some, Assignment))
        number += len(texts)
    if not sources:
        raise Lacking("wants texts of 60 words or more to summarise, or to translate")
    settings: dict[str, Any] = {"style": []} if found.by_rules else {}
    if found.by_rules:
        comments["style"] = "with a model leave this line out"
    if len(sources) < 2:
        settings["unrelated"] = []
        comments["unrelated"] = "persistent dialogues want a second task"
    return Proposal(
        "refutebench", {**settings, "sources": sources}, f"dialogues on {counted(number, 'text')} to {_work(sources)}",
        comments,
    )  # fmt: skip


MAKERS: Mapping[str, Callable[[Found], Proposal]] = {
    "documents": _documents,
    "uraq": _uraq,
    "reeval": _reeval,
    "lveval": _lveval,
    "charpeval": _charpeval,
    "refutebench": _refutebench,
}


# ---- parts of a block ----


def source(some: Material, shape: type | None = None) -> dict[str, Any]:
    """Return a source as the configuration has it."""
    spec = some.spec if shape is None else spec_for(some.spec, shape)
    written: dict[str, Any] = {"format": spec.format, "path": spec.path}
    if spec.language != "en":
        written["language"] = spec.language
    if spec.fields is not None:
        written["fields"] = spec.fields
    return written


def _comments(place: str, sources: Sequence[Material], *, one: bool = False) -> dict[str, str]:
    """Return what else the columns of some sources could be, by their places."""
    comments = {}
    for number, some in enumerate(sources):
        if some.others:
            meant = "; ".join(f"{ours}: {' or '.join(columns)}" for ours, columns in some.others.items())
            comments[place if one else f"{place}[{number}]"] = f"or {meant}"
    return comments


def _or_others(names: Iterable[str]) -> str:
    others = ", ".join(names)
    return f"one file; or {others}" if others else ""


def _documents_language(found: Found) -> str:
    return found.documents[0].language


def _language_of_parts(found: Found) -> dict[str, str]:
    language = _documents_language(found)
    return {} if language == "en" else {"language": language}


def _questions_of(asked: Sequence[Material], found: Found) -> str:
    number = sum(len(some.with_answers()) for some in asked)
    if number == 0:
        return "the questions that documents asks"
    more = " and those that documents asks" if found.pairs_from_documents else ""
    return f"{counted(number, 'question')} with evidence{more}"


def _suits(text: Assignment | Passage) -> bool:
    return language_of(text.language).count(text.text) in LENGTHS["summarisation"]


def _work(sources: Iterable[str]) -> str:
    verbs = {"translation": "translate", "summarisation": "summarise", "writing": "write from"}
    return ", ".join(verbs[task] for task in sources)
