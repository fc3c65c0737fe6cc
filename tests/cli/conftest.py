"""Recorded runs for the commands to read."""

import json

import pytest


@pytest.fixture
def runs(tmp_path):
    """Write runs to a file, one for each ``run_id=steps``, and give its path."""

    def write(**by_id):
        path = tmp_path / "runs"
        lines = [json.dumps({"run_id": run_id, "steps": s}) for run_id, s in by_id.items()]
        path.write_text("".join(line + "\n" for line in lines))
        return str(path)

    return write
