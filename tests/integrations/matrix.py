"""The matrix of adapters and lines of the contract, from what test runs wrote down.

    ANTILOOP_MATRIX=FILE python -m pytest tests/integrations    # writes what held
    python tests/integrations/matrix.py FILE...                 # prints it

A cell says how many of the line's tests passed; "hole" where the framework cannot do it, for the
reason that the adapter's page gives; "-" where the adapter was not tested.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Dict, List

from adapters import ADAPTERS

Matrix = Dict[str, Dict[str, List[str]]]
"""By adapter and line: the outcome of each test."""


class Recorder:
    """A pytest plugin that notes the outcome of each test of the contract."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.matrix: Matrix = defaultdict(lambda: defaultdict(list))

    def pytest_runtest_logreport(self, report) -> None:
        adapter = dict(report.user_properties).get("adapter")
        if adapter and (report.when == "call" or report.outcome != "passed"):
            line = report.nodeid.rpartition("::")[2].partition("[")[0]
            self.matrix[adapter][line[len("test_") :]].append(report.outcome)

    def pytest_sessionfinish(self) -> None:
        Path(self.path).write_text(json.dumps(self.matrix), encoding="utf-8")


def cell(outcomes: List[str]) -> str:
    """Return how a line of the contract went."""
    passed = outcomes.count("passed")
    if not outcomes:
        return "-"
    if "failed" in outcomes:
        return "FAILED"
    return f"{passed}" if passed == len(outcomes) else f"{passed} + hole" if passed else "hole"


def printed(matrix: Matrix) -> str:
    """Return the matrix as a text table, a row for each line of the contract."""
    lines = list(dict.fromkeys(line for column in matrix.values() for line in column))
    names = list(ADAPTERS)
    rows = [["contract", *names]]
    rows += [
        [line, *(cell(matrix.get(name, {}).get(line, [])) for name in names)] for line in lines
    ]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip() for row in rows
    )


if __name__ == "__main__":
    found: Matrix = {}
    for argument in sys.argv[1:]:
        found.update(json.loads(Path(argument).read_text(encoding="utf-8")))
    print(printed(found))
