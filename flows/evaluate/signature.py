"""The signature of a score: all that it depends on, so that two scores are compared only if they mean the same.

As sacreBLEU's (Post, "A Call for Clarity in Reporting BLEU Scores", 2018): short, and in one line beside the score.
"""

import datetime
import hashlib
import importlib.metadata
import json
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pydantic import Field

from flows.construct.engine import Family
from flows.llm.endpoint_settings import ANSWERED_BY
from flows.llm.likelihood import LikelihoodModel
from flows.llm.local import LocalModel
from flows.project.evaluated import AskedRows, dialogue_fingerprints, fingerprints_in, settings_now
from flows.project.project import Project
from flows.scoring.shipped import SCORER, scorer_fingerprint, shipped_scorer
from schemas.base import Frozen, canonical_json, content_hash, counted, visible

SHORT = 8
"""Digits of a hash."""
IN_WORDS: Mapping[str, str] = {
    "dataset": "another dataset or version",
    "family": "another family",
    "asked": "other rows, or the same asked about in another way (variants, shots, options)",
    "prompts": "prompts of another version or text",
    "window": "prompts cut to another window",
    "parameters": "the model has other parameters",
    "scorer": "another scorer, or other settings of it",
}
"""What it means if two signatures differ in a field."""


class AskedAs(NamedTuple):
    """What a model is asked as: its name, and the settings that its answers depend on."""

    name: str
    window: int | None = None
    parameters: Mapping[str, object] = {}
    served: tuple[str, ...] = ()
    """The models that answered, as the server named them."""


class Signature(Frozen):
    """What a model's scores on a family's rows depend on."""

    dataset: str
    family: str
    rows: int = Field(description="Asked about; of dialogues, their seeds")
    asked: str = Field(description="Of the rows, and of all that a model is asked about each: texts, shots, options")
    prompts: tuple[str, ...] = Field(description="Name, version and template, temperature, most tokens of a reply")
    window: str = Field(description="Tokens to which prompts are cut, if the configuration says so")
    parameters: str = Field(description="The model's settings that answers depend on, but for defaults and the window")
    scorer: str = Field(description="Of what the scorer does, and of its settings")
    touchstone: str
    model: str = Field(description="The name by which it is asked for")
    served: tuple[str, ...] = Field((), description="As the server named it in its replies, if by another name")
    date: datetime.date

    def __str__(self) -> str:
        """Return the fields in one line."""
        told = {
            "data": self.dataset,
            "family": self.family,
            "rows": f"{self.rows}:{self.asked}",
            "prompts": ",".join(self.prompts) or "none",
            "window": self.window,
            "parameters": self.parameters,
            "scorer": self.scorer,
            "touchstone": self.touchstone,
            "model": self.model,
            **({"served": ",".join(self.served)} if self.served else {}),
            "date": self.date.isoformat(),
        }
        return visible("|".join(f"{name}:{value}" for name, value in told.items()))

    def differences(self, other: "Signature") -> list[str]:
        """Return the fields by which scores with these two signatures are not comparable, in the order of the line."""
        decide = ("dataset", "family", "asked", "prompts", "window", "parameters", "scorer")
        return [name for name in decide if getattr(self, name) != getattr(other, name)]

    def differences_in_words(self, other: "Signature") -> list[str]:
        """Return by what the other's scores are not comparable with these: "asked about 30 rows, not 612"."""
        return [self._in_words(name, other) for name in self.differences(other)]

    def _in_words(self, name: str, other: "Signature") -> str:
        if name == "asked" and self.rows != other.rows:
            return f"asked about {counted(other.rows, 'row')}, not {self.rows:,}"
        if name in ("dataset", "family", "window", "parameters"):
            return f"{IN_WORDS[name]}: {getattr(other, name)}, not {getattr(self, name)}"
        return IN_WORDS[name]


def asked_as(project: Project, model: str, weighs: LikelihoodModel | None) -> AskedAs:
    """Return what the model called `model` is asked as, by the configuration; or `weighs` if it weighs options."""
    settings = weighs.settings if isinstance(weighs, LocalModel) else project.config.model_for(model)
    name = getattr(settings, "name", settings.provider) if weighs is None else weighs.name
    changed = settings.model_dump(mode="json", include={*ANSWERED_BY, "dtype"}, exclude_defaults=True)
    window = changed.pop("window", None)
    if "tokenizer" in changed:  # which may be a folder of this machine
        changed["tokenizer"] = _short(changed["tokenizer"])
    return AskedAs(name, window, changed)


def signature_of(project: Project, family: Family, model: AskedAs, asked: AskedRows, today: datetime.date) -> Signature:
    """Return the signature of the scores of a model, which was asked about rows, or in dialogues from these seeds."""
    built, evaluation = project.build.families[family.name], family.evaluation
    prompts = [built.prompts[prompt.name] for prompt in evaluation.prompts if prompt.name in asked.prompts]
    shown = [f"{prompt.name}:{prompt.fingerprint}:t{prompt.temperature:g}:m{prompt.max_tokens}" for prompt in prompts]
    own = family.folder / SCORER
    alone = own.read_text(encoding="utf-8") if own.is_file() else ""  # of a family that ships no scorer
    source = shipped_scorer(family.folder) if evaluation.scorer else alone
    if held := dialogue_fingerprints(family, built.prompts):
        shown.append(_short(held))
    settings = settings_now(project, family)
    scored_by = {name: str(getattr(settings, name)) for name in evaluation.settings}
    return Signature(
        dataset=project.config.name,
        family=family.name,
        rows=sum(text.count("\n") for text in asked.rows),
        asked=_short_of_pairs(fingerprints_in(asked.rows)),
        prompts=tuple(shown),
        window="none" if model.window is None else str(model.window),
        parameters=",".join(
            f"{name}={json.dumps(value, sort_keys=True, separators=(',', ':'))}"
            for name, value in sorted(model.parameters.items())
        )
        or "none",
        scorer=_short(scorer_fingerprint(source), scored_by),
        touchstone=importlib.metadata.version("touchstone"),
        model=model.name,
        served=model.served if set(model.served) - {model.name} else (),
        date=today,
    )


def _short_of_pairs(pairs: Iterable[tuple[str, str]]) -> str:
    """Return `_short` of the list of these pairs, which is not made: there may be millions."""
    digest = hashlib.sha256(b"[[")
    for number, pair in enumerate(pairs):
        digest.update(b"," * bool(number) + canonical_json(pair))
    digest.update(b"]]")
    return digest.hexdigest()[:SHORT]


def _short(*parts: object) -> str:
    return content_hash(*parts)[:SHORT]
