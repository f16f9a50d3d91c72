"""A client of any Label Studio, local or the user's own: what the sync needs, each call typed, each error one line.

No write is sent twice: the server may have done it and only the answer was lost. After `Unanswered`, the caller lists
what is there and compares.
"""

import contextlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from http import HTTPStatus
from itertools import count
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

import httpx
from pydantic import Field

from annotation.label_studio.failures import KeyRefused, Refused, Unanswered, errors_named, redirection, refuse_redirect
from schemas.base import Frozen
from schemas.errors import WrongInput

if TYPE_CHECKING:
    from label_studio_sdk import LabelStudio

OLDEST = (1, 20)
"""The oldest release whose behaviour is known."""
REACH_S = 10.0
"""How long a server may take to name its version, in seconds."""
ANSWER_S = 600.0
"""How long any other answer may take, in seconds: an import or an export of everything is one request."""
PAGE = 3000
"""Rows per page of a listing, if the server returns that many: of projects it returns 100."""
READING = {"max_retries": 2}
"""Only reads may be repeated by the SDK."""
COLUMNS = (
    "id", "inner_id", "completed_at", "total_annotations", "cancelled_annotations", "total_predictions", "annotators",
    "annotations_results", "annotations_ids", "predictions_score", "predictions_model_versions", "predictions_results",
    "file_upload", "storage_filename", "created_at", "updated_at", "updated_by", "avg_lead_time", "draft_exists",
)  # fmt: skip
"""The columns of a table of tasks beside their data. A view names those that it hides, and shows all others."""
DATE, WIDE = "completed_at", 1000
"""The column with the time of submission; the width of the main column, in pixels."""
KEY = re.compile(r"[\x21-\x7e]+")
TITLE = range(3, 51)
"""How many characters a project's title may have."""

Row = dict[str, Any]
"""A task or an annotation as the server has it."""


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
    """Return the client of the server at `url`; `api_key` is a personal access token or a legacy one.

    Raises `WrongInput` for an invalid address or key, a key that is refused and a server older than `OLDEST`, and
    `Unanswered` if no server answers.
    """
    url = url.rstrip("/")
    if not KEY.fullmatch(api_key):
        raise KeyRefused(f"{url}: the key is empty, or has white space or other characters that no key has")
    is_local = urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")
    # A proxy from the environment cannot reach this machine.
    http = httpx.Client(timeout=ANSWER_S, trust_env=not is_local)  # no redirect gets the key
    try:
        return _connected(url, api_key, http)
    except BaseException:
        http.close()
        raise


def _connected(url: str, api_key: str, http: httpx.Client) -> "Client":
    """Return the client over these connections, once the server has named its version and accepted the key."""
    with errors_named(url, "name its version"):
        release = _release(url, _version(url, http))
    if tuple(int(number) for number in release.split(".")[:2]) < OLDEST:
        raise WrongInput(f"{url}: is Label Studio {release}; {'.'.join(map(str, OLDEST))} or later is needed")
    http.event_hooks = {"response": [partial(refuse_redirect, url)]}
    from label_studio_sdk import LabelStudio

    with errors_named(url, "accept the key"):
        sdk = LabelStudio(  # type: ignore[no-untyped-call]
            base_url=url, api_key=api_key, timeout=ANSWER_S, max_retries=0, httpx_client=http
        )
        sdk.users.whoami(request_options={"timeout": REACH_S, **READING})
    return Client(url, release, http, sdk)


def _version(url: str, http: httpx.Client) -> httpx.Response:
    """Ask for the version, twice if the server fails or breaks off: a rebuild would go on without what people did."""
    ask = partial(http.get, f"{url}/api/version", timeout=REACH_S)
    with contextlib.suppress(httpx.NetworkError, httpx.RemoteProtocolError):
        answer = ask()
        if not answer.is_server_error:
            return answer
    return ask()


def _release(url: str, answer: httpx.Response) -> str:
    """Return the server's release, from its answer to `/api/version`."""
    if answer.is_server_error:
        raise Unanswered(f"{url}: failed (status {answer.status_code}) when asked to name its version; see its log")
    if answer.is_redirect:
        raise WrongInput(redirection(url, answer))
    try:
        release = str(answer.json()["release"])
    except (ValueError, KeyError, TypeError, RecursionError):
        release = ""
    if not re.match(r"\d+\.\d+", release):
        raise WrongInput(f"{url}: the server there (status {answer.status_code}) is not Label Studio")
    return release


class Client:
    """A server and a key that it accepts. Every method raises `Unanswered`, `Refused` or `KeyRefused`."""

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

    def tasks_url(self, project: int) -> str:
        """Return the address of a project's table of tasks."""
        return f"{self.url}/projects/{project}/data"

    def task_url(self, project: int, task: int) -> str:
        """Return the address at which a task of a project is open."""
        return f"{self.tasks_url(project)}?task={task}"

    def projects(self) -> list[ProjectInfo]:
        """Return every project that the key's owner sees."""
        with errors_named(self.url, "list its projects"):
            return [_project(row) for row in self._pages("api/projects/", {"page_size": PAGE}, "results", "count")]

    def project(self, project: int) -> ProjectInfo:
        """Return one project."""
        with errors_named(self.url, f"show project {project}"):
            return _project(self._get(f"api/projects/{project}/"))

    def make_project(
        self, title: str, label_config: str, *, maximum_annotations: int = 1, description: str = "",
        instruction: str = "", comes_back: bool = False,
    ) -> int:  # fmt: skip
        """Make a project and return its number; `instruction` is HTML that people can open beside each task.

        A task that a person skips `comes_back` to them; otherwise it goes to others, and is done if there are none.
        """
        if len(title) not in TITLE:
            raise WrongInput(f"{title!r}: a project's title has {TITLE.start} to {TITLE.stop - 1} characters")
        with errors_named(self.url, f"make the project {title!r}"):
            return self._send("POST", "api/projects/", {
                "title": title, "label_config": label_config, "maximum_annotations": maximum_annotations,
                "description": description, "expert_instruction": instruction, "show_instruction": bool(instruction),
                "enable_empty_annotation": False,
                "skip_queue": "REQUEUE_FOR_ME" if comes_back else "REQUEUE_FOR_OTHERS",
            })  # fmt: skip

    def delete_project(self, project: int) -> None:
        """Delete a project with all that is in it."""
        with errors_named(self.url, f"delete project {project}"):
            self._delete(f"api/projects/{project}/")

    def views(self, project: int) -> list[str]:
        """Return the titles of a project's views, the tabs above its table of tasks."""
        with errors_named(self.url, f"list the views of project {project}"):
            return [view["data"].get("title", "") for view in self._rows("api/dm/views/", {"project": project})]

    def make_view(
        self, project: int, title: str, *, people: int, done: bool, first: str, hidden: Sequence[str] = ()
    ) -> None:
        """Make a view of the tasks that fewer than `people` have submitted or, if `done`, of the others, latest first.

        Of their data it shows the field `first`, in a wide column, and what is not `hidden`; otherwise only the time of
        submission. An empty view says so: without a filter it would ask to import tasks.
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
        with errors_named(self.url, f"lay out the tasks of project {project}"):
            self._send("POST", "api/dm/views/", {"project": project, "data": content})

    def set_description(self, project: int, description: str) -> None:
        """Replace the text on a project's card."""
        with errors_named(self.url, f"describe project {project}"):
            self._send("PATCH", f"api/projects/{project}/", {"description": description})

    def set_config(self, project: int, label_config: str) -> None:
        """Replace a project's labelling configuration."""
        with errors_named(self.url, f"change the form of project {project}"):
            self._send("PATCH", f"api/projects/{project}/", {"label_config": label_config})

    def set_instruction(self, project: int, instruction: str) -> None:
        """Replace the HTML that people can open beside each task."""
        with errors_named(self.url, f"change the instruction of project {project}"):
            shown = {"expert_instruction": instruction, "show_instruction": bool(instruction)}
            self._send("PATCH", f"api/projects/{project}/", shown)

    def import_tasks(self, project: int, tasks: Sequence[Mapping[str, Any]]) -> int:
        """Import tasks, each with `data`: all of them or none. Return how many the server says it made."""
        with errors_named(self.url, f"import tasks into project {project}"):
            return self._send("POST", f"api/projects/{project}/import", list(tasks), "task_count")

    def list_tasks(self, project: int, fields: Sequence[str] = ("id", "data")) -> list[Row]:
        """Return every task of a project, with these fields."""
        asked = {"project": project, "page_size": PAGE, "fields": "task_only", "include": ",".join(fields)}
        with errors_named(self.url, f"list the tasks of project {project}"):
            return self._pages("api/tasks/", asked, "tasks", "total")

    def export(self, project: int) -> list[Row]:
        """Return every task of a project with its annotations."""
        asked = {"exportType": "JSON", "download_all_tasks": "true"}
        with errors_named(self.url, f"export project {project}"):
            return self._rows(f"api/projects/{project}/export", asked)

    def patch_task(self, task: int, data: Mapping[str, Any]) -> None:
        """Replace a task's data."""
        with errors_named(self.url, f"change task {task}"):
            self._send("PATCH", f"api/tasks/{task}/", {"data": dict(data)})

    def annotations(self, task: int) -> list[Row]:
        """Return the annotations of a task."""
        with errors_named(self.url, f"list the annotations of task {task}"):
            return self._rows(f"api/tasks/{task}/annotations/")

    def annotate(self, task: int, result: Sequence[Mapping[str, Any]]) -> int:
        """Submit an annotation by the key's owner and return its number."""
        with errors_named(self.url, f"annotate task {task}"):
            content = {"result": [dict(answer) for answer in result], "ground_truth": False}
            return self._send("POST", f"api/tasks/{task}/annotations/", content)

    def delete_annotation(self, annotation: int) -> None:
        """Delete an annotation."""
        with errors_named(self.url, f"delete annotation {annotation}"):
            self._delete(f"api/annotations/{annotation}/")

    def webhook(self, project: int, url: str, headers: Mapping[str, str]) -> int:
        """Have every change of a project reported to `url` with these headers; return the webhook's number.

        The server waits a second at most for an answer, tries once, and reports no failure.
        """
        with errors_named(self.url, f"make a webhook for project {project}"):
            content = {"project": project, "url": url, "headers": dict(headers)}
            return self._send("POST", "api/webhooks/", {**content, "send_payload": True, "send_for_all_actions": True})

    def webhooks(self, project: int) -> list[Row]:
        """Return the webhooks of a project, each with `id`, `url` and `headers`."""
        with errors_named(self.url, f"list the webhooks of project {project}"):
            return self._rows("api/webhooks/", {"project": project})

    def delete_webhook(self, webhook: int) -> None:
        """Delete a webhook."""
        with errors_named(self.url, f"delete webhook {webhook}"):
            self._delete(f"api/webhooks/{webhook}/")

    def users(self) -> dict[str, int]:
        """Return the number of each account, by its e-mail address in lower case."""
        with errors_named(self.url, "list its accounts"):
            return {str(row["email"]).lower(): _number(row["id"]) for row in self._rows("api/users/")}

    def sign_up(self, email: str, password: str) -> None:
        """Make an account through the invitation link, as the person would."""
        with errors_named(self.url, f"make an account for {email}"):
            invitation = self._get("api/invite")["invite_url"]
            page = f"{self.url}/{invitation.lstrip('/')}"
            with httpx.Client(timeout=ANSWER_S, trust_env=self._http.trust_env) as person:
                shown = person.get(page)
                refuse_redirect(self.url, shown)
                shown.raise_for_status()
                token = person.cookies.get("csrftoken", "")
                form = {"csrfmiddlewaretoken": token, "email": email, "password": password}
                answer = person.post(page, data=form, headers={"Referer": page})
            if not answer.is_redirect:
                wrong = re.findall(r'class="field_errors">\s*<li>([^<]+)', answer.text)
                reason = html.unescape(wrong[0]) if wrong else f"status {answer.status_code}"
                raise Refused(f"{self.url}: no account was made for {email}: {reason}", answer.status_code)

    def _pages(self, path: str, asked: Mapping[str, Any], rows: str, total: str) -> list[Row]:
        listed: list[Row] = []
        for page in count(1):  # a server may return fewer rows per page than it was asked for
            answer = self._get(path, {**asked, "page": page})
            listed += _rows(answer[rows])
            if len(listed) >= answer[total] or not answer[rows]:
                break
        return listed

    def _rows(self, path: str, asked: Mapping[str, Any] | None = None) -> list[Row]:
        return _rows(self._get(path, asked))

    def _get(self, path: str, asked: Mapping[str, Any] | None = None) -> Any:
        return self._request("GET", path, params=dict(asked or {}), request_options=READING).json()

    def _send(self, method: str, path: str, content: Any, number: str = "id") -> int:
        """Make or change something and return this number of the answer."""
        return _number(self._request(method, path, json=content).json()[number])

    def _delete(self, path: str) -> None:
        if self._request("DELETE", path).status_code != HTTPStatus.NO_CONTENT:
            raise ValueError("something else answered, such as a login page")

    def _request(self, method: str, path: str, **content: Any) -> httpx.Response:
        """Send a request. The SDK's own calls take 7 s for a listing that takes 1, and take any answer for done."""
        from label_studio_sdk.core.api_error import ApiError

        if "json" in content:  # the SDK would go through each text of it, which takes longer than all else
            more = {"content": json.dumps(content.pop("json")), "headers": {"Content-Type": "application/json"}}
            content.update(more)
        # The SDK's own client, which knows both kinds of key and renews tokens when they expire.
        answer: httpx.Response = self._sdk._client_wrapper.httpx_client.request(path, method=method, **content)
        if answer.is_error:
            try:
                body = answer.json()
            except (ValueError, RecursionError):
                body = answer.text
            raise ApiError(status_code=answer.status_code, body=body)
        return answer


def _number(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError("no number")
    return value


def _rows(answer: object) -> list[Row]:
    if not (isinstance(answer, list) and all(isinstance(row, dict) for row in answer)):
        raise TypeError("no list of rows")
    return answer


def _project(row: Row) -> ProjectInfo:
    return ProjectInfo(
        id=row["id"], title=row["title"] or "", label_config=row["label_config"] or "",
        maximum_annotations=row["maximum_annotations"], description=row["description"] or "",
        instruction=row["expert_instruction"] or "", tasks=row["task_number"] or 0,
    )  # fmt: skip
