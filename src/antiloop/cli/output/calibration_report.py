"""What a calibration prints: a page for a person, or JSON."""

from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Sequence

from ...loop_detection.text.masking import SECRETS
from .terminal import counted, line_of, named

if TYPE_CHECKING:
    from ...calibration import Calibration, Tally

_SHOWN_RUNS = 10
"""How many runs the page names for each detector; JSON names all."""


def as_json(done: "Calibration") -> Dict[str, Any]:
    """Return a calibration as plain JSON data."""
    return {
        "runs": done.before.runs,
        "max_false_stops": done.max_false_stops,
        "confidence": done.confidence,
        "holds": done.holds,
        "stops_allowed": max(0, done.stops_allowed),
        "runs_needed": done.runs_needed,
        "before": _tally_as_json(done.before, done.share_before),
        "after": _tally_as_json(done.after, done.share_after),
        "changes": [vars(change) for change in done.changes],
        "config": done.config,
    }


def as_text(done: "Calibration") -> str:
    """Return a calibration as a page."""
    return "\n".join([*_figures(done), *_stops(done), *_changes(done), "", *_verdict(done)])


def _tally_as_json(tally: "Tally", share: float) -> Dict[str, Any]:
    return {
        "notified": tally.notified,
        "stopped": len(tally.stops),
        "share_supported": share,
        "stops": [
            {
                "run_id": stop.run.run_id,
                "source": stop.run.source,
                "step": stop.step,
                "detector": stop.began.detector_name,
                "action": stop.action.value,
                "message": SECRETS.text(stop.began.message),
            }
            for stop in tally.stops
        ],
    }


def _figures(done: "Calibration") -> List[str]:
    before, after = done.before, done.after
    return [
        _row(f"{counted(before.runs, 'good run')}", "before", "after"),
        _row("  received a notice", before.notified, after.notified),
        _row("  blocked, stopped or raised", len(before.stops), len(after.stops)),
        _row(
            f"  share supported at {_percent(done.confidence)}",
            _percent(done.share_before),
            _percent(done.share_after),
        ),
    ]


def _stops(done: "Calibration") -> Iterator[str]:
    for tally, title in (
        (done.before, "Stopped by the old thresholds:"),
        (done.after, "Still stopped:"),
    ):
        if tally.stops:
            yield from ("", title)
        by_detector: Dict[str, List[str]] = {}
        for stop in tally.stops:
            by_detector.setdefault(stop.began.detector_name, []).append(stop.run.run_id)
        for name, run_ids in by_detector.items():
            yield line_of(f"  {name:<15} {counted(len(run_ids), 'run')}: {_first(run_ids)}")


def _changes(done: "Calibration") -> Iterator[str]:
    if done.changes:
        yield from ("", "Thresholds:")
    for change in done.changes:
        name = f"{change.detector}, {change.option}"
        yield line_of(f"  {name:<27} {_value(change.before)} -> {_value(change.after)}")


def _verdict(done: "Calibration") -> Iterator[str]:
    """Summarize what the figures support, in one sentence."""
    wanted, share = _percent(done.max_false_stops), _percent(done.share_after)
    confidence = _percent(done.confidence)
    if done.holds:
        yield (
            f"With {confidence} confidence, at most {share} of good runs are stopped;"
            f" the limit is {wanted}."
        )
    else:
        yield (
            f"{counted(done.after.runs, 'run')}, {len(done.after.stops) or 'none'} of them stopped,"
            f" support {share} at {confidence} confidence, not {wanted};"
            f" that takes {counted(done.runs_needed, 'run')}."
        )
    if done.changes:
        yield "The thresholds were chosen with these runs; confirm the figure with others."


def _row(title: str, before: object, after: object) -> str:
    return f"{title:<34}{before:>10}{after:>10}"


def _first(run_ids: Sequence[str]) -> str:
    more = len(run_ids) - _SHOWN_RUNS
    first = ", ".join(map(named, run_ids[:_SHOWN_RUNS]))
    return f"{first} and {more:,} more" if more > 0 else first


def _value(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    return "as the policy says" if value is None else str(value)


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
