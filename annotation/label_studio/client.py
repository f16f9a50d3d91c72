"""A client of any Label Studio, local or the user's own: what the sync needs, each call typed, each error one line.

Nothing that writes is sent twice: the server may have done it and lost only the answer. Who meets `Unanswered` lists
what is there and compares.
"""

import contextlib
import html
import re
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from itertools import count
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

import httpx
from pydantic import Field

from schemas.base import Frozen
from schemas.errors import Failed, WrongInput

if TYPE_CHECKING:
    from label_studio_sdk import LabelStudio

OLDEST = (1, 20)
"""The oldest release whose behaviour is known."""
REACH_S = 10.0
"""How long a server may take to say which it is, in seconds."""
ANSWER_S = 600.0
"""How long any other answer may take, in seconds: an import or an export of everything is one request."""
PAGE = 3000
"""Rows a page of a listing, if the server gives so many: of projects it gives 100."""
READING = {"max_retries": 2}
"""What only reads may be asked again by the SDK."""
SHOWN_CHARACTERS = 300
"""How much of a server's own message an error shows."""
COLUMNS = (
    "id", "inner_id", "completed_at", "total_annotations", "cancelled_annotations", "total_predictions", "annotators",
    "annotations_results", "annotations_ids", "predictions_score", "predictions_model_versions", "predictions_results",
    "file_upload", "storage_filename", "created_at", "updated_at", "updated_by", "avg_lead_time", "draft_exists",
)  # fmt: skip
"""What a table of tasks tells beside their data. A view says what it hides, and shows all else."""
DATE, WIDE = "completed_at", 1000
"""The column that tells when a task was handed in; the width of the one for which the table is read, in pixels."""
KEY = re.compile(r"[\x21-\x7e]+")
TITLE = range(3, 51)
"""How many characters a project's title may have."""

Row = dict[str, Any]
"""A task or an annotation as the server has it."""


class Unanswered(Failed):
    """The server did not answer, or broke off: what was asked may or may not have been done."""


class Refused(Failed):
    """The server said no; nothing was done."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status
        """HTTP status: 404 where there is no such thing, 400 for what is not valid."""


class KeyRefused(WrongInput):
    """The server does not take the key."""


class ProjectInfo(Frozen):
    """A project as the server has it."""

    id: int
    title: str
    label_config: str
    maximum_annotations: int = Field(description="How many people each task is for")
    description: str
    instruction: str = Field(description="HTML that people can open beside each task")
    tasks: int


def connect(url: str, api_key: str) -> "Client":
    """The client of the server at `url`; `api_key` is a personal access token or a legacy one.

    Raises `WrongInput` for an address or a key that is none, a key that is refused and a server older than `OLDEST`,
    and `Unanswered` where none answers.
    """
    url = url.rstrip("/")
    if not KEY.fullmatch(api_key):
        raise KeyRefused(f"{url}: the key is empty or holds white space or other characters that no key has")
    is_local = urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")
    # A proxy of the environment does not know the way back to this machine.
    http = httpx.Client(timeout=ANSWER_S, follow_redirects=True, trust_env=not is_local)
    try:
        return _connected(url, api_key, http)
    except BaseException:
        http.close()
        raise


def _connected(url: str, api_key: str, http: httpx.Client) -> "Client":
    """The client over these connections, once the server has said its version and taken the key."""
    with _told(url, "say its version"):
        release = _release(url, http.get(f"{url}/api/version", timeout=REACH_S, follow_redirects=False))
    if tuple(int(one) for one in release.split(".")[:2]) < OLDEST:
        raise WrongInput(f"{url}: is Label Studio {release}; {'.'.join(map(str, OLDEST))} or later is needed")
    from label_studio_sdk import LabelStudio

    with _told(url, "take the key"):
        sdk = LabelStudio(  # type: ignore[no-untyped-call]
            base_url=url, api_key=api_key, timeout=ANSWER_S, max_retries=0, httpx_client=http
        )
        sdk.users.whoami(request_options={"timeout": REACH_S})
    return Client(url, release, http, sdk)


def _release(url: str, answer: httpx.Response) -> str:
    """The server's release, from its answer to `/api/version`."""
    if answer.is_redirect:
        raise WrongInput(f"{url}: sends on to {answer.headers.get('location', 'nowhere')}; name the address it ends at")
    try:
        release = str(answer.json()["release"])
    except (ValueError, KeyError, TypeError):
        release = ""
    if not re.match(r"\d+\.\d+", release):
        raise WrongInput(f"{url}: what answers there (status {answer.status_code}) is no Label Studio")
    return release


class Client:
    """A server and a key that it takes. Every method raises `Unanswered`, `Refused` or `KeyRefused`."""

    def __init__(self, url: str, release: str, http: httpx.Client, sdk: "LabelStudio") -> None:
        self.url = url
        self.release = release
        self._http = http
        self._sdk = sdk

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def projects(self) -> list[ProjectInfo]:
        """Every project that the key's owner sees."""
        with _told(self.url, "list its projects"):
            return [_project(row) for row in self._pages("api/projects/", {"page_size": PAGE}, "results", "count")]

    def project(self, project: int) -> ProjectInfo:
        """One project."""
        with _told(self.url, f"tell of project {project}"):
            return _project(self._get(f"api/projects/{project}/").json())

    def make_project(
        self, title: str, label_config: str, *, maximum_annotations: int = 1, description: str = "",
        instruction: str = "", comes_back: bool = False,
    ) -> int:  # fmt: skip
        """Make a project and return its number; `instruction` is HTML that people can open beside each task.

        What a person skips `comes_back` to them; else it goes to others, and is done where there are none.
        """
        if len(title) not in TITLE:
            raise WrongInput(f"{title!r}: a project's title has {TITLE.start} to {TITLE.stop - 1} characters")
        with _told(self.url, f"make the project {title!r}"):
            made = self._sdk.projects.create(
                title=title, label_config=label_config, maximum_annotations=maximum_annotations,
                description=description, expert_instruction=instruction, show_instruction=bool(instruction),
                enable_empty_annotation=False,
                skip_queue="REQUEUE_FOR_ME" if comes_back else "REQUEUE_FOR_OTHERS",
            )  # fmt: skip
            return _number(made.id)

    def views(self, project: int) -> int:
        """How many views, the tabs over its table of tasks, a project has."""
        with _told(self.url, f"list the views of project {project}"):
            return len(self._get("api/dm/views/", {"project": project}).json())

    def make_view(
        self, project: int, title: str, *, people: int, done: bool, first: str, hidden: Sequence[str] = ()
    ) -> None:
        """Make a view of the tasks that fewer than `people` have handed in or, `done`, of the others, the latest first.

        Of their data it shows the field `first`, in a wide column, and what is not `hidden`; beside it only when a
        task was handed in. Where there is nothing to show it says so: without a filter it would ask to import.
        """
        shown = {DATE} if done else set()
        columns = [f"tasks:{name}" for name in COLUMNS if name not in shown] + [f"tasks:data.{name}" for name in hidden]
        limit = {"filter": "filter:tasks:total_annotations", "operator": "greater_or_equal" if done else "less",
                 "type": "Number", "value": people}  # fmt: skip
        content = {
            "title": title,
            "hiddenColumns": {"explore": columns, "labeling": columns},
            "columnsWidth": {f"tasks:data.{first}": WIDE},
            "filters": {"conjunction": "and", "items": [limit]},
            "ordering": [f"-tasks:{DATE}"] if done else [],
        }
        with _told(self.url, f"lay out the tasks of project {project}"):
            self._request("POST", "api/dm/views/", json={"project": project, "data": content})

    def set_description(self, project: int, description: str) -> None:
        """Replace what stands on a project's card."""
        with _told(self.url, f"describe project {project}"):
            self._sdk.projects.update(project, description=description)

    def set_config(self, project: int, label_config: str) -> None:
        """Replace a project's labelling configuration."""
        with _told(self.url, f"change the form of project {project}"):
            self._sdk.projects.update(project, label_config=label_config)

    def set_instruction(self, project: int, instruction: str) -> None:
        """Replace the HTML that people can open beside each task."""
        with _told(self.url, f"change the instruction of project {project}"):
            self._sdk.projects.update(project, expert_instruction=instruction, show_instruction=bool(instruction))

    def delete_project(self, project: int) -> None:
        """Delete a project with everything in it."""
        with _told(self.url, f"delete project {project}"):
            self._sdk.projects.delete(project)

    def import_tasks(self, project: int, tasks: Sequence[Mapping[str, Any]]) -> int:
        """Import tasks, each with `data`: all of them or none. Returns how many the server says it made."""
        with _told(self.url, f"import tasks into project {project}"):
            return int(self._request("POST", f"api/projects/{project}/import", json=list(tasks)).json()["task_count"])

    def list_tasks(self, project: int, fields: Sequence[str] = ("id", "data")) -> list[Row]:
        """Every task of a project, with these fields."""
        asked = {"project": project, "page_size": PAGE, "fields": "task_only", "include": ",".join(fields)}
        with _told(self.url, f"list the tasks of project {project}"):
            return self._pages("api/tasks/", asked, "tasks", "total")

    def export(self, project: int) -> list[Row]:
        """Every task of a project with its annotations, if it has any."""
        asked = {"exportType": "JSON", "download_all_tasks": "true"}
        with _told(self.url, f"export project {project}"):
            rows: list[Row] = self._get(f"api/projects/{project}/export", asked).json()
            return rows

    def patch_task(self, task: int, data: Mapping[str, Any]) -> None:
        """Replace a task's data."""
        with _told(self.url, f"change task {task}"):
            self._sdk.tasks.update(str(task), data=dict(data))

    def delete_task(self, task: int) -> None:
        """Delete a task with its annotations."""
        with _told(self.url, f"delete task {task}"):
            self._sdk.tasks.delete(str(task))

    def annotations(self, task: int) -> list[Row]:
        """The annotations of a task."""
        with _told(self.url, f"list the annotations of task {task}"):
            rows: list[Row] = self._get(f"api/tasks/{task}/annotations/").json()
            return rows

    def annotate(self, task: int, result: Sequence[Mapping[str, Any]]) -> int:
        """Hand in an annotation of the key's owner; returns its number."""
        with _told(self.url, f"annotate task {task}"):
            content = {"result": [dict(one) for one in result], "ground_truth": False}
            return int(self._request("POST", f"api/tasks/{task}/annotations/", json=content).json()["id"])

    def delete_annotation(self, annotation: int) -> None:
        """Delete an annotation."""
        with _told(self.url, f"delete annotation {annotation}"):
            self._request("DELETE", f"api/annotations/{annotation}/")

    def webhook(self, project: int, url: str, headers: Mapping[str, str]) -> int:
        """Have every change of a project told to `url` with these headers; returns the webhook's number.

        The server waits for an answer a second at most, tries once, and tells nobody of a failure.
        """
        with _told(self.url, f"make a webhook for project {project}"):
            made = self._sdk.webhooks.create(
                project=project, url=url, headers=dict(headers), send_payload=True, send_for_all_actions=True
            )
            return _number(made.id)

    def webhooks(self, project: int) -> list[Row]:
        """The webhooks of a project, each with `id`, `url` and `headers`."""
        with _told(self.url, f"list the webhooks of project {project}"):
            rows: list[Row] = self._get("api/webhooks/", {"project": project}).json()
            return rows

    def delete_webhook(self, webhook: int) -> None:
        """Delete a webhook."""
        with _told(self.url, f"delete webhook {webhook}"):
            self._sdk.webhooks.delete(webhook)

    def users(self) -> dict[str, int]:
        """The number of each account, by its e-mail in lower case."""
        with _told(self.url, "list its accounts"):
            return {str(row["email"]).lower(): int(row["id"]) for row in self._get("api/users/").json()}

    def sign_up(self, email: str, password: str) -> None:
        """Make an account by the invitation link, as its person would."""
        with _told(self.url, f"make an account for {email}"):
            invitation = self._get("api/invite").json()["invite_url"]
            page = f"{self.url}/{invitation.lstrip('/')}"
            with httpx.Client(timeout=ANSWER_S, trust_env=self._http.trust_env) as person:
                person.get(page).raise_for_status()
                form = {
                    "csrfmiddlewaretoken": person.cookies.get("csrftoken", ""),
                    "email": email,
                    "password": password,
                }
                answer = person.post(page, data=form, headers={"Referer": page})
            if not answer.is_redirect:
                wrong = re.findall(r'class="field_errors">\s*<li>([^<]+)', answer.text)
                said = html.unescape(wrong[0]) if wrong else f"status {answer.status_code}"
                raise Refused(f"{self.url}: no account was made for {email}: {said}", answer.status_code)

    def _pages(self, path: str, asked: Mapping[str, Any], rows: str, total: str) -> list[Row]:
        found: list[Row] = []
        for page in count(1):  # a server may give fewer rows a page than it was asked for
            answer = self._get(path, {**asked, "page": page}).json()
            found += answer[rows]
            if len(found) >= answer[total] or not answer[rows]:
                break
        return found

    def _get(self, path: str, asked: Mapping[str, Any] | None = None) -> httpx.Response:
        return self._request("GET", path, params=dict(asked or {}), request_options=READING)

    def _request(self, method: str, path: str, **content: Any) -> httpx.Response:
        """A request that the SDK has no call for, or a slow one: its listings take 7 s where this takes 1."""
        from label_studio_sdk.core.api_error import ApiError

        # The SDK's own way out, which knows both kinds of key and gets new tokens when they run out.
        answer: httpx.Response = self._sdk._client_wrapper.httpx_client.request(path, method=method, **content)
        if answer.is_error:
            is_json = "json" in answer.headers.get("content-type", "")
            raise ApiError(status_code=answer.status_code, body=answer.json() if is_json else answer.text)
        return answer


def _number(made: int | None) -> int:
    """The number of what was made. Raises `ValueError` where the answer has none."""
    if made is None:
        raise ValueError("no number")
    return made


def _project(row: Row) -> ProjectInfo:
    return ProjectInfo(
        id=row["id"], title=row["title"] or "", label_config=row["label_config"] or "",
        maximum_annotations=row["maximum_annotations"], description=row["description"] or "",
        instruction=row["expert_instruction"] or "", tasks=row["task_number"] or 0,
    )  # fmt: skip


@contextlib.contextmanager
def _told(url: str, what: str) -> Iterator[None]:
    """The one place where errors of the SDK and of its transport become ours; none of them tells the key."""
    from label_studio_sdk.core.api_error import ApiError

    try:
        yield
    except httpx.ConnectError as error:
        raise Unanswered(f"{url}: no server answers there ({error}); start it, or correct annotation.url") from error
    except httpx.TimeoutException as error:
        raise Unanswered(f"{url}: took too long to {what}; run again, what it did is found there") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise Unanswered(
            f"{url}: broke off when it was to {what} ({type(error).__name__}); run again, what it did is found there"
        ) from error
    except ApiError as error:
        raise _refusal(url, what, error.status_code or 0, _said(error.body)) from error
    except (ValueError, KeyError, TypeError) as error:  # of an answer that is not JSON, or has another form
        raise Unanswered(f"{url}: was to {what} and gave an answer that is not Label Studio's") from error


def _refusal(url: str, what: str, status: int, said: str) -> Exception:
    if status == HTTPStatus.UNAUTHORIZED:
        return KeyRefused(f"{url}: does not take the key ({said}); make an access token on your account page there")
    if status == HTTPStatus.FORBIDDEN:
        return KeyRefused(f"{url}: may not {what} with this key ({said}); give the key of an account that may")
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return Unanswered(f"{url}: failed (status {status}) when it was to {what}: {said}; its log tells more")
    return Refused(f"{url}: refused to {what} (status {status}): {said}", status)


def _said(body: object) -> str:
    """The server's own words, on one line."""
    if isinstance(body, Mapping):
        body = body.get("validation_errors") or body.get("detail") or body
    if isinstance(body, str) and "<html" in body.lower():
        return "a web page: the address is not that of the server itself"
    words = " ".join(str(body).split())
    return words if len(words) <= SHOWN_CHARACTERS else f"{words[:SHOWN_CHARACTERS]} ..."
