from __future__ import annotations

import asyncio
import enum
import json
from dataclasses import dataclass
from typing import List, Optional, TypedDict

import pytest

from antiloop import Agent, AgentConfig, Role, RunStatus, ScriptedProvider, StepType
from antiloop.agent import OutputRejected, RunFinished


class Mood(enum.Enum):
    GOOD = "good"
    BAD = "bad"


@dataclass
class Line:
    text: str
    stars: int = 0


@dataclass
class Review:
    mood: Mood
    lines: List[Line]
    note: Optional[str] = None

    def __post_init__(self) -> None:
        if not self.lines:
            raise ValueError("lines must not be empty")


class Place(TypedDict):
    city: str


GOOD = '{"mood": "good", "lines": [{"text": "Fine."}]}'
REVIEW = Review(Mood.GOOD, [Line("Fine.")])


def agent(*script, **config):
    return Agent([], ScriptedProvider(script), AgentConfig(**config))


def test_an_answer_becomes_the_dataclass():
    result = agent(GOOD).run("Go", response_format=Review)
    assert result.output == REVIEW
    assert result.text == GOOD


def test_an_answer_may_be_a_typed_dict():
    assert agent('{"city": "Rome"}').run("Go", response_format=Place).output == {"city": "Rome"}


def test_an_answer_may_follow_a_json_schema():
    schema = {"type": "array", "items": {"type": "integer"}}
    assert agent("[1, 2]").run("Go", response_format=schema).output == [1, 2]


@pytest.mark.parametrize("names", ["$defs", "definitions"])
def test_an_answer_is_held_to_what_a_schema_refers_to(names):
    point = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    tree = {"type": "object", "properties": {"at": {"$ref": f"#/{names}/Point"}}}
    tree["properties"]["next"] = {"$ref": f"#/{names}/Tree"}
    schema = {names: {"Point": point, "Tree": tree}, "$ref": f"#/{names}/Tree"}
    bad, good = '{"next": {"at": {"x": "one"}}}', '{"next": {"at": {"x": 1}, "next": {}}}'
    result = agent(bad, good).run("Go", response_format=schema)
    assert result.output == {"next": {"at": {"x": 1}, "next": {}}}
    assert "answer.next.at.x: expected an integer, got 'one'" in result.messages[2].content
    assert json.dumps(schema) in result.messages[2].content


def test_an_answer_that_is_too_deep_for_its_schema_is_asked_for_again():
    deep = '{"next":' * 9_000 + "{}" + "}" * 9_000
    schema = {"type": "object", "properties": {"next": {"$ref": "#"}}}
    result = agent(deep, "{}").run("Go", response_format=schema)
    assert (result.output, result.status) == ({}, RunStatus.COMPLETED)


@pytest.mark.parametrize("fence", ["```json\n{}\n```", "```\n{}\n```", " \n```JSON\n{}```\n"])
def test_a_fence_around_the_json_is_taken_off(fence):
    text = fence.format(GOOD) if "{}" not in fence else fence.replace("{}", GOOD)
    assert agent(text).run("Go", response_format=Review).output == REVIEW


def test_the_model_is_given_the_schema():
    asked = []

    def answer(request):
        asked.append(request.response_schema)
        return GOOD

    agent(answer).run("Go", response_format=Review)
    agent(answer).run("Go")
    assert asked[0]["required"] == ["mood", "lines"]
    assert asked[1] is None


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        ("Fine!", "not valid JSON: Expecting value"),
        ('{"mood": "good"}', "answer.lines: missing"),
        ('{"mood": "so-so", "lines": []}', "answer.mood: expected one of 'good', 'bad'"),
        (
            '{"mood": "good", "lines": [{"text": 1}]}',
            "answer.lines[0].text: expected a string, got 1",
        ),
        ('{"mood": "good", "lines": []}', "answer: lines must not be empty"),
        ("[" * 100_000, "not valid JSON"),
    ],
)
def test_a_bad_answer_is_asked_for_again_with_what_was_wrong(bad, problem):
    result = agent(bad, GOOD).run("Go", response_format=Review)
    assert (result.status, result.output, result.iterations) == (RunStatus.COMPLETED, REVIEW, 1)
    user, answer, retry, _ = result.messages
    assert (user.role, answer.content, retry.role) == (Role.USER, bad, Role.USER)
    assert problem in retry.content
    assert '"required": ["mood", "lines"]' in retry.content
    [step] = result.trace.of_type(StepType.STRUCTURED_RETRY)
    assert problem in step.summary
    assert step.data["retry"] == 1


def test_a_class_that_cannot_say_why_it_refuses_an_answer_is_survived():
    class Speechless(Exception):
        def __str__(self):
            return self.detail

    @dataclass
    class Refusing:
        mood: str

        def __post_init__(self):
            raise Speechless

    result = agent('{"mood": "good"}', max_structured_retries=0).run("Go", response_format=Refusing)
    assert result.error.endswith("; the last one: answer: Speechless")


def test_when_the_retries_are_used_up_the_run_has_failed_and_says_why():
    result = agent("bad", "worse", "worst", GOOD).run("Go", response_format=Review)
    assert (result.status, result.output, result.text) == (RunStatus.FAILED, None, "worst")
    assert result.error.startswith("no answer fitted the response format; the last one: not valid")
    assert len(result.trace.of_type(StepType.STRUCTURED_RETRY)) == 2


def test_without_retries_the_first_answer_counts():
    result = agent("bad", GOOD, max_structured_retries=0).run("Go", response_format=Review)
    assert result.status is RunStatus.FAILED


def test_all_entry_points_validate_alike():
    made = agent("bad", GOOD)
    assert asyncio.run(made.arun("Go", response_format=Review)).output == REVIEW

    async def read():
        return [event async for event in made.astream("Go", response_format=Review)]

    events = asyncio.run(read())
    assert isinstance(events[-1], RunFinished)
    assert events[-1].result.output == REVIEW
    [rejected] = [event for event in events if isinstance(event, OutputRejected)]
    assert rejected.reason.startswith("not valid JSON")


@pytest.mark.parametrize("wanted", [int, "json", Review(Mood.BAD, [Line("x")])])
def test_what_is_no_format_is_refused_at_once(wanted):
    with pytest.raises(TypeError, match="must be a dataclass, a pydantic model or a JSON schema"):
        agent(GOOD).run("Go", response_format=wanted)


def test_without_a_format_any_text_is_an_answer():
    result = agent("Fine!").run("Go")
    assert (result.output, result.status) == (None, RunStatus.COMPLETED)
