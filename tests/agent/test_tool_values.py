"""What tools take beyond JSON's own types, and what they may return."""

import asyncio
import base64
import json
import re
from dataclasses import dataclass
from datetime import date, datetime, time, timezone
from decimal import Decimal
from enum import IntEnum
from pathlib import Path, PurePath
from typing import Annotated, Any, Dict, List, Literal, NamedTuple, Optional, Union
from uuid import UUID

import pytest

from antiloop import Agent, RunStatus, ScriptedProvider, StepType, ToolCall, ToolResult
from antiloop.agent import ModelRequest, Tool
from antiloop.agent._tools.annotations import annotation_schema, build_value
from antiloop.agent._tools.results import result_of
from antiloop.agent.providers._anthropic import anthropic_messages
from antiloop.agent.providers._openai import OpenAIProvider
from antiloop.agent.providers._openai_chat import openai_messages
from antiloop.types import Image, Message, Role

pydantic = pytest.importorskip("pydantic")

WHEN = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)
SOME_ID = UUID("12345678-1234-5678-1234-567812345678")
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(20))


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Spot(NamedTuple):
    x: int
    label: str = ""


@dataclass
class Visit:
    day: date
    cost: Decimal
    where: Optional[Path] = None


class Line(pydantic.BaseModel):
    day: date
    amount: int = pydantic.Field(description="in cents")


class Order(pydantic.BaseModel):
    lines: List[Line]
    parent: "Optional[Order]" = None


class Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True)
    day: date


@pytest.mark.parametrize(
    ("annotation", "given", "arrives"),
    [
        (datetime, "2026-01-31T12:00:00Z", WHEN),
        (datetime, "2026-01-31T12:00:00+00:00", WHEN),
        (date, "2026-01-31", date(2026, 1, 31)),
        (time, "12:30:00", time(12, 30)),
        (UUID, str(SOME_ID), SOME_ID),
        (Decimal, "0.10", Decimal("0.10")),
        (Decimal, 0.1, Decimal("0.1")),
        (Path, "a/b", Path("a/b")),
        (PurePath, "a/b", PurePath("a/b")),
        (bytes, "aGk=", b"hi"),
        (Level, 2, Level.HIGH),
        (Literal[Level.HIGH, "none"], 2, Level.HIGH),
        (Literal[Level.HIGH, "none"], "none", "none"),
        (Spot, {"x": 1}, Spot(1)),
        (Union[date, str], "tomorrow", "tomorrow"),
        (Union[date, str], "2026-01-31", date(2026, 1, 31)),
        (Optional[UUID], None, None),
        (List[date], ["2026-01-31"], [date(2026, 1, 31)]),
        (Dict[str, Decimal], {"a": "1"}, {"a": Decimal(1)}),
        (Visit, {"day": "2026-01-31", "cost": 3}, Visit(date(2026, 1, 31), Decimal(3))),
        (Strict, {"day": "2026-01-31"}, Strict(day=date(2026, 1, 31))),
        (
            Order,
            {"lines": [{"day": "2026-01-31", "amount": 5}]},
            Order(lines=[Line(day=date(2026, 1, 31), amount=5)]),
        ),
        (Optional[Line], {"day": "2026-01-31", "amount": 5}, Line(day="2026-01-31", amount=5)),
    ],
)
def test_a_value_arrives_as_what_the_annotation_says(annotation, given, arrives):
    got = []

    def take(value):
        got.append(value)

    take.__annotations__ = {"value": annotation}
    for arguments in ({"value": given}, {"value": json.dumps(given)}):
        if isinstance(given, (str, type(None))) and arguments["value"] != given:
            continue  # where a text fits, a text in quotes is that text
        result = Agent([take], ScriptedProvider([ToolCall("take", arguments), "."])).run("Go")
        assert [each.text for each in result.tool_results] == [""]
        assert got.pop() == arrives
        assert type(build_value(annotation, given)) is type(arrives)


def test_annotations_that_are_texts_arrive_too():
    got = []

    def take(day: "date", order: "Annotated[Order, 'what to ship']") -> None:
        got.append((day, order))

    made = Tool(take)
    assert made.schema.parameters["properties"]["order"]["description"] == "what to ship"
    arguments = {"day": "2026-01-31", "order": '{"lines": []}'}
    Agent([made], ScriptedProvider([ToolCall("take", arguments), "."])).run("Go")
    assert got == [(date(2026, 1, 31), Order(lines=[]))]


def test_schemas_say_what_is_wanted():
    assert annotation_schema(datetime) == {"type": "string", "format": "date-time"}
    line = annotation_schema(Order)["properties"]["lines"]["items"]
    assert line["properties"]["day"] == {"title": "Day", "type": "string", "format": "date"}
    assert line["properties"]["amount"]["description"] == "in cents"
    assert "$ref" not in json.dumps(annotation_schema(Order))
    described = Annotated[int, pydantic.Field(description="how many")]
    assert annotation_schema(described) == {"type": "integer", "description": "how many"}


@pytest.mark.parametrize(
    ("annotation", "given", "told"),
    [
        (datetime, "tomorrow", "arguments.value: expected a date and time such as"),
        (date, "31.1.2026", "arguments.value: expected a date such as 2026-01-31, got '31.1.2026'"),
        (UUID, "1", "arguments.value: expected a UUID"),
        (Decimal, "many", "arguments.value: expected a decimal number"),
        (bytes, "???", "arguments.value: expected base64"),
        (Union[date, UUID], "x", "arguments.value: expected a date such as"),
        (Order, {"lines": [{"day": "x", "amount": 1}]}, "arguments.value: 1 validation error"),
        (int, "many", "arguments.value: expected an integer, got 'many'"),
        (Visit, {"day": "2026-01-31"}, "arguments.value.cost: missing"),
    ],
)
def test_a_value_that_does_not_fit_is_told_to_the_model(annotation, given, told):
    def take(value):
        raise AssertionError("it ran")

    take.__annotations__ = {"value": annotation}
    script = ScriptedProvider([ToolCall("take", {"value": given}), "."])
    (result,) = Agent([take], script).run("Go").tool_results
    assert result.is_error
    assert told in result.text


class Client:
    pass


@pytest.mark.parametrize(
    "annotation", [Client, re.Pattern, List[Client], Optional[Client], Dict[str, Client]]
)
def test_what_no_json_can_become_is_refused_with_the_parameter(annotation):
    def search(query: str, client) -> str:
        return query

    search.__annotations__["client"] = annotation
    with pytest.raises(TypeError, match=r"parameter 'client' of search: .*functools.partial"):
        Agent([search], ScriptedProvider(["."]))


class Nameless:
    """Says of itself only where it lies in memory."""


def circular():
    made = []
    made.append(made)
    return made


def generates():
    yield "one "
    yield "two"


def lists():
    yield {"a": 1}
    yield "b"


async def agenerates():
    yield "one "
    await asyncio.sleep(0)
    yield "two"


def wraps_async():
    return agenerates()


async def awaits_then_generates():
    return agenerates()


WAYS = {
    "run": lambda agent: agent.run("Go"),
    "arun": lambda agent: asyncio.run(agent.arun("Go")),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("returns", "text"),
    [
        (generates, "one two"),
        (lists, '{"a": 1}\nb'),
        (agenerates, "one two"),
        (wraps_async, "one two"),
        (awaits_then_generates, "one two"),
        (lambda: b"caf\xc3\xa9", "café"),
        (lambda: b"\xff\x00", "[binary data, 2 bytes, "),
        (lambda: Line(day="2026-01-31", amount=5), '{"day": "2026-01-31", "amount": 5}'),
        (lambda: [Line(day="2026-01-31", amount=5)], '[{"day": "2026-01-31", "amount": 5}]'),
        (lambda: Visit(date(2026, 1, 31), Decimal(3)), '{"day": "2026-01-31", "cost": "3", '),
        (lambda: map(str, [1, 2]), "1\n2"),
        (lambda: {"rows": (n for n in range(2)), "n": [iter("ab")]}, '{"rows": [0, 1], "n": [["a'),
        (lambda: {"page": b"caf\xc3\xa9", "raw": [b"\xff"]}, '{"page": "café", "raw": ["[binary'),
        (lambda: iter([b"caf\xc3", b"\xa9!"]), "café!"),
        (lambda: iter([b"\xff", b"\x00"]), "[binary data, 2 bytes, "),
        (lambda: iter([b"a", b"b"]), "a\nb"),
        (lambda: Nameless(), f'"<{__name__}.Nameless object>"'),
        (lambda: circular(), '["..."]'),
    ],
)
def test_a_result_reaches_the_model_as_text(way, returns, text):
    named = Tool(returns, name="get")
    result = WAYS[way](Agent([named], ScriptedProvider([ToolCall("get"), "."])))
    assert result.status is RunStatus.COMPLETED
    assert result.tool_results[0].text.startswith(text)
    assert not result.tool_results[0].is_error


@pytest.mark.parametrize("way", WAYS)
def test_a_generator_without_an_end_is_cut(way):
    async def aforever():
        while True:
            yield "more " * 10_000

    def forever():
        while True:
            yield "more " * 10_000

    def bytes_forever():
        while True:
            yield b"more " * 1_000_000

    for tool in (forever, aforever, bytes_forever):
        script = ScriptedProvider([ToolCall(tool.__name__), "."])
        (result,) = WAYS[way](Agent([tool], script)).tool_results
        assert result.text.endswith("more ...")
        assert len(result.text) < (20_000_000 if tool is bytes_forever else 2_200_000)


@pytest.mark.parametrize("way", WAYS)
def test_a_generator_that_fails_is_told(way):
    def breaks():
        yield "one"
        raise KeyError("two")

    script = ScriptedProvider([ToolCall("breaks"), "."])
    (result,) = WAYS[way](Agent([breaks], script)).tool_results
    assert result == ToolResult("Tool 'breaks' failed: KeyError: 'two'", is_error=True)


def test_a_model_that_cannot_be_dumped_is_told_as_its_text():
    class Broken(pydantic.BaseModel):
        value: Any

    assert result_of(Broken(value=object)).text.startswith('"value=<class')


IMAGES = {
    "image/png": PNG,
    "image/jpeg": b"\xff\xd8\xff\xe0more",
    "image/gif": b"GIF89a..",
    "image/webp": b"RIFF....WEBPVP8 ",
}


@pytest.mark.parametrize("kind", IMAGES)
def test_the_bytes_of_an_image_are_an_image(kind):
    result = result_of(IMAGES[kind])
    assert result.images == (Image(base64.b64encode(IMAGES[kind]).decode(), kind),)
    assert result_of(result.images[0]).images == result.images
    assert result_of(["see", IMAGES[kind]]).images == result.images


@dataclass
class Shot:
    title: str
    image: Any


@pytest.mark.parametrize("image", [PNG, bytearray(PNG), Image(base64.b64encode(PNG).decode())])
@pytest.mark.parametrize(
    "around",
    [
        lambda image: {"title": "Home", "image": image},
        lambda image: Shot("Home", image),
        lambda image: [{"pages": (image,)}],
        lambda image: [{"pages": iter([image])}],
    ],
)
def test_an_image_inside_a_value_is_an_image(around, image):
    result = result_of(around(image))
    assert result.images == result_of(PNG).images
    assert result_of(PNG).text in result.text
    assert len(result.text) < 200


def test_an_image_may_come_in_pieces():
    pieces = [PNG[at : at + 3] for at in range(0, len(PNG), 3)]
    assert result_of(iter(pieces)) == result_of(PNG)
    assert result_of(iter([PNG[:9], PNG[9:], PNG])).images == result_of(PNG).images * 2


def test_images_are_the_same_result_where_their_bytes_are():
    assert result_of(PNG).text == result_of(bytearray(PNG)).text
    assert result_of(PNG).text != result_of(PNG + b"x").text


def test_an_image_is_part_of_a_stored_conversation():
    message = Message(Role.TOOL, "x", tool_call_id="1", images=result_of(PNG).images)
    assert Message.from_dict(json.loads(json.dumps(message.to_dict()))) == message
    assert message.images[0].data not in repr(message)
    assert message.images[0].data not in repr(message.images[0])


def test_models_that_see_get_images_of_results_and_messages():
    shown = result_of(PNG)
    calls = (ToolCall("look", id="1"), ToolCall("look", id="2"))
    conversation = [
        Message(Role.USER, "What is it?", images=shown.images),
        Message(Role.ASSISTANT, "", calls),
        Message(Role.TOOL, shown.text, tool_call_id="1", images=shown.images),
        Message(Role.TOOL, "dark", tool_call_id="2"),
    ]
    data = shown.images[0].data
    block = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": data},
    }
    asked, _, answered = anthropic_messages(conversation)[1]
    assert asked["content"] == [block, {"type": "text", "text": "What is it?"}]
    assert answered["content"][0]["content"] == [{"type": "text", "text": shown.text}, block]
    url = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
    asked, _, first, second, last = openai_messages(conversation)
    assert asked["content"] == [{"type": "text", "text": "What is it?"}, url]
    assert [first["content"], second["content"]] == [shown.text, "dark"]
    assert (last["role"], last["content"][1:]) == ("user", [url])


def test_a_model_that_reads_alone_gets_the_text():
    request = ModelRequest((Message(Role.USER, "Hi", images=result_of(PNG).images),))
    blind = OpenAIProvider("m", client=object(), takes_images=False)
    assert blind._arguments(request, stream=False, client=None)["messages"] == [
        {"role": "user", "content": "Hi"}
    ]


class Answer(pydantic.BaseModel):
    day: date
    amount: int = pydantic.Field(ge=1)


@pytest.mark.parametrize("form", [Answer, Visit, Spot])
def test_an_answer_is_an_instance_of_the_class_that_was_asked_for(form):
    texts = {
        Answer: ('{"day": "2026-01-31", "amount": 0}', '{"day": "2026-01-31", "amount": 2}'),
        Visit: ('{"day": "today", "cost": 1}', '{"day": "2026-01-31", "cost": 1}'),
        Spot: ('{"y": 1}', '{"x": 1}'),
    }[form]
    expected = {
        Answer: Answer(day=date(2026, 1, 31), amount=2),
        Visit: Visit(date(2026, 1, 31), Decimal(1)),
        Spot: Spot(1),
    }[form]
    result = Agent([], ScriptedProvider(texts)).run("Go", response_format=form)
    assert (result.status, result.output) == (RunStatus.COMPLETED, expected)
    assert type(result.output) is form
    assert len(result.trace.of_type(StepType.STRUCTURED_RETRY)) == 1


@pytest.mark.parametrize("before", [(), (Message(Role.SYSTEM, "Be brief."),)])
def test_a_schema_can_be_asked_for_in_words(before):
    provider = OpenAIProvider("m", client=object(), native_schema=False)
    request = ModelRequest((*before, Message(Role.USER, "Hi")), (), {"type": "object"})
    sent = provider._arguments(request, stream=False, client=None)
    assert "response_format" not in sent
    system, user = sent["messages"]
    assert system["role"] == "system"
    assert system["content"].endswith('no prose and no code fence:\n{"type": "object"}')
    assert user == {"role": "user", "content": "Hi"}
