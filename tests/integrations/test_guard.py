"""What all adapters share, without any framework."""

import logging
from contextlib import contextmanager
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import (
    AgentObserver,
    LoopDetector,
    LoopPolicy,
    Role,
    ToolCall,
    ToolResult,
)
from antiloop.formats import History, TextMessage, from_langchain
from antiloop.integrations._guard import Guard, heeded, stopped, without_round_of
from antiloop.loop_detection import (
    CallLimitDetector,
    ChantDetector,
    Escalation,
    LoopAction,
    LoopVerdict,
    Opinion,
    RepeatDetector,
)
from antiloop.loop_detection._policy import RANK
from antiloop.loop_detection._verdict import GO_ON

SEARCH = ToolCall("search", {"query": "refunds"})


def history(*rounds, turn_starts=()):
    """Make a history of rounds, each a list of tools; the answer is always the same."""
    calls = [
        ToolCall(name, {}, f"call-{position}", number)
        for number, names in enumerate(rounds)
        for position, name in enumerate(names)
    ]
    return History(tuple(calls), tuple(ToolResult("same") for _ in calls), turn_starts)


def pending(before, *names):
    """Add a round that has not run."""
    number = len(list(before.rounds()))
    calls = tuple(ToolCall(name, {}, f"call-{at}", number) for at, name in enumerate(names))
    return History(before.calls + calls, before.results + (None,) * len(calls), before.turn_starts)


def guard(policy=LoopPolicy.STOP, **options):
    return Guard(LoopDetector([RepeatDetector(3)], policy), **options)


class Hearer(AgentObserver):
    """Remembers what it was told."""

    def __init__(self):
        self.heard = []

    def on_tool_loop_detected(self, run_id, detector_name, details):
        self.heard.append((run_id, detector_name, details["count"]))


class TestJudging:
    def test_the_last_round_is_judged(self):
        said = [guard().judge(history(*["s"] * rounds)).action for rounds in (2, 3)]
        assert said == [LoopAction.CONTINUE, LoopAction.STOP]

    def test_nothing_is_said_of_nothing(self):
        assert guard().judge(History()).action is LoopAction.CONTINUE

    def test_an_attended_agent_climbs_the_ladder_by_itself(self):
        said = [Guard().judge(history(*["s"] * rounds)).action.value for rounds in range(1, 6)]
        assert said == ["continue", "continue", "notify", "block", "stop"]

    def test_what_came_before_the_users_last_message_is_no_evidence(self):
        said = history("s", "s", "s", turn_starts=(0, 1))
        assert guard().judge(said).action is LoopAction.CONTINUE
        assert guard(across_turns=True).judge(said).action is LoopAction.STOP

    def test_a_loop_that_goes_on_after_the_user_spoke_takes_its_next_rung(self):
        said = [
            Guard().judge(history(*["s"] * rounds, turn_starts=(0, 3))).action.value
            for rounds in range(3, 9)
        ]
        assert said == ["continue", "continue", "continue", "block", "stop", "stop"]

    def test_a_block_ends_where_the_user_speaks(self):
        blocking = guard(Escalation(("block",)))
        for turn_starts, action in (((0,), "block"), ((0, 3), "continue")):
            past = history("s", "s", "s", turn_starts=turn_starts)
            assert blocking.before(past, ToolCall("s", {})).action.value == action

    @given(st.lists(st.sampled_from(["sss", "tt", "s", "u", "usssu", "st"]), max_size=8))
    def test_turns_are_judged_as_in_a_run_that_is_told_of_them(self, moments):
        """An ``u`` is a message of the user, whose words are not known."""
        live, calls, turns = Guard().detector.monitor(), [], []
        for moment in "".join(moments):
            if moment == "u":
                turns.append(len(calls))
                live.user_message()
                verdict = GO_ON
            else:
                calls.append([moment])
                verdict = live.after(history(*calls).calls[-1:], [ToolResult("same")])
            told = history(*calls, turn_starts=tuple(turns))
            assert Guard().judge(told).action is verdict.action
            assert [Guard().before(told, ToolCall(name, {})).action for name in "st"] == [
                live.before(ToolCall(name, {})).action for name in "st"
            ]

    def test_a_monitor_that_has_seen_calls_begins_anew_where_the_user_speaks(self):
        for across_turns, action in ((False, LoopAction.CONTINUE), (True, LoopAction.STOP)):
            guarding = guard(across_turns=across_turns)
            monitor = guarding.replayed(history("s", "s"))
            assert guarding.replay(monitor, history("s", turn_starts=(0,))).action is action

    def test_ignored_tools_are_no_evidence(self):
        assert guard(ignore=["s"]).judge(history("s", "s", "s")).action is LoopAction.CONTINUE
        assert guard(ignore=["s"]).judge(history("t", "t", "t")).action is LoopAction.STOP

    def test_a_text_is_no_list_of_tools(self):
        with pytest.raises(TypeError, match=r"not a text: \['search'\]"):
            Guard(ignore="search")

    def test_rounds_may_have_the_same_ids_and_numbers(self):
        monitor, last = guard().monitor(), None
        for _ in range(3):
            last = guard().record(monitor, history("s"))
        assert (last.action, monitor.call_count) == (LoopAction.STOP, 3)


class TestObservers:
    def test_they_are_told_of_the_run_and_the_loop(self):
        hearer = Hearer()
        guarding = guard(observers=[hearer])
        for rounds in (2, 3):
            guarding.judge(history(*["s"] * rounds), "run-1")
        assert hearer.heard == [("run-1", "repeat", 3)]

    def test_they_are_not_told_when_a_call_is_only_asked_about(self):
        hearer = Hearer()
        guarding = guard(Escalation(("block",)), observers=[hearer])
        assert guarding.before(history("s", "s", "s"), ToolCall("s", {})).action.value == "block"
        assert hearer.heard == []

    def test_one_that_raises_is_logged_and_the_others_are_told(self, caplog):
        class Broken(AgentObserver):
            def on_tool_loop_detected(self, run_id, detector_name, details):
                raise RuntimeError("no disk")

        hearer = Hearer()
        with caplog.at_level(logging.ERROR):
            guard(observers=[Broken(), hearer]).judge(history("s", "s", "s"))
        assert "Broken" in caplog.text
        assert "no disk" in caplog.text
        assert hearer.heard == [("", "repeat", 3)]


STEPS = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from(["nothing found", "error: no", "7 hits"])),
    min_size=4,
    max_size=16,
)
ANSWERS = st.sampled_from([True, False, None, Opinion(True, 0.3), Opinion(False, 0.9)])


class Answering:
    """A judge that answers by the step, and remembers which it was asked about."""

    def __init__(self, answers):
        self.answers, self.steps = answers, []

    def __call__(self, case):
        self.steps.append(case.step)
        return self.answers[case.step]


def searches(steps, ids=True):
    calls = [
        ToolCall("search", {"q": word}, f"call-{number}" if ids else None, number)
        for number, (word, _) in enumerate(steps)
    ]
    return History(tuple(calls), tuple(ToolResult(text) for _, text in steps))


def judged_live(judge, steps):
    """Return the actions of a monitor that is told each round as it comes."""
    monitor = LoopDetector.escalating(second_opinion=judge).monitor()
    for word, text in steps:
        verdict = monitor.record_call("search", {"q": word}, text)
        if verdict.case is not None:
            verdict = monitor.answer(judge(verdict.case))
        yield verdict.action


class TestSecondOpinions:
    @given(STEPS, st.lists(ANSWERS, min_size=16, max_size=16), st.booleans())
    def test_a_conversation_that_is_read_anew_gets_the_verdicts_of_a_live_run(
        self, steps, answers, ids
    ):
        live, anew = Answering(answers), Answering(answers)
        expected = list(judged_live(live, steps))
        guarding = Guard(LoopDetector.escalating(second_opinion=anew))
        told = searches(steps, ids)
        said = [guarding.judge(told.until(count + 1)).action for count in range(len(steps))]
        assert (said, anew.steps) == (expected, live.steps)

    @pytest.mark.parametrize("ids", [True, False])
    def test_a_question_and_what_is_found_in_the_words_of_a_reply_both_count(self, ids):
        judge = Answering([False] * 16)
        detector = LoopDetector.escalating(second_opinion=judge)
        chant = TextMessage(Role.ASSISTANT, "Let me look at the file once again now. " * 60, 4)
        told = searches([(word, "nothing found") for word in "abcde"], ids)
        verdicts = [Guard(detector).judge(replace(told, messages=said)) for said in ((), (chant,))]
        assert [each.action for each in verdicts] == [LoopAction.CONTINUE, LoopAction.NOTIFY]
        assert "repeats itself" in verdicts[1].detection.message
        assert judge.steps == [4, 4]

    def test_the_same_round_is_asked_about_once(self):
        judge = Answering([Opinion(True, 0.9, "It is not there.")] * 16)
        guarding = Guard(LoopDetector.escalating(second_opinion=judge))
        told = searches([(word, "nothing found") for word in "abcde"])
        said = {guarding.judge(told).action for _ in range(3)}
        assert (said, judge.steps) == ({LoopAction.NOTIFY}, [4])

    def test_nobody_is_asked_about_a_call_that_has_not_run(self):
        judge = Answering([True] * 16)
        guarding = Guard(LoopDetector.escalating(second_opinion=judge))
        guarding.before(searches([(word, "nothing found") for word in "abcde"]), SEARCH)
        assert judge.steps == []

    def test_a_guard_that_cannot_wait_asks_nobody(self):
        class Hurried(Guard):
            can_ask = False

        judge = Answering([True] * 16)
        guarding = Hurried(LoopDetector.escalating(second_opinion=judge))
        guarding.judge(searches([(word, "nothing found") for word in "abcde"]))
        assert judge.steps == []

    def test_the_judge_and_the_observers_are_notified_of_the_run(self):
        class Listening(AgentObserver):
            def on_second_opinion(self, run_id, case, opinion):
                told.append((run_id, case.run_id, opinion.stuck))

        told = []
        found = LoopDetector.escalating(second_opinion=lambda case: True)
        guarding = Guard(found, observers=[Listening()])
        guarding.judge(searches([(word, "nothing found") for word in "abcde"]), "run-1")
        assert told == [("run-1", "run-1", True)]


CHANT = "I will look again, and then I will tell you. " * 40


def spoken(*texts, role=Role.ASSISTANT, position=0):
    return tuple(TextMessage(role, text, position) for text in texts)


def told_live(replies):
    """Return the actions of a monitor that is told each reply as it comes."""
    monitor = LoopDetector.escalating().monitor()
    for number, (text, word) in enumerate(replies):
        words = monitor.said(text) if text else GO_ON
        verdict = monitor.record_call("search", {"q": word, "n": number}, f"{number} hits")
        yield max(verdict, words, key=lambda one: RANK[one.action]).action


class TestModelWords:
    def test_the_same_reply_again_and_again_without_a_call_is_a_loop(self):
        talking = [History(messages=spoken(*["Let me check."] * count)) for count in (2, 3)]
        assert [Guard().judge(each).action.value for each in talking] == ["continue", "notify"]

    def test_a_round_is_judged_before_the_words_after_it(self):
        looked = history("s", "s", "s")
        after = replace(looked, messages=spoken("Let me see.", position=3))
        assert guard().judge(looked).action is LoopAction.STOP
        assert guard().judge(after).action is LoopAction.CONTINUE

    @pytest.mark.parametrize("across_turns", [False, True])
    def test_words_of_the_user_between_equal_replies_are_progress(self, across_turns):
        user = spoken("Go on.", role=Role.USER)
        talk = (spoken("Let me check.") + user) * 2 + spoken("Let me check.")
        talking = History((), (), (0, 0), talk)
        assert Guard(across_turns=across_turns).judge(talking).action is LoopAction.CONTINUE

    def test_a_reply_that_repeats_itself_is_told_though_its_call_brings_news(self):
        looked = replace(history("s"), messages=spoken(CHANT))
        verdict = Guard().judge(looked)
        assert (verdict.action, verdict.detection.detector_name) == (LoopAction.NOTIFY, "chant")

    @given(st.lists(st.tuples(st.sampled_from(["", "I look.", CHANT]), st.sampled_from("ab"))))
    def test_words_that_are_read_anew_get_the_verdicts_of_a_live_run(self, replies):
        replies = replies[:12]
        calls = [
            ToolCall("search", {"q": word, "n": number}, f"call-{number}", number)
            for number, (_, word) in enumerate(replies)
        ]
        texts = [each for at, (text, _) in enumerate(replies) for each in spoken(text, position=at)]
        told = History(
            tuple(calls),
            tuple(ToolResult(f"{number} hits") for number in range(len(calls))),
            (),
            tuple(each for each in texts if each.text),
        )
        anew = [Guard().judge(until(told, count + 1)).action for count in range(len(replies))]
        assert anew == list(told_live(replies))

    def test_only_the_words_of_the_last_replies_are_read_again(self):
        heard = []

        class Listening(ChantDetector):
            def watch(self, masking):
                watch = super().watch(masking)
                take = watch.said
                watch.said = lambda text: heard.append(text) or take(text)
                return watch

        count = 20
        texts = [each for at in range(count) for each in spoken(f"Step {at}.", position=at)]
        told = replace(history(*["s"] * count), messages=tuple(texts))
        Guard(LoopDetector([Listening()])).judge(told)
        assert heard == [f"Step {at}." for at in range(8, 20)]


@contextmanager
def logged():
    """Collect what is logged."""
    said, handler = [], logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())
    logger = logging.getLogger("antiloop")
    logger.addHandler(handler)
    try:
        yield said
    finally:
        logger.removeHandler(handler)


def until(told, count):
    """Cut a history after a round, before the words of the next."""
    kept = tuple(each for each in told.messages if each.position < count)
    return replace(told.until(count), messages=kept)


class TestLongConversations:
    small = LoopDetector([RepeatDetector(3)], LoopPolicy.STOP, window=6)

    def test_only_messages_that_a_few_windows_can_hold_are_read(self):
        def first(count):
            return Guard(self.small).recent(list(range(count)))[0]

        assert [first(count) for count in (2, 59, 60, 71, 72, 100)] == [0, 0, 12, 12, 24, 48]
        assert Guard(self.small).recent([]) == []

    def test_only_calls_that_a_few_windows_can_hold_are_replayed(self):
        def replayed(count):
            return Guard(self.small).replayed(history(*["s"] * count)).call_count

        assert [replayed(count) for count in (35, 36, 41, 42, 100)] == [35, 30, 35, 30, 34]

    @pytest.mark.parametrize("limits", [{"limit": 250}, {"per_tool": {"s": 30}}])
    def test_a_budget_of_calls_counts_all_of_them(self, limits):
        detector = LoopDetector([CallLimitDetector(**limits)], LoopPolicy.STOP, window=6)
        asked, live = Guard(detector), detector.monitor()
        names = ["s" if at % 10 == 0 else "a" for at in range(320)]
        verdicts = [live.after([ToolCall(name)], ["same"]) for name in names]
        for count in (249, 250, 251, 300, 301, 320):
            told = asked.recent(history(*names).calls[:count])
            verdict = asked.judge(History(tuple(told), (ToolResult("same"),) * len(told)))
            assert verdict.action is verdicts[count - 1].action
            assert stopped(verdict) == stopped(verdicts[count - 1])
        assert {verdict.action for verdict in verdicts} == {LoopAction.CONTINUE, LoopAction.STOP}

    def test_a_round_is_replayed_whole(self):
        long = history(*["abcde"] * 20)
        assert Guard(self.small).replayed(long).call_count == 35

    def test_a_conversation_that_is_cut_within_a_round_is_judged(self):
        call = {"id": "c", "name": "s", "args": {}}
        messages = [
            message
            for _ in range(40)
            for message in (
                {"type": "ai", "content": "", "tool_calls": [call]},
                {"type": "tool", "content": "same", "tool_call_id": "c"},
            )
        ]
        kept = Guard(self.small).recent(messages[1:])
        assert kept[0]["type"] == "tool"
        assert Guard(self.small).judge(from_langchain(kept)).action is LoopAction.STOP


class Incomparable:
    """Like an array: whether two of them are equal cannot be said by yes or no."""

    def __eq__(self, other):
        raise ValueError("ambiguous")

    __hash__ = None


class TestBeforeACall:
    blocking = guard(Escalation(("block",)))
    stuck = history("s", "s", "s")
    call = ToolCall("s", {}, "call-0")

    def refused(self, before, call):
        return self.blocking.before(before, call).action is LoopAction.BLOCK

    def test_a_call_of_a_loop_is_refused_and_another_is_not(self):
        assert self.refused(self.stuck, self.call)
        assert not self.refused(self.stuck, ToolCall("t", {}, "call-0"))
        assert not self.refused(history("s", "s"), self.call)

    def test_its_own_round_does_not_count(self):
        assert self.refused(pending(self.stuck, "s", "t"), self.call)
        assert not self.refused(pending(history("s", "s"), "s"), self.call)

    def test_siblings_may_have_run_already(self):
        before = pending(history("s", "s"), "s", "t")
        results = (*before.results[:-1], ToolResult("same"))
        assert not self.refused(History(before.calls, results), self.call)

    def test_ids_may_be_those_of_the_round_before(self):
        assert len(without_round_of(self.call, self.stuck)) == 3
        assert len(without_round_of(self.call, pending(self.stuck, "s"))) == 3

    def test_without_ids_a_round_without_all_results_has_not_run(self):
        calls = tuple(ToolCall("s", {}, None, number) for number in range(4))
        results = (ToolResult("same"),) * 3
        call = ToolCall("s", {})
        assert len(without_round_of(call, History(calls, (*results, None)))) == 3
        assert len(without_round_of(call, History(calls[:3], results))) == 3

    def test_a_round_of_other_calls_without_results_stays(self):
        before = pending(self.stuck, "t")
        assert len(without_round_of(ToolCall("s", {}, "call-9"), before)) == 4

    def test_turns_that_begin_later_are_cut_too(self):
        before = pending(history("s", "s", turn_starts=(0, 2, 3)), "s")
        assert without_round_of(self.call, before).turn_starts == (0, 2)

    def test_there_may_be_nothing_before(self):
        assert not self.refused(History(), self.call)

    def test_the_siblings_of_a_round_are_decided_after_one_replay(self):
        made = []

        class Counting(Guard):
            def monitor(self, *args):
                made.append(1)
                return super().monitor(*args)

        own = Counting(self.blocking.detector)
        before = pending(self.stuck, *"stst")
        said = [own.before(before, call).action for call in before.calls[3:]]
        assert said == [LoopAction.BLOCK, LoopAction.CONTINUE] * 2
        assert made == [1]

    @pytest.mark.parametrize("argument", [True, Incomparable()])
    def test_siblings_are_those_after_calls_with_the_same_arguments(self, argument):
        own = guard(Escalation(("block",)))
        for value in (1, argument, argument, 1):
            past = replace(self.stuck, calls=tuple(ToolCall("s", {"n": value}) for _ in range(3)))
            for asked in (1, argument):
                is_same = asked is value
                call = ToolCall("s", {"n": asked})
                assert (own.before(past, call).action is LoopAction.BLOCK) == is_same

    @given(st.lists(st.tuples(st.lists(st.sampled_from("st"), max_size=5), st.booleans())))
    def test_calls_of_runs_side_by_side_are_decided_as_those_of_one(self, asked):
        shared = guard(Escalation(("block",)))
        for names, is_cut in asked:
            before = pending(history(*names), "s")
            before = before.until(len(names)) if is_cut else before
            alone = guard(Escalation(("block",))).before(before, self.call)
            assert shared.before(before, self.call).action is alone.action


class TestWords:
    def verdict(self, **options):
        detector = LoopDetector([RepeatDetector(3)], LoopPolicy.INJECT_MESSAGE, **options)
        guarding = Guard(detector)
        return guarding, guarding.judge(history("s", "s", "s"))

    def test_a_notice_says_who_speaks(self):
        guarding, verdict = self.verdict()
        assert guarding.notice(verdict) == f"<system-notice>\n{verdict.message}\n</system-notice>"

    def test_a_notice_in_the_users_name_stands_alone(self):
        guarding, verdict = self.verdict(notice_role=Role.USER)
        assert guarding.notice(verdict) == verdict.message

    def test_own_words_are_marked_so_that_nobody_takes_them_for_the_users(self):
        guarding, verdict = self.verdict(notice_role=Role.USER, inject_message="Enough.")
        assert guarding.notice(verdict) == "[antiloop] Notice: Enough."

    def test_what_ends_a_run_is_told_in_a_line(self):
        _, verdict = self.verdict()
        assert (
            stopped(verdict)
            == f"Stopped: the agent was stuck in a loop. {verdict.detection.message}"
        )
        assert stopped(LoopVerdict()) == "Stopped: the agent was stuck in a loop."


TOOLS = st.sampled_from(["read", "search", "save"])
ANSWERS = st.sampled_from(["nothing found", "saved", "Error: no such file", "page one", "page two"])
ROUNDS = st.lists(st.lists(st.tuples(TOOLS, ANSWERS), min_size=1, max_size=3), max_size=20)
DETECTORS = [
    LoopDetector.default(),
    LoopDetector.escalating(),
    LoopDetector([RepeatDetector(2), CallLimitDetector(12)], Escalation(("notify", "block"))),
]


def said(verdict):
    return verdict.action, verdict.message, verdict.detection


@given(detector=st.sampled_from(DETECTORS), asked=ROUNDS)
def test_a_run_that_is_read_from_its_history_decides_as_the_unbroken_one(detector, asked):
    guarding, so_far = Guard(detector), History()
    unbroken = guarding.monitor()
    for number, steps in enumerate(asked):
        names = [name for name, _ in steps]
        calls = [ToolCall(name, {}, f"call-{at}", number) for at, name in enumerate(names)]
        waiting = History(so_far.calls + tuple(calls), so_far.results + (None,) * len(calls))
        refusals = [unbroken.before(call) for call in calls]
        read = [guarding.before(waiting, call) for call in calls]
        assert list(map(said, read)) == list(map(said, refusals))
        results = [
            ToolResult(refusal.message, is_error=True)
            if refusal.action is LoopAction.BLOCK
            else ToolResult(answer)
            for refusal, (_, answer) in zip(refusals, steps)
        ]
        so_far = History(waiting.calls, so_far.results + tuple(results))
        verdict = unbroken.after(calls, results)
        assert said(guarding.judge(so_far)) == said(verdict)


@given(st.lists(st.sampled_from("abc"), max_size=14))
def test_each_verdict_is_logged_once_however_often_a_conversation_is_replayed(words):
    detector = LoopDetector([RepeatDetector(2)], Escalation(), log_verdicts=True)
    told = searches([(word, "nothing found") for word in words])
    monitor, guarding = detector.monitor(), Guard(detector)
    with logged() as live:
        for call, result in zip(told.calls, told.results):
            monitor.after([call], [result])
    with logged() as anew:
        for count in range(len(words)):
            guarding.judge(told.until(count + 1))
    assert anew == live


@pytest.mark.parametrize("is_last", [True, False])
def test_of_a_very_long_reply_the_end_counts(is_last):
    # A client may write into its request what it likes, and it is read with each request.
    others = " ".join(f"part {number} comes now" for number in range(5_000))
    chant = "I will look again, and then I will tell you. " * 40
    text = f"{others} {chant}" if is_last else f"{chant} {others}"
    spoken = History((SEARCH,), (ToolResult("same"),), (), (TextMessage(Role.ASSISTANT, text, 0),))
    chanting = Guard(LoopDetector([ChantDetector()], LoopPolicy.STOP))
    verdict = chanting.replay(chanting.monitor(), spoken)
    assert verdict.action is (LoopAction.STOP if is_last else LoopAction.CONTINUE)


@pytest.mark.parametrize("detector", [{}, RepeatDetector(3), LoopDetector, "default", False])
def test_a_detector_that_is_none_is_refused(detector):
    with pytest.raises(TypeError, match=r"detector must be a LoopDetector, got .*; pass"):
        Guard(detector)


@pytest.mark.parametrize("observers", [AgentObserver(), None])
def test_one_observer_instead_of_a_list_is_refused(observers):
    with pytest.raises(TypeError, match="observers must be a list of observers, got"):
        Guard(observers=observers)


def test_a_class_of_observers_is_refused():
    with pytest.raises(TypeError, match=r"observers\[0\] is a class; pass an instance: AgentObs"):
        Guard(observers=[AgentObserver])


def step_of_stop(period, held_after):
    """Return when a loop is stopped in a conversation of which a framework keeps so many calls."""
    monitor, mark, held = LoopDetector.escalating().monitor(), None, 0
    for step in range(80):
        mark = heeded(monitor, mark, held)
        path = f"{step % period}.py"
        call, result = ToolCall("read", {"path": path}), ToolResult(f"the text of {path}")
        if monitor.after([call], [result]).action.value == "stop":
            return step
        held = held_after(step, held + 1)
    return None


@pytest.mark.parametrize("period", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("kept", [0, 1, 4, 9, 12])
def test_no_way_to_shorten_a_conversation_hides_a_loop(period, kept):
    unbroken = step_of_stop(period, lambda step, held: held)
    shortened = {
        "each round": lambda step, held: min(held, kept),
        "each third round": lambda step, held: held if step % 3 else min(held, kept),
        "each ninth round": lambda step, held: held if step % 9 else min(held, kept),
    }
    for name, held_after in shortened.items():
        stopped = step_of_stop(period, held_after)
        assert stopped is not None, name
        assert stopped <= unbroken + (0 if period < 4 else 2 * 9), name
