"""An image in a result is compared by its bytes, whatever is written around them."""

from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import LoopDetector
from antiloop.formats import from_anthropic, from_openai_responses
from antiloop.formats._content import text_of

WAYS = {
    "Anthropic": lambda data: {"type": "image", "source": {"type": "base64", "data": data}},
    "OpenAI chat": lambda data: {
        "type": "image_url",
        "image_url": {"url": f"data:image;base64,{data}", "detail": "high"},
    },
    "OpenAI Responses": lambda data: {
        "type": "input_image",
        "image_url": f"data:image;base64,{data}",
    },
    "MCP": lambda data: {"type": "image", "data": data, "name": "shot.png"},
    "LangChain": lambda data: {"type": "image", "base64": data},
}
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


def encoded(content):
    return b64encode(content).decode("ascii")


@ways
@given(st.binary(min_size=1), st.binary(min_size=1))
def test_images_are_equal_where_their_bytes_are(way, one, other):
    texts = [
        text_of([{"type": "text", "text": "seen"}, way(encoded(each))]) for each in (one, other)
    ]
    assert (texts[0] == texts[1]) == (one == other)
    assert len(texts[0]) < 60


@given(st.binary(min_size=1))
def test_all_ways_to_write_an_image_say_the_same(content):
    assert len({text_of([way(encoded(content))]) for way in WAYS.values()}) == 1


def test_what_is_no_base64_is_compared_as_it_stands():
    one, other = ({"type": "image", "data": text} for text in ("#?!", "#?"))
    assert text_of([one]) != text_of([other])


def test_an_image_elsewhere_stays_what_it_is():
    block = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    assert "https://example.org/a.png" in text_of([block])
    assert text_of([{"type": "json", "data": "queued"}]) == '{"data":"queued","type":"json"}'


def test_a_screenshot_is_compared_by_its_bytes():
    def read(content):
        image = {
            "type": "computer_screenshot",
            "image_url": f"data:image;base64,{encoded(content)}",
        }
        items = [
            {"type": "computer_call", "call_id": "c", "action": {"type": "wait"}},
            {"type": "computer_call_output", "call_id": "c", "output": image},
        ]
        return from_openai_responses(items).results

    assert read(b"one") == read(b"one") != read(b"two")


def looked(shots):
    """Return the history of an agent that looks, and sees these images."""
    messages = []
    for n, shot in enumerate(shots):
        use = {"type": "tool_use", "id": f"c{n}", "name": "look", "input": {}}
        image = WAYS["Anthropic"](encoded(shot))
        result = {"type": "tool_result", "tool_use_id": f"c{n}", "content": [image]}
        messages += [
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result]},
        ]
    return from_anthropic(messages)


@given(st.lists(st.binary(min_size=3, max_size=3), min_size=6, max_size=6, unique=True))
def test_a_screen_that_changes_is_no_loop_and_one_that_stays_is(shots):
    changing, staying = looked(shots), looked(shots[:1] * 6)
    for preset in (LoopDetector.default, LoopDetector.escalating):
        assert preset().check(list(changing.calls), list(changing.results)) is None
        assert preset().check(list(staying.calls), list(staying.results)) is not None
