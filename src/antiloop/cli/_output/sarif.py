"""Print a scan for code hosts and editors: SARIF 2.1.0.

Rules are the detectors, results the loops that they found. A result points to the line of the
recording where its run begins; the step is given as a logical location.
"""

import inspect
import json
import os
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict
from urllib.parse import quote

from ...version import __version__
from .._recordings import portable_path
from .judged_output import merged, message
from .terminal import say

if TYPE_CHECKING:
    from ...loop_detection import BaseDetector, LoopDetector
    from .._judged_run import JudgedRun
    from .._recordings import Recordings
    from .judged_output import Said

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"ok": "note", "warning": "warning", "critical": "error"}
# These have a meaning in a message.
_MARKUP = str.maketrans({"{": "{{", "}": "}}", "[": "\\[", "]": "\\]", "\\": "\\\\"})


class SarifWriter:
    """One SARIF log with one run: the scan."""

    def __init__(self, detector: "LoopDetector", recordings: "Recordings") -> None:
        self._recordings = recordings
        self._rules = [_rule(each) for each in detector.detectors]
        self._seen: Counter[str] = Counter()
        head = {"$schema": _SCHEMA, "version": "2.1.0"}
        self._before = f'{json.dumps(head)[:-1]}, "runs": [{{"results": [\n'

    def run(self, judged: "JudgedRun") -> None:
        if not judged.verdicts:
            return
        self._seen[judged.run_id] += 1
        for said in merged(judged.verdicts):
            say(self._before + json.dumps(_result(judged, said, self._seen[judged.run_id])), end="")
            self._before = ",\n"

    def end(self) -> None:
        driver = {"name": "antiloop", "semanticVersion": __version__, "rules": self._rules}
        tool = {"driver": driver}
        start = self._before if self._before != ",\n" else "\n"
        invocation = {
            "executionSuccessful": not self._recordings.is_incomplete,
            "toolExecutionNotifications": [
                {"level": "warning", "message": {"text": what.translate(_MARKUP)}}
                for what in self._recordings.notices
            ],
        }
        rest = {"columnKind": "unicodeCodePoints", "invocations": [invocation], "tool": tool}
        say(f"{start}], {json.dumps(rest)[1:]}]}}")


def _rule(detector: "BaseDetector") -> Dict[str, Any]:
    """Describe a detector by the first paragraphs of its docstring; hosts ask for all three."""
    text = (inspect.getdoc(detector) or detector.name).partition("\n\nArgs:")[0]
    first, _, more = (" ".join(part.split()) for part in text.partition("\n\n"))
    texts = {"shortDescription": first, "fullDescription": more or first, "help": text}
    return {"id": detector.name, **{name: {"text": text} for name, text in texts.items()}}


def _result(judged: "JudgedRun", loop: "Said", nth: int) -> Dict[str, Any]:
    """Describe a loop of the n-th stuck run with this id: ids may repeat."""
    step, verdict, again = loop
    said = {"step": step, **verdict.to_dict()}
    found = verdict.detection
    rule = found.detector_name if found else ""
    run = judged.run_id if nth == 1 else f"{judged.run_id}\0{nth}"
    identity = f"{run}\0{found.identity if found else ''}\0{verdict.action.value}"
    state = "unchanged" if judged.is_known(verdict) else "new"
    return {
        "ruleId": rule,
        "level": _LEVELS[verdict.severity.value],
        "message": {"text": f"Step {step}: {message(verdict)}".translate(_MARKUP)},
        "locations": [_location(judged, step)],
        **({} if judged.known is None else {"baselineState": state}),
        # It depends on the loop, not on its place. GitHub reads this name only.
        "partialFingerprints": {
            "primaryLocationLineHash": sha256(identity.encode("utf-8", "replace")).hexdigest()
        },
        "properties": {
            "run_id": judged.run_id,
            "step": step,
            "again": again,
            "action": verdict.action.value,
            "health": judged.health.status.value,
            **{name: said[name] for name in ("calls", "answer")},
        },
    }


def _location(judged: "JudgedRun", step: int) -> Dict[str, Any]:
    path, _, place = judged.source.rpartition(":")
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(path)},
            "region": {"startLine": int(place.partition("[")[0])},
        },
        "logicalLocations": [
            {"name": f"step {step}", "fullyQualifiedName": f"{judged.run_id}/step {step}"}
        ],
    }


def _uri(path: str) -> str:
    portable = portable_path(path)
    is_whole = os.path.isabs(portable)
    return Path(portable).as_uri() if is_whole else quote(os.fsencode(portable))
