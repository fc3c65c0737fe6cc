"""The name of a guard's state: another for another detector, the same in every process."""

import os
import pathlib
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from antiloop import LoopDetector, PingPongDetector, RepeatDetector, StallDetector
from antiloop.integrations._lookout import detector_key
from antiloop.loop_detection import BaseDetector, Escalation, SecondOpinion, ToolPolicy


class Mine(BaseDetector):
    name = "mine"

    def __init__(self, threshold):
        self.threshold = threshold

    def check(self, tool_calls, tool_results):
        return None


def always(case):
    return True


def never(case):
    return False


THRESHOLDS = st.integers(2, 9)
FLAGS = st.booleans()
DETECTORS = st.one_of(
    st.tuples(st.just("repeat"), THRESHOLDS, FLAGS, st.sampled_from("ab")),
    st.tuples(st.just("stall"), THRESHOLDS, FLAGS),
    st.tuples(st.just("ping_pong"), st.integers(2, 5), THRESHOLDS),
    st.tuples(st.just("mine"), THRESHOLDS),
)
LADDERS = st.tuples(st.sampled_from(["notify", "block"]), st.integers(1, 5), FLAGS)
RECIPES = st.tuples(
    st.lists(DETECTORS, min_size=1, max_size=3),
    LADDERS,
    st.dictionaries(st.sampled_from("xy"), FLAGS),
    st.none() | st.tuples(st.sampled_from([always, never]), st.integers(1, 5)),
    st.sampled_from(["secrets", "arguments"]),
    st.integers(90, 99),
    st.sets(st.sampled_from(["todo", "plan", "think"])),
)
"""All that a guard is made of, as plain values: two are equal or not."""


def made(name, *options):
    if name == "repeat":
        return RepeatDetector(options[0], require_same_result=options[1], name=options[2])
    if name == "stall":
        return StallDetector(options[0], only_fruitless=options[1])
    return PingPongDetector(*options) if name == "ping_pong" else Mine(*options)


def key_of(recipe):
    detectors, (action, every, resumes), tools, judge, mask, window, ignored = recipe
    detector = LoopDetector(
        [made(*each) for each in detectors],
        Escalation((action, "stop"), every=every, resumes=resumes),
        tools={name: ToolPolicy(exempt=is_exempt) for name, is_exempt in tools.items()},
        second_opinion=None if judge is None else SecondOpinion(judge[0], gap=judge[1]),
        mask=mask,
        window=window,
    )
    return detector_key(detector, ignored)


@given(RECIPES, RECIPES, st.integers(0, 6))
def test_two_keys_are_equal_if_all_options_are(one, other, changed):
    almost = (*one[:changed], other[changed], *one[changed + 1 :])
    assert (key_of(one) == key_of(almost)) is (one == almost)
    assert (key_of(one) == key_of(other)) is (one == other)


@given(RECIPES, THRESHOLDS)
def test_a_threshold_alone_makes_another_key(recipe, threshold):
    (first, *detectors), *rest = recipe
    other = ([(first[0], threshold, *first[2:]), *detectors], *rest)
    assert (key_of(recipe) == key_of(other)) is (recipe == other)


PROBE = """
import sys
sys.path[:0] = {path!r}
from antiloop import LoopDetector
from test_detector_key import always, detector_key, key_of
recipe = [("mine", 3), ("repeat", 3, True, "a")], ("notify", 2, True), {{"x": True}}, (always, 2)
print(key_of((*recipe, "secrets", 90, {{"todo", "plan", "think"}})))
for preset in (LoopDetector.default(), LoopDetector.escalating(second_opinion=always)):
    print(detector_key(preset, {{"todo", "plan", "think"}}))
"""


def test_a_key_is_the_same_in_every_process():
    path = [str(pathlib.Path(__file__).parent), *sys.path]
    keys = set()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", PROBE.format(path=path)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        keys.add(done.stdout)
    assert len(keys) == 1
    assert len(set(keys.pop().split())) == 3
