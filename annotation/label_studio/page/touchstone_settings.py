"""Label Studio's settings, with the template in this folder over its own of the same name, which all its pages extend.

This folder is no package of ours: the server that `touchstone label-studio up` starts has it on its `PYTHONPATH`, and
this module as its `DJANGO_SETTINGS_MODULE`.
"""

import logging
import os
import re
from pathlib import Path

# Label Studio's settings ask Django for settings before they are complete: those that are there by then must do.
os.environ["DJANGO_SETTINGS_MODULE"] = "label_studio.core.settings.label_studio"

from label_studio.core.settings.label_studio import *  # noqa: F403 - Django reads every name
from label_studio.core.settings.label_studio import DATABASES, MIDDLEWARE, TEMPLATES

TEMPLATES[0]["DIRS"].insert(0, str(Path(__file__).parent))
ROOT_URLCONF = "addresses"
# SQLite lets one writer in at a time, and refuses at once a transaction that has read before it finds another there.
# Whoever submits while a push writes would be told that it failed: so all wait their turn from the beginning.
DATABASES["default"]["OPTIONS"] |= {"transaction_mode": "IMMEDIATE", "timeout": 60}
MIDDLEWARE.insert(0, "guard.Guard")
CORS_ALLOW_ALL_ORIGINS = False
MIDDLEWARE.append("django.middleware.clickjacking.XFrameOptionsMiddleware")
X_FRAME_OPTIONS = "SAMEORIGIN"
MIDDLEWARE.append("join.HoldStrangers")
# The server listens on this machine alone; a proxy before it says so if people come by TLS.
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")


def _without_ids(record: logging.LogRecord) -> bool:
    """Keep the ids in a study's link out of the log, which has the address of each request."""
    args = record.args if isinstance(record.args, tuple) else ()
    record.args = tuple(re.sub(r"(/join/?)\?\S*", r"\1", one) if isinstance(one, str) else one for one in args)
    return True


logging.getLogger("django.server").addFilter(_without_ids)
