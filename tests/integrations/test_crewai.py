"""The contract with a crew of CrewAI, and what is special about it."""

import asyncio
import json
import os
import pickle
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from adapters import ADAPTERS
from contract import Contract, Hearer, Ran, Script, detector, functions, read_twice, same

os.environ.update(CREWAI_DISABLE_TELEMETRY="true", CREWAI_TESTING="true")
pytest.importorskip("crewai", reason="needs the extra 'crewai'")

from crewai import Agent, Crew, Task
from crewai.hooks import HookAborted, InterceptionPoint
from crewai.hooks.dispatch import get_scoped_hooks, register_scoped, scoped_hooks
from crewai.llms.base_llm import BaseLLM
from crewai.tools import tool
from crewai.utilities.exceptions.context_window_exceeding_exception import (
    LLMContextLengthExceededError,
)

from antiloop import LoopDetectedError, LoopDetector, LoopPolicy, PingPongDetector, RepeatDetector
from antiloop.integrations.crewai import LoopAborted, LoopGuard
from antiloop.loop_detection import Escalation
from antiloop.loop_detection._evidence.outcome import REFUSED_MARKER
from antiloop.loop_detection._messages import NOTICE_MARKER

pytestmark = [pytest.mark.filterwarnings(each) for each in ADAPTERS["crewai"].warnings]


class ScriptedModel(BaseLLM):
    """Says what a script says; which reply it is, is read off the conversation."""

    def __init__(self, script, ran):
        super().__init__(model="scripted")
        self._script, self._ran = script, ran

    def supports_function_calling(self):
        return True

    def call(self, messages, *arguments, **options):
        ran = self._ran
        ran.asked += 1
        ran.seen[:] = [str(message["content"]) for message in messages]
        number = sum(message["role"] == "assistant" for message in messages)
        calls = self._script.reply(number, ran.seen)
        asked = [
            {"id": f"call-{number}-{at}", "type": "function", "function": function_of(*call)}
            for at, call in enumerate(calls)
        ]
        return asked or self._script.text(number, calls)

    async def acall(self, *arguments, **options):
        return self.call(*arguments, **options)


def function_of(name, arguments):
    return {"name": name, "arguments": json.dumps(arguments)}


def made_crew(script, ran, *, model=ScriptedModel, tools=None, max_iter=25, **options):
    tools = tools or list(map(uncached, functions(script, ran)))
    told = {"role": "researcher", "goal": "find it", "backstory": "a reader"}
    agent = Agent(**told, llm=model(script, ran), tools=tools, max_iter=max_iter)
    task = Task(description="Go", expected_output="an answer", agent=agent)
    return Crew(agents=[agent], tasks=[task], **options)


def uncached(function):
    made = tool(function.__name__)(function)
    made.cache_function = lambda *given: False
    return made


def streamed(crew):
    crew.stream = True
    for _ in crew.kickoff():
        pass


MODES = {
    "sync": lambda crew: crew.kickoff(),
    "async": lambda crew: asyncio.run(crew.akickoff()),
    "stream": streamed,
}


class TestCrewAI(Contract):
    name = "crewai"

    def carry_out(self, mode, script, ran, **options):
        guard = LoopGuard(**options)
        try:
            with guard.watch():
                MODES[mode](made_crew(script, ran))
        except LoopAborted:
            # A run has no other way to end.
            if guard.detector.policy is LoopPolicy.RAISE:
                raise


@pytest.fixture(autouse=True)
def _by_itself(monkeypatch, tmp_path):
    """Let equal calls go on, which newer versions of CrewAI end at the fifth; keep nothing."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr("crewai.utilities.agent_utils.MAX_REPEATED_TOOL_CALLS", 99, raising=False)


STOP = {"detector": detector(LoopPolicy.STOP)}
BLOCK = {"detector": detector(Escalation(("block",)))}
NOTIFY = {"detector": detector(LoopPolicy.INJECT_MESSAGE)}


def test_the_error_of_a_run_is_one_that_crewai_lets_through():
    with pytest.raises(LoopAborted) as caught, LoopGuard(**STOP).watch():
        made_crew(Script(same()), Ran()).kickoff()
    error = caught.value
    assert isinstance(error, (HookAborted, LoopDetectedError))
    assert (error.detector, error.details["count"], error.detection.repetitions) == ("repeat", 3, 3)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_what_runs_outside_the_block_is_not_seen():
    ran, guard = Ran(), LoopGuard(**STOP)
    crew = made_crew(Script(same()), ran)
    with guard.watch():
        pass
    crew.kickoff()
    assert ran.searches == 6


def test_a_crew_that_runs_meanwhile_elsewhere_is_not_seen():
    class Meeting(ScriptedModel):
        def call(self, *arguments, **options):
            meet.wait()
            return super().call(*arguments, **options)

    meet, rans = threading.Barrier(2), [Ran(), Ran()]
    crews = [made_crew(Script(same(times=2)), ran, model=Meeting) for ran in rans]

    def watched(crew):
        with LoopGuard(detector(LoopPolicy.STOP, RepeatDetector(2))).watch():
            crew.kickoff()

    with ThreadPoolExecutor(2) as threads:
        seen, free = threads.submit(watched, crews[0]), threads.submit(crews[1].kickoff)
        with pytest.raises(LoopAborted):
            seen.result()
        meet.abort()
        with pytest.raises(threading.BrokenBarrierError):
            free.result()
    assert [ran.searches for ran in rans] == [2, 2]


def test_hooks_of_others_go_on():
    heard, ran = [], Ran()
    with scoped_hooks():
        register_scoped(InterceptionPoint.PRE_TOOL_CALL, lambda context: heard.append("theirs"))
        with LoopGuard(**BLOCK).watch():
            made_crew(Script(same(times=4)), ran).kickoff()
        assert len(get_scoped_hooks(InterceptionPoint.PRE_TOOL_CALL)) == 1
    assert (heard, ran.searches) == (["theirs"] * 4, 3)


def test_each_run_of_a_crew_begins_anew():
    ran = Ran()
    crew = made_crew(Script(same(times=2)), ran)
    with LoopGuard(**STOP).watch():
        crew.kickoff()
        crew.kickoff()
    assert ran.searches == 4


def test_agents_of_a_crew_are_told_apart():
    rans = [Ran(), Ran()]
    crews = [made_crew(Script(same(times=2)), ran) for ran in rans]
    agents = [crew.agents[0] for crew in crews]
    tasks = [crew.tasks[0] for crew in crews]
    with LoopGuard(**STOP).watch():
        Crew(agents=agents, tasks=tasks).kickoff()
    assert [ran.searches for ran in rans] == [2, 2]


def test_an_agent_without_a_crew_is_guarded():
    ran = Ran()
    agent = made_crew(Script(same()), ran).agents[0]
    with pytest.raises(LoopAborted), LoopGuard(**STOP).watch():
        agent.kickoff("Go")
    assert ran.searches == 3


class Writing(ScriptedModel):
    """Asks for tools in words, as a model does that calls no functions."""

    def supports_function_calling(self):
        return False

    def call(self, messages, *arguments, **options):
        asked = super().call(messages)
        if isinstance(asked, str):
            return f"Thought: I know it.\nFinal Answer: {asked}"
        wanted = asked[0]["function"]
        return f"Thought: hm\nAction: {wanted['name']}\nAction Input: {wanted['arguments']}\n"


def test_calls_that_are_written_in_words_are_seen():
    words = [[("search", {"query": word})] for word in ("tea", "milk") * 6]
    ran = Ran()
    found = LoopDetector([PingPongDetector()], LoopPolicy.STOP)
    with pytest.raises(LoopAborted), LoopGuard(found).watch():
        made_crew(Script(words), ran, model=Writing).kickoff()
    assert ran.asked == 6


def forgetting(most):
    """Return a model that reads at most so many replies of its own, and then a summary of all."""

    class Forgetting(ScriptedModel):
        def __init__(self, script, ran):
            super().__init__(script, ran)
            self._said, ran.summaries = iter(range(99)), 0

        def call(self, messages, *arguments, from_agent=None, **options):
            if from_agent is None:
                self._ran.summaries += 1
                return "<summary>It was read.</summary>"
            replies = [each for each in messages if each["role"] == "assistant"]
            if len(replies) > most:
                raise LLMContextLengthExceededError("maximum context length exceeded")
            said = [{"role": "assistant", "content": ""}] * next(self._said)
            return super().call(said)

    return Forgetting


@pytest.mark.parametrize(("most", "notices"), [(0, 0), (8, 0), (99, 1)])
def test_what_is_read_again_after_a_summary_is_no_loop(most, notices):
    ran, hearer = Ran(), Hearer()
    with LoopGuard(observers=[hearer]).watch():
        made_crew(read_twice(), ran, model=forgetting(most), max_iter=99).kickoff()
    assert (ran.searches, ran.summaries > 0) == (18, most < 99)
    assert min(1, len(hearer.heard)) == notices


@pytest.mark.parametrize("most", [0, 8, 99])
def test_a_loop_across_a_summary_is_ended(most):
    reads, ran = read_twice(), Ran()
    script = Script([*reads.rounds[:7], *same(times=12)], answers=[*reads.answers[:7], "nothing"])
    crew = made_crew(script, ran, model=forgetting(most), max_iter=99)
    with pytest.raises(LoopAborted), LoopGuard().watch():
        crew.kickoff()
    assert ran.summaries >= (most < 99)
    assert ran.searches <= 7 + 4 + (0 if most == 99 else 2)


def test_a_notice_stands_after_the_results_as_words_of_the_user():
    ran = Ran()
    with LoopGuard(**NOTIFY).watch():
        made_crew(Script(same(), heeds=True), ran).kickoff()
    assert [NOTICE_MARKER in text for text in ran.seen[-2:]] == [False, True]


def test_the_words_of_a_refusal_take_the_place_of_crewais():
    ran = Ran()
    with LoopGuard(**BLOCK).watch():
        made_crew(Script(same()), ran).kickoff()
    assert not any("blocked by hook" in text for text in ran.seen)
    assert ran.seen[-1].startswith(REFUSED_MARKER)


def test_arguments_count_as_they_were_when_the_call_began():
    ran = Ran()

    def search(query: str, seen: list) -> str:
        """Search."""
        seen.append(query)
        return ran.answer(script, "search")

    script = Script([[("search", {"query": "refunds", "seen": []})]] * 6)
    with LoopGuard(**BLOCK).watch():
        made_crew(script, ran, tools=[uncached(search)]).kickoff()
    assert ran.searches == 3


class Reader:
    """An agent, for a hook."""


def test_a_long_block_keeps_only_the_latest_runs():
    def use_tool(agent):
        told = {"agent": agent, "task": None, "crew": None}
        hook(SimpleNamespace(tool_name="search", tool_input={}, **told))
        return weakref.ref(agent)

    with LoopGuard().watch():
        hook = get_scoped_hooks(InterceptionPoint.PRE_TOOL_CALL)[0]
        first = use_tool(Reader())
        assert first() is not None
        for _ in range(1_000):
            use_tool(Reader())
        assert first() is None


def test_observers_hear_of_which_crew():
    hearer = Hearer()
    crew = made_crew(Script(same()), Ran())
    with pytest.raises(LoopAborted), LoopGuard(observers=[hearer], **STOP).watch():
        crew.kickoff()
    assert hearer.runs == [str(crew.id)]


def test_a_round_that_is_interrupted_while_it_is_judged_is_judged_at_the_next_request():
    class Interrupted(LoopGuard):
        def monitor(self, *given):
            made = super().monitor(*given)
            made.add_listener(lambda verdict: next(endings))
            return made

    def interrupt():
        yield "once"
        raise KeyboardInterrupt

    hearer, endings = Hearer(), interrupt()
    next(endings)
    step = SimpleNamespace(agent=Reader(), task=None, crew=None, executor=True, iterations=1)
    step.tool_name, step.tool_input, step.messages = "search", {}, []
    step.tool_result = step.raw_tool_result = "nothing found"
    with Interrupted(observers=[hearer], **NOTIFY).watch():
        after_tool = get_scoped_hooks(InterceptionPoint.POST_TOOL_CALL)[0]
        before_model = get_scoped_hooks(InterceptionPoint.PRE_MODEL_CALL)[0]
        for _ in range(2):
            after_tool(step)
            before_model(step)
        after_tool(step)
        with pytest.raises(KeyboardInterrupt):
            before_model(step)
        endings = iter(["heard"])
        before_model(step)
    assert (hearer.rounds, len(step.messages)) == ([["search"]] * 3, 1)
