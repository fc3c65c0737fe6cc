"""Which detector a command works with: a preset, or a configuration from a file."""

import argparse
import inspect
import json
import sys

from ..loop_detection import LoopDetector
from ..loop_detection.presets import PRESETS
from .terminal import printable


def add_detector(parser: argparse.ArgumentParser) -> None:
    """Add ``--preset`` and ``--config`` to a command, and a line on each preset to its help."""
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument(
        "--preset", choices=PRESETS, default="default", help="who looks (default: default)"
    )
    choice.add_argument(
        "--config",
        type=read_config,
        metavar="FILE",
        help="who looks, from JSON that LoopDetector.to_config wrote; - is standard input",
    )
    parser.epilog = f"presets:\n{_presets()}\n\n{parser.epilog}"


def detector_of(args: argparse.Namespace) -> LoopDetector:
    """Make the detector that was chosen."""
    chosen: LoopDetector = args.config or PRESETS[args.preset]()
    return chosen


def _presets() -> str:
    abouts = {name: inspect.getdoc(make) or "" for name, make in PRESETS.items()}
    return "\n".join(
        f"  {name:<11} {about.partition(chr(10))[0]}" for name, about in abouts.items()
    )


def read_config(path: str) -> LoopDetector:
    """Read a configuration; what is wrong with it is told as a wrong argument."""
    try:
        return LoopDetector.from_config(json.loads(_read(path)))
    except OSError as error:
        what = error.strerror or str(error)
    except json.JSONDecodeError as error:
        what = f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
    except RecursionError:
        what = "nested too deeply"
    except (TypeError, ValueError) as error:
        what = str(error)
    raise argparse.ArgumentTypeError(printable(f"{path}: {what}"))


def _read(path: str) -> str:
    if path == "-":
        return sys.stdin.read()
    with open(path, encoding="utf-8-sig") as file:
        return file.read()
