"""LoopLens without its server: what is traced goes into a folder, and is judged by its rules."""

import json
import os
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

COLUMNS = (
    *("id", "run_id", "sequence", "timestamp", "type", "agent", "name", "status", "model", "tool"),
    *("input_json", "output_json", "error_json", "tokens", "cost", "latency_ms"),
    *("parent_event_id", "span_id", "trace_id", "metadata_json"),
)


@contextmanager
def looplens_page():
    """Run the examples of a page; the runs traced in them get the score that the page says."""
    with TemporaryDirectory() as folder:
        settings = {
            "LOOPLENS_ENDPOINT": "http://127.0.0.1:9",  # nobody listens there
            "LOOPLENS_TRACE_DIR": folder,
            "LOOPLENS_DB_PATH": str(Path(folder, "runs.db")),
        }
        with mock.patch.dict(os.environ, settings):
            yield {}
            assert [score_of(path) for path in Path(folder).glob("*.jsonl")] == [
                (10, "Likely stuck")
            ]


def score_of(path):
    """Return the score and the status that the server of LoopLens shows for a traced run."""
    from looplens.server import db, detectors, metrics

    traced = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    db.init_db()
    with db.connect() as connection:
        run = db.create_run(connection)
        for number, event in enumerate(traced):
            row = {**dict.fromkeys(COLUMNS), "id": str(number), "run_id": run["id"]}
            row.update(sequence=number, type=event["type"], tool=event.get("tool"))
            row["input_json"] = db.dumps(event.get("input"))
            db.insert_event(connection, row)
        detectors.run_detectors(connection, run["id"])
        return metrics.score_health(db.list_warnings(connection, run["id"]), run["status"])
