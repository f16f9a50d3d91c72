"""Every Eval Ever: scores as JSON (`eval.schema.json` 0.3.0 of evaleval/every_eval_ever), a file for each evaluation.

Nothing in it depends on when it is written: the record counts as made on the day of its scores. Its name follows from
what was evaluated, so that a new evaluation replaces the one before. It has the form of a random UUID (version 4), as
the datastore asks for it.
"""

import datetime
import hashlib
import json
import re
import uuid
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from flows.construct.engine import Family
from flows.construct.evaluation import Measure
from flows.evaluate.headline import RATED, FigureRow
from flows.results.evaluated import Dataset, Found
from flows.scoring.intervals import DRAWS
from flows.scoring.tables import SHARES
from schemas.base import HASH_LENGTH, content_hash

SCHEMA = "0.3.0"
FOLDER = "data"
SPLIT = "test"
UNKNOWN = "unknown"
"""Stands for the developer of a model whose name does not say it, and for an organisation that nobody has stated."""
NOT_PORTABLE = re.compile(r'[<>:"/\\|?*\x00-\x1f]')
"""Characters that no folder of the datastore has in its name."""
LONGEST = 200
"""Bytes of a folder's name; file systems allow 255."""
EXACT = "exact binomial (Clopper-Pearson) over what items share"
BOOTSTRAP = "percentile bootstrap over what items share"


def record_path(dataset: Dataset, found: Found) -> PurePosixPath:
    """Return the path of an evaluation's record, `data/BENCHMARK/DEVELOPER/MODEL/UUID.json`."""
    signature = found.scores.signature
    developer, model = _names(_public(signature.model))
    of = json.dumps([signature.dataset, signature.family, signature.model, found.key])
    name = uuid.UUID(bytes=hashlib.sha256(of.encode()).digest()[:16], version=4)
    return PurePosixPath(FOLDER, *map(_folder_name, (dataset.name, developer, model)), f"{name}.json")


def record_text(dataset: Dataset, family: Family, found: Found) -> str:
    """Return the text of an evaluation's record."""
    return json.dumps(_record(dataset, family, found), ensure_ascii=False, indent=1) + "\n"


def _record(dataset: Dataset, family: Family, found: Found) -> Mapping[str, Any]:
    signature = found.scores.signature
    model = _public(signature.model)
    day = datetime.datetime.combine(signature.date, datetime.time(), datetime.UTC)
    made = str(int(day.timestamp()))
    served = {"served": ", ".join(signature.served)} if signature.served else {}
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"{dataset.name}-{family.name}/{model}/{made}",
        "evaluation_timestamp": signature.date.isoformat(),
        "retrieved_timestamp": made,
        "source_metadata": {
            "source_name": "touchstone",
            "source_type": "evaluation_run",
            "source_organization_name": dataset.maintainer or UNKNOWN,
            "evaluator_relationship": "other",
        },
        "eval_library": {
            "name": "touchstone",
            "version": signature.touchstone,
            "additional_details": {"scorer": signature.scorer},
        },
        "model_info": {
            "name": model,
            "id": model,
            "developer": developer_of(model),
            "additional_details": {"deployment_type": UNKNOWN, "model_availability": UNKNOWN, **served},
        },
        "evaluation_results": list(_results(dataset, family, found)),
    }


def _results(dataset: Dataset, family: Family, found: Found) -> Iterator[Mapping[str, Any]]:
    """Yield the figures; the differences between conditions follow from them, but for their intervals."""
    measures = {measure.name: measure for measure in family.evaluation.measures}
    signature = found.scores.signature
    details = {"signature": str(signature), **({"partial": "the budget was spent"} if found.scores.partial else {})}
    for row in found.scores.figures:
        measure = measures.get(row.measure)
        if measure is None or row.against is not None:
            continue
        way = found.ways[row.model]
        yield {
            "evaluation_name": ", ".join(filter(None, [f"{family.name}: {row.measure}", row.at, way])),
            "source_data": _source(dataset),
            "metric_config": _metric(measure),
            "score_details": {
                "score": row.value,
                "details": {**details, **({"way": way} if way else {})},
                "uncertainty": _uncertainty(row, measure),
            },
            "generation_config": {
                "additional_details": {
                    "prompts": ", ".join(signature.prompts) or "none",
                    "window": signature.window,
                    "parameters": signature.parameters,
                }
            },
        }


def _source(dataset: Dataset) -> Mapping[str, Any]:
    told = {"additional_details": {"version": dataset.version}} if dataset.version else {}
    if dataset.repo is None:
        return {"dataset_name": dataset.name, "source_type": "other", **told}
    return {
        "dataset_name": dataset.name, "source_type": "hf_dataset", "hf_repo": dataset.repo, "hf_split": SPLIT, **told,
    }  # fmt: skip


def _metric(measure: Measure) -> Mapping[str, Any]:
    of = "share" if measure.unit == "share" else "mean"
    about = {
        "evaluation_description": f"{of} of {measure.tells}, by {measure.condition}",
        "metric_name": measure.name,
        "lower_is_better": False,
    }
    if measure.unit == "count":  # which has no end
        return about
    (least, most), unit = (RATED, "points") if measure.unit == "rating" else ((0.0, 1.0), "proportion")
    return {**about, "metric_unit": unit, "score_type": "continuous", "min_score": least, "max_score": most}


def _uncertainty(row: FigureRow, measure: Measure) -> Mapping[str, Any]:
    if row.low is None or row.high is None:
        return {"num_samples": row.items}
    exact = measure.unit in SHARES and row.value in (0, 1)
    return {
        "confidence_interval": {
            "lower": row.low, "upper": row.high, "confidence_level": 0.95, "method": EXACT if exact else BOOTSTRAP,
        },
        "num_samples": row.items,
        **({} if exact else {"num_bootstrap_samples": DRAWS}),
    }  # fmt: skip


def developer_of(model: str) -> str:
    """Return who made a model, by its name."""
    return _names(_public(model))[0]


def _public(model: str) -> str:
    """Return a model's name; of a folder, its last part: where it lies on this machine is nobody's business."""
    path = PurePosixPath(model)
    return path.name if path.is_absolute() else model


def _names(model: str) -> tuple[str, str]:
    """Return the developer by a model's name, and the rest of the name."""
    developer, slash, rest = model.partition("/")
    return (developer, rest) if slash else (UNKNOWN, developer)


def _folder_name(name: str) -> str:
    """Return a name as a folder's; of a long one its beginning, with a hash of all of it."""
    folder = NOT_PORTABLE.sub("_", name).rstrip(". ") or UNKNOWN
    if len(folder.encode()) <= LONGEST:
        return folder
    return f"{folder.encode()[: LONGEST - HASH_LENGTH - 1].decode(errors='ignore')}-{content_hash(name)}"
