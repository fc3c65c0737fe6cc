"""The recorded runs that a command is given: files, their format, and how far it has come."""

import argparse
import sys
import time
from typing import TYPE_CHECKING, Iterator, List, Optional, Sequence

from .terminal import complain

if TYPE_CHECKING:
    from ..traces import RecordedRun

FORMATS = (
    "antiloop",
    "openai-chat",
    "otlp",
    "atif",
    "swe-agent",
    "anthropic",
    "claude-code",
    "openai-responses",
    "mini-swe-agent",
    "openhands",
    "codex",
    "langchain",
    "event-log",
    "gemini",
    "gemini-cli",
    "pydantic-ai",
    "adk",
    "strands",
)
"""Names of trace formats, repeated here so that help need not load them."""


def add_recordings(parser: argparse.ArgumentParser) -> None:
    """Add the files and their format to a command."""
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="recorded runs; - is standard input"
    )
    parser.add_argument("--from", choices=FORMATS, dest="source", help="the format of the files")


def recorded_runs(
    paths: Sequence[str], source: Optional[str], unreadable: List[str]
) -> "Iterator[RecordedRun]":
    """Yield the runs of all files; name those that cannot be read, and go on without them."""
    from ..exceptions import TraceUnreadable
    from ..traces import read_runs

    for path in paths:
        try:
            yield from read_runs(path, source=source, on_trouble=complain)
        except TraceUnreadable as error:
            complain(str(error))
            unreadable.append(path)


def with_progress(runs: "Iterator[RecordedRun]") -> "Iterator[RecordedRun]":
    """Count the runs on standard error, if a person is watching."""
    if not sys.stderr.isatty():
        yield from runs
        return
    shown = time.monotonic()
    for count, recorded in enumerate(runs):
        if time.monotonic() - shown > 0.5:
            shown = time.monotonic()
            sys.stderr.write(f"\r{count:,} runs")
            sys.stderr.flush()
        yield recorded
    sys.stderr.write("\r\x1b[K")
