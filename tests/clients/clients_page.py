"""The page on what holds with real coding clients."""

import datetime
from pathlib import Path
from typing import Dict, List, Mapping, NamedTuple, Tuple

from programs import CLIENTS
from scenarios import SCENARIOS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "clients.md"

_HEAD = """\
# Coding clients that were tried

Real coding clients, in the versions below, ran against a scripted model on the same machine. antiloop's hooks were
installed as the page of each client says. `bash .ci/clients --write` does it again and writes this page.

The scripted model ignores all notices, except in the second row: there it answers in words when the hook asks for it. A cell
says after which round of calls the model read the first notice, the first refusal and the first stop. `silent` means
that it read nothing of antiloop. Where a cell does not hold, it says why. Each session was also recorded by its client;
`antiloop scan` of the record has to find a loop at the same call as the hook, or none. Qwen Code has no hooks that
antiloop answers; there only the record is scanned. Gemini CLI has its own loop detection, which ends some runs first. It
compacts its context only when the user speaks; in the last row a second prompt continues its session.
"""  # noqa: E501


class Cell(NamedTuple):
    """What came of one run of a client.

    Args:
        words: what the model was told.
        faults: what is not as it should be.
    """

    words: str
    faults: List[str]

    def __str__(self) -> str:
        if not self.faults:
            return self.words
        return f"**{'; '.join(self.faults)}**{f' ({self.words})' if self.words else ''}"


def page(
    versions: Mapping[str, str], cells: Mapping[Tuple[str, str], Cell], day: datetime.date
) -> str:
    """Return the text of the page."""
    tried = [name for name in CLIENTS if name in versions]
    return "\n".join([_HEAD, *_versions(tried, versions, day), "", *_table(tried, cells), ""])


def _versions(tried: List[str], versions: Mapping[str, str], day: datetime.date) -> List[str]:
    rows = [f"| {CLIENTS[name].title} | {versions[name]} | {day} |" for name in tried]
    return ["| client | version | tried on |", "| --- | --- | --- |", *rows]


def _table(tried: List[str], cells: Mapping[Tuple[str, str], Cell]) -> List[str]:
    head = [CLIENTS[name].title for name in tried]
    rows: Dict[str, List[str]] = {
        name: [str(cells[client, name]) if (client, name) in cells else "" for client in tried]
        for name in SCENARIOS
    }
    return [
        f"| the model repeats or does | {' | '.join(head)} |",
        f"| --- |{' --- |' * len(head)}",
        *(f"| {SCENARIOS[name].title} | {' | '.join(row)} |" for name, row in rows.items()),
    ]
