"""``antiloop redact``: write recorded runs without what they were about."""

import argparse
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Iterator

from ..._replaced_file import named_folders, replaced_file
from .._arguments import add_output, add_recordings
from .._command import COULD_NOT_RUN, add_command, naming
from .._detector import add_isolated, profiles_of
from .._output.terminal import counted, line_of, note, say
from .._recordings import Recordings

if TYPE_CHECKING:
    from ...traces import RecordedRun

_ABOUT = "Write recorded runs with other names and texts, to share them."
_EXAMPLE = """\
Every word of names, arguments, results and messages becomes random letters of the same length, the
same ones wherever the word comes again, and secrets become ***. These stay: order, rounds, whether
texts are equal, single letters, numbers of up to four digits, and the words by which antiloop knows
a kind of tool or how a call ended, such as "read", "error" or "pending". Models, tokens, costs and
dates are left out. Read the file before you share it.

Each run gets the verdicts of every preset again; where one differs, that is said.

The exit status is 0, or 2 if something could not be read or written.

example, from a clone of the repository:
  antiloop redact docs/examples/runs.jsonl
"""


def add(commands: Any) -> None:
    parser = add_command(commands, "redact", run, _ABOUT, _EXAMPLE)
    add_recordings(parser)
    add_output(parser, "file to write (default: standard output)")
    add_isolated(parser)


def run(args: argparse.Namespace) -> int:
    """Write the redacted runs, one a line."""
    recordings = Recordings(args.paths, args.source, profiles_of(args))
    redacted = _lines(recordings)
    first = list(islice(redacted, 1))
    if not first and recordings.is_incomplete:
        return COULD_NOT_RUN  # an older file is worth more than an empty one
    lines = chain(first, redacted)
    path = args.output
    if path in (None, "-"):
        for line in lines:
            say(line, end="")
    else:
        with naming(path), replaced_file(path, within=named_folders(path)) as file:
            file.writelines(lines)
    return COULD_NOT_RUN if recordings.is_incomplete else 0


def _lines(recordings: Recordings) -> Iterator[str]:
    from .._redaction import Redactor

    redactor, count = Redactor(), 0
    for recorded in recordings.runs():
        redacted = redactor.redacted(recorded)
        for preset in _judged_otherwise(recorded, redacted):
            note(f"{line_of(recorded.run_id)}: --preset {preset} judges the redacted run otherwise")
        count += 1
        yield redacted.to_jsonl()
    note(f"{counted(count, 'run')} redacted")


def _judged_otherwise(run: "RecordedRun", redacted: "RecordedRun") -> Iterator[str]:
    """Yield the presets whose verdicts differ."""
    from ...loop_detection.presets import PRESETS
    from ...traces import replay

    for name, make in PRESETS.items():
        detector = make()
        before, after = (
            [(step, verdict.action) for step, verdict in replay(each, detector)]
            for each in (run, redacted)
        )
        if before != after:
            yield name
