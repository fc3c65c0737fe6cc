"""However a server streams the calls of a reply, they are those of the whole reply."""

import json

from hypothesis import given
from hypothesis import strategies as st

from antiloop.agent.providers._openai import OpenAIProvider

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('a"\\{}[]:, é', max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab}", max_size=3), inner),
    max_leaves=5,
)
calls = st.lists(
    st.tuples(
        st.sampled_from(["look", "find"]), st.dictionaries(st.text("ab{", max_size=3), values)
    ),
    min_size=1,
    max_size=4,
)


def in_order(drafts):
    return [piece for draft in drafts for piece in draft]


def in_turns(drafts):
    """Take one piece of each call after the other."""
    longest = max(map(len, drafts))
    return [draft[at] for at in range(longest) for draft in drafts if at < len(draft)]


STYLES = {
    "as OpenAI": lambda at: ({"index": at, "id": f"c{at}"}, {"index": at}),
    "one index": lambda at: ({"index": 0, "id": f"c{at}"}, {"index": 0}),
    "no index": lambda at: ({"id": f"c{at}"}, {}),
    "neither index nor id": lambda _: ({}, {}),
    "one index and no id": lambda _: ({"index": 0}, {"index": 0}),
    "one index and one id": lambda _: ({"index": 0, "id": "c"}, {"index": 0}),
    "all in each piece": lambda at: ({"index": 0, "id": f"c{at}"},) * 2,
}


@given(calls, st.sampled_from(sorted(STYLES)), st.integers(1, 9), st.booleans())
def test_streamed_calls_are_those_that_were_asked_for(asked, style, size, repeats_name):
    drafts = []
    for at, (name, arguments) in enumerate(asked):
        first, later = STYLES[style](at)
        text = json.dumps(arguments)
        cut = [text[start : start + size] for start in range(0, len(text), size)]
        named = {"name": name} if repeats_name and style == "all in each piece" else {}
        drafts.append(
            [
                {**first, "function": {"name": name, "arguments": cut[0]}},
                *({**later, "function": {**named, "arguments": piece}} for piece in cut[1:]),
            ]
        )
    order = in_turns if style == "as OpenAI" else in_order
    collector = OpenAIProvider("m", client=object())._collector(None)
    for piece in order(drafts):
        collector.add({"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]})
    collector.add({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    found = [(call.tool_name, call.arguments) for call in collector.reply().tool_calls]
    assert found == [(name, arguments) for name, arguments in asked]
