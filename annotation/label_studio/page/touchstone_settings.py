"""Label Studio's settings, with the template in this folder over its own of the same name, which all its pages extend.

This folder is no package of ours: the server that `touchstone label-studio up` starts has it on its `PYTHONPATH`, and
this module as its `DJANGO_SETTINGS_MODULE`.
"""

import os
from pathlib import Path

# Label Studio's settings ask Django for settings before they are complete: those that are there by then must do.
os.environ["DJANGO_SETTINGS_MODULE"] = "label_studio.core.settings.label_studio"

from label_studio.core.settings.label_studio import *  # noqa: F403 - Django reads every name
from label_studio.core.settings.label_studio import TEMPLATES

TEMPLATES[0]["DIRS"].insert(0, str(Path(__file__).parent))
ROOT_URLCONF = "addresses"
