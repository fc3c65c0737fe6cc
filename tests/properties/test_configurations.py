"""What can be built can be written down, comes back as it was, and cannot be changed after that."""

import copy
import inspect
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import Escalation, LoopDetector, LoopPolicy, Role, ToolPolicy, presets
from antiloop.loop_detection._registry import DETECTORS, options_of

COUNTS = st.integers(2, 9)
NAMES = st.text("abcäß 0.", min_size=1, max_size=4).filter(str.strip)
PLAIN = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=3))
VALUES = {
    "limit": st.integers(1, 40),
    "match": st.sampled_from(["content", "calls", "tool_names"]),
    "name": NAMES,
    "per_tool": st.dictionaries(NAMES, st.integers(1, 9), max_size=2),
    "length": st.integers(100, 900),
    **{name: st.booleans() for name in ("require_same_result", "only_fruitless", "per_turn")},
    "leave_cycles": st.booleans(),
}
"""Values for options of detectors that are not counts."""


def made(kind, options):
    """Return a detector, or None where the numbers contradict each other."""
    try:
        return DETECTORS[kind](**options)
    except ValueError:
        return None


@st.composite
def detectors(draw):
    kind = draw(st.sampled_from(sorted(DETECTORS)))
    options = draw(st.sets(st.sampled_from(sorted(options_of(kind)))))
    return made(kind, {name: draw(VALUES.get(name, COUNTS)) for name in sorted(options)})


LADDERS = st.builds(
    lambda ranks, every, per_lap, resumes, most: Escalation(
        sorted(ranks, key=["notify", "block", "stop", "raise"].index),
        every=every,
        per_lap=per_lap,
        resumes=resumes,
        max_interventions=most,
    ),
    st.lists(st.sampled_from(["notify", "block", "stop", "raise"]), min_size=1, max_size=4),
    st.integers(1, 3),
    st.booleans(),
    st.booleans(),
    st.one_of(st.none(), st.integers(1, 3)),
)
FIELDS = st.one_of(
    st.none(), st.lists(NAMES, max_size=2), st.sets(NAMES), st.tuples(NAMES), st.frozensets(NAMES)
)
TOOLS = st.builds(
    ToolPolicy,
    poll=st.one_of(st.none(), st.booleans(), st.dictionaries(NAMES, st.lists(PLAIN, max_size=2))),
    exempt=st.booleans(),
    mutates=st.one_of(st.none(), st.booleans()),
    idempotent=st.one_of(st.none(), st.booleans()),
    key=FIELDS,
    strip=FIELDS,
)
OPTIONS = {
    "policy": st.one_of(LADDERS, st.sampled_from(LoopPolicy), st.sampled_from(["stop", "RAISE"])),
    "inject_message": st.one_of(st.none(), st.text(max_size=5).filter(str.strip)),
    "window": st.integers(80, 99),
    "tools": st.dictionaries(NAMES, TOOLS, max_size=2),
    "notice_role": st.sampled_from([Role.SYSTEM, Role.USER, "user"]),
    "mask": st.sampled_from(["secrets", "arguments"]),
    "log_verdicts": st.booleans(),
    "shadow": st.booleans(),
}
CHOSEN = st.fixed_dictionaries({}, optional=OPTIONS)


@st.composite
def loop_detectors(draw):
    if draw(st.booleans()):
        return presets.PRESETS[draw(st.sampled_from(sorted(presets.PRESETS)))](**draw(CHOSEN))
    listed = [each for each in draw(st.lists(detectors(), min_size=1, max_size=4)) if each]
    listed = listed or [DETECTORS["repeat"]()]
    own = draw(st.dictionaries(st.sampled_from([each.name for each in listed]), LADDERS))
    own = {name: ladder for name, ladder in own.items() if ladder.max_interventions is None}
    asked = [each.name for each in listed if each.name not in ("call_limit", "chant", "monologue")]
    policies = draw(st.dictionaries(NAMES, st.sampled_from(asked))) if asked else {}
    tools = {tool: ToolPolicy(thresholds={name: 7}) for tool, name in policies.items()}
    options = {"tools": tools, "window": 50, **draw(CHOSEN)}
    # A window that a detector does not fit into is refused.
    options["window"] = max(options["window"], *(getattr(each, "span", 0) for each in listed), 0)
    return LoopDetector(listed, escalations=own, **options)


@given(loop_detectors())
def test_a_configuration_leads_to_the_same_detector(detector):
    config = detector.to_config()
    written = json.loads(json.dumps(config))
    assert written == config
    again = LoopDetector.from_config(written)
    assert again.to_config() == config
    assert repr(again) == repr(detector)
    assert list(map(repr, again.detectors)) == list(map(repr, detector.detectors))


@given(loop_detectors(), st.booleans())
def test_a_detector_with_other_options_is_the_same_in_all_others(detector, shadow):
    changed = detector.with_options(shadow=shadow)
    assert changed.to_config() == {**detector.to_config(), "shadow": shadow}


@given(loop_detectors(), st.sampled_from([copy.copy, copy.deepcopy, pickle.dumps]))
def test_no_attribute_can_be_changed(detector, copied):
    other = copied(detector)
    other = pickle.loads(other) if isinstance(other, bytes) else other
    for thing in (other, *other.detectors):
        for name in [*vars(thing), "name", "window", "new"]:
            with pytest.raises(AttributeError, match=f"{name} cannot be changed; make another "):
                setattr(thing, name, 9)
            with pytest.raises(AttributeError, match="cannot be changed"):
                delattr(thing, name)
    assert other.to_config() == detector.to_config()


@given(loop_detectors())
def test_no_part_can_be_changed_in_place(detector):
    assert isinstance(detector.detectors, tuple)
    parts = [detector.tools, detector.escalations]
    parts += [each.per_tool for each in detector.detectors if each.name == "call_limit"]
    parts += [part for each in detector.tools.values() for part in (each.thresholds, each.poll)]
    for part in parts:
        if isinstance(part, dict):
            with pytest.raises(TypeError, match="cannot be changed"):
                part["x"] = 1


def test_a_later_change_of_what_was_given_changes_nothing():
    tools, polled = {"look": ToolPolicy()}, {"action": ["poll"]}
    tools["job"] = ToolPolicy(poll=polled)
    detector = LoopDetector.default(tools=tools)
    tools.clear()
    polled["action"].append("log")
    assert list(detector.tools) == ["look", "job"]
    assert detector.to_config()["tools"]["job"]["poll"] == {"action": ["poll"]}


def test_a_class_of_yours_sets_what_it_likes_while_it_is_made():
    class Mine(DETECTORS["repeat"]):
        def __init__(self, more):
            self.before = more
            super().__init__(4, name="mine")
            self.after = more

    mine = Mine(3)
    assert (mine.before, mine.after, mine.threshold, mine.name) == (3, 3, 4, "mine")
    assert list(inspect.signature(Mine).parameters) == ["more"]
    with pytest.raises(AttributeError, match=r"^Mine\.after cannot be changed; make another Mine "):
        mine.after = 4


@pytest.mark.parametrize("value", [{1, 2}, (object(),), [b"x"]])
def test_what_json_cannot_hold_is_named(value):
    detector = LoopDetector.default(tools={"job": ToolPolicy(poll={"at": list(value)})})
    if value == {1, 2}:
        assert LoopDetector.from_config(detector.to_config()).tools == detector.tools
    else:
        with pytest.raises(ValueError, match=r"^tools: job: poll: .* cannot be written as JSON$"):
            detector.to_config()
