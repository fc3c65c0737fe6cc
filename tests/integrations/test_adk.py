"""The contract with agents of Google ADK, and what is special about them."""

import asyncio

import pytest
from contract import (
    CONCLUDE,
    SAME,
    Contract,
    Hearer,
    Ran,
    Script,
    detector,
    functions,
    last_words,
    read_twice,
    same,
    unheard,
)

pytest.importorskip("google.adk", reason="needs the extra 'adk'")
# Imported like this, OpenTelemetry may warn, as it does on Python 3.11.
pytest.importorskip("opentelemetry.context")

from google.adk.agents import LlmAgent, LoopAgent, ParallelAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App, ResumabilityConfig
from google.adk.apps.app import EventsCompactionConfig
from google.adk.apps.base_events_summarizer import BaseEventsSummarizer
from google.adk.events import Event, EventActions
from google.adk.events.event_actions import EventCompaction
from google.adk.models import BaseLlm, LlmResponse
from google.adk.plugins.context_filter_plugin import ContextFilterPlugin
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools import FunctionTool
from google.adk.workflow import Workflow, node
from google.genai.types import Content, FunctionCall, FunctionResponse, Part
from pydantic import BaseModel, Field

from antiloop import LoopDetectedError, LoopPolicy
from antiloop.integrations.adk import LoopGuard
from antiloop.loop_detection import Escalation
from antiloop.loop_detection._evidence.outcome import REFUSED_MARKER

# ADK calls some of what it does an experiment; ParallelAgent is to be replaced by its graphs.
pytestmark = [
    pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]:UserWarning"),
    pytest.mark.filterwarnings("ignore:ParallelAgent is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:LoopAgent is deprecated:DeprecationWarning"),
    # ADK leaves the connection open with which it looks for old tables.
    pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning"),
]

WHERE = {"user_id": "user-1", "session_id": "session-1"}
GO = Content(role="user", parts=[Part(text="Go")])


class ScriptedModel(BaseLlm):
    """Says what a script says; which reply it is, is read off the conversation."""

    script: object
    ran: object

    async def generate_content_async(self, llm_request, stream=False):
        self.ran.asked += 1
        contents = llm_request.contents
        self.ran.seen[:] = [text for content in contents for text in texts_of(content)]
        number = sum(content.role == "model" for content in contents)
        asked = self.script.reply(number, self.ran.seen)
        calls = [
            FunctionCall(name=name, args=arguments, id=f"call-{number}-{position}")
            for position, (name, arguments) in enumerate(asked)
        ]
        text = self.script.text(number, asked)
        parts = [*([Part(text=text)] if text else []), *(Part(function_call=c) for c in calls)]
        if stream and not calls:
            yield LlmResponse(content=Content(role="model", parts=parts), partial=True)
        yield LlmResponse(content=Content(role="model", parts=parts))


def texts_of(content):
    """Return the texts of a content, those of responses too."""
    for part in content.parts:
        answer = part.function_response.response if part.function_response else {"text": part.text}
        yield from (str(text) for text in answer.values())


def made_agent(script, ran, name="finder", **options):
    model = ScriptedModel(model="scripted", script=script, ran=ran)
    return LlmAgent(name=name, model=model, tools=functions(script, ran), **options)


def made_app(agent, **options):
    return App(name="app", root_agent=agent, plugins=[LoopGuard(**options)])


def made_runner(app, sessions=None):
    sessions = sessions or InMemorySessionService()
    asyncio.run(sessions.create_session(app_name=app.name, **WHERE))
    return Runner(app=app, session_service=sessions)


async def drain(runner, **options):
    return [event async for event in runner.run_async(**WHERE, **options)]


MODES = {
    "sync": lambda runner: list(runner.run(**WHERE, new_message=GO)),
    "async": lambda runner: asyncio.run(drain(runner, new_message=GO)),
    "stream": lambda runner: asyncio.run(
        drain(runner, new_message=GO, run_config=RunConfig(streaming_mode=StreamingMode.SSE))
    ),
}


async def resume(runner):
    session = await runner.session_service.get_session(app_name="app", **WHERE)
    await drain(runner, invocation_id=session.events[-1].invocation_id)


class TestADK(Contract):
    name = "adk"

    def carry_out(self, mode, script, ran, **options):
        try:
            MODES[mode](made_runner(made_app(made_agent(script, ran), **options)))
        except RuntimeError as error:
            if not isinstance(error.__cause__, LoopDetectedError):
                raise
            raise error.__cause__ from None

    def talk(self, script, ran, **options):
        runner = made_runner(made_app(made_agent(script, ran), **options))
        return lambda: MODES["sync"](runner)

    def begin(self, store, script, **options):
        app = made_app(made_agent(script, Ran()), **options)
        runner = made_runner(app, SqliteSessionService(str(store)))
        asyncio.run(drain(runner, new_message=GO))

    def go_on(self, store, script, ran, **options):
        app = made_app(made_agent(script, ran), **options)
        app.resumability_config = ResumabilityConfig(is_resumable=True)
        asyncio.run(resume(Runner(app=app, session_service=SqliteSessionService(str(store)))))


def run(agent, **options):
    """Run an agent, and give the events of its session."""
    runner = made_runner(made_app(agent, **options))
    return asyncio.run(drain(runner, new_message=GO))


def test_a_stopped_agent_ends_with_an_answer_that_says_why():
    *_, last = run(made_agent(Script(same()), Ran()), detector=detector(LoopPolicy.STOP))
    assert last.is_final_response()
    assert last.content.role == "model"
    assert last.content.parts[0].text.startswith("Stopped: the agent was stuck in a loop.")


class Watching(ScriptedModel):
    """Notes whether it may call tools."""

    modes: list = Field(default_factory=list)

    async def generate_content_async(self, llm_request, stream=False):
        choice = llm_request.config.tool_config
        self.modes.append(choice and choice.function_calling_config.mode.value)
        async for response in super().generate_content_async(llm_request, stream):
            if stream and len(self.modes) == 4:
                yield response.model_copy(update={"partial": True})
            yield response


@pytest.mark.parametrize("mode", MODES)
@last_words
def test_a_model_that_calls_instead_of_its_last_words_ends_all_the_same(mode, words, answer):
    ran = Ran()
    agent = made_agent(unheard(words), ran)
    agent.model = Watching(model="scripted", script=unheard(words), ran=ran)
    *_, last = events = MODES[mode](made_runner(made_app(agent, detector=CONCLUDE)))
    assert last.content.parts[0].text.startswith(answer)
    assert last.is_final_response()
    assert agent.model.modes == [None, None, None, "NONE"]
    assert sum(bool(event.get_function_calls()) for event in events) == 3


def test_the_next_turn_has_its_tools_again():
    ran = Ran()
    agent = made_agent(Script([]), ran)
    script = Script([*same(times=4), [SAME], ()])
    agent.model = NextOf(model="scripted", script=script, ran=ran)
    runner = made_runner(made_app(agent, detector=CONCLUDE))
    for _ in range(2):
        asyncio.run(drain(runner, new_message=GO))
    assert ran.searches == 4


def test_a_refused_call_is_an_error_in_the_session():
    agent = made_agent(Script(same()), Ran())
    events = run(agent, detector=detector(Escalation(("block",))))
    answers = [each.response for event in events for each in event.get_function_responses()]
    assert [list(answer) for answer in answers] == [["result"]] * 3 + [["error"]] * 3
    assert answers[-1]["error"].startswith(REFUSED_MARKER)


def test_a_session_can_go_on_after_an_error():
    ran = Ran()
    agent = made_agent(Script(same(times=3)), ran)
    runner = made_runner(made_app(agent, detector=detector(LoopPolicy.RAISE)))
    with pytest.raises(RuntimeError, match="3 times in a row"):
        asyncio.run(drain(runner, new_message=GO))
    *_, last = asyncio.run(drain(runner, new_message=GO))
    assert (last.content.parts[0].text, ran.searches) == ("done", 3)


def test_agents_side_by_side_are_told_apart():
    ran, pairs = Ran(), Script(same(times=2))
    agents = [made_agent(pairs, ran, name) for name in ("one", "two")]
    run(ParallelAgent(name="both", sub_agents=agents), detector=detector(LoopPolicy.STOP))
    assert (ran.searches, ran.asked) == (4, 6)


def transfer(name):
    return [("transfer_to_agent", {"agent_name": name})]


class NextOf(ScriptedModel):
    """Says what a script says, reply by reply, whatever the conversation is."""

    said: int = -1

    async def generate_content_async(self, llm_request, stream=False):
        self.said += 1
        calls = [
            FunctionCall(name=name, args=arguments, id=f"{llm_request.model}-{self.said}")
            for name, arguments in self.script.reply(self.said, [])
        ]
        parts = [Part(function_call=call) for call in calls] or [Part(text="done")]
        yield LlmResponse(content=Content(role="model", parts=parts))


def test_an_agent_that_takes_over_is_judged_by_its_own_calls():
    ran, hearer = Ran(), Hearer()
    helper = made_agent(Script(()), ran, "helper")
    finder = made_agent(Script(()), ran, sub_agents=[helper])
    helper.model = NextOf(model="helper", script=Script([[SAME]]), ran=ran)
    leads = Script([[SAME], [SAME], transfer("helper")])
    finder.model = NextOf(model="finder", script=leads, ran=ran)
    found, ignored = detector(LoopPolicy.STOP), ["transfer_to_agent"]
    run(finder, detector=found, observers=[hearer], ignore=ignored)
    assert (ran.searches, hearer.heard) == (3, [])


def test_one_agent_in_two_branches_is_two():
    ran = Ran()
    agent = made_agent(Script(same(times=2)), ran, mode="single_turn")
    orders, worker = node(lambda: ["Go", "Go"], name="orders"), node(agent, parallel_worker=True)
    workflow = Workflow(name="flow", edges=[("START", orders, worker)])
    run(workflow, detector=detector(LoopPolicy.STOP))
    assert (ran.searches, ran.asked) == (4, 6)


def test_a_turn_of_the_user_begins_anew():
    ran = Ran()
    agent = made_agent(Script([[SAME], [SAME], (), [SAME], [SAME]]), ran)
    runner = made_runner(made_app(agent, detector=detector(LoopPolicy.STOP)))
    for _ in range(2):
        *_, last = asyncio.run(drain(runner, new_message=GO))
    assert (ran.searches, last.content.parts[0].text) == (4, "done")


def test_across_turns_each_round_is_still_judged_once():
    ran, hearer = Ran(), Hearer()
    agent = made_agent(Script([[SAME], [SAME], (), [SAME], (), ()]), ran)
    options = {"detector": detector(LoopPolicy.STOP), "observers": [hearer], "across_turns": True}
    runner = made_runner(made_app(agent, **options))
    for _ in range(3):
        asyncio.run(drain(runner, new_message=GO))
    assert (ran.searches, hearer.heard) == (3, ["repeat"])


class Summarizer(BaseEventsSummarizer):
    """Takes all events together as one sentence, once there are enough of them."""

    def __init__(self, least=1):
        self.least = least

    async def maybe_summarize_events(self, *, events):
        if len(events) < self.least:
            return None
        summary = Content(role="model", parts=[Part(text="The user said go.")])
        times = {"start_timestamp": events[0].timestamp, "end_timestamp": events[-1].timestamp}
        compaction = EventCompaction(compacted_content=summary, **times)
        return Event(author="user", actions=EventActions(compaction=compaction))


def compacted(script, summarizer, retained=0, **options):
    """Carry out a script in a session that is compacted, and give its events."""
    ran, plugins = Ran(), [LoopGuard(**options)]
    agent = made_agent(script, ran)
    agent.model = NextOf(model="scripted", script=script, ran=ran)
    app = App(name="app", root_agent=agent, plugins=plugins)
    app.events_compaction_config = EventsCompactionConfig(
        summarizer=summarizer, token_threshold=1, event_retention_size=retained
    )
    runner = made_runner(app)
    *_, last = asyncio.run(drain(runner, new_message=GO))
    session = asyncio.run(runner.session_service.get_session(app_name="app", **WHERE))
    count = sum(event.actions.compaction is not None for event in session.events)
    return ran, last.content.parts[0].text, count


@pytest.mark.parametrize("retained", [0, 2])
def test_a_session_that_is_compacted_by_tokens_is_judged(retained):
    script, found = Script(same(times=9)), detector(LoopPolicy.STOP)
    ran, text, compactions = compacted(script, Summarizer(), retained, detector=found)
    assert compactions > 1
    assert text.startswith("Stopped:")
    assert ran.searches == 3


@pytest.mark.parametrize("retained", [0, 2])
@pytest.mark.parametrize(("least", "notices"), [(1, 0), (16, 0), (99, 1)])
def test_what_is_read_again_after_a_compaction_is_no_loop(retained, least, notices):
    hearer = Hearer()
    summarizer = Summarizer(least)
    ran, text, compactions = compacted(read_twice(), summarizer, retained, observers=[hearer])
    assert (ran.searches, text, compactions > 0) == (18, "done", least < 99)
    assert min(1, len(hearer.heard)) == notices


@pytest.mark.parametrize("least", [1, 18, 99])
def test_a_loop_across_a_compaction_is_ended(least):
    reads = read_twice().rounds[:7]
    script = Script([*reads, *same(times=12)], answers=[*read_twice().answers[:7], "nothing"])
    ran, text, compactions = compacted(script, Summarizer(least))
    assert compactions >= (least < 99)
    assert text.startswith("Stopped:")
    assert ran.searches <= 7 + 4 + (0 if least == 99 else 2)


@pytest.mark.parametrize(("order", "notices"), [("filter first", 0), ("guard first", 1)])
def test_what_is_read_again_after_a_filter_took_it_away_is_no_loop(order, notices):
    ran, hearer = Ran(), Hearer()
    agent = made_agent(read_twice(), ran)
    agent.model = NextOf(model="scripted", script=read_twice(), ran=ran)
    plugins = [ContextFilterPlugin(custom_filter=lambda contents: contents[-4:])]
    plugins.insert(order == "filter first", LoopGuard(observers=[hearer]))
    runner = made_runner(App(name="app", root_agent=agent, plugins=plugins))
    asyncio.run(drain(runner, new_message=GO))
    assert (ran.searches, min(1, len(hearer.heard))) == (18, notices)


@pytest.mark.parametrize("kept", [2, 4, 99])
def test_a_loop_in_filtered_requests_is_ended(kept):
    reads, ran = read_twice(), Ran()
    script = Script([*reads.rounds[:7], *same(times=12)], answers=[*reads.answers[:7], "nothing"])
    agent = made_agent(script, ran)
    agent.model = NextOf(model="scripted", script=script, ran=ran)
    shortened = ContextFilterPlugin(custom_filter=lambda contents: contents[-kept:])
    app = App(name="app", root_agent=agent, plugins=[shortened, LoopGuard()])
    *_, last = asyncio.run(drain(made_runner(app), new_message=GO))
    assert last.content.parts[0].text.startswith("Stopped:")
    assert ran.searches <= 7 + 4 + (0 if kept == 99 else 2)


class Rules(BaseModel):
    text: str


def test_an_answer_that_does_not_fit_its_schema_is_no_loop():
    ran, hearer = Ran(), Hearer()
    agent = made_agent(Script(()), ran, output_schema=Rules)
    answers = [[("set_model_response", {})]] * 4 + [[("set_model_response", {"text": "no"})]]
    agent.model = NextOf(model="scripted", script=Script(answers), ran=ran)
    *_, last = run(agent, detector=detector(LoopPolicy.STOP), observers=[hearer])
    assert (last.content.parts[0].text, hearer.heard) == ('{"text": "no"}', [])


def test_observers_hear_of_which_session():
    agent, hearer = made_agent(Script(same()), Ran()), Hearer()
    run(agent, detector=detector(LoopPolicy.STOP), observers=[hearer])
    assert hearer.runs == ["session-1"]


def approved(script, ran, **options):
    """Carry out a script whose calls a person approves one by one, and give the last event."""

    def search(query: str) -> str:
        return ran.answer(script, "search")

    model = NextOf(model="scripted", script=script, ran=ran)
    agent = LlmAgent(
        name="finder", model=model, tools=[FunctionTool(search, require_confirmation=True)]
    )
    runner, message = made_runner(made_app(agent, **options)), GO
    while message is not None:
        *_, last = events = asyncio.run(drain(runner, new_message=message))
        asked = [call for event in events for call in event.get_function_calls()][-1:]
        message = yes(asked[0]) if asked and asked[0].name.startswith("adk_request") else None
    return last


def yes(call):
    answer = FunctionResponse(id=call.id, name=call.name, response={"confirmed": True})
    return Content(role="user", parts=[Part(function_response=answer)])


def test_calls_that_a_person_approves_are_judged_by_what_they_gave():
    ran, hearer = Ran(), Hearer()
    calls = [[("search", {"query": topic})] for topic in "abcdef"]
    answers = [f"the rules of {topic}" for topic in "abcdef"]
    approved(Script(calls, answers=answers), ran, observers=[hearer])
    assert (ran.searches, hearer.heard) == (6, [])


def test_a_loop_of_calls_that_a_person_approves_is_found():
    ran = Ran()
    last = approved(Script(same(times=9)), ran)
    assert last.content.parts[0].text.startswith("Stopped:")
    assert ran.searches == 4


def test_an_agent_that_says_the_same_in_each_lap_of_a_loop_agent_is_noticed():
    ran = Ran()
    agent = LoopAgent(name="laps", sub_agents=[made_agent(Script([]), ran)], max_iterations=4)
    run(agent)
    assert any("gave the same reply 3 times in a row" in text for text in ran.seen)
