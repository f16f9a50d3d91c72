"""The server's addresses: ours before Label Studio's own."""

from check_texts import check_texts
from core.urls import urlpatterns as label_studio_pages
from django.urls import path
from join import join
from skipped import Submissions
from your_work import OwnProjectCounts, OwnProjects, your_work

urlpatterns = [
    path("", your_work, name="your-work"),
    path("join", join),
    path("check-texts/<int:number>", check_texts),
    path("api/projects/", OwnProjects.as_view()),
    path("api/projects/counts/", OwnProjectCounts.as_view()),
    path("api/tasks/<int:pk>/annotations/", Submissions.as_view()),
    *label_studio_pages,
]
