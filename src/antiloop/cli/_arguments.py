"""The arguments that several commands take: recorded runs, their format, and a file to write."""

import argparse
import os
from typing import Optional

from ._command import add_names

FORMATS = tuple(
    """
    antiloop mini-swe-agent inspect copilot-chat cursor cline opencode pi copilot-cli codex-exec
    gemini-stream qwen-code markdown droid amp crush goose continue kimi ai-sdk tau2 smolagents
    browser-use autogen librechat otlp atif swe-agent openhands event-log anthropic claude-code
    openai-responses codex langchain gemini gemini-cli pydantic-ai adk strands langfuse mlflow
    phoenix langsmith weave openai-chat chat-lines
    """.split()
)
"""Names of trace formats, repeated here so that help does not load them."""


def add_recordings(parser: argparse.ArgumentParser) -> None:
    """Add the files and their format to a command."""
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="recorded runs: files, directories (read recursively), or - for standard input",
    )
    add_source(parser)


def add_source(parser: argparse.ArgumentParser) -> None:
    """Add ``--from`` to a command, and the names of the formats to its help."""
    parser.add_argument(
        "--from",
        choices=FORMATS,
        dest="source",
        metavar="FORMAT",
        help="input format (detected by default)",
    )
    add_names(parser, "formats", [", ".join(FORMATS)])


def path_to_write(path: str) -> str:
    """Return the path of a file to write; one that holds recorded runs is a wrong argument.

    In ``-o *.jsonl``, without a name, the first recording would be the file to write.
    """
    from ..exceptions import TraceUnreadable
    from ..traces import read_runs

    try:
        if os.path.isfile(path) and any(True for _ in read_runs(path, on_trouble=_ignore)):
            raise argparse.ArgumentTypeError(
                f"{path} holds recorded runs, which would be lost; name another file"
            )
    except TraceUnreadable:
        pass  # nothing of that kind is lost
    return path


def add_output(
    parser: argparse.ArgumentParser, about: str, default: Optional[str] = None, name: str = "FILE"
) -> None:
    """Add ``-o`` to a command, a file that holds no recorded runs."""
    parser.add_argument(
        "-o", "--output", type=path_to_write, default=default, metavar=name, help=about
    )


def _ignore(_: str) -> None:
    """Take a report of trouble that does not matter."""
