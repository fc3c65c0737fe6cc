"""The page of sessions that go on: the page of the report, with a row for each session."""

from typing import Any, Dict, Iterator, List, Tuple

from .._text.markup import html
from .._text.masking import safely_shown
from ..health import HealthProfile, evaluate
from ..traces import RecordedRun
from ..traces._internal import LiveSession, LiveState
from ._data.run_data import drawn
from ._data.summary import summary
from ._page import as_json, frame
from ._plain import plain_run, plain_table

_COLUMNS = ("Run", "State", "Calls", "Wasted calls", "Suspicion", "Last verdict")


def live_page(rows: List[Dict[str, Any]]) -> Tuple[str, str]:
    """Return the page and its policy; it asks for ``events`` and ``runs/NUMBER`` beside itself."""
    policy, before, after = frame(rows, _plain(rows), is_live=True)
    return before + after, policy


def live_row(session: LiveSession, now_s: float) -> Dict[str, Any]:
    last, found = None, None
    if session.last is not None:
        step, verdict = session.last
        last, found = [step, verdict.action.value], verdict.detection
    return {
        "number": session.number,
        "id": session.run_id,
        "source": session.source,
        "status": session.state(now_s).value,
        "calls": session.steps,
        "wasted_calls": session.wasted_calls,
        "suspicion": round(100 * session.suspicion),
        "last": last,
        "trouble_s": round(session.trouble_s, 3),
        "written_s": round(session.written_s),
        "began_s": None,
        "took_s": None,
        "keys": [],
        "loops": [safely_shown(found.summary)] if found else [],
        "detectors": [found.detector_name] if found else [],
        "tools": [],
        "picture": str(session.picture),
        "agent": None,
        "model": None,
        "cost": None,
        "wasted_tokens": 0,
        "wasted_cost": None,
    }


def live_run(run: RecordedRun, number: int, profile: HealthProfile) -> str:
    """Draw a run as far as it is recorded, as JSON for the page."""
    health = evaluate(run, profile=profile)
    run = run.priced(profile.prices)
    masking = profile.detector.masking
    picture = drawn(run, health, masking)
    about = summary(run, health, picture, number, masking)
    plain = "".join(plain_run(about, picture))
    return as_json({"about": about, "data": as_json(picture.data), "plain": plain})


def _by_trouble(row: Dict[str, Any]) -> Tuple[bool, float, float]:
    return row["status"] != LiveState.LOOPING.value, -row["trouble_s"], -row["suspicion"]


def _plain(rows: List[Dict[str, Any]]) -> Iterator[str]:
    """Yield the overview for browsers that run no scripts; it is not kept up to date there."""
    yield f"<p>{len(rows):,} runs. Load the page again for what is new.</p>\n"
    yield from plain_table(_COLUMNS, map(_cells, sorted(rows, key=_by_trouble)))


def _cells(row: Dict[str, Any]) -> Iterator[str]:
    last = f"step {row['last'][0]}, {row['last'][1]}: {row['loops'][0]}" if row["last"] else ""
    figures = (f"{row['calls']:,}", f"{row['wasted_calls']:,}", f"{row['suspicion']} %")
    return map(html, (row["id"], row["status"], *figures, last))
