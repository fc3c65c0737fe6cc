"""What is known of a client reaches the engine: its tools need no telling names."""

import pytest
from runs import features_of

from antiloop import LoopDetector, ToolCall, ToolPolicy
from antiloop.loop_detection import ClientProfile
from antiloop.loop_detection._evidence.asked import asked_of
from antiloop.loop_detection._evidence.tool_policy import NO_POLICY

HARNESS = ClientProfile.from_dict(
    "harness",
    {
        "plans": ["note"],
        "waits": [{"tool": "peek", "handle": "job"}, {"tool": "do", "where": {"what": "park"}}],
        "looks": ["set_frame"],
        "acts": ["tilt"],
        "finishes": ["hand_in"],
    },
)


def first_word(client, tool, arguments, answer="fine so far", rounds=13, **options):
    """Return the round in which the same call is first answered by more than to go on."""
    monitor = LoopDetector.escalating(**options).monitor(client=client)
    verdicts = [monitor.record_call(tool, arguments, answer) for _ in range(rounds)]
    return next((at for at, each in enumerate(verdicts, 1) if each.action.value != "continue"), 0)


@pytest.mark.parametrize(
    ("tool", "arguments", "unknown", "known"),
    [
        ("peek", {"job": "a1"}, 3, 12),
        ("do", {"what": "park"}, 3, 12),
        ("do", {"what": "drive"}, 3, 3),
        ("tilt", {"by": 5}, 3, 12),
        ("note", {"text": "to do"}, 3, 0),
        ("other", {}, 3, 3),
    ],
)
def test_the_engine_knows_the_tools_of_the_client(tool, arguments, unknown, known):
    assert first_word(None, tool, arguments) == unknown
    assert first_word(HARNESS, tool, arguments) == known


def test_a_client_is_known_by_its_name():
    wait = ("write_stdin", {"session_id": 7, "chars": ""})
    assert first_word("codex", *wait) == first_word(ClientProfile.named("codex"), *wait) == 12


@pytest.mark.parametrize(("given", "error"), [("codexx", ValueError), (7, TypeError)])
def test_what_is_no_client_is_refused(given, error):
    with pytest.raises(error, match=r"codex|ClientProfile"):
        LoopDetector.default().monitor(client=given)


def test_a_declaration_comes_before_the_client():
    declared = {"note": ToolPolicy(exempt=False)}
    assert first_word(HARNESS, "note", {}, tools=declared) == 3


def features(tool, arguments, answer="fine", policy=NO_POLICY):
    return features_of(ToolCall(tool, arguments), answer, policy, client=HARNESS)


def test_looks_acts_and_finishes_are_those_of_the_client():
    assert not features("set_frame", {"n": 1}).mutates
    assert features("set_frame", {"n": 1}).only_looks
    assert features_of(ToolCall("set_frame", {"n": 1}), "fine").mutates
    assert features("set_frame", {"n": 1}, policy=ToolPolicy(mutates=True)).mutates
    assert features("tilt", {}).moves
    assert not features_of(ToolCall("tilt", {}), "fine").moves
    assert features("hand_in", {}).finishes
    assert not features_of(ToolCall("hand_in", {}), "fine").finishes


def test_a_wait_is_compared_by_what_it_waits_for():
    def call(arguments, client=HARNESS, tool="peek"):
        return asked_of(ToolCall(tool, arguments), {}, client).call

    assert call({"job": "a1", "lines": 5}) == call({"job": "a1", "lines": 9})
    assert call({"job": "a1"}) != call({"job": "a2"})
    # Without a handle, all that does not say for how long.
    wait = {"tool": "wait_agent", "client": ClientProfile("none")}
    assert call({"id": "a", "timeout_ms": 10}, **wait) == call(
        {"id": "a", "timeout_ms": 20}, **wait
    )
    assert call({"id": "a", "lines": 10}, **wait) != call({"id": "a", "lines": 20}, **wait)
    assert call("sleep 10; make", **wait) == call("sleep 20; make", **wait)
    assert call("sleep 10; make", **wait) != call("sleep 10; make test", **wait)
    assert call("[10]", **wait) != call("[20]", **wait)


def test_what_a_user_declares_to_be_compared_is_compared():
    policies = {"wait_agent": ToolPolicy(key=["timeout_ms"])}
    calls = [
        asked_of(ToolCall("wait_agent", {"timeout_ms": n}), policies, HARNESS).call for n in (1, 2)
    ]
    assert calls[0] != calls[1]
