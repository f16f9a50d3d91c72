"""What can be built from somebody's material: for each family its settings, or what it lacks."""

from collections.abc import Sequence

from flows.construct.engine import Family
from flows.construct.proposal import Found, Lacking, Material, Proposal
from flows.families import family_names, load_family
from flows.language import LANGUAGES
from flows.new.languages import NAMES
from flows.project.config_problems import source_problems
from schemas.errors import WrongInput


def propose(material: Sequence[Material], name: str, *, by_rules: bool) -> tuple[dict[str, Proposal], dict[str, str]]:
    """Return, by their names, the families that can be built, and what each of the others lacks."""
    proposals: dict[str, Proposal] = {}
    lacking: dict[str, str] = {}
    for family in sorted(map(load_family, family_names()), key=lambda family: family.place):
        if family.propose is None:
            continue
        try:
            proposal = family.propose(Found(material, name, by_rules, tuple(proposals.values())))
            _check(family, proposal)
        except Lacking as error:
            lacking[family.name] = f"{error}{_foreign(material)}"
        else:
            proposals[family.name] = proposal
    return proposals, lacking


def _check(family: Family, proposal: Proposal) -> None:
    """Raise `Lacking` if the family refuses its block, or finds too little in its sources."""
    settings = family.settings.model_validate(proposal.settings)
    problems = list(source_problems(family, settings))
    if not problems and family.shortages is not None:
        try:
            problems += family.shortages(settings)
        except WrongInput as error:
            problems += error.problems
    if problems:
        raise Lacking(problems[0])


def _foreign(material: Sequence[Material]) -> str:
    """Return what to say of languages that no family reads."""
    languages = dict.fromkeys(some.language for some in material if some.language not in LANGUAGES)
    names = " and ".join(NAMES[language] for language in languages)
    return f"; it does not read {names}" if names else ""
