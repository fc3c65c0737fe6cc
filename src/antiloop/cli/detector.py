"""Which detector a command works with: a preset, or a configuration from a file."""

import argparse
import inspect
import json
import sys
from typing import Iterator

from ..loop_detection import LoopDetector
from ..loop_detection.presets import PRESETS
from ..regular_file import opener
from .command import add_names, reason_of
from .named_judge import with_judge


def add_detector(parser: argparse.ArgumentParser) -> None:
    """Add ``--preset`` and ``--config`` to a command, and a line on each preset to its help."""
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument(
        "--preset",
        choices=PRESETS,
        default="default",
        metavar="NAME",
        help="who looks (default: default)",
    )
    choice.add_argument(
        "--config",
        type=read_config,
        metavar="FILE",
        help="who looks, from JSON that LoopDetector.to_config wrote; - is standard input",
    )
    add_names(parser, "presets", _presets())


def detector_of(args: argparse.Namespace) -> LoopDetector:
    """Make the detector that was chosen, with the judge that was named."""
    chosen: LoopDetector = args.config or PRESETS[args.preset]()
    return with_judge(chosen, getattr(args, "second_opinion", None))


def _presets() -> Iterator[str]:
    for name, make in PRESETS.items():
        about, _, _ = (inspect.getdoc(make) or "").partition("\n")
        yield f"{name:<11} {about}"


def read_config(path: str) -> LoopDetector:
    """Read a configuration; what is wrong with it is told as a wrong argument."""
    try:
        return LoopDetector.from_config(json.loads(_read(path)))
    except (OSError, RecursionError, TypeError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{path}: {reason_of(error)}") from error


def _read(path: str) -> str:
    if path == "-":
        if sys.stdin is None:
            raise OSError("not open")
        return sys.stdin.read()
    with open(path, encoding="utf-8-sig", opener=opener) as file:
        return file.read()
