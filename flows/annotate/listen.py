"""Pull and push whenever people have submitted something, so that what follows from it reaches people by itself.

Meanwhile, what the checks find in a text is said while it is written.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, closing
from functools import partial

from annotation.label_studio.client import Client
from annotation.label_studio.config import hidden_boxes
from annotation.label_studio.listener import Listener, register, secret_of
from annotation.label_studio.sync import all_projects_of
from annotation.wording import told
from flows.annotate.findings import findings_of
from flows.annotate.progress import progress
from flows.annotate.pull import pull
from flows.annotate.push import push
from flows.annotate.report import question_line, write_annotation
from flows.annotate.work import Collected, Form, Work, benchmark_of
from flows.construct.embed import SentenceBert
from flows.project.locks import one_writer
from flows.project.project import Project
from schemas.annotation import Finding
from schemas.base import counted
from schemas.errors import Failed, WrongInput, first_line
from schemas.rubric import ENGLISH, Rubric

LEAST_S = 20.0
"""Seconds from one round to the next: what is submitted meanwhile goes into one round."""
MOST_S = 600.0
"""Seconds without a report after which there is a round: the server tries to report a change only once."""

WRITING: tuple[Form, ...] = ("work", "revision", "review", "deciding")
"""The forms with texts that the checks are about."""


class TextChecks:
    """What the checks find in texts on the records that people are asked about, as of the last round."""

    def __init__(self) -> None:
        self._known: Mapping[str, tuple[Rubric, Work]] = {}
        self._embedder = SentenceBert()

    def know(self, works: Iterable[Collected], embedder: SentenceBert) -> None:
        """Take the records of these works from now on; the embedder stays if it is the same, and so stays loaded."""
        self._known = {
            form.name: (form, collected.work)
            for collected in works
            for purpose, form in collected.work.forms.items()
            if purpose in WRITING
        }
        if (embedder.model, embedder.languages) != (self._embedder.model, self._embedder.languages):
            self._embedder = embedder

    def __call__(self, form: str, item: str, answers: Mapping[str, str]) -> list[Finding]:
        """Return the problems with the texts that are written: a person may not have come to the others yet.

        Only once all required ones are written is it known whether they make a valid record. They are told in the
        language of the item's form.
        """
        if form not in self._known:
            return []
        rubric, work = self._known[form]
        people, record = work.people, work.records.get(item)
        hidden = hidden_boxes(rubric, answers)
        texts = {name: text for name, text in answers.items() if text.strip() and name not in hidden}
        if record is None:
            findings = []
        elif all(write.name in texts for write in people.rubric.writes if write.required):
            findings = findings_of(texts, record, people, self._embedder)
        else:
            findings = list(people.checks(record, texts, self._embedder))
        language = next((task.language for task in work.tasks if task.item_key == item), ENGLISH)
        in_words = partial(told, people.rubric.in_language(language))
        return [
            finding.model_copy(update={"problem": in_words(finding.problem)})
            for finding in findings
            if finding.name in texts
        ]


class Rounds:
    """Rounds of a pull and a push, while a listener is open."""

    def __init__(
        self,
        opened: Callable[[], Project],
        connected: Callable[[Project], AbstractContextManager[Client]],
        listener: Listener,
        say: Callable[[str], None],
        checks: TextChecks,
    ) -> None:
        """Each round opens the build, and connects to the server, anew; `say` is given lines for the lead.

        `checks` get each round's records.
        """
        self._opened, self._connected, self._listener, self._say = opened, connected, listener, say
        self._checks = checks
        self._heard_of: set[int] = set()
        self._said: set[str] = set()
        self._problem = ""

    def run(self) -> None:
        """Begin with a round; another follows each report. What goes wrong is said, and the next round tries again."""
        while self._listener.is_open:
            began = time.monotonic()
            self._listener.forget()
            try:
                with closing(self._opened()) as project, self._connected(project) as client:
                    most_s = self._round(project, client)
                self._problem = ""
            except Exception as error:  # noqa: BLE001 - nobody is there at night to start it again
                most_s = LEAST_S
                if (problem := _told(error)) != self._problem:
                    self._problem = problem
                    self._say(problem)
            self._listener.wait(most_s)
            time.sleep(max(0.0, began + LEAST_S - time.monotonic()) if self._listener.is_open else 0.0)

    def _round(self, project: Project, client: Client) -> float:
        """Pull and push. Returns after how many seconds there is another round, if nothing is reported before."""
        self._listen_to_all(project, client)
        with one_writer(project.state, self._say):
            collected = pull(project, client)
            self._checks.know(collected, project.bert)
            pushed = push(project, client)
            for queue in pushed.queues:  # said at once: if the round fails from here on, the next one knows none of it
                if new := queue.imported + queue.revived:
                    self._say(f"{queue.queue.partition('/')[2]}: {counted(new, 'new task')}")
            write_annotation(project, collected, progress(project, client, collected))
        unheard = self._listen_to_all(project, client)
        self._say_once(
            [
                *(f"{work.rubric}: {note}" for work in collected for note in work.notes),
                *(question_line(asked) for work in collected for asked in work.questions),
                *pushed.messages,
            ]
        )
        return LEAST_S if unheard else MOST_S  # somebody may have submitted before the server was to report it

    def _listen_to_all(self, project: Project, client: Client) -> set[int]:
        """Have the server report changes in every project; return the projects of which it did not until now."""
        unheard = {info.id for _, info in all_projects_of(client, benchmark_of(project))} - self._heard_of
        for number in sorted(unheard):
            register(client, number, self._listener.url, secret_of(project.state))
        self._heard_of |= unheard
        return unheard

    def _say_once(self, lines: list[str]) -> None:
        """Say the lines that were not said of the round before: a shortage lasts until somebody sees to it."""
        for line in lines:
            if line not in self._said:
                self._say(line)
        self._said = set(lines)


def _told(error: Exception) -> str:
    """Return what went wrong in a round, in a line."""
    if isinstance(error, Failed | WrongInput | OSError):
        return first_line(error)
    return f"unexpected {type(error).__name__}: {first_line(error)}; it is tried again; if it stays, report it"
