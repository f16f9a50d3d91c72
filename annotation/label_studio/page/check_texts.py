"""What is wrong with the texts that a person is writing, as whoever listens on this machine says it.

`touchstone annotate listen` has the checks and the records; its address stands in the project's webhook. What a webhook
says counts only with the secret of the build's folder: anybody on the server can make webhooks.

Touchstone cannot be imported here: the names of the listener (`annotation/label_studio/listener.py`) are written again
below, and a test holds the two together.
"""

import json
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import requests
from django.conf import settings
from django.http import HttpResponse, JsonResponse
from django.views.decorators.http import require_POST
from projects.models import Project
from tasks.models import Task
from webhooks.models import Webhook
from your_work import in_sight

SECRET_HEADER, SECRET_FILE, CHECK = "X-Touchstone-Secret", "webhook-secret", "check"
LONGEST_BODY = 2**20
ANSWER_S = 30
"""The first answer may have to wait until a model is loaded."""


@require_POST  # type: ignore[untyped-decorator]  # Django has no types
def check_texts(request: Any, number: int) -> Any:
    """Answer with the problems with the texts of an annotation of a task; 204 if nobody listens."""
    user = request.user
    if not user.is_authenticated or user.active_organization is None:
        return HttpResponse(status=403)
    mine = in_sight(Project.objects.filter(organization=user.active_organization), user)
    task = Task.objects.filter(id=number, project__in=mine).first()
    if task is None:
        return HttpResponse(status=404)
    if len(request.body) > LONGEST_BODY:
        return HttpResponse(status=413)
    try:
        result = json.loads(request.body)
        question = {"rubric": task.data.get("rubric"), "item_key": task.data.get("item_key"), "result": result}
        for url, secret in _listening(task.project_id):
            answer = requests.post(
                urljoin(url, CHECK), json=question, headers={SECRET_HEADER: secret}, timeout=ANSWER_S,
                allow_redirects=False,  # to another server, which would get the secret
            )  # fmt: skip
            if answer.status_code == 200:
                return JsonResponse(answer.json(), safe=False)
    except (ValueError, requests.RequestException):
        pass  # the checks come again with the submission
    return HttpResponse(status=204)


def _listening(project: int) -> list[tuple[str, str]]:
    """Return the addresses at which this build's changes are reported, with the secret."""
    file = Path(settings.BASE_DATA_DIR).parent.parent / SECRET_FILE
    secret = file.read_text(encoding="utf-8").strip() if file.exists() else ""
    hooks = Webhook.objects.filter(project=project, is_active=True) if secret else ()
    return [(hook.url, secret) for hook in hooks if hook.headers.get(SECRET_HEADER) == secret]
