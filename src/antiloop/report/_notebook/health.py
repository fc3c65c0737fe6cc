"""A health report in a notebook."""

from typing import Iterator

from ..._short_repr import counted
from ...health import HealthReport
from .frame import frame, head, listed, pictured, quiet, text
from .strip import Strip


def health_html(report: HealthReport) -> str:
    """Return a report as a notebook shows it.

    It knows the number of calls and not the calls, so it shows where the loops are and the
    suspicion.
    """
    wasted = f"{report.wasted_calls:,} wasted" if report.wasted_calls else ""
    line = head(
        "HealthReport",
        report.status.value,
        f"score {report.score}",
        counted(report.calls, "call"),
        wasted,
        counted(len(report.warnings), "warning"),
    )
    return frame(line, pictured(_strip(report)), listed([*_warnings(report)]))


def _strip(report: HealthReport) -> Strip:
    steps = range(report.calls)
    found = [verdict.detection for _, verdict in report.verdicts if verdict.detection]
    return Strip(
        len(steps),
        looped={step for each in found for step in each.indices if step in steps},
        flagged={step for step, _ in report.verdicts if step in steps},
        curve=[(step, suspicion) for step, suspicion in report.suspicion if step in steps],
    )


def _warnings(report: HealthReport) -> Iterator[str]:
    for each in report.warnings:
        advice = quiet(text(each.suggestion))
        yield f"<b>{text(each.name, 40)}</b>, step {each.step}: {text(each.message)} {advice}"
