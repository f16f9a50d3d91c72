"""The part of the configuration about people: who annotates, on which Label Studio, and who may join."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, ValidationInfo, field_validator

from annotation.label_studio.strangers import DOMAIN
from schemas.base import Frozen
from schemas.rubric import Survey

PRINTABLE = r"^[^\x00-\x1f]+$"
"""The characters of a path or an address."""
PERSON = r"^[a-z0-9][a-z0-9_-]{0,19}$"
"""A person's code: our files and the titles of projects have it in place of a name."""
STRANGER = r"p[0-9]+"
"""The code of somebody who joins a study."""
STUDY = r"^[A-Za-z0-9]{1,64}$"
LONGEST_EMAIL = 254
EMAIL = r"^[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$"
ORIGIN = r"https?://[a-z0-9-]+(\.[a-z0-9-]+)*(:[0-9]{1,5})?"
LOCAL = "local"


class StrangersSettings(Frozen):
    """A study at a platform such as Prolific, whose people join by a link."""

    study: str = Field(pattern=STUDY, description="The study's id at the platform, as its link has it")
    rubric: str = Field(description="The form whose tasks they do; named people no longer do these")
    consent: str = Field(
        pattern=PRINTABLE, description="A file in Markdown: what they agree to before anything is kept of them"
    )
    most_people: int = Field(ge=0, strict=True, description="So many may take part; 0 closes the study to new people")
    most_tasks: int = Field(
        ge=2, strict=True, description="A person gets at most so many tasks, beside practice; one has a known answer"
    )
    languages: tuple[Literal["en", "zh"], ...] = Field(
        ("en",), min_length=1, description="The languages of the items they get, first the one they practise in"
    )


class AnnotationSettings(Frozen):
    """Who annotates, and on which Label Studio."""

    url: str = Field(
        LOCAL, description="`local`, or the address of your own Label Studio, with its key in LABEL_STUDIO_API_KEY"
    )
    public_url: str | None = Field(
        None, description="The address of your proxy before the `local` server, such as https://labels.example.org; "
        "null: the server answers on this machine only"
    )  # fmt: skip
    people: Mapping[Annotated[str, Field(pattern=PERSON)], str] = Field(
        default_factory=dict, description="Each person's code -> the e-mail address they log in with"
    )
    languages: Mapping[str, Annotated[tuple[Literal["en", "zh"], ...], Field(min_length=1)]] = Field(
        default_factory=dict, description="Person's code -> the languages of the items they get, first the one they "
        "practise in; who is not named here gets all"
    )  # fmt: skip
    strangers: StrangersSettings | None = Field(
        None, description="A study whose people join by a link; null: nobody joins"
    )
    lead: str | None = Field(
        None, description="Code of who decides where people differ, and does nothing else; null: a third person"
    )
    overlap_first: int = Field(100, ge=0, strict=True, description="This many items of each rubric go to two people")
    gold_share: float = Field(0.1, ge=0, lt=1, description="Share of a person's tasks whose answers are known")
    certainty: float | None = Field(
        None, gt=0.5, lt=1, description="Items that people only judge go to one person, and to more as long as the "
        "decision is less probable than this; null: to as many as the form asks for"
    )  # fmt: skip
    surveys: Mapping[str, Survey] = Field(
        default_factory=dict, description="By rubric, the questionnaire for people who have done all their tasks"
    )

    @field_validator("url")
    @classmethod
    def _is_url(cls, value: str) -> str:
        if value == LOCAL:
            return value
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("expected `local`, or an address such as https://labels.example.org")
        if parts.query or parts.fragment or "@" in parts.netloc:
            raise ValueError("an address ends with its path; the key goes into the environment, LABEL_STUDIO_API_KEY")
        return value.rstrip("/")

    @field_validator("people")
    @classmethod
    def _are_different(cls, people: Mapping[str, str]) -> Mapping[str, str]:
        seen: dict[str, str] = {}
        for code, email in people.items():
            if not re.fullmatch(EMAIL, email) or len(email) > LONGEST_EMAIL:
                raise ValueError(f"{code}: {email[:LONGEST_EMAIL]!r} is not an e-mail address such as anna@example.org")
            if (other := seen.setdefault(email.lower(), code)) != code:
                raise ValueError(
                    f"{other} and {code} have the same e-mail address; each person needs an account of their own"
                )
        return people

    @field_validator("public_url")
    @classmethod
    def _is_origin(cls, value: str | None, others: ValidationInfo) -> str | None:
        if value is None:
            return None
        if others.data.get("url", LOCAL) != LOCAL:
            raise ValueError("is for the `local` server alone: another one has its own settings")
        value = value.rstrip("/").lower()
        if not re.fullmatch(ORIGIN, value):
            raise ValueError("expected an address without a path, such as https://labels.example.org")
        return value

    @field_validator("strangers")
    @classmethod
    def _can_join(cls, strangers: StrangersSettings | None, others: ValidationInfo) -> StrangersSettings | None:
        if strangers is None or not {"url", "people"} <= others.data.keys():
            return strangers
        if others.data["url"] != LOCAL:
            raise ValueError("people join on the `local` server alone: another one has no page for it")
        if not others.data["people"]:
            raise ValueError("name the `people` too: they decide where strangers differ")
        for code, email in others.data["people"].items():
            if re.fullmatch(STRANGER, code) or email.lower().endswith(f"@{DOMAIN}"):
                raise ValueError(f"people.{code}: strangers have codes such as p1, at {DOMAIN}; choose another")
        return strangers

    @field_validator("lead")
    @classmethod
    def _is_named(cls, lead: str | None, others: ValidationInfo) -> str | None:
        people = others.data.get("people", {lead: ""})
        if lead is not None and lead not in people:
            raise ValueError(f"expected the code of one of `people`{': ' if people else ''}{', '.join(people)}")
        if lead is not None and len(people) == 1 and "people" in others.data and not others.data.get("strangers"):
            raise ValueError("name somebody else among the `people` too: the lead only decides where others differ")
        return lead

    @field_validator("certainty")
    @classmethod
    def _has_people(cls, certainty: float | None, others: ValidationInfo) -> float | None:
        if certainty is not None and not others.data.get("people", {"": ""}):
            raise ValueError("name the `people` too: each item goes to one of them after another")
        return certainty

    @field_validator("surveys")
    @classmethod
    def _have_people(cls, surveys: Mapping[str, Survey], others: ValidationInfo) -> Mapping[str, Survey]:
        if surveys and not others.data.get("people", {"": ""}):
            raise ValueError("name the `people` too: each of them is asked once all their tasks are done")
        return surveys

    @field_validator("languages")
    @classmethod
    def _are_of_people(cls, languages: Mapping[str, Any], others: ValidationInfo) -> Mapping[str, Any]:
        people = others.data.get("people", languages)
        if unknown := sorted(set(languages).difference(people)):
            raise ValueError(
                f"{unknown[0]}: expected the code of one of `people`{': ' if people else ''}{', '.join(people)}"
            )
        return languages

    def languages_of(self, code: str) -> tuple[str, ...] | None:
        """Return the languages of the items that a person gets, first the one they practise in; None: all."""
        if self.strangers is not None and re.fullmatch(STRANGER, code):
            return self.strangers.languages
        return self.languages.get(code)

    def can_read(self, code: str, language: str) -> bool:
        """Return whether a person reads a language."""
        own = self.languages_of(code)
        return own is None or language in own

    def is_for_strangers(self, rubric: str) -> bool:
        """Return whether the rubric is the one of the study: strangers do its tasks, and named people only decide."""
        return self.strangers is not None and self.strangers.rubric == rubric

    @property
    def annotators(self) -> tuple[str, ...]:
        """The codes of all people but the lead."""
        return tuple(code for code in self.people if code != self.lead)
