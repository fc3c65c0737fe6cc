"""Two sets of runs side by side: better, worse, the same, new, gone."""

from collections import defaultdict, deque
from typing import Any, DefaultDict, Deque, Dict, List

_CHANGES = ("worse", "better", "same", "new", "gone")


def compare(ours: List[Dict[str, Any]], others: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """Note in the lines of the overview how each run changed, and return all of them.

    Runs with the same id are a pair; where an id comes several times, in their order. A run is
    better if its score is higher.

    Args:
        ours: the runs of now.
        others: those that they are compared to.
    """
    waiting: DefaultDict[str, Deque[Dict[str, Any]]] = defaultdict(deque)
    for one in others:
        one.update(side="b", change="gone")
        waiting[one["id"]].append(one)
    for one in ours:
        one.update(side="a", change="new")
        if waiting[one["id"]]:
            _pair(one, waiting[one["id"]].popleft())
    return ours + others


def _pair(one: Dict[str, Any], other: Dict[str, Any]) -> None:
    score, before = one["score"], other["score"]
    change = "same" if score == before else "better" if score > before else "worse"
    one.update(change=change, other=other["number"])
    other.update(change=change, other=one["number"])


def counts_of(summaries: List[Dict[str, Any]]) -> Dict[str, int]:
    """Count the changes, each pair of runs once; empty where nothing was compared."""
    rows = [one["change"] for one in summaries if is_listed(one) and "change" in one]
    return {change: rows.count(change) for change in _CHANGES if change in rows}


def is_listed(about: Dict[str, Any]) -> bool:
    """Whether a run has a row, and is not shown beside the one that replaced it."""
    return about.get("side") != "b" or bool(about["change"] == "gone")
