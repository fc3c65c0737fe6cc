"""The contract with the runner of the OpenAI Agents SDK, and what is special about it."""

import asyncio
import gc
import inspect
import json
from dataclasses import replace

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
    same,
    unheard,
)

pytest.importorskip("agents", reason="needs the extra 'openai-agents'")

from agents import (
    Agent,
    AgentHooks,
    Model,
    ModelResponse,
    RunConfig,
    Runner,
    SQLiteSession,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    ToolsToFinalOutputResult,
    Usage,
    WebSearchTool,
    function_tool,
)
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseFunctionWebSearch,
    ResponseOutputMessage,
    ResponseOutputText,
)
from openai.types.responses.response_function_web_search import ActionSearch

from antiloop import LoopDetectedError, LoopDetector, LoopPolicy
from antiloop.integrations import openai_agents
from antiloop.integrations._guard import WITHDRAWN
from antiloop.integrations.openai_agents import LoopGuard
from antiloop.loop_detection import ChantDetector, Escalation, PingPongDetector
from antiloop.loop_detection._evidence.outcome import REFUSED_MARKER
from antiloop.loop_detection._messages import NOTICE_MARKER

pytestmark = [
    pytest.mark.usefixtures("thread_loop"),
    # The oldest SQLiteSession closes the connection of one thread only.
    pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning"),
]


class ScriptedModel(Model):
    """Says what a script says; which reply it is, is read off the conversation."""

    def __init__(self, script, ran):
        self.script, self.ran = script, ran
        self.kept = []

    async def get_response(
        self,
        system_instructions,
        input,  # noqa: A002 - the name the SDK calls it by
        *others,
        conversation_id,
        **more,
    ):
        items = [{"role": "user", "content": input}] if isinstance(input, str) else input
        items = [*(self.kept if conversation_id else ()), *items]
        output = self.reply(items)
        self.kept = [*items, *(each.model_dump() for each in output)]
        return ModelResponse(output, Usage(), f"response-{self.ran.asked}")

    async def stream_response(self, *arguments, **options):
        replied = await self.get_response(*arguments, **options)
        response = Response(
            id=replied.response_id,
            created_at=0,
            model="scripted",
            object="response",
            output=replied.output,
            tool_choice="none",
            tools=[],
            parallel_tool_calls=True,
        )
        yield ResponseCompletedEvent(
            response=response, sequence_number=0, type="response.completed"
        )

    def reply(self, items):
        self.ran.asked += 1
        self.ran.seen[:] = [str(each.get("output") or each.get("content")) for each in items]
        asked = {
            each["call_id"].split("-")[1] for each in items if each.get("type") == "function_call"
        }
        calls = self.script.reply(len(asked), self.ran.seen)
        text = self.script.text(len(asked), calls)
        return [*([said(text)] if text else []), *self.called(len(asked), calls)]

    def called(self, number, calls):
        return [
            ResponseFunctionToolCall(
                name=name,
                arguments=json.dumps(arguments),
                call_id=f"call-{number}-{at}-{id(self)}",
                type="function_call",
            )
            for at, (name, arguments) in enumerate(calls)
        ]


def said(text):
    part = ResponseOutputText(text=text, type="output_text", annotations=[])
    return ResponseOutputMessage(
        id="message", content=[part], role="assistant", status="completed", type="message"
    )


def made_agent(script, ran, guard, **options):
    tools = list(map(function_tool, functions(script, ran)))
    model = ScriptedModel(script, ran)
    return guard.agent(Agent("helper", model=model, tools=tools, **options))


def config(guard, **options):
    return guard.run_config(RunConfig(tracing_disabled=True, **options))


async def drain(agent, given, **options):
    run = Runner.run_streamed(agent, given, **options)
    async for _ in run.stream_events():
        pass
    return run


MODES = {
    "sync": Runner.run_sync,
    "async": lambda *arguments, **options: asyncio.run(Runner.run(*arguments, **options)),
    "stream": lambda *arguments, **options: asyncio.run(drain(*arguments, **options)),
}


def run_session(store, script, ran, **options):
    guard = LoopGuard(**options)
    session = SQLiteSession("thread-1", str(store))
    joined = config(guard, session_input_callback=lambda past, new: [*past, *new])
    given = [] if asyncio.run(session.get_items()) else [{"role": "user", "content": "Go"}]
    try:
        agent = made_agent(script, ran, guard)
        MODES["async"](agent, given, run_config=joined, session=session)
    finally:
        session.close()
        gc.collect()


class TestOpenAIAgents(Contract):
    name = "openai_agents"

    def carry_out(self, mode, script, ran, **options):
        guard = LoopGuard(**options)
        agent = made_agent(script, ran, guard)
        MODES[mode](agent, "Go", run_config=config(guard), max_turns=20)

    def talk(self, script, ran, **options):
        guard, items = LoopGuard(**options), []
        agent = made_agent(script, ran, guard)

        def speak():
            given = [*items, {"role": "user", "content": "Go"}]
            run = Runner.run_sync(agent, given, run_config=config(guard), max_turns=20)
            items[:] = run.to_input_list()

        return speak

    def begin(self, store, script, **options):
        run_session(store, script, Ran(), **options)

    def go_on(self, store, script, ran, **options):
        run_session(store, script, ran, **options)


def run(script, guard, ran=None, given="Go", agent_options=None, **options):
    agent = made_agent(script, ran or Ran(), guard, **(agent_options or {}))
    return MODES["async"](agent, given, run_config=config(guard), max_turns=20, **options)


def guarded(policy, **options):
    return LoopGuard(detector=detector(policy), **options)


@function_tool
def look(query: str) -> str:
    return "nothing found"


def test_tools_are_copied_not_changed():
    web = WebSearchTool()
    guarded_look, same_web = LoopGuard().tools([look, web])
    assert (look.tool_input_guardrails or [], same_web) == ([], web)
    assert [each.name for each in guarded_look.tool_input_guardrails] == ["antiloop"]


def test_guardrails_of_a_tool_stay():
    own = ToolInputGuardrail(lambda data: ToolGuardrailFunctionOutput.allow(), name="own")
    (tool,) = LoopGuard().tools([replace(look, tool_input_guardrails=[own])])
    assert [each.name for each in tool.tool_input_guardrails] == ["antiloop", "own"]


def test_settings_of_a_run_stay():
    assert LoopGuard().run_config(RunConfig(workflow_name="mine")).workflow_name == "mine"
    assert LoopGuard().run_config().workflow_name == RunConfig().workflow_name


@pytest.mark.parametrize("is_async", [False, True])
def test_a_filter_of_the_users_own_stays(is_async):
    def shorten(data):
        return replace(data.model_data, input=data.model_data.input[-1:])

    async def shorten_later(data):
        return shorten(data)

    guard, ran = guarded(LoopPolicy.INJECT_MESSAGE), Ran()

    class Short(ScriptedModel):
        def reply(self, items):
            self.ran.seen[:] = [str(each.get("output") or each.get("content")) for each in items]
            self.ran.asked += 1
            if self.ran.asked > 3:
                return [said("done")]
            return self.called(self.ran.asked, [SAME])

    agent = made_agent(Script(()), ran, guard).clone(model=Short(Script(()), ran))
    own = shorten_later if is_async else shorten
    MODES["async"](agent, "Go", run_config=config(guard, call_model_input_filter=own))
    assert [text[:13] for text in ran.seen] == ["nothing found", "<system-notic"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("policy", "searches", "asked"),
    [(LoopPolicy.STOP, 3, 3), (Escalation(("block",)), 3, 7), (Escalation(), 4, 5)],
)
def test_conversations_that_a_server_keeps_are_guarded(mode, policy, searches, asked):
    ran, guard = Ran(), guarded(policy)
    agent = made_agent(Script(same()), ran, guard)
    options = {"run_config": config(guard), "conversation_id": "conversation-1"}
    MODES[mode](agent, "Go", max_turns=20, **options)
    assert (ran.searches, ran.asked) == (searches, asked)


def test_how_many_runs_are_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(openai_agents, "_KEPT_FIRST_CALLS", 0)
    ran = Ran()
    run(Script(same()), guarded(LoopPolicy.STOP), ran, conversation_id="conversation-1")
    assert ran.searches == 4  # the first call is forgotten


def test_what_the_user_said_is_not_kept_when_a_run_is_over():
    guard = guarded(LoopPolicy.STOP)
    agent = made_agent(Script(same()), Ran(), guard, tool_use_behavior="stop_on_first_tool")
    MODES["sync"](agent, "Go", run_config=config(guard))
    assert [last.items for last in guard._requests._first_calls.values()] == [()]


def test_the_next_run_of_a_conversation_that_a_server_keeps_begins_anew():
    async def two_runs():
        for number in range(2):
            agent = made_agent(Script(same(times=2)), Ran(), guard)
            options = {"run_config": config(guard), "conversation_id": f"conversation-{number}"}
            await Runner.run(agent, "Go", **options)

    guard = guarded(LoopPolicy.RAISE)
    asyncio.run(two_runs())


def test_runs_at_the_same_time_are_kept_apart():
    async def both():
        given = {"run_config": config(guard), "conversation_id": "conversation-1"}
        agents = [made_agent(Script(same(times=2)), Ran(), guard) for _ in range(4)]
        return await asyncio.gather(*(Runner.run(agent, "Go", **given) for agent in agents))

    guard = guarded(LoopPolicy.RAISE)
    assert [result.final_output for result in asyncio.run(both())] == ["done"] * 4


def test_a_session_can_be_gone_on_with(tmp_path):
    session, guard = SQLiteSession("thread-1", str(tmp_path / "session.sqlite")), LoopGuard()
    stopped = run(Script(same()), guard, session=session)
    stored = asyncio.run(session.get_items())
    ran = Ran()
    again = run(Script(same(times=7)), guard, ran, "Look again", session=session)
    session.close()
    gc.collect()
    assert stopped.final_output.startswith("Stopped: the agent was stuck in a loop. Tool 'search'")
    assert not any(NOTICE_MARKER in str(item) for item in stored)
    assert (again.final_output, ran.searches) == ("done", 2)


def test_a_conversation_can_be_judged_across_turns(tmp_path):
    guard = guarded(LoopPolicy.STOP, across_turns=True)
    items = run(Script(same(times=2)), guard).to_input_list()
    ran = Ran()
    run(Script(same()), guard, ran, [*items, {"role": "user", "content": "Look again"}])
    assert ran.searches == 1


@pytest.mark.parametrize("mode", MODES)
@last_words
def test_a_model_that_calls_instead_of_its_last_words_ends_all_the_same(mode, words, answer):
    guard, ran = LoopGuard(CONCLUDE), Ran()
    agent = made_agent(unheard(words), ran, guard)
    result = MODES[mode](agent, "Go", run_config=config(guard))
    assert result.final_output.startswith(answer)
    assert (ran.searches, ran.asked) == (3, 4)
    *_, refused = result.to_input_list()
    assert refused["output"] == WITHDRAWN


@pytest.mark.parametrize(
    "policy", [LoopPolicy.STOP, LoopPolicy.RAISE, Escalation(("conclude",))], ids=repr
)
def test_without_a_text_to_end_with_stop_raises(policy):
    with pytest.raises(LoopDetectedError, match="'search' was called 3 times"):
        run(Script(same()), guarded(policy), agent_options={"output_type": int})


class Searching(ScriptedModel):
    """Has the provider search the web, the same in each round, and calls a function too."""

    def called(self, number, calls):
        found = ActionSearch(type="search", query="refunds", queries=["refunds"])
        searched = ResponseFunctionWebSearch(
            id=f"web-{number}", action=found, status="completed", type="web_search_call"
        )
        return [searched, *super().called(number, calls)]


def searching(guard, ran, **options):
    queries = [[("search", {"query": topic})] for topic in "abcdef"]
    script = Script(queries)
    agent = made_agent(script, ran, guard, **options)
    return agent.clone(model=Searching(script, ran), tools=[*agent.tools, WebSearchTool()])


@pytest.mark.parametrize("mode", MODES)
def test_a_loop_of_a_tool_that_the_provider_runs_ends_as_the_policy_says(mode):
    guard, ran = guarded(LoopPolicy.STOP), Ran()
    result = MODES[mode](searching(guard, ran), "Go", run_config=config(guard))
    assert result.final_output.startswith("Stopped: the agent was stuck in a loop.")
    assert "'web_search' was called 3 times" in result.final_output
    assert (ran.searches, ran.asked) == (3, 3)


class Noting(AgentHooks):
    def __init__(self):
        self.noted = []

    async def on_llm_end(self, context, agent, response):
        self.noted.append("reply")

    async def on_tool_start(self, context, agent, tool):
        self.noted.append(tool.name)


def test_hooks_of_the_agent_stay():
    guard, hooks = guarded(LoopPolicy.STOP), Noting()
    MODES["async"](searching(guard, Ran(), hooks=hooks), "Go", run_config=config(guard))
    assert hooks.noted == ["reply", "search"] * 3


def stops_itself(context, results):
    return ToolsToFinalOutputResult(True, "mine")


async def stops_itself_later(context, results):
    return ToolsToFinalOutputResult(True, "mine")


@pytest.mark.parametrize(
    ("behavior", "output"),
    [
        ("stop_on_first_tool", "nothing found"),
        ({"stop_at_tool_names": ["search"]}, "nothing found"),
        ({"stop_at_tool_names": ["note"]}, "done"),
        (stops_itself, "mine"),
        (stops_itself_later, "mine"),
    ],
)
def test_what_the_agent_does_after_its_tools_stays(behavior, output):
    options = {"tool_use_behavior": behavior}
    assert run(Script(same(times=1)), LoopGuard(), agent_options=options).final_output == output


def test_an_agent_that_may_end_by_itself_is_stopped_too():
    options = {"tool_use_behavior": lambda *given: ToolsToFinalOutputResult(False)}
    result = run(Script(same()), guarded(LoopPolicy.STOP), agent_options=options)
    assert result.final_output.startswith("Stopped:")


def test_a_run_without_the_configuration_of_the_guard_says_so(caplog):
    ran = Ran()
    agent = made_agent(Script(same()), ran, guarded(LoopPolicy.STOP))
    MODES["async"](agent, "Go", run_config=RunConfig(tracing_disabled=True))
    assert ran.searches == 6
    assert "pass run_config=guard.run_config() to Runner.run" in caplog.text


@pytest.mark.skipif(
    "needs_approval" not in inspect.signature(function_tool).parameters,
    reason="this version asks nobody to approve a call",
)
@pytest.mark.parametrize("action", ["block", "conclude"])
def test_an_approved_call_is_not_refused_for_another_run_of_this_task(action):
    guard, approved = LoopGuard(detector(Escalation((action,)))), Ran()
    waiting = Agent(
        "helper",
        model=ScriptedModel(Script([[SAME]]), Ran()),
        tools=[
            function_tool(each, needs_approval=True)
            for each in functions(Script([[SAME]]), approved)
        ],
    )
    agent, looping = guard.agent(waiting), made_agent(Script(same()), Ran(), guard)

    async def one_job_after_the_other():
        asked = await Runner.run(agent, "Go", run_config=config(guard))
        state = asked.to_state()
        for each in asked.interruptions:
            state.approve(each)
        await Runner.run(looping, "Go", run_config=config(guard), max_turns=20)
        return await Runner.run(agent, state, run_config=config(guard))

    assert asyncio.run(one_job_after_the_other()).final_output == "done"
    assert approved.searches == 1


@pytest.mark.parametrize("hooked", [False, True])
def test_tools_are_refused_with_and_without_the_hooks_of_the_guard(hooked):
    guard, ran = LoopGuard(detector(Escalation(("block",)))), Ran()
    agent = made_agent(Script(same()), ran, guard)
    agent = agent if hooked else agent.clone(hooks=None)
    MODES["async"](agent, "Go", run_config=config(guard), max_turns=20)
    assert ran.searches == 3


def test_hand_offs_are_seen_though_they_cannot_be_refused():
    ran = Ran()

    class Passing(ScriptedModel):
        def reply(self, items):
            ran.asked += 1
            return self.called(ran.asked, [(f"transfer_to_{self.script}", {})])

    guard = LoopGuard(detector=detector(LoopPolicy.STOP, PingPongDetector()))
    one, other = (
        guard.agent(Agent(name, model=Passing(to, ran)))
        for name, to in (("one", "other"), ("other", "one"))
    )
    one.handoffs.append(other)
    other.handoffs.append(one)
    with pytest.raises(LoopDetectedError, match="transfer_to_other -> transfer_to_one"):
        MODES["async"](one, "Go", run_config=config(guard), max_turns=20)
    assert ran.asked == 6


def test_an_agent_in_a_tool_is_not_mixed_up_with_the_one_outside():
    guard, inner_ran, ran = guarded(Escalation(("block",))), Ran(), Ran()
    inner = made_agent(Script(same()), inner_ran, guard)

    @function_tool
    async def search(query: str) -> str:
        result = await Runner.run(inner.clone(name="inner"), query, run_config=config(guard))
        return result.final_output

    outer = guard.agent(Agent("outer", model=ScriptedModel(Script(same()), ran), tools=[search]))
    MODES["async"](outer, "Go", run_config=config(guard))
    assert inner_ran.searches == 9
    assert sum(REFUSED_MARKER in text for text in ran.seen) == 3


def test_observers_are_notified_of_the_agent():
    hearer = Hearer()
    run(Script(same()), LoopGuard(observers=[hearer]))
    assert hearer.runs == ["helper"] * 3


def test_a_reply_that_repeats_itself_ends_with_a_final_output():
    chant = "I will look again, and then I will tell you. " * 40
    guard = LoopGuard(detector=LoopDetector([ChantDetector()], LoopPolicy.STOP))
    done = run(Script(same(), says=[chant]), guard)
    assert done.final_output.startswith("Stopped: the agent was stuck in a loop. One text")
