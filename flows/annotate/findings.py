"""What is wrong with a person's annotation, by the checks of the part and by what makes a valid record."""

from collections.abc import Mapping

from pydantic import ValidationError

from flows.construct.embed import Embedder
from flows.construct.people import People, in_words
from schemas.annotation import Finding
from schemas.base import Record
from schemas.errors import first_problem


def findings_of(answers: Mapping[str, str], record: Record | None, people: People, embedder: Embedder) -> list[Finding]:
    """Return what the people's checks find in an annotation of the record, and whether its texts make a valid record.

    There are no findings if the record is gone.
    """
    if record is None:
        return []
    findings = list(people.checks(record, answers, embedder))
    changes = {
        name: answers[name]
        for name in people.rubric.corrects
        if name in answers and answers[name].split() != in_words(getattr(record, name)).split()
    }
    if changes and not any(finding.rejects for finding in findings):
        try:
            unfit = people.unfit(record.revised(**changes))
        except ValidationError as error:
            unfit = (first_problem(error, "the texts"), "")
        if unfit is not None:
            findings.append(Finding(name=next(iter(changes)), problem=": ".join(filter(None, unfit)), rejects=True))
    return findings
