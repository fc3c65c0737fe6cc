"""The contract with a hand-written loop of plain functions, and what is special about them."""

import asyncio
import contextlib
import functools
import inspect
import json
import threading
from typing import Any

import pytest
from contract import Contract, Hearer, Judge, Ran, asking, detector, functions
from hand_loop import carry_out, ended_by
from hypothesis import given
from hypothesis import strategies as st

from antiloop import LoopDetectedError, LoopDetector, LoopPolicy
from antiloop.exceptions import CallRefused
from antiloop.integrations.functions import GuardedFunctions, LoopGuard, guarded
from antiloop.loop_detection import Escalation, LoopAction
from antiloop.loop_detection._evidence.outcome import REFUSED_MARKER
from antiloop.loop_detection._messages import NOTICE_MARKER

BLOCK = detector(Escalation(("block",)))
NOTIFY = detector(LoopPolicy.INJECT_MESSAGE)
STOP = detector(LoopPolicy.STOP)


class Search:
    def __call__(self):
        return "nothing found"


def named(function, name="search"):
    function.__name__ = name
    return function


def sync_loop(guard, script, ran):
    tools = {each.__name__: guard(each) for each in functions(script, ran)}

    def use_tools(calls):
        with guard.round():
            texts = [tools[name](**arguments) for name, arguments in calls]
        return [*texts, *filter(None, [guard.take_notice()])]

    return use_tools


def async_loop(guard, script, ran):
    @guard
    async def search(query: str) -> str:
        await asyncio.sleep(0)
        return ran.answer(script, "search")

    @guard
    async def note(text: str) -> str:
        await asyncio.sleep(0)
        return ran.answer(script, "note")

    tools = {"search": search, "note": note}

    async def use_tools(calls):
        return await asyncio.gather(*(tools[name](**arguments) for name, arguments in calls))

    return use_tools


LOOPS = {"sync": sync_loop, "async": async_loop}


def go(guard, mode, script, ran, first=0):
    with ended_by(guard):
        carry_out(script, ran, LOOPS[mode](guard, script, ran), first)


class TestFunctions(Contract):
    name = "functions"
    users = ()

    def carry_out(self, mode, script, ran, **options):
        go(LoopGuard(**options), mode, script, ran)

    def talk(self, script, ran, **options):
        guard = LoopGuard(**options)

        def speak():
            guard.user_message()
            go(guard, "sync", script, ran)

        return speak

    def begin(self, store, script, **options):
        guard = LoopGuard(**options)
        try:
            go(guard, "sync", script, Ran())
        finally:
            store.write_text(json.dumps(guard.run.snapshot()), encoding="utf-8")

    def go_on(self, store, script, ran, **options):
        guard = LoopGuard(**options)
        guard.run.restore(json.loads(store.read_text(encoding="utf-8")))
        go(guard, "sync", script, ran, first=2)


def calls_of(guard):
    """Return what a guarded run has asked for, in short, from the words of its detection."""
    return [call["arguments"] for call in guard.verdict.detection.details["calls"]]


def test_arguments_by_position_by_name_and_by_default_are_the_same_call():
    @guarded(detector=STOP)
    def search(query, limit=10):
        return "nothing found"

    search("refunds")
    search(query="refunds")
    with pytest.raises(LoopDetectedError, match="3 times in a row"):
        search("refunds", limit=10)
    assert calls_of(search.guard) == ['{"limit":10,"query":"refunds"}']


def test_names_that_a_function_catches_count_as_its_own_arguments():
    @guarded(detector=STOP)
    def search(*words, **options):
        return "nothing found"

    for _ in range(2):
        search("a", "b", limit=1)
    with pytest.raises(LoopDetectedError):
        search("a", "b", limit=1)
    assert calls_of(search.guard) == ['{"limit":1,"words":["a","b"]}']


class Library:
    @guarded(detector=STOP)
    def search(self, query):
        return "nothing found"


def test_the_object_of_a_method_is_no_argument():
    for library in (Library(), Library()):
        library.search("refunds")
    with pytest.raises(LoopDetectedError):
        Library().search("refunds")
    assert calls_of(Library.search.guard) == ['{"query":"refunds"}']


def test_arguments_that_do_not_fit_are_the_functions_to_complain_about():
    @guarded(detector=STOP)
    def search(query):
        return "nothing found"

    for _ in range(2):
        with pytest.raises(TypeError, match="missing 1 required"):
            search()
    with pytest.raises(LoopDetectedError) as caught:
        search()
    assert isinstance(caught.value.__context__, TypeError)


def test_a_function_that_does_not_tell_its_parameters_is_guarded_too():
    largest = guarded(max, detector=STOP)  # written in C
    assert [largest("ab", key=ord), largest("ab", key=ord)] == ["b", "b"]
    with pytest.raises(LoopDetectedError, match="'max'"):
        largest("ab", key=ord)


NAMELESS = st.sampled_from(
    [
        lambda: "nothing found",
        functools.partial("nothing found {}".format, 1),
        functools.partial(named(lambda where: "nothing found", "search"), "here"),
        Search(),
    ]
)


@given(st.lists(NAMELESS, min_size=1, max_size=3))
def test_what_has_no_name_gets_one_before_it_is_guarded(functions):
    with pytest.raises(TypeError, match=r" has no name; set its __name__, or define it with def$"):
        guarded(*functions, detector=STOP)
    guard, copies = LoopGuard(STOP), [functools.partial(each) for each in functions]
    for _ in range(2):  # several tools, called in turn, are no loop
        assert all(guard(named(each, name))() for each, name in zip(copies, "abc"))


def test_what_can_be_called_goes_by_the_name_that_it_is_given():
    search = named(functools.partial("nothing found {}".format, 1))
    search = guarded(search, detector=STOP)
    for _ in range(2):
        assert search() == "nothing found 1"
    with pytest.raises(LoopDetectedError, match="'search'"):
        search()


def test_exceptions_pass_and_count_as_failures():
    @guarded(detector=detector(LoopPolicy.STOP))
    def fetch(url):
        raise OSError(f"no route to {url}")

    for _ in range(2):
        with pytest.raises(OSError, match="no route"):
            fetch("a")
    with pytest.raises(LoopDetectedError):
        fetch("a")
    assert fetch.guard.verdict.detection.details["answer"] == "failure"


def test_a_refusal_is_raised_where_a_function_gives_no_text():
    @guarded(detector=BLOCK)
    def rows(table: str) -> list:
        return []

    assert [rows("t") for _ in range(3)] == [[], [], []]
    with pytest.raises(CallRefused, match=r"^\[antiloop\] Refused:"):
        rows("t")


@pytest.mark.parametrize("kind", ["str", str, Any, inspect.Signature.empty])
def test_a_refusal_is_returned_where_a_text_can_be(kind):
    def search(query):
        return "nothing found"

    if kind is not inspect.Signature.empty:
        search.__annotations__["return"] = kind
    search = guarded(search, detector=BLOCK)
    assert [search("a")[:10] for _ in range(3)] == ["nothing fo"] * 3
    assert search("a").startswith(REFUSED_MARKER)


def test_a_notice_waits_for_a_text_or_for_who_takes_it():
    guard = LoopGuard(NOTIFY)
    rows = guard(named(lambda table: [], "rows"))
    look = guard(named(lambda: "something", "look"))
    assert [rows("t") for _ in range(3)] == [[], [], []]
    assert look().count(NOTICE_MARKER) == 1
    assert look() == "something"
    assert guard.take_notice() == ""


def test_a_notice_is_no_part_of_what_is_compared():
    search = guarded(named(lambda query: "nothing found"), detector=LoopDetector.escalating())
    for _ in range(4):
        search("a")
    with pytest.raises(LoopDetectedError):
        search("a")
    assert search.guard.verdict.detection.repetitions == 5


def test_equal_calls_of_one_reply_are_one_piece_of_evidence():
    guard = LoopGuard(STOP)
    search = guard(named(lambda query: "nothing found"))
    for _ in range(2):
        with guard.round():
            for _ in range(5):
                search("a")
    with pytest.raises(LoopDetectedError), guard.round():
        search("a")


def test_an_async_block_is_one_round_and_waits_for_the_judge():
    judge = Judge()
    guard = LoopGuard(asking(judge.later))
    search = guard(named(lambda query: "nothing found"))

    async def go_on():
        for word in "abcde":
            async with guard.round():
                search(word)
                search(word)

    asyncio.run(go_on())
    assert (judge.steps, guard.verdict.action) == ([7], LoopAction.NOTIFY)


def test_an_exception_in_an_async_block_is_not_replaced():
    guard = LoopGuard(STOP)
    search = guard(named(lambda query: "nothing found"))

    async def fail():
        async with guard.round():
            {}[search("a")]

    for _ in range(2):
        search("a")
    with pytest.raises(KeyError):
        asyncio.run(fail())
    assert guard.verdict.action is LoopAction.STOP


@pytest.mark.parametrize("meanwhile", ["reset", "user_message", "search"])
def test_an_answer_that_comes_too_late_is_left_out(meanwhile):
    def judge(case):
        steps.append(case.step)
        if len(steps) == 1:
            others[meanwhile]()
        return True

    steps, guard = [], LoopGuard(asking(judge))
    search = guard(named(lambda query: "nothing found" if query in "abcde" else "12 results"))
    others = {
        "reset": guard.reset,
        "user_message": guard.user_message,
        "search": lambda: search("tea"),
    }
    for word in "abcde":
        search(word)
    assert (steps, guard.verdict.action) == ([3], LoopAction.CONTINUE)


def test_a_round_that_is_interrupted_while_it_is_judged_counts_with_the_next_one():
    heard = Hearer()
    guard = LoopGuard(NOTIFY, observers=[heard])
    search, interruptions = guard(named(lambda: "nothing found")), [KeyboardInterrupt]

    def interrupt(verdict):
        if interruptions:
            raise interruptions.pop()

    guard.run.add_listener(interrupt)
    for _ in range(2):
        search()
    with pytest.raises(KeyboardInterrupt):
        search()
    assert NOTICE_MARKER in search()
    assert guard.run.call_count == sum(map(len, heard.rounds)) == 4


@pytest.mark.parametrize("is_async", [False, True])
def test_a_round_whose_judge_is_interrupted_is_reported(is_async):
    def judge(case):
        raise KeyboardInterrupt

    heard = Hearer()
    guard = LoopGuard(asking(judge), observers=[heard])
    search = guard(named(lambda query: "nothing found"))

    async def asearch(query):
        async with guard.round():
            search(query)

    for word in "abc":
        search(word)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(asearch("d")) if is_async else search("d")
    assert (guard.run.call_count, len(heard.rounds)) == (4, 4)


def test_an_exception_in_a_round_is_not_replaced():
    guard = LoopGuard(STOP)
    search = guard(named(lambda query: "nothing found"))
    for _ in range(2):
        search("a")
    with pytest.raises(KeyError), guard.round():
        {}[search("a")]
    assert guard.verdict.action is LoopAction.STOP


def test_calls_in_threads_at_the_same_time_are_one_round():
    guard, meet = LoopGuard(STOP), threading.Barrier(4)

    @guard
    def search(query):
        meet.wait()
        return "nothing found"

    threads = [threading.Thread(target=search, args=["a"]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert guard.run.call_count == 4
    assert guard.run.window.round_count == 1


def test_a_call_that_never_ends_does_not_keep_the_others_unjudged():
    guard = LoopGuard(STOP)
    search = guard(named(lambda query: "nothing found"))

    async def run():
        wait = guard(asyncio.Event().wait)
        waiting = asyncio.ensure_future(wait())
        await asyncio.sleep(0)
        for _ in range(4 * guard.detector.window):
            search("a")
        waiting.cancel()

    with pytest.raises(LoopDetectedError):
        asyncio.run(run())


def test_a_cancelled_call_stays_cancelled():
    guard = LoopGuard(STOP)

    @guard
    async def wait(name):
        await asyncio.Event().wait()

    async def run():
        for _ in range(3):
            task = asyncio.ensure_future(wait("a"))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(run())
    assert guard.run.call_count == 3


@pytest.mark.parametrize("policy", [LoopPolicy.STOP, LoopPolicy.RAISE])
def test_a_loop_of_calls_that_are_cancelled_each_time_ends(policy):
    guard = LoopGuard(detector(policy))

    @guard
    async def wait():
        await asyncio.Event().wait()

    with pytest.raises(LoopDetectedError):
        asyncio.run(_begun_and_cancelled(wait, times=9))
    assert guard.run.call_count == 3


async def _begun_and_cancelled(call, times):
    for _ in range(times):
        task = asyncio.ensure_future(call())
        await asyncio.wait([task], timeout=0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def test_a_loop_of_rounds_that_raise_each_time_ends():
    guard = LoopGuard(STOP)

    @guard
    def search():
        raise ConnectionError

    for _ in range(3):
        with contextlib.suppress(ConnectionError), guard.round():
            search()
    with pytest.raises(LoopDetectedError):
        search()
    assert guard.run.call_count == 3


@pytest.mark.parametrize("begin_again", [LoopGuard.reset, LoopGuard.user_message])
def test_an_end_that_is_due_is_not_that_of_another_run(begin_again):
    guard = LoopGuard(STOP)
    search = guard(named(lambda: "nothing found"))
    for _ in range(3):
        with contextlib.suppress(KeyError), guard.round():
            search()
            raise KeyError
    begin_again(guard)
    assert search() == "nothing found"


def test_a_notice_after_a_cancelled_call_is_given_with_the_next_result():
    guard = LoopGuard(NOTIFY)
    look = guard(named(lambda: "all well", "look"))

    @guard
    async def wait():
        await asyncio.Event().wait()

    asyncio.run(_begun_and_cancelled(wait, times=3))
    assert NOTICE_MARKER in look()


class _Counting(LoopGuard):
    begun = 0

    def begin(self, call):
        refusal = super().begin(call)
        self.begun += 1
        return refusal


_CALLS = st.tuples(
    st.integers(0, 2), st.integers(0, 3), st.booleans(), st.none() | st.integers(0, 3)
)
"""Argument, steps that it takes, whether it fails, and after how many steps it is cancelled."""


@given(
    st.sampled_from([NOTIFY, STOP, detector(Escalation(("notify", "block", "stop")))]),
    st.lists(st.tuples(st.lists(_CALLS, min_size=1, max_size=4), st.booleans()), max_size=12),
)
def test_no_call_is_lost_however_calls_overlap_fail_and_are_cancelled(policy, replies):
    heard = Hearer()
    guard = _Counting(policy, observers=[heard])

    @guard
    async def work(at, steps, fails):
        for _ in range(steps):
            await asyncio.sleep(0)
        if fails:
            raise KeyError(at)
        return f"result {at // 2}"

    async def use(at, steps, fails, cancelled_after):
        task = asyncio.ensure_future(work(at, steps, fails))
        for _ in range(cancelled_after or 0):
            await asyncio.sleep(0)
        if cancelled_after is not None:
            task.cancel()
        await asyncio.wait([task])
        assert task.cancelled() or task.exception() or task.result()

    async def run():
        for calls, is_marked in replies:
            with contextlib.suppress(LoopDetectedError):
                async with guard.round() if is_marked else contextlib.AsyncExitStack():
                    await asyncio.gather(*(use(*each) for each in calls))

    asyncio.run(run())
    assert guard.run.call_count == guard.begun == sum(map(len, heard.rounds))


def test_a_call_cancelled_before_it_runs_keeps_no_round_open():
    guard = LoopGuard(STOP)
    search = guard(named(lambda query: "nothing found"))

    @guard
    async def wait():
        await asyncio.Event().wait()

    async def run():
        for _ in range(2):
            search("a")
        both = asyncio.gather(wait(), wait())
        asyncio.get_running_loop().call_soon(both.cancel)
        with pytest.raises(asyncio.CancelledError):
            await both

    asyncio.run(run())
    assert guard.run.call_count == 4
    assert search("a") == "nothing found"


def test_calls_under_another_librarys_loop_are_guarded():
    @guarded(detector=STOP)
    async def search(query):
        return "nothing found"

    def drive():
        with pytest.raises(StopIteration) as done:
            search("a").send(None)
        return done.value.value

    assert [drive(), drive()] == ["nothing found"] * 2
    with pytest.raises(LoopDetectedError):
        drive()


def test_arguments_that_do_not_fit_an_async_function_keep_no_round_open():
    guard = LoopGuard(STOP)

    @guard
    async def search(query):
        return "nothing found"

    for _ in range(2):
        with pytest.raises(TypeError):
            asyncio.run(search())
    with pytest.raises(LoopDetectedError):
        asyncio.run(search())


def test_an_async_function_that_fails_is_recorded_as_failed():
    @guarded(detector=STOP)
    async def fetch(url):
        raise OSError("no route")

    for _ in range(2):
        with pytest.raises(OSError, match="no route"):
            asyncio.run(fetch("a"))
    with pytest.raises(LoopDetectedError):
        asyncio.run(fetch("a"))


def test_a_function_is_seen_for_what_it_is():
    async def fetch(url):
        """Fetch a page."""

    made = guarded(fetch)
    assert inspect.iscoroutinefunction(made)
    assert made.__doc__ == "Fetch a page."
    assert list(inspect.signature(made).parameters) == ["url"]


def test_what_a_plain_function_has_under_way_is_awaited():
    async def fetched(url):
        return "nothing found"

    fetch = guarded(named(lambda url: fetched(url)), detector=STOP)
    for _ in range(2):
        assert asyncio.run(fetch("a")) == "nothing found"
    with pytest.raises(LoopDetectedError):
        asyncio.run(fetch("a"))


def test_several_functions_are_one_run_that_begins_with_the_block():
    functions = guarded(named(lambda: "a", "first"), named(lambda: "b", "second"), detector=STOP)
    assert isinstance(functions, GuardedFunctions)
    for _ in range(3):
        with functions as (first, second):
            assert [first(), second(), first(), second()] == ["a", "b", "a", "b"]
    assert first.guard is second.guard


def test_a_run_begins_with_the_block_of_its_guard():
    guard = LoopGuard(STOP)
    search = guard(named(lambda query: "nothing found"))
    for _ in range(3):
        with guard as same:
            assert same is guard
            assert [search("a") for _ in range(2)] == ["nothing found"] * 2


def test_observers_are_told_of_each_run_that_begins():
    hearer = Hearer()
    search = guarded(named(lambda query: "nothing found"), observers=[hearer])
    for _ in range(2):
        with search.guard:
            assert [search("a") for _ in range(2)] == ["nothing found"] * 2
    assert hearer.users == [""] * 2


def test_a_call_that_outlives_its_run_is_none_of_the_next():
    guard = LoopGuard(NOTIFY)
    answered = {}

    @guard
    async def search(query):
        await answered[query].wait()
        return "nothing"

    async def two_runs():
        answered.update(quick=asyncio.Event(), late=asyncio.Event())
        answered["quick"].set()
        outlives = asyncio.ensure_future(search("late"))
        await asyncio.sleep(0)
        guard.reset()
        answers = [await search("quick") for _ in range(3)]
        answered["late"].set()
        return [*answers, await outlives]

    *_, third, outlived = asyncio.run(two_runs())
    assert NOTICE_MARKER in third
    assert (outlived, guard.run.call_count) == ("nothing", 3)


def test_the_users_word_is_progress_and_makes_a_notice_stale():
    guard = LoopGuard(NOTIFY)
    rows = guard(list)
    for _ in range(3):
        rows()
    guard.user_message()
    assert guard.take_notice() == ""
    rows()
    assert guard.take_notice() == ""


def test_observers_are_notified_which_run_it_was():
    hearer = Hearer()
    search = guarded(named(lambda query: ""), detector=BLOCK, observers=[hearer], run_id="run-7")
    for _ in range(3):
        search("a")
    assert hearer.runs == ["run-7"]


def test_a_listener_may_ask_the_guard():
    guard, heard = LoopGuard(NOTIFY), []
    guard.run.add_listener(lambda verdict: heard.append(guard.take_notice()))
    search = guard(named(lambda query: "nothing found"))
    assert search("a") == search("a") == "nothing found"
    assert NOTICE_MARKER in search("a")
    assert heard == [""]


def values():
    yield 1


async def items():
    yield 1


@pytest.mark.parametrize("function", [values, items])
def test_what_yields_is_refused(function):
    with pytest.raises(TypeError, match="guard a function that returns its result"):
        guarded(function)


def test_what_cannot_be_called_is_refused():
    with pytest.raises(TypeError, match="cannot be called"):
        guarded("search")
