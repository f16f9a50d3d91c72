"""Strangers: people who come by a study's link, agree to take part, do their tasks, and get a code for it.

The link has the study and the person's id at the platform, such as Prolific. Anybody with an id can use it: the address
is all the proof there is. So a stranger reaches nothing but their own queues. Touchstone knows strangers by
codes alone; their ids are in one file (`strangers.txt`), and nowhere else on the server.

Touchstone cannot be imported here: its side of these files is `annotation/label_studio/strangers.py`.
"""

import fcntl
import json
import os
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from core.middleware import enforce_csrf_checks
from django.conf import settings
from django.http import JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_deny
from organizations.models import Organization
from projects.models import Project
from queue_names import queue_name
from tasks.models import Annotation, AnnotationDraft, Task
from users.functions.common import login
from users.models import User

STUDY, JOINED, STANDING, LOCK = "study.json", "strangers.txt", "standing.json", "strangers.lock"
DOMAIN = "strangers.invalid"
"""Where strangers' accounts have their addresses, each under its code; no mail goes there (RFC 2606)."""
ID = re.compile(r"[A-Za-z0-9]{1,64}")
SCREENED_OUT, LEFT, NONE_LEFT = "screened out", "left", "none left"
"""The standing of those who get no more tasks, as a push writes it."""
ENDED = {
    "none": (403, "No study is open here."),
    "other": (403, "This link is for another study, or for one that is over. Please return your submission."),
    "malformed": (400, "This link has no valid participant id. Please open the study at the platform again."),
    "full": (403, "All places of this study are taken. Please return your submission. Thank you for coming."),
    "before": (403, "You took part in an earlier study of ours, so you cannot take part in this one. "
                    "Please return your submission. Thank you for coming."),
    "named": (403, "You are logged in here already, with an account of your own. Log out first to open this link."),
}  # fmt: skip
"""The status and the sentence for those who cannot join."""


class Stranger(NamedTuple):
    """Somebody who agreed to take part: a line of the file."""

    code: str
    study: str
    person: str
    """Their id at the platform."""
    agreed_at: str
    """In UTC, ISO 8601."""
    consent: str
    """The first digits of the SHA-256 of the text to which they agreed."""


def _folder() -> Path:
    return Path(settings.BASE_DATA_DIR).parent


def _read(name: str) -> dict[str, Any]:
    path = _folder() / name
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return content


def strangers() -> list[Stranger]:
    """Return those who have agreed, in the order in which they did."""
    path = _folder() / JOINED
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [Stranger(*line.split("\t")) for line in lines if line and not line.startswith("#")]


def stranger_code(user: Any) -> str | None:
    """Return a stranger's code; None for everybody else."""
    code, _, domain = str(getattr(user, "email", "")).rpartition("@")
    return code if domain == DOMAIN else None


def _known(person: str) -> Stranger | None:
    return next((one for one in strangers() if one.person == person), None)


def _standings() -> dict[str, str]:
    """Return the standing of those who get no more tasks, by code, as the last push wrote it."""
    return next(reversed(_read(STANDING).values()), {})


def _is_full(study: dict[str, Any]) -> bool:
    """Return whether all places are taken: those of people who left or were screened out are free again."""
    free = {code for code, why in _standings().items() if why in (SCREENED_OUT, LEFT)}
    here = [one for one in strangers() if one.study == study["study"] and one.code not in free]
    return len(here) >= int(study["most_people"])


def _agreed(person: str, study: dict[str, Any]) -> Stranger | None:
    """Write down that a person agrees, once; None if the last place was taken in the meantime."""
    with (_folder() / LOCK).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = strangers()
        if (before := _known(person)) is not None or _is_full(study):
            return before
        number = max((int(one.code[1:]) for one in known), default=0) + 1
        now = datetime.now(UTC).isoformat(timespec="seconds")
        made = Stranger(f"p{number}", str(study["study"]), person, now, str(study["consent_sha256"]))
        lines = ["# code\tstudy\tid at the platform\tagreed at\tconsent text (SHA-256)"]
        lines += ["\t".join(one) for one in (*known, made)]
        temporary = _folder() / f"{JOINED}.tmp"
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))
        temporary.replace(_folder() / JOINED)
        return made


def _sign_in(request: Any, code: str) -> None:
    """Sign a stranger in; the account has no password, and is made if it is not there yet."""
    organization = Organization.objects.first()
    user, is_new = User.objects.get_or_create(email=f"{code}@{DOMAIN}", defaults={"username": code})
    if is_new or user.active_organization_id is None:
        user.set_unusable_password()
        user.active_organization = organization
        user.save()
    organization.add_user(user)
    login(request, user, backend="django.contrib.auth.backends.ModelBackend")


def _refused(request: Any, why: str) -> Any:
    status, sentence = ENDED[why]
    return render(request, "join.html", {"sentence": sentence}, status=status)


def _refusal(request: Any, study: dict[str, Any], given: Any) -> str | None:
    """Return why a person cannot join, from `ENDED`; None for those who can, and those who have."""
    person = given.get("PROLIFIC_PID", "")
    if not study:
        return "none"
    if given.get("STUDY_ID", "") != study["study"]:
        return "other"
    if not ID.fullmatch(person):
        return "malformed"
    if request.user.is_authenticated and stranger_code(request.user) is None:
        return "named"
    known = _known(person)
    if known is None:
        return "full" if _is_full(study) else None
    return None if known.study == study["study"] else "before"


def _join(request: Any) -> Any:
    """Show the consent text, or sign in whoever agrees or has agreed before."""
    study, given = _read(STUDY), request.POST if request.method == "POST" else request.GET
    if (why := _refusal(request, study, given)) is not None:
        return _refused(request, why)
    person = given["PROLIFIC_PID"]
    if (known := _known(person)) is None and request.method != "POST":
        return render(request, "join.html", {"consent": study["consent"], "person": person, "study": study["study"]})
    if (known := known or _agreed(person, study)) is None:
        return _refused(request, "full")
    _sign_in(request, known.code)
    return redirect("/")


join = never_cache(xframe_options_deny(enforce_csrf_checks(_join)))


# ---- what a stranger is told, and reaches ----


def told(code: str, *, is_open: bool, is_done: bool, has_begun: bool) -> dict[str, str]:
    """Return what a stranger is told at the top of their work, in English; nothing while they have tasks.

    It has a `title`, what it `says`, the `code` to take back if there is one, and `waits` if it will change by itself.
    `is_open`: there is something to do; `is_done`: all real tasks are done; `has_begun`: some task is done.
    """
    if is_open:
        return {}
    study, standing = _own_study(code), _standings().get(code)
    if standing == SCREENED_OUT:
        says = (
            "Thank you for trying. Some answers were not yet right after the second try, so we cannot give you more of "
            "these tasks. That says nothing about you: there is one particular way to judge them."
        )
        given = study.get("screened_out_code") or ""
        return {"title": "This is the end of the study", "says": says, "code": given}
    if standing == LEFT:
        says = (
            "Your time for this study is over, and your open tasks went to others. What you did is kept. Please return "
            "your submission, or write to us through the platform."
        )
        return {"title": "This study is over for you", "says": says, "code": ""}
    if is_done or standing == NONE_LEFT:
        says = (
            "You have done all your tasks."
            if study
            else "You have done all your tasks. Your study is over. If you have no code of it yet, please write to us "
            "through the platform."
        )
        return {"title": "All done. Thank you!", "says": says, "code": study.get("code") or ""}
    says = (
        "Your answers are being looked at. This takes about a minute; the page renews itself."
        if has_begun
        else "Your first tasks are being prepared. This takes about a minute; the page renews itself."
    )
    return {"title": "One moment", "says": says, "code": "", "waits": "yes"}


def _own_study(code: str) -> dict[str, Any]:
    """Return the study of the link, with its codes, if the stranger joined that one; another's are not theirs."""
    study = _read(STUDY)
    is_own = any(one.code == code and one.study == study.get("study") for one in strangers())
    return study if is_own else {}


COMPANY = re.compile(r"/api/(?:users|ml)/?")
"""What a form asks for and does not need: who else works here."""
NUMBER = re.compile(r"\d{1,18}")
READS = ("GET", "HEAD")
OF_WORK = (
    "result",
    "lead_time",
    "started_at",
    "was_cancelled",
    "was_postponed",
    "comment",
    "id",
    "draft_id",
    "unique_id",
)
"""What a form sends of the work. Label Studio does not change an `id`, and looks itself whose draft it is."""
NAMING = ("task", "project", "completed_by", "annotation", "parent_annotation", "parent_prediction")
"""What may name other people's work, and so must name one's own."""


class HoldStrangers:
    """Strangers reach their own queues and the work on them: this edition of Label Studio has no roles."""

    def __init__(self, get_response: Callable[[Any], Any]) -> None:
        self.get_response = get_response

    def __call__(self, request: Any) -> Any:
        """Answer the request if a stranger may make it, or somebody else does."""
        code = stranger_code(request.user)
        if code is None or _may(request, code):
            return self.get_response(request)
        if COMPANY.fullmatch(request.path_info) and request.method == "GET":
            return JsonResponse([], safe=False)
        if request.path_info.startswith("/api/") or request.method != "GET":
            return JsonResponse({"detail": "This is not a part of your work."}, status=403)
        return redirect("/")


def _may(request: Any, code: str) -> bool:
    """Return whether a stranger may make a request: to read what is theirs, submit answers, save drafts."""
    for pattern, may in RULES:
        if found := pattern.fullmatch(request.path_info):
            return may(request, code, *found.groups())
    return False


def _always(request: Any, code: str) -> bool:
    return True


def _may_read(request: Any, code: str) -> bool:
    return request.method in READS


def _may_read_project(request: Any, code: str, number: str) -> bool:
    return request.method in READS and _are_own(code, [number])


def _may_read_task(request: Any, code: str, number: str) -> bool:
    return request.method in READS and _is_own_task(code, number)


def _may_check(request: Any, code: str, number: str) -> bool:
    return request.method == "POST" and _is_own_task(code, number)


def _may_submit(request: Any, code: str, number: str, annotation: str | None) -> bool:
    """Drafts may be of a task or, with its number in the address, of an annotation."""
    if not _is_own_task(code, number) or (annotation and not _are_own_annotations(request, [annotation], number)):
        return False
    return request.method in READS or (request.method == "POST" and _is_own_work(request, number))


def _may_change(request: Any, code: str, kind: str, number: str) -> bool:
    """A draft may be discarded; what was submitted may be changed alone."""
    is_draft = kind == "drafts"
    model, owner = (AnnotationDraft, "user") if is_draft else (Annotation, "completed_by")
    work = model.objects.filter(id=int(number), **{owner: request.user}).first()
    if work is None or not _is_own_task(code, str(work.task_id)):
        return False
    if request.method == "PATCH":
        return _is_own_work(request, str(work.task_id))
    return request.method in READS or (is_draft and request.method == "DELETE")


def _is_own_work(request: Any, task: str) -> bool:
    """Return whether what is sent is work on this task, and says nothing else: it could name other people and tasks.

    Only JSON in UTF-8 is read here just as Label Studio reads it.
    """
    if request.content_type != "application/json" or request.content_params.get("charset", "utf-8").lower() != "utf-8":
        return False
    try:
        sent = json.loads(request.body.decode("utf-8"))
    except (ValueError, RecursionError):
        return False
    if not isinstance(sent, dict) or not sent.keys() <= {*OF_WORK, *NAMING}:
        return False
    project = Task.objects.values_list("project_id", flat=True).get(id=int(task))
    own = {"task": task, "project": str(project), "completed_by": str(request.user.id)}
    named = [sent[name] for name in ("annotation", "parent_annotation") if sent.get(name) is not None]
    return (
        all(str(sent[name]) == value for name, value in own.items() if name in sent)
        and sent.get("parent_prediction") is None
        and _are_own_annotations(request, named, task)
    )


def _are_own_annotations(request: Any, numbers: Sequence[Any], task: str) -> bool:
    """Return whether these are numbers of the person's annotations of a task."""
    own = Annotation.objects.filter(task_id=int(task), completed_by=request.user).values_list("id", flat=True)
    return {str(number) for number in numbers} <= {str(number) for number in own}


def _may_list(request: Any, code: str) -> bool:
    projects = request.GET.getlist("project")
    return request.method in READS and "query" not in request.GET and _are_own(code, projects)


def _may_go_on(request: Any, code: str) -> bool:
    is_next = request.method == "POST" and request.GET.getlist("id") == ["next_task"]
    return is_next and _are_own(code, request.GET.getlist("project"))


def _are_own(code: str, projects: Sequence[str]) -> bool:
    """Return whether these are numbers of the person's own queues, and at least one."""
    return bool(projects) and all(
        NUMBER.fullmatch(number) and any(_is_own(project, code) for project in Project.objects.filter(id=int(number)))
        for number in projects
    )


def _is_own(project: Any, code: str) -> bool:
    name = queue_name(project.description)
    return name is not None and name[1] == code


def _is_own_task(code: str, number: str) -> bool:
    return any(_is_own(one.project, code) for one in Task.objects.filter(id=int(number)).select_related("project"))


RULES: list[tuple[re.Pattern[str], Callable[..., bool]]] = [
    (re.compile(pattern), may)
    for pattern, may in (
        (r"/|/join/?|/logout/?", _always),
        (r"/(?:static|react-app|dm|label-studio-frontend)/.*|/(?:favicon\.ico|sw\.js|api/version/?)", _may_read),
        (r"/api/projects(?:/counts)?/?|/api/current-user/whoami/?", _may_read),  # these list one's own alone
        (r"/projects/(\d{1,18})(?:/data)?/?", _may_read_project),
        (r"/api/projects/(\d{1,18})(?:/label-stream-history)?/?", _may_read_project),
        (r"/api/tasks/(\d{1,18})/?", _may_read_task),
        (r"/api/tasks/(\d{1,18})/(?:annotations|drafts|annotations/(\d{1,18})/drafts)/?", _may_submit),
        (r"/check-texts/(\d{1,18})/?", _may_check),
        (r"/api/(annotations|drafts)/(\d{1,18})/?", _may_change),
        (r"/api/(?:tasks|label_links|dm/(?:views|columns|project))/?", _may_list),
        (r"/api/dm/actions/?", _may_go_on),
    )
]
"""The addresses that strangers may use, each with what else must hold."""
