"""Print a calibration: a page for a person, or JSON."""

from math import inf
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from ..._text.masking import SECRETS
from .terminal import counted, line_of, named

if TYPE_CHECKING:
    from ...calibration import Calibration, Change, Tally
    from .._review.labels import Reviewed
    from .._review.policies import Choice
    from .._review.recall import Recall

_SHOWN_RUNS = 10
"""The page names this many runs for each detector; JSON names all."""


class CalibrationCost(NamedTuple):
    """The price of a calibration in labeled loops."""

    before: "Recall"
    after: "Recall"
    changes: "List[Tuple[str, int, int]]"
    """Name of each change, and how many loops it alone makes not caught, and not ended."""
    choices: "List[Choice]"
    """The policies that were tried, for each tool over which good runs were stopped."""
    reviewed: "Reviewed"


def as_json(
    done: "Calibration", price: Optional[CalibrationCost] = None, max_raise: float = inf
) -> Dict[str, Any]:
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
        "max_raise": max_raise if max_raise < inf else None,
        **({} if price is None else {"recall": _price_as_json(price)}),
        "config": done.config,
    }


def _price_as_json(price: CalibrationCost) -> Dict[str, Any]:
    return {
        "before": vars(price.before),
        "after": vars(price.after),
        "changes": [
            {"change": name, "caught": caught, "ended": ended}
            for name, caught, ended in price.changes
        ],
        "choices": [each._asdict() for each in price.choices],
        "unlabeled_runs": price.reviewed.unlabeled,
        "labels_without_run": list(price.reviewed.unknown),
    }


def as_text(
    done: "Calibration", price: Optional[CalibrationCost] = None, max_raise: float = inf
) -> str:
    lines = [*_figures(done), *_recall(price), *_stops(done), *_changes(done)]
    if price is not None:
        lines += [*_choices(price), *_costs(price), *_left_out(price.reviewed)]
    return "\n".join([*lines, "", *_verdict(done, max_raise)])


def _recall(price: Optional[CalibrationCost]) -> Iterator[str]:
    if price is not None:
        yield _row(f"{counted(price.before.loops, 'labeled loop')}", "", "").rstrip()
        yield _row("  found", price.before.caught, price.after.caught)
        yield _row("  blocked, stopped or raised", price.before.ended, price.after.ended)


def _choices(price: CalibrationCost) -> Iterator[str]:
    """Report what was tried for each tool."""
    if price.choices:
        yield from ("", f"Tried for each tool, of {counted(price.before.loops, 'loop')}:")
    for each in price.choices:
        left = f"{counted(each.stopped, 'good run')} stopped; cost: "
        cost = _cost(each.not_caught, each.not_ended) + " known" * (not each.is_known)
        more = ", needs higher thresholds, too" if each.needs_more else ""
        taken = "  (taken)" if each.is_taken else ""
        yield line_of(f"  {f'{each.tool!r}, {each.name}':<27} {left}{cost}{more}{taken}")
    if any(each.is_taken and each.name == "exempt" for each in price.choices):
        yield "No loop of a tool that is exempt is found any more."


def _costs(price: CalibrationCost) -> Iterator[str]:
    """Report what each change costs in labeled loops."""
    if price.changes:
        yield from ("", f"Cost of each change alone, of {counted(price.before.loops, 'loop')}:")
    for name, caught, ended in price.changes:
        yield line_of(f"  {name:<27} {_cost(caught, ended)}")


def _cost(caught: int, ended: int) -> str:
    return f"{caught} not found, {ended} not ended" if caught or ended else "none"


def _left_out(reviewed: "Reviewed") -> Iterator[str]:
    if reviewed.unlabeled:
        yield from ("", f"Left out, as they have no label: {counted(reviewed.unlabeled, 'run')}.")
    if reviewed.unknown:
        yield from ("", line_of(f"Labels without a run: {_first(reviewed.unknown)}."))


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
                "message": SECRETS.text(stop.began.summary),
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
            f"  true share at most ({_percent(done.confidence)} sure)",
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
    for title, is_policy in (("Thresholds:", False), ("Policies of tools:", True)):
        changes = [each for each in done.changes if is_policy is not bool(each.detector)]
        if changes:
            yield from ("", title)
        yield from map(_change, changes)


def _change(change: "Change") -> str:
    if not change.detector:
        return line_of(f"  {change.option:<27} not declared -> {str(change.after).lower()}")
    name = f"{change.detector}, {change.option}"
    # A tool without a threshold has that of the detector.
    unset = "as for others" if change.option.startswith("threshold of") else None
    before = unset if unset and change.before is None else _value(change.before)
    return line_of(f"  {name:<27} {before} -> {_value(change.after)}")


def _verdict(done: "Calibration", max_raise: float) -> Iterator[str]:
    """Summarize what the figures support, in one sentence."""
    if len(done.after.stops) > max(0, done.stops_allowed) and max_raise < inf:
        yield (
            f"No threshold is raised {max_raise:g} times or more: runs that are still stopped look"
            " like loops. Look at them, leave out those that are stuck, or say --max-raise."
        )
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
