"""``antiloop label``: say whether a finding is right."""

import argparse
import os
from typing import TYPE_CHECKING, Any, Iterator, List, Optional, Tuple

from .._arguments import add_output, add_recordings
from .._command import COULD_NOT_RUN, add_command, naming
from .._detector import add_detector, detector_of, profiles_of
from .._output.terminal import SeenIds, complain, counted, line_of, named, tell
from .._recordings import Recordings

if TYPE_CHECKING:
    from ...loop_detection import LoopDetector
    from ...traces import RecordedRun
    from .._review.labels import Label

_ABOUT = "Say whether a finding is right, in a file of labels."
_EXAMPLE = """\
right and wrong are about the loops that are found in the run, or about the one with --step. stuck
is about the steps of --steps, where nothing was found, and good is about the whole run. Labels are
appended to the file; a later one replaces an earlier one on the same loop. The report writes such
files, too. antiloop calibrate --labels reads them.

The exit status is 0, or 2 if there is no such run or loop, or a file cannot be read or written.

example, from a clone of the repository:
  antiloop label right docs/examples/runs.jsonl --run refund-window
"""
VERDICTS = ("right", "wrong", "stuck", "good")


def add(commands: Any) -> None:
    parser = add_command(commands, "label", run, _ABOUT, _EXAMPLE)
    parser.add_argument("verdict", choices=VERDICTS, metavar="VERDICT", help="%(choices)s")
    add_recordings(parser)
    parser.add_argument("--run", dest="run_id", required=True, metavar="ID", help="id of the run")
    parser.add_argument("--step", type=int, metavar="N", help="a step of the loop that is meant")
    parser.add_argument(
        "--steps", type=_steps, metavar="FIRST-LAST", help="for stuck: where the agent is stuck"
    )
    add_output(parser, "file to append to (default: labels.jsonl)", "labels.jsonl")
    add_detector(parser)


def run(args: argparse.Namespace) -> int:
    recordings = Recordings(args.paths, args.source, profiles_of(args))
    seen = SeenIds()
    for found in recordings.runs():
        if found.run_id == args.run_id:
            break
        seen.add(found.run_id)
    else:
        if not recordings.is_incomplete:
            complain(f"{args.paths[0]}: no run {named(args.run_id)}; {seen}")
        return COULD_NOT_RUN
    labels = list(_labels(args, found))
    with naming(args.output):
        _append(args.output, "".join(each.to_line() for each in labels))
    tell(line_of(f"{args.output}: {counted(len(labels), 'label')} on {named(found.run_id)}"))
    return 0


def _append(path: str, lines: str) -> None:
    with open(path, "ab+", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        # An editor may have left the last line without an end.
        is_within = bool(size) and file.seek(-1, os.SEEK_END) and file.read() != b"\n"
        left = b"\n" * is_within + lines.encode()
        try:
            while left:
                left = left[file.write(left) :]
        except OSError:
            # A full disk takes a part of a line, and no command could read the file any more.
            file.truncate(size)
            raise


def _labels(args: argparse.Namespace, found: "RecordedRun") -> "Iterator[Label]":
    from .._review.labels import Label

    if args.verdict == "good":
        yield Label(found.run_id, is_stuck=False)
    elif args.verdict == "stuck":
        if args.steps is None:
            raise ValueError("stuck needs --steps FIRST-LAST: where the agent is stuck")
        if args.steps[1] >= len(found):
            raise ValueError(f"--steps: the run has {counted(len(found), 'step')}, counted from 0")
        yield Label(found.run_id, is_stuck=True, steps=args.steps)
    else:
        for key, steps in _loops(found, detector_of(args), args.step):
            yield Label(found.run_id, args.verdict == "right", (steps[0], steps[-1]), key)


def _loops(
    run: "RecordedRun", detector: "LoopDetector", step: Optional[int]
) -> "List[Tuple[str, Tuple[int, ...]]]":
    from .._judged_run import judge, profile_of
    from .._summary.figures import marked_loops

    loops = marked_loops(run, judge(run, profile_of(detector)).verdicts)
    chosen = [each for each in loops if step is None or each[1][0] <= step <= each[1][-1]]
    if not chosen:
        where = "" if step is None else f" at step {step}"
        raise ValueError(f"no loop is found in {named(run.run_id)}{where}; see antiloop scan")
    return chosen


def _steps(text: str) -> Tuple[int, int]:
    first, _, last = text.partition("-")
    if not (first.isdigit() and last.isdigit() and int(first) <= int(last)):
        raise argparse.ArgumentTypeError(f"must be like 4-12, got {text!r}")
    return int(first), int(last)
