"""A guard that remembers conversations judges every request as one that does not."""

import asyncio
import copy
import gc
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest
from contract import Hearer, Raising
from hypothesis import given, settings
from hypothesis import strategies as st
from request_bodies import BODIES, SECRET

from antiloop import LoopDetector, LoopPolicy, ToolCall
from antiloop.integrations.gateway import GatewayGuard
from antiloop.integrations.shared.known_conversations import Known, KnownConversations
from antiloop.loop_detection import (
    CallLimitDetector,
    ChantDetector,
    Escalation,
    MonologueDetector,
    NearRepeatDetector,
    PingPongDetector,
    RepeatDetector,
    StallDetector,
    ToolPolicy,
)
from antiloop.loop_detection.evidence.textless import Missed, forget_texts

PLACES = {"openai_chat": "messages", "openai_responses": "input", "anthropic": "messages"}
kinds = pytest.mark.parametrize("kind", BODIES)
CHANT = "I will look at it again. " * 30


def small(policy, **options):
    """Return a detector with a short window, so that conversations outgrow it."""
    detectors = [
        RepeatDetector(3, require_same_result=True),
        StallDetector(3),
        PingPongDetector(2, 3),
        NearRepeatDetector(4),
        ChantDetector(3, 100),
        MonologueDetector(2),
    ]
    return LoopDetector(detectors, policy, window=6, **options)


GUARDS = {
    "escalating": {"detector": LoopDetector.escalating()},
    "default": {"detector": LoopDetector.default()},
    "small": {"detector": small(Escalation(), tools={"x": ToolPolicy(poll=True)})},
    "limit": {
        "detector": LoopDetector([CallLimitDetector(9, per_tool={"search": 5})], Escalation())
    },
    "blocks": {"detector": small(Escalation(("block",), every=3, max_interventions=3))},
    "shadow": {"detector": small(LoopPolicy.STOP, shadow=True)},
    "notices": {"detector": small(LoopPolicy.INJECT_MESSAGE), "ignore": ["write"]},
    "across": {"detector": small(Escalation()), "across_turns": True},
}


def said(kind, text):
    """Return what the model says beside its calls, as messages."""
    content = [{"type": "text", "text": text}] if kind == "anthropic" else text
    return [{"role": "assistant", "content": content}]


def of_user(kind, text):
    return [{"role": "user", "content": text}]


def of_system(kind, text):
    return [{"role": "system", "content": text}]


def rounds(kind, calls, times):
    """Return a round as messages, a number of times; its ids come again."""
    return BODIES[kind]([calls] * times)[PLACES[kind]][1:]


def healthy(kind, number, times):
    calls = [[("read", {"n": n}, f"page {n} of {number}")] for n in range(times)]
    return BODIES[kind](calls)[PLACES[kind]][1:]


CALLS = st.lists(
    st.tuples(
        st.sampled_from(["search", "write", "x"]),
        st.fixed_dictionaries({"q": st.sampled_from(["a", "b", "A ", 1, True, None])}),
        st.sampled_from(
            ["nothing found", "", "error: no", "ok", "12 files at 10:42:17", "12 files at 11:02:19"]
            + [f"the text of page {n}" for n in range(3)]
        ),
    ),
    min_size=1,
    max_size=3,
)
TEXTS = st.sampled_from(["Let me look.", "Go on.", CHANT])
MORE = st.one_of(
    st.tuples(st.just(rounds), CALLS, st.sampled_from([1, 1, 2, 3])),
    st.tuples(st.just(healthy), st.integers(0, 9), st.sampled_from([1, 2, 20])),
    st.tuples(st.sampled_from([said, of_user, of_system]), TEXTS),
)
CHANGES = st.one_of(
    MORE,
    MORE,
    MORE,
    # What goes wrong: messages that are lost, that come twice or late, or that are others.
    st.tuples(st.sampled_from(["cut", "twice", "late", "edit"]), st.integers(1, 6)),
    st.tuples(st.just("branch"), st.integers(0, 2)),
    st.tuples(st.just("again")),
)


def changed(kind, messages, change, *values):
    """Return a conversation after a change."""
    if callable(change):
        return [*messages, *change(kind, *values)]
    at = max(1, len(messages) - values[0]) if values else 0
    if change == "cut":
        return [*messages[:at], *messages[at + 1 :]]
    if change == "twice":
        return [*messages[: at + 1], *messages[at:]]
    if change == "late":
        return [*messages[:at], *messages[at + 1 :], *messages[at : at + 1]]
    if change == "edit":
        return [*messages[:at], *of_user(kind, "Wait."), *messages[at + 1 :]]
    return messages


def outcomes(guard, hearer, body, kind):
    hearer.heard.clear()
    judged = guard.judge_request(body, kind, "run")
    return judged.body, judged.answer, judged.verdict, list(hearer.heard)


class Verdicts(Hearer):
    """Remembers the verdicts, too."""

    def on_verdict(self, run_id, verdict):
        self.heard.append((run_id, verdict))


def assert_memory_changes_nothing(name, kind, changes):
    """Judge a conversation after each change, and return the actions."""
    hearers = Verdicts(), Verdicts()
    options = GUARDS[name]
    knowing = GatewayGuard(observers=[hearers[0]], **options)
    plain = GatewayGuard(observers=[hearers[1]], remembered_calls=0, **options)
    body = BODIES[kind]([])
    branches, current, actions = [body[PLACES[kind]]], 0, []
    for change, *values in changes:
        if change == "branch":
            branches.append(branches[current])
            current = values[0] % len(branches)
        branches[current] = changed(kind, branches[current], change, *values)
        asked = {**body, PLACES[kind]: copy.deepcopy(branches[current])}
        expected = outcomes(plain, hearers[1], asked, kind)
        assert outcomes(knowing, hearers[0], asked, kind) == expected
        actions.append(expected[2].action.value)
    return actions


@pytest.mark.parametrize("name", GUARDS)
@settings(max_examples=12)
@given(kind=st.sampled_from(sorted(BODIES)), changes=st.lists(CHANGES, max_size=8))
def test_memory_changes_no_answer(name, kind, changes):
    assert_memory_changes_nothing(name, kind, changes)


def searched(result="nothing found"):
    return rounds, [("search", {"q": "a"}, result)], 1


def three_read(number):
    return rounds, [("read", {"n": n}, f"page {n}") for n in range(3 * number, 3 * number + 3)], 1


def one_read(number):
    return rounds, [("read", {"n": number}, f"page {number}")], 1


def chanted(number):
    return [(said, CHANT), one_read(number)]


WAYS = {
    "a result that came twice": (
        "small",
        [searched(), searched(), ("twice", 1), searched()],
        "notify",
    ),
    "results that differ by the time of day": (
        "small",
        [searched(f"12 files at 1{hour}:42:17") for hour in range(3)],
        "notify",
    ),
    "a loop that is older than what is replayed": (
        "small",
        [*[searched()] * 3, *map(three_read, range(12)), *[searched()] * 3],
        "notify",
    ),
    "a chant that is older than what is heard": (
        "notices",
        [*chanted(0), *map(one_read, range(1, 16)), *chanted(16)],
        "notify",
    ),
    "a block that is in force": ("blocks", [searched()] * 5, "block"),
}


@pytest.mark.parametrize("way", WAYS)
def test_memory_does_not_hide(way):
    name, changes, last = WAYS[way]
    for kind in BODIES:
        assert assert_memory_changes_nothing(name, kind, changes)[-1] == last


def test_what_is_known_of_one_turn_does_not_count_across_turns():
    guard = GatewayGuard(small(LoopPolicy.STOP))
    body = BODIES["openai_chat"]([])
    for more in (searched(), searched(), (of_user, "Try again."), searched()):
        body["messages"] = changed("openai_chat", body["messages"], *more)
    assert guard.judge_request(body, "openai_chat").answer is None
    guard.across_turns = True
    assert guard.judge_request(body, "openai_chat").answer is not None


def counted(guard, monkeypatch):
    """Return a list that grows with each conversation that is judged as a whole."""
    whole = []
    verdict_on = guard.verdict_on
    monkeypatch.setattr(guard, "verdict_on", lambda *args: whole.append(1) or verdict_on(*args))
    return whole


def growing(kind, count, of=lambda n: [("read", {"n": n}, f"the text of page {n}")]):
    """Yield the requests of a conversation, each a round longer."""
    for stop in range(1, count + 1):
        yield BODIES[kind]([of(n) for n in range(stop)])


@kinds
def test_a_conversation_that_goes_on_is_read_once(kind, monkeypatch):
    guard = GatewayGuard()
    whole = counted(guard, monkeypatch)
    for body in growing(kind, 60):
        guard.judge_request(body, kind)
        guard.judge_request(body, kind)  # a client that tries again
    assert len(whole) == 1


@kinds
def test_two_conversations_do_not_get_in_each_others_way(kind, monkeypatch):
    guard = GatewayGuard()
    whole = counted(guard, monkeypatch)
    others = growing(kind, 20, lambda n: [("read", {"m": n}, f"another page {n}")])
    for body, other in zip(growing(kind, 20), others):
        guard.judge_request(body, kind)
        guard.judge_request(other, kind)
    assert len(whole) == 2


def test_a_call_that_was_made_before_does_not_bring_all_calls_back(monkeypatch):
    guard = GatewayGuard()
    whole = counted(guard, monkeypatch)

    def polled(n):
        return [("read", {"n": n % 30}, f"the text of page {n}, as long as it is new")]

    for body in growing("openai_chat", 60, polled):
        guard.judge_request(body, "openai_chat")
    assert len(whole) <= 3


def test_another_process_or_a_lost_round_costs_only_what_is_new(monkeypatch):
    guard = GatewayGuard()
    whole = counted(guard, monkeypatch)
    for number, body in enumerate(growing("openai_chat", 50)):
        if number % 8 == 0:
            guard.judge_request(body, "openai_chat")
    assert len(whole) == 1


def test_a_conversation_longer_than_what_is_replayed_is_read_again_once_a_window(monkeypatch):
    guard = GatewayGuard(small(LoopPolicy.STOP))
    whole = counted(guard, monkeypatch)
    for body in growing("openai_chat", 24 + 60):
        guard.judge_request(body, "openai_chat")
    assert 60 // 6 <= len(whole) <= 60 // 6 + 2


@pytest.mark.parametrize("detector", [
    LoopDetector([RepeatDetector(3), Raising()]),
    LoopDetector.escalating(second_opinion=lambda case: True),
])  # fmt: skip
def test_what_looks_at_texts_is_given_all_of_them(detector, monkeypatch):
    guard = GatewayGuard(detector)
    whole = counted(guard, monkeypatch)
    for body in growing("openai_chat", 3):
        guard.judge_request(body, "openai_chat")
    assert len(whole) == 3
    assert len(guard.conversations) == 0


def test_what_is_no_json_is_judged_and_not_remembered():
    guard = GatewayGuard()
    (body,) = growing("openai_chat", 1)
    body["messages"][0]["content"] = object()
    assert guard.judge_request(body, "openai_chat").body is body
    assert len(guard.conversations) == 0


def test_another_detector_judges_anew():
    guard = GatewayGuard(LoopDetector.default())
    same = list(growing("openai_chat", 3, lambda _: [("read", {}, "error: not found")]))
    for body in same[:2]:
        guard.judge_request(body, "openai_chat")
    guard.detector = LoopDetector([RepeatDetector(2)], LoopPolicy.STOP)
    assert guard.judge_request(same[1], "openai_chat").answer is not None


def test_the_memory_has_a_bound_and_forgets_what_was_used_longest_ago(monkeypatch):
    guard = GatewayGuard(remembered_calls=60)
    whole = counted(guard, monkeypatch)

    def asked(number, rounds=10):
        body = list(growing("openai_chat", rounds))[-1]
        body["messages"][0]["content"] = f"Go {number}"
        guard.judge_request(body, "openai_chat")
        return len(whole)

    assert [asked(number) for number in (1, 2, 3)] == [1, 2, 3]
    assert len(guard.conversations) == 3
    assert asked(1) == 3  # and so it was used last
    assert asked(4) == 4
    assert len(guard.conversations) == 3
    assert (asked(1, 11), asked(2)) == (4, 5)


def test_a_round_that_is_not_complete_is_not_remembered():
    guard = GatewayGuard()
    two = [("read", {"n": 1}, "page 1"), ("read", {"n": 2}, "page 2")]
    whole, half = growing("openai_chat", 2, lambda _: two)
    half["messages"].pop()
    kept = []
    for body in (whole, half):
        guard.judge_request(body, "openai_chat")
        kept.append(len(guard.conversations))
    assert kept == [1, 0]


def test_words_that_may_belong_to_the_next_round_are_not_remembered():
    guard = GatewayGuard()
    (body,) = growing("openai_chat", 1)
    body["messages"][2:2] = said("openai_chat", "Let me see.")
    guard.judge_request(body, "openai_chat")
    assert len(guard.conversations) == 0


def test_nothing_is_remembered_where_that_is_switched_off():
    guard = GatewayGuard(remembered_calls=0)
    for body in growing("openai_chat", 3):
        guard.judge_request(body, "openai_chat")
    assert len(guard.conversations) == 0


def texts_of(thing):
    """Return all texts that a thing refers to, beside code and what all share."""
    seen, waiting, texts = set(), [thing], []
    while waiting:
        each = waiting.pop()
        if id(each) in seen or isinstance(each, (type, type(gc))) or callable(each):
            continue
        seen.add(id(each))
        if isinstance(each, (str, bytes)):
            texts.append(str(each))
        waiting += gc.get_referents(each)
    return texts


@kinds
def test_no_text_of_a_conversation_is_kept(kind):
    guard = GatewayGuard()
    marks = ["zebra crossing", "lemon tree", SECRET, "walnut"]
    for body in growing(
        kind, 5, lambda n: [("login", {"who": f"lemon tree {n}", "key": SECRET}, f"walnut {n}")]
    ):
        body[PLACES[kind]][0]["content"] = "zebra crossing"
        guard.judge_request(body, kind)
    texts = texts_of(guard.conversations)
    assert any("login" in text for text in texts)
    assert not [text for text in texts if any(mark in text for mark in marks)]


def test_several_threads_get_the_answers_of_one():
    guard = GatewayGuard(small(Escalation()))
    bodies = [
        body
        for turn in range(3)
        for body in growing("openai_chat", 12, lambda n, t=turn: [("go", {"n": n % (t + 1)}, "no")])
    ]
    expected = [
        GatewayGuard(small(Escalation()), remembered_calls=0).judge_request(body, "openai_chat")
        for body in bodies
    ]
    with ThreadPoolExecutor(4) as threads:
        for _ in range(2):
            judged = threads.map(lambda body: guard.judge_request(body, "openai_chat"), bodies)
            assert list(judged) == expected


@kinds
def test_an_event_loop_gets_the_answers_of_one_request_after_the_other(kind):
    guard, plain = GatewayGuard(), GatewayGuard(remembered_calls=0)
    bodies = list(growing(kind, 6, lambda n: [("go", {"n": n // 5}, "no")]))

    async def judged():
        return await asyncio.gather(*(guard.ajudge_request(body, kind) for body in bodies * 2))

    expected = [plain.judge_request(body, kind) for body in bodies * 2]
    assert any(each.answer for each in expected)
    for _ in range(2):
        assert asyncio.run(judged()) == expected


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda guard: pickle.loads(pickle.dumps(guard))])
def test_a_copy_of_a_guard_starts_without_memory(copied):
    guard = GatewayGuard()
    (body,) = growing("openai_chat", 1)
    guard.judge_request(body, "openai_chat")
    assert (len(guard.conversations), len(copied(guard).conversations)) == (1, 0)
    assert copied(guard).judge_request(body, "openai_chat").body is body


def seen(*results):
    monitor = LoopDetector.default().monitor()
    for result in results:
        monitor.after([ToolCall("read", {"n": 1})], [result])
    return monitor


def test_a_comparison_that_needs_a_forgotten_text_is_noticed():
    monitor, missed = seen("12 files at 10:42:17", None), Missed()
    forget_texts(monitor.window, missed)
    known, unknown = (item.features for item in monitor.window)
    assert (unknown.steady, missed.has_happened) == (None, False)
    assert known.near is not None
    assert not missed.has_happened
    assert (known.steady, missed.has_happened) == (None, True)


def test_a_key_that_was_asked_for_stays():
    monitor = seen("12 files at 10:42:17")
    features = next(iter(monitor.window)).features
    steady, missed = features.steady, Missed()
    forget_texts(monitor.window, missed)
    kept = next(iter(monitor.window)).features
    forget_texts(monitor.window, Missed())
    assert next(iter(monitor.window)).features is kept
    assert (kept.steady, missed.has_happened) == (steady, False)


def test_a_state_that_is_kept_again_counts_once():
    conversations = KnownConversations(LoopDetector.default(), 30)
    known = Known(seen("a", "b"), Missed(), 2, None)
    for _ in range(5):
        conversations.keep((2, b"place"), known)
    assert conversations.take([(3, b"other"), (2, b"place")]) == (2, known)
    assert conversations.take([(2, b"place")]) == (0, None)
