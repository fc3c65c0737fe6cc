"""Whatever the model does, `run`, `arun`, `astream` and `stream` do the same."""

import asyncio
import json
from dataclasses import dataclass, replace
from typing import Any, List

from hypothesis import given
from hypothesis import strategies as st

from antiloop import (
    Agent,
    AgentConfig,
    AgentError,
    AgentObserver,
    AgentTrace,
    AsyncAgentObserver,
    LoopDetectedError,
    LoopDetector,
    LoopPolicy,
    PingPongDetector,
    RepeatDetector,
    RunStatus,
    ScriptedProvider,
    StallDetector,
    ToolCall,
)
from antiloop.agent import ModelReply, RunFinished, TextDelta, Usage
from antiloop.agent._drivers.sync_driver import drive
from antiloop.loop_detection import Escalation

HOOKS = [name for name in vars(AgentObserver) if name.startswith("on_")]
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def read(page: int) -> str:
    return f"page {page % 2}"


async def search(query: str) -> List[str]:
    await asyncio.sleep(0)
    return [query]


def crash(code: int = 0) -> str:
    raise RuntimeError(f"code {code}")


async def crash_later() -> str:
    raise LookupError("nothing there")


TOOLS = [read, search, crash, crash_later]

calls = st.one_of(
    st.builds(lambda page: ToolCall("read", {"page": page}), st.integers(0, 2)),
    st.builds(lambda query: ToolCall("search", {"query": query}), st.sampled_from(["cats", "a"])),
    st.sampled_from(
        [
            ToolCall("crash"),
            ToolCall("crash", {"code": "x"}),
            ToolCall("crash_later", None),
            ToolCall("read", '{"page": 1}', id="c1"),
            ToolCall("read", '{"page":'),
            ToolCall("unknown", {"x": [1]}),
        ]
    ),
)
usages = st.builds(Usage, st.integers(0, 9), st.integers(0, 9))
texts = st.sampled_from(["", "Let me see. ", '{"n": 1}', '{"n": "x"}', "Done.", None])
replies = st.builds(ModelReply, texts, st.lists(calls, max_size=3).map(tuple), usages)
scripts = st.lists(replies, min_size=1, max_size=6)


class Broken(AgentObserver):
    def on_tool_end(self, run_id: str, call: Any, result: Any) -> None:
        raise RuntimeError("broken")


@dataclass
class Case:
    """A script and the settings of a run."""

    script: List[ModelReply]
    repeat_last: bool
    policy: Any
    parallel: bool
    max_iterations: int
    schema: Any
    retries: int


cases = st.builds(
    Case,
    scripts,
    st.booleans(),
    st.sampled_from([None, *LoopPolicy, Escalation()]),
    st.booleans(),
    st.integers(1, 8),
    st.sampled_from([None, SCHEMA]),
    st.integers(0, 2),
)


class Recorder(AgentObserver, AsyncAgentObserver):
    """Receives everything twice, and keeps it without the id of the run."""

    def __init__(self) -> None:
        self.heard: List[Any] = []


def _hearing(name: str) -> Any:
    def hear(self: Recorder, run_id: str, *arguments: Any) -> None:
        self.heard.append((name, [anonymous(each) for each in arguments]))

    return hear


def _hearing_later(name: str) -> Any:
    async def hear(self: Recorder, run_id: str, *arguments: Any) -> None:
        self.heard.append((name, [anonymous(each) for each in arguments]))

    return hear


for _name in HOOKS:
    setattr(Recorder, _name, _hearing(_name))
    setattr(Recorder, f"a_{_name}", _hearing_later(f"a_{_name}"))


def anonymous(value: Any) -> Any:
    """Leave out what differs from run to run: the id, and the identity of exceptions."""
    if isinstance(value, Exception):
        return (type(value), str(value), anonymous(getattr(value, "partial_result", None)))
    if isinstance(value, RunFinished):
        return anonymous(value.result)
    if hasattr(value, "trace"):
        return replace(value, run_id="", trace=replace(value.trace, run_id=""))
    return replace(value, run_id="") if hasattr(value, "run_id") else value


def agent(case: Case, *observers: Any) -> Agent:
    detectors = [RepeatDetector(3), StallDetector(3), PingPongDetector(2, 2)]
    return Agent(
        TOOLS,
        ScriptedProvider(case.script, repeat_last=case.repeat_last),
        AgentConfig(
            max_iterations=case.max_iterations,
            loop_detector=case.policy and LoopDetector(detectors, case.policy),
            observers=observers,
            parallel_tool_execution=case.parallel,
            max_structured_retries=case.retries,
        ),
    )


def outcome(run: Any, case: Case) -> Any:
    """Return how a run ended, and what its observers heard."""
    recorder = Recorder()
    try:
        ended = anonymous(run(agent(case, recorder), case.schema))
    except AgentError as error:
        ended = anonymous(error)
    return ended, recorder.heard


def run(made: Agent, schema: Any) -> Any:
    return made.run("Go", response_format=schema)


def arun(made: Agent, schema: Any) -> Any:
    return asyncio.run(made.arun("Go", response_format=schema))


def astream(made: Agent, schema: Any) -> Any:
    return asyncio.run(_events(made, schema))[-1].result


def stream(made: Agent, schema: Any) -> Any:
    return list(made.stream("Go", response_format=schema))[-1].result


async def _events(made: Agent, schema: Any) -> Any:
    return [event async for event in made.astream("Go", response_format=schema)]


@given(cases)
def test_all_entry_points_end_alike_and_tell_observers_the_same(case):
    expected = outcome(run, case)
    assert outcome(arun, case) == expected
    assert outcome(astream, case) == expected
    assert outcome(stream, case) == expected


@given(cases)
def test_the_events_of_all_drivers_are_the_same_apart_from_the_pieces_of_text(case):
    made = agent(replace(case, policy=None))
    loop = made._loop("Go", case.schema)
    sync_events: List[Any] = []
    try:
        sync_events.extend(anonymous(event) for event in drive(loop, made._provider, ()))
        failed = False
    except AgentError:
        failed = True
    if failed:
        return
    events = asyncio.run(_events(made, case.schema))
    assert [anonymous(event) for event in events if type(event) is not TextDelta] == sync_events


@given(cases)
def test_the_pieces_of_text_make_up_the_replies(case):
    made = agent(replace(case, repeat_last=True))
    try:
        events = asyncio.run(_events(made, None))
    except LoopDetectedError:
        return
    pieces = "".join(event.text for event in events if type(event) is TextDelta)
    said = "".join(
        message.content for message in events[-1].result.messages if message.role == "assistant"
    )
    assert pieces == said


@given(cases)
def test_running_calls_in_parallel_or_not_changes_no_result(case):
    together = outcome(run, replace(case, parallel=True))[0]
    assert outcome(run, replace(case, parallel=False))[0] == together


@given(cases)
def test_an_observer_that_breaks_changes_no_result(case):
    def with_broken(made: Agent, schema: Any) -> Any:
        return agent(case, Broken()).run("Go", response_format=schema)

    assert outcome(with_broken, case)[0] == outcome(run, case)[0]


@given(cases)
def test_every_result_is_whole(case):
    made = agent(replace(case, repeat_last=True))
    try:
        result = made.run("Go", response_format=case.schema)
    except LoopDetectedError as error:
        result = error.partial_result
    assert len(result.tool_calls) == len(result.tool_results)
    assert 1 <= result.iterations <= case.max_iterations
    assert [call.round for call in result.tool_calls] == sorted(
        call.round for call in result.tool_calls
    )
    assert result.output is None or result.status is RunStatus.COMPLETED
    assert (result.detection is not None) == (result.status is RunStatus.LOOP_DETECTED)
    assert AgentTrace.from_dict(json.loads(json.dumps(result.trace.to_dict()))) == result.trace
    assert len(json.loads(result.trace.to_jsonl())["steps"]) == len(result.tool_calls)
    answered = [message for message in result.messages if message.role == "tool"]
    assert len(answered) == len(result.tool_calls)
