"""A block refuses what it speaks of, whatever tools are named."""

from hypothesis import given
from hypothesis import strategies as st

from antiloop import Escalation, LoopAction, LoopDetector, ToolCall
from antiloop.loop_detection import CallLimitDetector, RepeatDetector, UnknownToolDetector
from antiloop.loop_detection._evidence.refusal import EVERY_TOOL, tool_key

BLOCK = Escalation(("block", "stop"))
# The empty name, and names that look like a key of what is refused.
NAMES = st.one_of(
    st.sampled_from(["", " ", EVERY_TOOL, "t", "n", "search", tool_key("search"), "0123456789"]),
    st.text(max_size=4),
)


@given(looping=NAMES, other=NAMES)
def test_the_block_of_one_tool_is_none_of_another(looping, other):
    for detector in (
        RepeatDetector(2),
        UnknownToolDetector(2),
        CallLimitDetector(per_tool={looping: 1}),
    ):
        monitor = LoopDetector([detector], BLOCK).monitor()
        for _ in range(2):
            monitor.after([ToolCall(looping, {"q": 1})], ["Error: unknown tool"])
        assert monitor.before(ToolCall(looping, {"q": 1})).action is LoopAction.BLOCK
        is_refused = monitor.before(ToolCall(other, {"q": 1})).action is LoopAction.BLOCK
        assert is_refused is (other == looping)
