"""The signature of a score: all that it depends on, so that two scores are compared only if they mean the same.

As sacreBLEU's (Post, "A Call for Clarity in Reporting BLEU Scores", 2018): short, and in one line beside the score.
"""

import datetime
import importlib.metadata
from collections.abc import Mapping

from pydantic import Field

from flows.construct.engine import Family
from flows.project.evaluated import dialogue_fingerprints, settings_now
from flows.project.project import Project
from flows.scoring.shipped import SCORER, scorer_fingerprint, shipped_scorer
from schemas.base import Frozen, content_hash

SHORT = 8
"""Digits of a hash."""


class Signature(Frozen):
    """What a model's scores on a family's rows depend on."""

    dataset: str
    family: str
    rows: int = Field(description="Asked about; of dialogues, their seeds")
    asked: str = Field(description="Of the rows, and of all that a model is asked about each: texts, shots, options")
    prompts: tuple[str, ...] = Field(description="Name, version and template, temperature, most tokens of a reply")
    window: str = Field(description="Tokens to which prompts are cut, if the configuration says so")
    scorer: str = Field(description="Of what the scorer does, and of its settings")
    touchstone: str
    model: str = Field(description="The name by which it is asked for")
    date: datetime.date

    def __str__(self) -> str:
        """Return the fields in one line."""
        told = {
            "data": self.dataset,
            "family": self.family,
            "rows": f"{self.rows}:{self.asked}",
            "prompts": ",".join(self.prompts) or "none",
            "window": self.window,
            "scorer": self.scorer,
            "touchstone": self.touchstone,
            "model": self.model,
            "date": self.date.isoformat(),
        }
        return "|".join(f"{name}:{value}" for name, value in told.items())

    def differences(self, other: "Signature") -> list[str]:
        """Return the fields by which scores with these two signatures are not comparable, in the order of the line."""
        decide = ("dataset", "family", "asked", "prompts", "window", "scorer")
        return [name for name in decide if getattr(self, name) != getattr(other, name)]


def signature_of(
    project: Project, family: Family, model: str, window: int | None, asked: Mapping[str, str], today: datetime.date
) -> Signature:
    """Return the signature of the scores of a model, which is given by the name that it is asked for.

    `asked` has the rows that were asked about, each with a fingerprint of what was asked; or the dialogues' seeds.
    """
    built, evaluation = project.build.families[family.name], family.evaluation
    prompts = [built.prompts[prompt.name] for prompt in evaluation.prompts]
    shown = [f"{prompt.name}:{prompt.fingerprint}:t{prompt.temperature:g}:m{prompt.max_tokens}" for prompt in prompts]
    source = shipped_scorer(family.folder) if evaluation.scorer else (family.folder / SCORER).read_text("utf-8")
    if held := dialogue_fingerprints(family, built.prompts):
        shown.append(_short(held))
    settings = settings_now(project, family)
    scored_by = {name: str(getattr(settings, name)) for name in evaluation.settings}
    return Signature(
        dataset=project.config.name,
        family=family.name,
        rows=len(asked),
        asked=_short(sorted(asked.items())),
        prompts=tuple(shown),
        window="none" if window is None else str(window),
        scorer=_short(scorer_fingerprint(source), scored_by),
        touchstone=importlib.metadata.version("touchstone"),
        model=model,
        date=today,
    )


def _short(*parts: object) -> str:
    return content_hash(*parts)[:SHORT]
