"""What stands in the boxes of a task that somebody skips is there again when the task comes back to them.

By itself, the server removes the draft with the skip, and the task comes back as it was at first.
"""

from typing import Any

from projects.models import Project
from tasks.api import AnnotationsListAPI
from tasks.models import AnnotationDraft

QUESTION = "question-to-engineer"
"""The box of `annotation/label_studio/config.py`, which cannot be imported here. What a person asks is asked once."""


class Submissions(AnnotationsListAPI):  # type: ignore[misc]  # Label Studio has no types
    """Submitted and skipped annotations."""

    def perform_create(self, serializer: Any) -> Any:
        """Store the annotation; of a skipped one, a draft of the answers and texts too, if the task comes back."""
        annotation = super().perform_create(serializer)
        comes_back = annotation.project.skip_queue == Project.SkipQueue.REQUEUE_FOR_ME
        if annotation.was_cancelled and comes_back:
            kept = [part for part in annotation.result if part.get("from_name") != QUESTION]
            if kept:
                AnnotationDraft.objects.create(task=annotation.task, user=self.request.user, result=kept)
        return annotation
