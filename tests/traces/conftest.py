"""What the tests of the readers share."""

import json

import pytest

from antiloop.traces import read_runs


@pytest.fixture
def read(tmp_path):
    """Write JSON values one a line, and give the runs; trouble is kept in ``read.trouble``."""

    def reader(*values, source=None):
        path = tmp_path / "f"
        path.write_text("\n".join(map(json.dumps, values)))
        reader.trouble = []
        return list(read_runs(str(path), source=source, on_trouble=reader.trouble.append))

    return reader
