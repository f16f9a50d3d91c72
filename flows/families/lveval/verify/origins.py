"""Proves that a row agrees with the other parts and with its sources."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from flows.construct.verification import Fault, VerifyContext
from flows.families.lveval import datasets
from flows.families.lveval.datasets import Dataset
from flows.families.lveval.facts import packaged_fact
from flows.families.lveval.verify.texts import sha256
from flows.language import keywords
from schemas.lveval import LongContext, Pair, Rule, RuleConflicts
from schemas.source import QASource
from schemas.verdict import Verdict


@dataclass(frozen=True)
class Origins:
    """The other parts' records that the contexts were made from."""

    pairs: Mapping[str, Pair]
    facts: Mapping[str, list[str]]
    rules: Mapping[str, set[tuple[str, str]]]
    marked: frozenset[str]  # the pairs whose answer has keywords
    sources: Mapping[str, list[tuple[str, str]]]  # id and checksum of a pair's documents
    needed: Mapping[str, Sequence[Rule]]
    """The rules of a pair that nothing is known to speak against: none may be missing."""

    @classmethod
    def of(cls, ctx: VerifyContext) -> "Origins":
        facts: dict[str, list[str]] = defaultdict(list)
        for fact in ctx.rows("confusing-facts"):
            facts[fact.pair_id].append(fact.fact)
        rules: dict[str, set[tuple[str, str]]] = {}
        needed: dict[str, Sequence[Rule]] = {}
        verdicts = ctx.verdicts("conflicts") if ctx.verdicts is not None else None
        for record in ctx.rows("conflicts"):
            rules[record.pair_id] = {(rule.old, rule.new) for rule in record.rules}
            # The conflicts are of the rules as people were shown them: what speaks against theirs is not told.
            if verdicts is not None and not is_corrected(record, verdicts):
                harmful = {conflict.old for conflict in record.conflicts}
                needed[record.pair_id] = [rule for rule in record.rules if rule.old not in harmful]
        marked = frozenset(record.pair_id for record in ctx.rows("keywords"))
        pairs = {pair.id: pair for pair in ctx.rows("pairs")}
        sources = {
            pair.id: [(document.id, sha256(document.text)) for document in pair.documents] for pair in pairs.values()
        }
        return cls(pairs, facts, rules, marked, sources, needed)

    def problems(self, row: LongContext, dataset: Dataset) -> Iterator[str]:
        """Yield where a row, its replacements undone, disagrees with the other parts; nothing if there are none."""
        if not self.pairs:
            return
        pair = self.pairs.get(row.pair_id)
        if pair is None:
            yield f"its pair {row.pair_id} is not among the pairs"
            return
        rules = [(rule.old, rule.new) for rule in row.replacements]
        if strange := [rule for rule in rules if rule not in self.rules.get(pair.id, ())]:
            yield f"the rule {' -> '.join(strange[0])} is not among those of its pair"
            return

        for rule in missing_rules(self.needed.get(pair.id, ()), row.replacements):
            yield f"the rule {rule} of its pair was lost: nothing in 'conflicts' speaks against it"

        def undone(texts: Iterable[str]) -> list[str]:
            return [keywords.undo(text, rules, dataset.language) if rules else text for text in texts]

        if undone([row.input]) != [pair.question]:
            yield f"its question is not its pair's: {pair.question!r}"
        if undone(row.answers) != list(pair.answers):
            yield f"its answers are not its pair's: {', '.join(map(repr, pair.answers))}"
        if sorted(undone(row.confusing_facts)) != sorted(self.facts.get(pair.id, ())):
            yield "its confusing facts are not those of its pair"
        if bool(row.answer_keywords) != (pair.id in self.marked):
            yield "its pair has keywords" if pair.id in self.marked else "its pair has no keywords"
        if [(source.id, source.sha256) for source in row.sources] != self.sources[pair.id]:
            yield "its source documents are not those of its pair"


def is_corrected(row: RuleConflicts, verdicts: Mapping[str, Verdict]) -> bool:
    """Return whether a person corrected its rules to what they are now."""
    verdict = verdicts.get(row.key)
    written = verdict.changes.get("rules") if verdict is not None else None
    try:
        return written is not None and row.revised(rules=written).rules == row.rules
    except ValidationError:
        return False


def missing_rules(rules: Iterable[Rule], present: Iterable[Rule]) -> list[Rule]:
    """Return the rules that `present` lacks; of two that differ in case only, one is enough."""
    known = {(rule.old.casefold(), rule.new.casefold()) for rule in present}
    return [rule for rule in rules if (rule.old.casefold(), rule.new.casefold()) not in known]


def verify_sources(rows: Iterable[LongContext], documents: Mapping[str, str]) -> Iterator[Fault]:
    """Check the checksums of the supporting documents against `documents`: id to text, as read again."""
    known: dict[str, str] = {}
    for row in rows:
        for source in row.sources:
            if source.id not in documents:
                yield Fault(id=row.id, problem=f"the source document {source.id!r} is not among those read")
                continue
            if source.id not in known:
                known[source.id] = sha256(documents[source.id])
            if (checksum := known[source.id]) != source.sha256:
                problem = f"the source document {source.id!r} has SHA-256 {checksum}, expected {source.sha256}"
                yield Fault(id=row.id, problem=problem)


def verify_against_sources(
    rows: Iterable[LongContext], sources: Iterable[QASource], ctx: VerifyContext
) -> Iterator[Fault]:
    """Run `verify_sources` on the questions, read again, and the fact records."""
    plain = {f"{name}#fact": _fact_of(name, ctx) for name, one in datasets.BY_NAME.items() if one.recalls_fact}
    titled: dict[str, str] = {}
    for source in sources:
        name = source.source.source
        documents = [(document.id, document.title, document.text) for document in source.documents]
        for number, title, text in documents or [(source.source.id, source.title, source.evidence or "")]:
            cleaned = text.replace("\r\n", "\n").replace("\r", "\n").strip()
            plain[f"{name}#{number}"] = cleaned
            titled[f"{name}#{number}"] = f"{title}\n{cleaned}" if title else cleaned
    for row in rows:
        dataset = datasets.BY_RELEASED[row.dataset.removesuffix(f"_{row.level}")]
        yield from verify_sources([row], titled if dataset.titled else plain)


def _fact_of(name: str, ctx: VerifyContext) -> str:
    block = ctx.settings.datasets.get(name)
    fact = (
        block.fact if block is not None and block.fact is not None else packaged_fact(datasets.BY_NAME[name].language)
    )
    return fact.fact
