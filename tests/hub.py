"""A loopback stand-in for the Hugging Face Hub: datasets with commits, tags, regular and large files, and faults.

    with HubServer(tokens={"hf_a": "write"}) as hub:
        ... HF_ENDPOINT=hub.url, HF_TOKEN=hf_a, HF_HUB_DISABLE_XET=1 ...
        hub.faults.append(Fault("POST .*/commit/", status=500, applied=True))
        assert hub.repos["acme/sample"].tags == {...}

It answers what `huggingface_hub` and `datasets` ask when they make a repository, commit, tag, list and download
(large files by the LFS protocol and a redirect, as the Hub does; not by xet). A fault holds for the requests that
match it, in order of arrival. Everything lies in memory.
"""

import base64
import gzip
import hashlib
import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatch
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

import yaml

LARGE = ("*.parquet", "*.bin", "*.zip")
"""What the `.gitattributes` of a new dataset sends to large-file storage, besides files above LARGE_BYTES."""
LARGE_BYTES = 10_000_000
PAGE = 3
"""Entries a page of a listing: few, so that every client has to turn pages."""
ATTRIBUTES = "".join(f"{pattern} filter=lfs diff=lfs merge=lfs -text\n" for pattern in LARGE).encode()


@dataclass
class Fault:
    """What goes wrong with requests whose "METHOD path" the pattern is found in, from the `skip`ped ones on."""

    match: str
    times: int = 1
    skip: int = 0
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    said: str = "a fault"
    applied: bool = False
    """The request is done before it goes wrong: only its answer is lost."""
    cut: bool = False
    """The connection ends without an answer; in the middle of the body where `applied`."""
    corrupt: bool = False
    """One byte of the body is another."""
    slow_s: float = 0.0
    """The body of the request is read slowly, in seconds for the whole."""
    before: Callable[[], object] | None = None
    after: Callable[[], object] | None = None
    """Called when the request has come, and when it is done but not answered."""


@dataclass(frozen=True)
class Blob:
    """A file's content."""

    data: bytes
    large: bool

    @property
    def oid(self) -> str:
        return hashlib.sha1(b"blob %d\0" % len(self.data) + self.data).hexdigest()

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True)
class Commit:
    id: str
    parent: str | None
    title: str
    description: str
    date: datetime
    files: Mapping[str, Blob]


@dataclass
class Repo:
    name: str
    private: bool
    commits: list[Commit] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)

    @property
    def head(self) -> Commit:
        return self.commits[-1]

    def at(self, revision: str) -> Commit | None:
        wanted = self.head.id if revision in ("main", "refs/heads/main") else self.tags.get(revision, revision)
        return next((commit for commit in self.commits if commit.id == wanted), None)

    def add(self, title: str, description: str, files: Mapping[str, Blob], date: datetime) -> Commit:
        parent = self.head.id if self.commits else None
        tree = sorted((path, blob.sha256) for path, blob in files.items())
        name = hashlib.sha1(json.dumps([parent, title, description, tree, len(self.commits)]).encode()).hexdigest()
        commit = Commit(name, parent, title, description, date, dict(files))
        self.commits.append(commit)
        return commit


@dataclass
class Answer:
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


class Refused(Exception):
    """The Hub says no."""

    def __init__(self, status: int, said: str, code: str | None = None) -> None:
        super().__init__(said)
        self.answer = as_json(
            {"error": said}, status, {"X-Error-Message": said} | ({"X-Error-Code": code} if code else {})
        )


def as_json(content: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    return Answer(status, json.dumps(content).encode(), {"Content-Type": "application/json", **(headers or {})})


@dataclass
class HubServer:
    """The server, as a context manager, in a thread of its own."""

    tokens: Mapping[str, str] = field(default_factory=lambda: {"hf_test": "write"})
    """What each token may: `read` or `write`. Others are refused; without one a request is anonymous."""
    owner: str = "acme"
    """The account of all tokens; datasets can be made under its name alone."""
    orgs: Mapping[str, str] = field(default_factory=dict)
    """The organisations of the account, each with its role there, as `whoami` tells them."""
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    port: int = 0

    def __post_init__(self) -> None:
        self.repos: dict[str, Repo] = {}
        self.large: dict[str, bytes] = {}
        self.faults: list[Fault] = []
        self.requests: list[str] = []
        """"METHOD path" of each request, in order of arrival."""
        self.logged: list[str] = []
        self._lock = threading.RLock()
        self._faulty = threading.Lock()
        stand_in = self

        class Handler(_Handler):
            hub = stand_in

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def storage(self) -> str:
        """Where large files lie: another host, which the client sends no token."""
        return self.url.replace("127.0.0.1", "localhost") + "/storage"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    def made(self, name: str, *, private: bool = False) -> Repo:
        """A new dataset, with the Hub's first commit."""
        with self._lock:
            repo = self.repos[name] = Repo(name, private)
            repo.add("initial commit", "", {".gitattributes": Blob(ATTRIBUTES, large=False)}, self.now())
            return repo

    def somebody_commits(self, name: str, path: str = "README.md", data: bytes | None = b"# Ours\n") -> Commit:
        """A commit that another person makes: a file, or without `data` the end of one."""
        with self._lock:
            repo = self.repos[name]
            files = {other: blob for other, blob in repo.head.files.items() if other != path}
            if data is not None:
                files[path] = Blob(data, large=any(fnmatch(path, pattern) for pattern in LARGE))
                self.large |= {files[path].sha256: data} if files[path].large else {}
            return repo.add("by hand", "", files, self.now())

    def asked(self, pattern: str) -> int:
        """How many requests match."""
        return sum(bool(re.search(pattern, one)) for one in self.requests)

    def fault(self, request: str) -> Fault | None:
        """The fault that this request meets."""
        with self._faulty:
            for fault in self.faults:
                if re.search(fault.match, request):
                    if fault.skip:
                        fault.skip -= 1
                        continue
                    if fault.times:
                        fault.times -= 1
                        return fault
        return None

    # What the Hub does.

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """The answer to a request."""
        place = urlsplit(target)
        path, query = unquote(place.path), parse_qs(place.query)
        with self._lock:
            try:
                may = self._may(headers.get("authorization"))
                for pattern, methods, do in _ROUTES:
                    if method in methods and (match := re.fullmatch(pattern, path)):
                        return do(self, may, match.groupdict(), query, headers, body)
                raise Refused(404, f"no such path: {method} {path}")
            except Refused as refused:
                return refused.answer

    def _may(self, authorization: str | None) -> str:
        if authorization is None:
            return "nobody"
        token = authorization.removeprefix("Bearer ")
        if token not in self.tokens:
            raise Refused(401, "Invalid credentials in Authorization header")
        return self.tokens[token]

    def _repo(self, name: str, may: str) -> Repo:
        repo = self.repos.get(name)
        if repo is None or (repo.private and may == "nobody"):
            if may == "nobody":
                raise Refused(401, "Invalid username or password.", "RepoNotFound")
            raise Refused(404, "Repository not found", "RepoNotFound")
        return repo

    def _writable(self, name: str, may: str) -> Repo:
        repo = self._repo(name, may)
        if may == "nobody":
            raise Refused(401, "Invalid username or password.")
        if may != "write":
            raise Refused(403, "You don't have the rights to write to this repository")
        return repo

    def _commit(self, repo: Repo, revision: str) -> Commit:
        commit = repo.at(revision)
        if commit is None:
            raise Refused(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return commit

    def whoami(self, may: str, *_: Any) -> Answer:
        if may == "nobody":
            raise Refused(401, "Invalid username or password.")
        token = {"displayName": "test", "role": may}
        auth = {"type": "access_token", "accessToken": token}
        orgs = [{"type": "org", "name": name, "roleInOrg": role} for name, role in self.orgs.items()]
        return as_json({"type": "user", "name": self.owner, "orgs": orgs, "auth": auth})

    def auth_check(self, may: str, names: dict[str, str], *_: Any) -> Answer:
        self._writable(names["repo"], may)
        return as_json({})

    def create(self, may: str, names: dict[str, str], query: Any, headers: Any, body: bytes) -> Answer:
        asked = json.loads(body)
        name = f"{asked.get('organization') or self.owner}/{asked['name']}"
        if may == "nobody":
            raise Refused(401, "Invalid username or password.")
        if may != "write" or not name.startswith(f"{self.owner}/"):
            raise Refused(403, "You don't have the rights to create a dataset under that name")
        if asked["type"] != "dataset":
            raise Refused(400, "only datasets here")
        url = f"{self.url}/datasets/{name}"
        if name in self.repos:
            return as_json({"error": "You already created this dataset repo", "url": url}, 409)
        self.made(name, private=asked.get("visibility") == "private")
        return as_json({"url": url, "name": name, "id": name})

    def validate(self, may: str, names: dict[str, str], query: Any, headers: Any, body: bytes) -> Answer:
        content = json.loads(body)["content"]
        block = re.match(r"---\n(.*?)\n---\s", content, re.DOTALL)
        try:
            read = yaml.safe_load(block[1]) if block else {}
            errors = [] if isinstance(read, dict) else [{"message": "the YAML metadata is no mapping"}]
        except yaml.YAMLError as error:
            errors = [{"message": f"bad YAML: {error}"}]
        return as_json({"errors": errors, "warnings": []}, 400 if errors else 200)

    def info(self, may: str, names: dict[str, str], *_: Any) -> Answer:
        repo = self._repo(names["repo"], may)
        commit = self._commit(repo, names.get("revision") or "main")
        return as_json(
            {
                "_id": "1", "id": repo.name, "author": self.owner, "sha": commit.id, "private": repo.private,
                "gated": False, "disabled": False, "downloads": 0, "likes": 0, "tags": [],
                "lastModified": _iso(commit.date), "createdAt": _iso(repo.commits[0].date),
                "siblings": [{"rfilename": path} for path in commit.files],
            }
        )  # fmt: skip

    def refs(self, may: str, names: dict[str, str], *_: Any) -> Answer:
        repo = self._repo(names["repo"], may)
        return as_json(
            {
                "branches": [{"name": "main", "ref": "refs/heads/main", "targetCommit": repo.head.id}],
                "converts": [],
                "tags": [
                    {"name": name, "ref": f"refs/tags/{name}", "targetCommit": commit}
                    for name, commit in sorted(repo.tags.items())
                ],
            }
        )

    def commits(self, may: str, names: dict[str, str], query: dict[str, list[str]], *_: Any) -> Answer:
        repo = self._repo(names["repo"], may)
        last = self._commit(repo, names["revision"])
        history = repo.commits[: repo.commits.index(last) + 1][::-1]
        rows = [
            {
                "id": one.id,
                "title": one.title,
                "message": one.description,
                "date": _iso(one.date),
                "authors": [{"user": "a"}],
            }
            for one in history
        ]
        return self._page(rows, f"/api/datasets/{repo.name}/commits/{names['revision']}", query)

    def tree(self, may: str, names: dict[str, str], query: dict[str, list[str]], *_: Any) -> Answer:
        repo = self._repo(names["repo"], may)
        commit = self._commit(repo, names["revision"])
        under = f"{names['under']}/" if names.get("under") else ""
        rows: dict[str, dict[str, Any]] = {}
        for path, blob in sorted(commit.files.items()):
            if not path.startswith(under):
                continue
            parts = path.removeprefix(under).split("/")
            for depth in range(1, len(parts)):
                folder = under + "/".join(parts[:depth])
                rows.setdefault(folder, {"type": "directory", "path": folder, "oid": "0" * 40, "size": 0})
            rows[path] = _entry(path, blob)
        if under and not rows:
            raise Refused(404, "no such folder", "EntryNotFound")
        if query.get("recursive", ["false"])[0].lower() not in ("1", "true"):
            rows = {path: row for path, row in rows.items() if "/" not in path.removeprefix(under)}
        where = f"/api/datasets/{repo.name}/tree/{names['revision']}" + (f"/{names['under']}" if under else "")
        return self._page(list(rows.values()), where, query)

    def paths_info(self, may: str, names: dict[str, str], query: Any, headers: Any, body: bytes) -> Answer:
        repo = self._repo(names["repo"], may)
        commit = self._commit(repo, names["revision"])
        text = body.decode()
        asked = json.loads(text)["paths"] if text.startswith("{") else parse_qs(text).get("paths", [])
        rows = []
        for path in asked:
            if path in commit.files:
                rows.append(_entry(path, commit.files[path]))
            elif any(one.startswith(f"{path}/") for one in commit.files):
                rows.append({"type": "directory", "path": path, "oid": "0" * 40, "size": 0})
        return as_json(rows)

    def preupload(self, may: str, names: dict[str, str], query: Any, headers: Any, body: bytes) -> Answer:
        repo = self._writable(names["repo"], may)
        there = self._commit(repo, names["revision"]).files
        ignored = there[".gitignore"].data.decode().split() if ".gitignore" in there else []
        rows = []
        for file in json.loads(body)["files"]:
            path = file["path"]
            large = file["size"] > LARGE_BYTES or any(fnmatch(path, pattern) for pattern in LARGE)
            blob = there.get(path)
            rows.append(
                {
                    "path": path,
                    "uploadMode": "lfs" if large else "regular",
                    "shouldIgnore": any(fnmatch(path, pattern) for pattern in ignored),
                    "oid": None if blob is None else blob.sha256 if blob.large else blob.oid,
                }
            )
        return as_json({"files": rows})

    def batch(self, may: str, names: dict[str, str], query: Any, headers: Any, body: bytes) -> Answer:
        self._writable(names["repo"], may)
        objects = []
        for one in json.loads(body)["objects"]:
            row: dict[str, Any] = {"oid": one["oid"], "size": one["size"]}
            if one["oid"] not in self.large:
                row["actions"] = {
                    "upload": {"href": f"{self.storage}/{one['oid']}?X-Amz-Signature=planted"},
                    "verify": {"href": f"{self.url}/datasets/{names['repo']}.git/info/lfs/verify"},
                }
            objects.append(row)
        return as_json({"transfer": "basic", "objects": objects})

    def verify(self, may: str, names: dict[str, str], query: Any, headers: Any, body: bytes) -> Answer:
        self._writable(names["repo"], may)
        asked = json.loads(body)
        if len(self.large.get(asked["oid"], b"")) != asked["size"]:
            raise Refused(422, "the file is not there whole")
        return as_json({})

    def store(self, may: str, names: dict[str, str], query: Any, headers: Any, body: bytes) -> Answer:
        if hashlib.sha256(body).hexdigest() != names["oid"]:
            raise Refused(400, "the content is not what its name says")
        self.large[names["oid"]] = body
        return Answer(headers={"ETag": f'"{names["oid"]}"'})

    def commit(self, may: str, names: dict[str, str], query: Any, headers: Any, body: bytes) -> Answer:
        repo = self._writable(names["repo"], may)
        lines = [json.loads(line) for line in body.splitlines()]
        header = lines[0]["value"]
        if header.get("parentCommit", repo.head.id) != repo.head.id:
            raise Refused(412, "A commit has happened since. Please refresh and try again.")
        files = dict(repo.head.files)
        for line in lines[1:]:
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = Blob(base64.b64decode(value["content"]), large=False)
            elif line["key"] == "lfsFile":
                if value["oid"] not in self.large:
                    raise Refused(400, f"{value['path']}: its content was not uploaded")
                files[value["path"]] = Blob(self.large[value["oid"]], large=True)
            elif line["key"] == "deletedFile":
                if files.pop(value["path"], None) is None:
                    raise Refused(404, "A file with this name doesn't exist", "EntryNotFound")
            else:
                raise Refused(400, f"unknown operation {line['key']}")
        made = repo.add(header["summary"], header["description"], files, self.now())
        url = f"{self.url}/datasets/{repo.name}/commit/{made.id}"
        return as_json({"success": True, "commitOid": made.id, "commitUrl": url, "hookOutput": ""})

    def tag(self, may: str, names: dict[str, str], query: Any, headers: Any, body: bytes) -> Answer:
        repo = self._writable(names["repo"], may)
        tag = json.loads(body)["tag"]
        commit = self._commit(repo, names["revision"])
        if tag in repo.tags:
            raise Refused(409, f"Tag {tag} already exists")
        repo.tags[tag] = commit.id
        return as_json({})

    def resolve(self, may: str, names: dict[str, str], query: Any, headers: Any, body: bytes) -> Answer:
        repo = self._repo(names["repo"], may)
        commit = self._commit(repo, names["revision"])
        blob = commit.files.get(names["path"])
        if blob is None:
            refused = Refused(404, "Entry not found", "EntryNotFound").answer
            refused.headers["X-Repo-Commit"] = commit.id
            return refused
        if blob.large:
            return Answer(
                302,
                headers={
                    "Location": f"{self.storage}/{blob.sha256}?X-Amz-Signature=planted", "X-Repo-Commit": commit.id,
                    "X-Linked-Size": str(len(blob.data)), "X-Linked-Etag": f'"{blob.sha256}"',
                },
            )  # fmt: skip
        answer = _served(blob.data, headers)
        answer.headers |= {"ETag": f'"{blob.oid}"', "X-Repo-Commit": commit.id}
        if "gzip" in headers.get("accept-encoding", "") and "range" not in headers:  # as the Hub does with text
            answer.body = gzip.compress(answer.body)
            answer.headers["Content-Encoding"] = "gzip"
        return answer

    def stored(self, may: str, names: dict[str, str], query: Any, headers: Mapping[str, str], body: bytes) -> Answer:
        answer = _served(self.large[names["oid"]], headers)
        answer.headers["ETag"] = f'"{names["oid"]}"'
        return answer

    def _page(self, rows: list[dict[str, Any]], path: str, query: dict[str, list[str]]) -> Answer:
        start = int(query.get("cursor", ["0"])[0])
        kept = "".join(f"&{name}={value[0]}" for name, value in query.items() if name != "cursor")
        more = (
            {"Link": f'<{self.url}{path}?cursor={start + PAGE}{kept}>; rel="next"'} if start + PAGE < len(rows) else {}
        )
        return as_json(rows[start : start + PAGE], headers=more)


def _iso(date: datetime) -> str:
    return date.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _entry(path: str, blob: Blob) -> dict[str, Any]:
    row: dict[str, Any] = {"type": "file", "path": path, "oid": blob.oid, "size": len(blob.data)}
    if blob.large:
        row["lfs"] = {"oid": blob.sha256, "size": len(blob.data), "pointerSize": 130}
        row["oid"] = hashlib.sha1(blob.sha256.encode()).hexdigest()  # of the pointer, not of the content
    return row


def _served(data: bytes, headers: Mapping[str, str]) -> Answer:
    asked = re.fullmatch(r"bytes=(\d+)-(\d*)", headers.get("range", ""))
    if asked is None:
        return Answer(body=data, headers={"Accept-Ranges": "bytes"})
    start, end = int(asked[1]), min(int(asked[2]) if asked[2] else len(data) - 1, len(data) - 1)
    return Answer(206, data[start : end + 1], {"Content-Range": f"bytes {start}-{end}/{len(data)}"})


_REPO = r"(?P<repo>[^/]+/[^/]+)"
_API = rf"/api/datasets/{_REPO}"
_REVISION = r"(?P<revision>[^/]+)"
_ROUTES: list[tuple[str, tuple[str, ...], Callable[..., Answer]]] = [
    (r"/api/whoami-v2", ("GET",), HubServer.whoami),
    (r"/api/repos/create", ("POST",), HubServer.create),
    (r"/api/validate-yaml", ("POST",), HubServer.validate),
    (rf"{_API}/auth-check/write", ("GET",), HubServer.auth_check),
    (rf"{_API}/refs", ("GET",), HubServer.refs),
    (rf"{_API}/commits/{_REVISION}", ("GET",), HubServer.commits),
    (rf"{_API}/tree/{_REVISION}(?:/(?P<under>.+))?", ("GET",), HubServer.tree),
    (rf"{_API}/paths-info/{_REVISION}", ("POST",), HubServer.paths_info),
    (rf"{_API}/preupload/{_REVISION}", ("POST",), HubServer.preupload),
    (rf"{_API}/commit/{_REVISION}", ("POST",), HubServer.commit),
    (rf"{_API}/tag/{_REVISION}", ("POST",), HubServer.tag),
    (rf"{_API}(?:/revision/{_REVISION})?", ("GET",), HubServer.info),
    (rf"/datasets/{_REPO}\.git/info/lfs/objects/batch", ("POST",), HubServer.batch),
    (rf"/datasets/{_REPO}\.git/info/lfs/verify", ("POST",), HubServer.verify),
    (r"/storage/(?P<oid>[0-9a-f]{64})", ("PUT",), HubServer.store),
    (r"/storage/(?P<oid>[0-9a-f]{64})", ("GET", "HEAD"), HubServer.stored),
    (rf"/datasets/{_REPO}/resolve/{_REVISION}/(?P<path>.+)", ("GET", "HEAD"), HubServer.resolve),
]


class _Handler(BaseHTTPRequestHandler):
    hub: HubServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        request = f"{self.command} {self.path}"
        self.hub.requests.append(request)
        fault = self.hub.fault(request) or Fault("")
        body = self._body(fault.slow_s)
        if fault.before is not None:
            fault.before()
        broken = fault.cut or fault.status is not None
        answer = Answer()
        if fault.applied or not broken:
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = self.hub.answer(self.command, self.path, headers, body)
        if fault.after is not None:
            fault.after()
        if fault.cut:
            if fault.applied and answer.body:
                self._send(answer, len(answer.body) // 2)
            self.close_connection = True
            self.connection.shutdown(2)
            return
        if fault.status is not None:
            answer = as_json({"error": fault.said}, fault.status, fault.headers)
        if fault.corrupt and answer.body:
            answer.body = answer.body[:-1] + bytes([answer.body[-1] ^ 1])
        self._send(answer, len(answer.body))

    do_HEAD = do_POST = do_PUT = do_GET

    def _body(self, slow_s: float) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            time.sleep(slow_s)
            return b"".join(parts)
        length = int(self.headers.get("Content-Length", 0))
        if not slow_s:
            return self.rfile.read(length)
        parts = []
        for start in range(0, length, max(length // 10, 1)):
            time.sleep(slow_s / 10)
            parts.append(self.rfile.read(min(max(length // 10, 1), length - start)))
        return b"".join(parts)

    def _send(self, answer: Answer, length: int) -> None:
        self.send_response(answer.status)
        for name, value in {**answer.headers, "Content-Length": str(len(answer.body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body[:length])
        self.wfile.flush()

    def handle(self) -> None:
        try:
            super().handle()
        except (ConnectionError, OSError):  # the client was killed, or went away
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        self.hub.logged.append(format % args)
