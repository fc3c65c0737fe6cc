"""What the public values hold where nothing is said."""

from dataclasses import MISSING, fields, is_dataclass

import pytest

from antiloop import loop_detection
from antiloop.loop_detection import LoopAction, LoopSeverity

DEFAULTS = {
    "CallPattern": {"where": {}, "handle": ""},
    "CaseCall": {
        "same": (),
        "near": None,
        "same_result": (),
        "near_result": None,
        "changes_between": 0,
        "is_error": False,
        "is_known": True,
    },
    "CaseFile": {"rounds": (), "found": "", "earlier": "", "user": "", "words": ""},
    "CaseRound": {"after_user": False, "omitted": 0},
    "ClientProfile": {
        "title": "",
        **dict.fromkeys(["tools", "wraps", "host_texts", "compaction", "compaction_events"], ()),
        **dict.fromkeys(["plans", "waits", "looks", "acts", "finishes", "agents", "comments"], ()),
    },
    "Escalation": {
        "actions": (LoopAction.NOTIFY, LoopAction.BLOCK, LoopAction.STOP),
        "every": 1,
        "per_lap": False,
        "resumes": True,
        "max_interventions": None,
        "on_notice": None,
    },
    "JudgedCall": {
        "call_id": None,
        "ended_at": None,
        **dict.fromkeys(["is_fresh", "is_new", "is_known", "is_retold", "is_unseen"], False),
    },
    "LoopDetection": {
        "details": {},
        "severity": LoopSeverity.WARNING,
        "identity": "",
        "period": 1,
        "repetitions": 0,
        "indices": (),
        "call_ids": (),
        "wasted_calls": 0,
        "members": (),
        "answers": (),
        "refused": None,
        "is_lasting": False,
        "is_refusal": False,
        "spacing": 1,
        "inherits": True,
        "may_end_run": True,
        "is_certain": True,
        **dict.fromkeys(["summary", "label", "answer"], ""),
    },
    "LoopVerdict": {
        "action": LoopAction.CONTINUE,
        "detection": None,
        "message": "",
        "suspicion": 0.0,
        "case": None,
        "is_shadow": False,
        "would_be": None,
        "run_id": "",
    },
    "Opinion": {"confidence": 1.0, "reason": ""},
    "SecondOpinion": {
        "suspicion": 0.45,
        "gap": 4,
        "limit": 10,
        "confirm": False,
        "timeout": 30.0,
        "confidence": 0.8,
    },
    "ToolPolicy": {
        "poll": None,
        "exempt": False,
        "mutates": None,
        "idempotent": None,
        "key": None,
        "strip": None,
        "thresholds": {},
    },
}
"""By class: each field that need not be given, in their order."""


def default_of(field):
    return field.default_factory() if field.default is MISSING else field.default


@pytest.mark.parametrize("name", DEFAULTS)
def test_what_is_not_said_is_as_usual(name):
    optional = [
        each
        for each in fields(getattr(loop_detection, name))
        if each.default is not MISSING or each.default_factory is not MISSING
    ]
    assert [(each.name, default_of(each)) for each in optional] == list(DEFAULTS[name].items())


def test_no_public_value_is_left_out():
    public = {name: getattr(loop_detection, name) for name in loop_detection.__all__}
    assert {name for name, thing in public.items() if is_dataclass(thing)} == set(DEFAULTS)


NOT_COMPARED = {
    "LoopDetection": {"summary", "label", "answer"},
    "LoopVerdict": {"run_id"},
}
"""Fields that take no part in equality: a resumed run does not know them all."""


@pytest.mark.parametrize("name", DEFAULTS)
def test_what_a_resumed_run_need_not_know_is_not_compared(name):
    left_out = {each.name for each in fields(getattr(loop_detection, name)) if not each.compare}
    assert left_out == NOT_COMPARED.get(name, set())
