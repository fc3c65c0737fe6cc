"""An id that differs in each answer to the same command says nothing, once that was seen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import LoopDetector, LoopPolicy, RepeatDetector, ToolPolicy
from antiloop.loop_detection._evidence.noise import without_ids

IDS = ["89f193", "a1b2c3d4e5", "0f3b9c2d", "xk3Bq7R2z", "toolu_01AbC2dEf", "req_9Zk2Lm4Q"]
NAMES = ["17", "1048576", "batch12", "utf8", "sha256", "python3", "v2beta", "TCK-1041", "decade"]
NAMES += ["a.b3c9d1.py", "1.2.3", "2fa", "item7of9", "12345678901"]
COMMAND = {"command": "grep -rn NOT_THERE src"}
HEX = st.from_regex(r"[0-9][a-f][0-9a-f]{6}", fullmatch=True)


@pytest.mark.parametrize("token", IDS)
def test_what_looks_like_a_random_id(token):
    assert without_ids(f"chunk {token} ended") == "chunk # ended"


@pytest.mark.parametrize("token", NAMES)
def test_what_is_a_number_or_a_name(token):
    assert without_ids(f"chunk {token} ended") == f"chunk {token} ended"


def detector(**options):
    return LoopDetector([RepeatDetector(3, require_same_result=True)], LoopPolicy.STOP, **options)


def found_at(texts, name="run", arguments=COMMAND, made=None, resumes=False):
    """Return how many answers there were when a loop was found; None for no loop."""
    made = made or detector()
    monitor = made.monitor()
    for count, text in enumerate(texts, 1):
        if monitor.record_call(name, arguments, text).detection:
            return count
        if resumes:
            later = made.monitor()
            later.restore(monitor.snapshot())
            monitor = later
    return None


def wrapped(ids, rest="x = 1 in src/m.py"):
    return [f"[shell {each}] {rest}" for each in ids]


FRESH = [f"{number}a{number}f0c" for number in range(10, 30)]


def test_a_command_whose_answers_differ_in_an_id_is_a_loop_after_three_differences():
    # Four answers differ three times; of the fourth on they are the same, and three are a loop.
    assert found_at(wrapped(FRESH[:5])) is None
    assert found_at(wrapped(FRESH)) == 6


@given(st.lists(HEX, min_size=6, max_size=6, unique=True))
def test_a_resumed_run_decides_as_the_unbroken_one(ids):
    assert found_at(wrapped(ids)) == found_at(wrapped(ids), resumes=True) == 6


def test_counters_and_names_of_new_things_are_news():
    for number in ("17", "batch17"):
        texts = [f"{number[:-2]}{each} of 60 files are copied" for each in range(10, 30)]
        assert found_at(texts) is None
    # Another tool may give the next ticket of many, whose id is the news.
    assert found_at(wrapped(FRESH), "next_ticket", {}) is None
    # An answer that is nothing but an id is what was asked for.
    assert found_at(FRESH) is None


def test_ids_are_no_noise_where_something_else_changes_too():
    changing = [f"[shell {each}] {at} lines left" for at, each in enumerate(FRESH)]
    assert found_at(changing) is None
    mixed = [*wrapped(FRESH[:3]), "[shell] something else", *wrapped(FRESH[3:6])]
    assert found_at(mixed) is None


def test_what_is_declared_to_do_something_each_time_is_left_alone():
    made = detector(tools={"run": ToolPolicy(idempotent=False)})
    assert found_at(wrapped(FRESH), made=made) is None


def test_what_the_escalating_preset_does():
    monitor = LoopDetector.escalating().monitor()
    said = [monitor.record_call("run", COMMAND, text).action.value for text in wrapped(FRESH[:8])]
    assert said == ["continue"] * 5 + ["notify", "block", "stop"]
