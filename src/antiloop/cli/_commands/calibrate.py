"""``antiloop calibrate``: fit thresholds to recorded runs that went well."""

import argparse
import json
import os
import sys
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, Callable, Optional, Tuple

from ..._replaced_file import named_folders, replaced_file
from ...loop_detection import LoopDetector
from .._arguments import add_output, add_recordings
from .._command import COULD_NOT_RUN, FOUND, add_command, add_format, naming
from .._detector import add_configured_detector, detector_of, profiles_of, settings_of
from .._output.terminal import complain, is_watched, say, show_status, tell_page
from .._recordings import Recordings

if TYPE_CHECKING:
    from ...calibration import Calibration
    from .._output.calibration_output import CalibrationCost
    from .._review.labels import Reviewed

_ABOUT = "Fit thresholds to recorded runs that were good, or that have labels."
_EXAMPLE = """\
Without --labels all recorded runs must be good runs. A detector that stops one of them makes a
mistake; its threshold is raised until the fraction of good runs that are stopped stays below
--max-false-stops. With --labels only labeled runs count. Then tools that stop good runs may also be
declared: as a poll, or as exempt. The report says what each change costs in labeled loops that are
no longer found.

The exit status is 0 if the runs support that fraction, 1 if there are too few runs (the
configuration is written anyway), and 2 if something could not be read or written.

example, from a clone of the repository:
  antiloop calibrate --max-false-stops 0.1 docs/examples/good-runs.jsonl
"""


def add(commands: Any) -> None:
    parser = add_command(commands, "calibrate", run, _ABOUT, _EXAMPLE)
    add_recordings(parser)
    add_configured_detector(parser)
    parser.add_argument(
        "--max-false-stops",
        type=_share,
        default=0.01,
        metavar="SHARE",
        help="largest fraction of good runs that may be interrupted (default: 0.01)",
    )
    parser.add_argument(
        "--confidence",
        type=_share,
        default=0.95,
        metavar="SHARE",
        help="confidence that the true fraction stays below it (default: 0.95)",
    )
    parser.add_argument(
        "--labels",
        metavar="FILE",
        help="labels of findings and runs, from the report or antiloop label",
    )
    parser.add_argument(
        "--max-raise",
        type=_factor,
        default=10.0,
        metavar="TIMES",
        help="no threshold becomes as many times as high: runs that would need it are named,"
        " as they may be stuck (default: 10)",
    )
    about = "file for the configuration as JSON, or, as FILE.toml, for settings; with - it goes to"
    add_output(parser, f"{about} standard output and the report to standard error")
    add_format(parser, ("text", "json"), "format of the report")


def run(args: argparse.Namespace) -> int:
    """Calibrate, write the configuration, and report."""
    from ...calibration import calibrate

    reviewed, detector = _reviewed(args), detector_of(args)
    if reviewed is None:
        return COULD_NOT_RUN
    fit = partial(
        calibrate,
        reviewed.good,
        detector,
        max_false_stops=args.max_false_stops,
        confidence=args.confidence,
        max_raise=args.max_raise,
        by_tool=args.labels is not None,
        on_progress=show_status if is_watched() else lambda _: None,
    )
    done, price = (fit(), None) if args.labels is None else _priced(reviewed, detector, fit)
    show_status("")
    return _report(args, detector, done, price)


def _priced(
    reviewed: "Reviewed", detector: LoopDetector, fit: "Callable[..., Calibration]"
) -> "Tuple[Calibration, CalibrationCost]":
    """Calibrate with policies of tools, too, and count what that costs in labeled loops."""
    from .._output.calibration_output import CalibrationCost
    from .._review.policies import with_policies
    from .._review.recall import costs, recall_of

    done, tried = with_policies(reviewed, detector, lambda policies: fit(policies=policies))
    after = LoopDetector.from_config(done.config)
    recalls = recall_of(reviewed.stuck, detector), recall_of(reviewed.stuck, after)
    changes = list(costs(reviewed.stuck, detector, done.config))
    return done, CalibrationCost(*recalls, changes, tried, reviewed)


def _report(
    args: argparse.Namespace,
    detector: LoopDetector,
    done: "Calibration",
    price: "Optional[CalibrationCost]",
) -> int:
    from .._output.calibration_output import as_json, as_text

    if args.format == "json":
        report = json.dumps(as_json(done, price, args.max_raise), indent=2)
    else:
        report = as_text(done, price, args.max_raise)
    if args.output == "-":
        sys.stderr.write(report + "\n")
    elif args.format == "json":
        say(report)
    else:
        tell_page(report)
    if args.output is not None:
        _write(args, detector, done)
    return 0 if done.holds else FOUND


def _reviewed(args: argparse.Namespace) -> "Optional[Reviewed]":
    """Read all runs; None if a file is unreadable, because the figures would mislead."""
    from .._review.labels import Reviewed, read_labels, review

    recordings = Recordings(args.paths, args.source, profiles_of(args))
    if args.labels is None:
        runs = list(recordings.runs())
        if not runs and not recordings.is_incomplete:
            complain(f"{args.paths[0]}: no recorded runs to calibrate with")
        return None if recordings.is_incomplete or not runs else Reviewed(runs, (), 0, ())
    with naming(args.labels):
        labels = read_labels(args.labels)
    reviewed = review(recordings.runs(), labels)
    if not reviewed.good and not recordings.is_incomplete:
        complain(
            f"{args.labels}: no label says that a finding is wrong, or a run good;"
            " there is nothing to raise a threshold for"
        )
    return None if recordings.is_incomplete or not reviewed.good else reviewed


def _write(args: argparse.Namespace, detector: LoopDetector, done: "Calibration") -> None:
    path = args.output
    with naming(path, (OSError, ValueError)):
        is_settings = path.endswith(".toml")
        text = _settings(args, detector, done) if is_settings else _configuration(args, done)
        if path == "-":
            say(text)
            return
        with replaced_file(path, within=named_folders(path)) as file:
            file.write(text if is_settings else text + "\n")


def _configuration(args: argparse.Namespace, done: "Calibration") -> str:
    """Return the configuration as JSON, without the shadow mode that the settings have set."""
    # Settings that name the file would stay in shadow mode after `shadow` was removed from them.
    live = {"shadow": False} if "shadow" in settings_of(args).values else {}
    return json.dumps({**done.config, **live}, indent=2)


def _settings(args: argparse.Namespace, detector: LoopDetector, done: "Calibration") -> str:
    """Return the settings as TOML: those in force, with what was changed."""
    from .._review.settings_text import settings_with, toml_of

    if isinstance(args.config, LoopDetector):
        raise ValueError("settings name a preset, not a JSON configuration; name a FILE.json")
    if os.path.lexists(args.output):
        # Its comments, and what was set since, would be lost.
        raise ValueError("is there already; name another file, and take its tables over")
    settings = settings_of(args)
    values = settings.values if args.preset is None else {}
    return toml_of(settings_with(values, args.preset or "default", detector, done))


def _between(low: float, high: float, wanted: str, text: str) -> float:
    try:
        given = float(text)
    except ValueError:
        given = low
    if not low < given <= high or given == high < inf:
        raise argparse.ArgumentTypeError(f"must be {wanted}, got {text!r}")
    return given


_share = partial(_between, 0, 1, "between 0 and 1, both excluded")
_factor = partial(_between, 1, inf, "more than 1")
