"""A lap of calls that repeats is a cycle, whatever its length and wherever it was entered."""

import json

import pytest
from runs import ask, ask_rounds, step, verdicts

from antiloop import LoopDetector, PingPongDetector, ToolCall

A, B, C, D = (step(tool, path=".") for tool in ("alpha", "beta", "gamma", "delta"))
LONG = [step(f"tool{number}", n=number) for number in range(32)]


def test_as_many_laps_as_asked_for_are_a_ping_pong():
    found = ask(PingPongDetector(), *[A, B] * 3)
    assert found.detector_name == "ping_pong"
    assert found.message == "alpha -> beta was repeated 3 times."
    assert found.indices == (0, 1, 2, 3, 4, 5)
    assert (found.repetitions, found.period, found.wasted_calls) == (3, 2, 4)
    assert len(found.members) == 2


def test_one_call_less_is_not_yet_a_ping_pong():
    assert ask(PingPongDetector(), *([A, B] * 3)[1:]) is None
    assert ask(PingPongDetector(2, 2), A, B, A) is None
    assert ask(PingPongDetector(2, 2), A, B, A, B) is not None


def test_details_name_the_cycle_and_how_often():
    found = ask(PingPongDetector(2, 2), C, A, B, A, B)
    assert found.details["cycle"] == ["alpha", "beta"]
    assert found.details["repetitions"] == 2
    assert found.details["indices"] == [1, 2, 3, 4]
    assert [each["tool"] for each in found.details["calls"]] == ["alpha", "beta"]
    assert json.loads(json.dumps(found.details)) == found.details


@pytest.mark.parametrize("period", [2, 3, 4, 5, 11, 31, 32])
def test_a_cycle_of_any_length_up_to_the_limit_is_found(period):
    detector = PingPongDetector(32, 3)
    lap = LONG[:period]
    assert ask(detector, *(lap * 3)[1:]) is None
    found = ask(detector, *lap * 3)
    assert (found.period, found.repetitions) == (period, 3)
    assert found.details["cycle"] == [made.tool_name for made, _ in lap]


def test_a_cycle_longer_than_the_limit_is_left_alone():
    assert ask(PingPongDetector(2), *[A, B, C] * 6) is None
    assert ask(PingPongDetector(3), *[A, B, C, D] * 6) is None


def test_the_shortest_cycle_is_reported():
    assert ask(PingPongDetector(8, 2), *[A, B] * 8).period == 2


def test_one_call_over_and_over_is_a_repeat_and_no_cycle():
    assert ask(PingPongDetector(8, 2), *[A] * 40) is None


def test_one_call_over_and_over_after_another_is_no_cycle():
    assert ask(PingPongDetector(4, 3), B, *[A] * 8) is None
    assert ask(PingPongDetector(4, 3), B, C, *[A] * 10) is None


def test_a_cycle_may_hold_the_same_call_twice():
    found = ask(PingPongDetector(3, 3), *[A, A, B] * 3)
    assert found.details["cycle"] == ["alpha", "alpha", "beta"]


def test_all_laps_are_reported_however_many():
    found = ask(PingPongDetector(2, 2), C, D, *[A, B] * 300)
    assert found.indices == tuple(range(2, 602))
    assert found.repetitions == 300


def test_half_a_lap_before_the_first_is_left_out():
    found = ask(PingPongDetector(2, 2), B, *[A, B] * 3)
    assert found.indices == (1, 2, 3, 4, 5, 6)


def test_a_cycle_is_the_same_loop_wherever_it_was_entered():
    run = [A, B, C] * 4
    identities = {ask(PingPongDetector(3), *run[start:]).identity for start in range(3)}
    assert len(identities) == 1


def test_the_same_calls_in_another_order_are_another_loop():
    one, other = (ask(PingPongDetector(3), *lap * 3) for lap in ([A, B, C], [A, C, B]))
    assert one.identity != other.identity


def test_a_cycle_that_is_over_is_not_reported():
    assert ask(PingPongDetector(), *[A, B] * 3, C) is None


def test_a_cycle_with_a_slip_is_left_alone():
    assert ask(PingPongDetector(), A, B, A, B, C, A, B) is None


def test_nothing_is_found_in_nothing():
    assert PingPongDetector().check([], []) is None


def test_arguments_make_a_difference():
    run = [step(tool, n=n) for n in range(6) for tool in ("alpha", "beta")]
    assert ask(PingPongDetector(), *run) is None


def test_ids_of_the_last_lap_are_given():
    calls = [ToolCall(tool, {}, id=f"{n}") for n, tool in enumerate(["alpha", "beta"] * 3)]
    assert PingPongDetector().check(calls, []).call_ids == ("4", "5")


class TestResults:
    def test_the_same_results_are_a_cycle(self):
        run = [step("ls", "a b"), step("cat", "hello")] * 3
        assert ask(PingPongDetector(), *run).repetitions == 3

    def test_results_that_move_on_are_no_cycle(self):
        run = [
            each
            for n in range(9)
            for each in (step("output", f"chunk {'x' * n}"), step("sleep", ""))
        ]
        assert ask(PingPongDetector(), *run) is None

    def test_unknown_results_differ_from_nothing(self):
        run = [step("ls", "a b"), B, A, B, step("ls", "a b"), B]
        assert ask(PingPongDetector(), *run) is None
        run = [step("alpha", "x", path="."), B, A, B, step("alpha", "x", path="."), B]
        assert ask(PingPongDetector(), *run).repetitions == 3

    def test_noise_is_no_difference(self):
        run = [each for n in range(3) for each in (step("make", f"failed after {n + 3}s"), B)]
        assert ask(PingPongDetector(), *run).repetitions == 3


class TestCalls:
    def test_calls_alone_are_compared(self):
        run = [each for n in range(3) for each in (step("alpha", f"news {'x' * n}"), B)]
        assert ask(PingPongDetector(2, 3), *run) is None
        assert ask(PingPongDetector(2, 3, match="calls"), *run).repetitions == 3


class TestToolNames:
    detector = PingPongDetector(2, 3, match="tool_names")

    def test_names_alone_are_compared(self):
        run = [
            each
            for n in range(3)
            for each in (step("alpha", f"r{n}", n=n), step("beta", f"s{n}", n=n))
        ]
        assert ask(self.detector, *run).details["cycle"] == ["alpha", "beta"]
        assert ask(self.detector, *run[1:]) is None

    def test_one_name_over_and_over_is_no_cycle(self):
        assert ask(self.detector, *(step("alpha", n=n) for n in range(20))) is None

    def test_every_call_of_the_cycle_is_a_member(self):
        run = [each for n in range(3) for each in (step("alpha", n=n), step("beta", n=n))]
        assert len(ask(self.detector, *run).members) == 6

    def test_siblings_of_one_tool_are_one_name(self):
        twice = [step("alpha", n=1), step("alpha", n=2)]
        run = [twice, [B], twice[:1], [B], twice[1:], [B]]
        assert ask_rounds(self.detector, *run).details["cycle"] == ["alpha", "beta"]


class TestRounds:
    def test_siblings_are_one_step_of_the_lap(self):
        found = ask_rounds(PingPongDetector(), *[[A, B], [C]] * 3)
        assert found.details["cycle"] == ["alpha+beta", "gamma"]
        assert (found.period, found.repetitions) == (2, 3)
        assert found.wasted_calls == 6

    def test_order_inside_a_round_does_not_matter(self):
        run = [[A, B], [C], [B, A], [C], [A, B, A], [C]]
        assert ask_rounds(PingPongDetector(), *run).repetitions == 3

    def test_one_round_over_and_over_is_no_cycle(self):
        assert ask_rounds(PingPongDetector(4), *[[A, B]] * 12) is None

    def test_laps_inside_one_round_are_nothing(self):
        assert ask_rounds(PingPongDetector(), [A, B] * 3) is None

    def test_a_member_more_makes_another_round(self):
        assert ask_rounds(PingPongDetector(), [A], [C], [A, B], [C], [A], [C]) is None

    def test_siblings_with_results_that_move_on_are_no_cycle(self):
        run = [
            each for n in range(5) for each in ([A, step("tail", f"line {'x' * n}", f="log")], [C])
        ]
        assert ask_rounds(PingPongDetector(), *run) is None


class TestPatience:
    detector = PingPongDetector(2, 3, patience=6)
    POLLS = (step("status", "still running", job=1), step("status", "still running", job=2))

    def test_work_under_way_is_worth_asking_again(self):
        assert ask(self.detector, *self.POLLS * 5) is None

    def test_but_not_for_ever(self):
        assert ask(self.detector, *self.POLLS * 6).repetitions == 6

    @pytest.mark.parametrize("count", range(6))
    def test_and_as_long_among_siblings(self, count):
        siblings = [step(f"look{n}", "nothing new", n=n) for n in range(count)]
        run = [[self.POLLS[0], *siblings], [self.POLLS[1], *siblings]]
        assert ask_rounds(self.detector, *run * 5) is None
        assert ask_rounds(self.detector, *run * 6).repetitions == 6


@pytest.mark.parametrize("number", [1, 0, True, 2.0, None])
@pytest.mark.parametrize("name", ["cycle_length", "repetitions"])
def test_a_number_that_could_mean_nothing_is_refused(name, number):
    with pytest.raises(ValueError, match=f"{name} must be a whole number, 2 or more, got"):
        PingPongDetector(**{name: number})


def test_patience_below_the_repetitions_is_refused():
    with pytest.raises(ValueError, match="patience must be a whole number, 3 or more, got 2"):
        PingPongDetector(2, 3, patience=2)


def test_an_unknown_way_to_match_is_refused():
    with pytest.raises(ValueError, match=r"one of content, .*tool_names, got 'names'"):
        PingPongDetector(match="names")


def test_calls_of_one_tool_are_told_apart_by_their_arguments():
    lap = [step("read", "see b", path="a.md"), step("read", "see a", path="b" * 60 + ".md")]
    found = ask(PingPongDetector(2, 2), *lap, *lap)
    first, second = found.message.partition(" was")[0].split(" -> ")
    assert first == 'read {"path":"a.md"}'
    assert second.startswith('read {"path":"bbb')
    assert len(second) < 50
    assert found.details["cycle"] == ["read", "read"]


@pytest.mark.parametrize(
    ("length", "shown"),
    [(29, f"{'a' * 28}%s"), (30, f"{'a' * 9}...{'a' * 15}%s")],  # 40 characters, and 41
)
def test_arguments_of_forty_characters_tell_calls_apart_as_they_are(length, shown):
    lap = [step("read", "x", path="a" * (length - 1) + letter) for letter in "bc"]
    told = " -> ".join(f'read {{"path":"{shown % letter}"}}' for letter in "bc")
    assert ask(PingPongDetector(2, 2), *lap, *lap).message == f"{told} was repeated 2 times."


def test_arguments_that_look_alike_when_shortened_are_not_shown():
    lap = [step("read", "x", path="a" * 60 + letter + "z" * 60) for letter in "bc"]
    assert ask(PingPongDetector(2, 2), *lap, *lap).message.startswith("read -> read was")


def test_where_names_alone_are_matched_names_alone_are_told():
    lap = [step("read", "x", path="a"), step("read", "x", path="b"), step("look", "x")]
    found = ask(PingPongDetector(3, 2, match="tool_names"), *lap, *lap)
    assert found.message.startswith("read -> read -> look was")


def test_a_cycle_of_five_rounds_is_named_in_full():
    lap = [step(f"look_{n}", f"page {n}") for n in range(5)]
    found = ask(PingPongDetector(5, 2), *lap, *lap)
    assert found.message == f"{' -> '.join(f'look_{n}' for n in range(5))} was repeated 2 times."


def test_a_long_cycle_is_named_in_short():
    lap = [step("look", f"page {n}", page=n) for n in range(7)]
    found = ask(PingPongDetector(7, 2), *lap, *lap)
    assert found.message == f"{'look -> ' * 5}... (7 rounds) was repeated 2 times."
    assert len(found.details["cycle"]) == 7


UNSEEN = step("screenshot")


@pytest.mark.parametrize(
    "act", [step("press_key", "ok", key="Tab"), step("scroll"), step("toggle_it", '{"ok": true}')]
)
def test_where_acts_led_nobody_recorded_so_a_cycle_needs_patience(act):
    detector = PingPongDetector(patience=5)
    assert ask(detector, *[act, UNSEEN] * 4) is None
    assert ask(detector, *[act, UNSEEN] * 5).repetitions == 5


@pytest.mark.parametrize("lap", [[A, UNSEEN], [step("ls", "a b c"), step("scroll", "ok")]])
def test_calls_alone_and_looks_that_are_known_make_a_cycle_at_once(lap):
    assert ask(PingPongDetector(patience=5), *lap * 3).repetitions == 3


@pytest.mark.parametrize("make", [LoopDetector.default, LoopDetector.escalating])
@pytest.mark.parametrize("act", ["type", "click", "fill"])
def test_acts_that_are_looked_at_without_a_record_are_work(make, act):
    words = "alpha bravo carol delta eagle fancy grape hotel india jolly".split()
    run = [[each] for word in words for each in (step(act, "ok", at=word), UNSEEN)]
    assert {each.action.value for each in verdicts(make(), *run)} == {"continue"}
