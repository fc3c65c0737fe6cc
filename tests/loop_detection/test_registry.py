"""One table of detectors and one of presets: everything that names them agrees with the tables."""

import importlib
import inspect
import pkgutil

import pytest

from antiloop import Escalation, LoopDetector, LoopPolicy, ToolPolicy, loop_detection
from antiloop.loop_detection import _detectors, presets
from antiloop.loop_detection._project.schema import settings_schema
from antiloop.loop_detection._registry import DETECTORS, PRESETS, options_of, threshold_of


def built_in():
    """Yield the detector classes that are defined in the folder of detectors and can be made."""
    for module in pkgutil.iter_modules(_detectors.__path__, f"{_detectors.__name__}."):
        for thing in vars(importlib.import_module(module.name)).values():
            is_kind = inspect.isclass(thing) and issubclass(thing, loop_detection.BaseDetector)
            if is_kind and thing.__module__ == module.name and not inspect.isabstract(thing):
                yield thing


def test_every_detector_is_in_the_registry_and_on_the_face():
    assert set(DETECTORS.values()) == set(built_in())
    for name, kind in DETECTORS.items():
        assert getattr(loop_detection, kind.__name__) is kind
        made = kind(5) if name == "call_limit" else kind()
        assert made.name == name


@pytest.mark.parametrize("name", DETECTORS)
def test_the_schema_knows_each_option_of_each_detector(name):
    number, options = settings_schema()["properties"]["thresholds"]["properties"][name]["anyOf"]
    assert number["type"] == "integer"
    assert set(options["properties"]) == set(options_of(name)) - {"name"}
    assert threshold_of(name) in options["properties"]


def test_each_preset_is_a_method_and_a_function():
    assert list(PRESETS) == list(presets.PRESETS)
    for name, make in presets.PRESETS.items():
        assert make == getattr(LoopDetector, name) == getattr(presets, name)
        assert make.__doc__


@pytest.mark.parametrize("name", PRESETS)
class TestEveryPreset:
    """All presets take the same options."""

    def test_a_policy_replaces_every_ladder(self, name):
        made = presets.PRESETS[name](policy="stop")
        assert (made.policy, made.escalations) == (LoopPolicy.STOP, {})

    def test_ladders_of_yours_may_stay_beside_it(self, name):
        made = presets.PRESETS[name](
            policy=LoopPolicy.STOP, escalations={"repeat": Escalation(("notify",))}
        )
        assert list(made.escalations) == ["repeat"]

    def test_tools_are_added_to_its_own(self, name):
        own = presets.PRESETS[name]().tools
        made = presets.PRESETS[name](tools={"look": ToolPolicy(exempt=True)})
        assert made.tools == {**own, "look": ToolPolicy(exempt=True)}

    def test_a_threshold_is_a_number_or_several_options(self, name):
        made = presets.PRESETS[name](thresholds={"repeat": 7, "ping_pong": {"repetitions": 3}})
        found = {each.name: each for each in made.detectors}
        assert (found["repeat"].threshold, found["ping_pong"].repetitions) == (7, 3)
        assert found["repeat"].patience >= 7

    def test_the_others_are_those_of_a_loop_detector(self, name):
        options = {"window": 99, "inject_message": "Stop.", "notice_role": "user"}
        options.update(mask="arguments", log_verdicts=True, shadow=True)
        made = presets.PRESETS[name](**options).to_config()
        assert {option: made[option] for option in options} == options

        def judge(case):
            return None

        assert presets.PRESETS[name](second_opinion=judge).second_opinion.judge is judge

    def test_none_leaves_an_option_as_it_is(self, name):
        nothing = dict.fromkeys(["policy", "thresholds", "tools", "window", "notice_role"])
        assert presets.PRESETS[name](**nothing).to_config() == presets.PRESETS[name]().to_config()

    def test_what_does_not_exist_is_refused(self, name):
        make = presets.PRESETS[name]
        with pytest.raises(TypeError, match=r"^unknown option 'color'; there are .*policy, "):
            make(color=1)
        with pytest.raises(TypeError, match=r"^unknown option 'windo'; did you mean 'window'\?$"):
            make(windo=3)
        with pytest.raises(TypeError, match=r"^unknown option 'shadw'; did you mean 'shadow'\?$"):
            make().with_options(shadw=True)
        with pytest.raises(ValueError, match=r"^thresholds.repeet: no such .* mean 'repeat'\?$"):
            make(thresholds={"repeet": 4})
        with pytest.raises(ValueError, match=r"^thresholds.repeat: unknown option 'speed'"):
            make(thresholds={"repeat": {"speed": 4}})
        with pytest.raises(ValueError, match=r"^thresholds.repeat: threshold must .*, got '7'$"):
            make(thresholds={"repeat": "7"})
        with pytest.raises(TypeError, match=r"^thresholds must be a mapping of detector names"):
            make(thresholds=[3])
        with pytest.raises(TypeError, match="must be a ToolPolicy"):
            make(tools={"look": True})

    def test_the_table_stays_as_it_is(self, name):
        before = repr(PRESETS)
        config = presets.PRESETS[name](thresholds={"repeat": 8}).to_config()
        config["detectors"].clear()
        assert repr(PRESETS) == before


def actions(make, calls):
    monitor = make.monitor()
    verdicts = [monitor.record_call(*call) for call in calls]
    return [(at, each.action.value) for at, each in enumerate(verdicts, 1) if each.detection]


SAME = [("look", {}, "same")] * 40
TURNS = [(tool, {}, "same") for tool in "ab" * 30]


def test_the_thresholds_of_the_budgeted_design():
    counts = {"same_call_warning": 2, "same_call_critical": 4}
    assert actions(LoopDetector.budgeted(**counts), SAME[:4]) == [
        (2, "notify"),
        (3, "notify"),
        (4, "block"),
    ]
    counts = {"pingpong_warning": 6, "pingpong_critical": 8}
    assert actions(LoopDetector.budgeted(**counts), TURNS[:8]) == [
        (6, "notify"),
        (7, "notify"),
        (8, "block"),
    ]
    calls = [("look", {"at": n}, f"page {n}") for n in range(4)]
    assert actions(LoopDetector.budgeted(max_tool_calls_per_turn=3), calls) == [(4, "block")]


def test_the_thresholds_of_the_patient_design():
    made = LoopDetector.patient(
        warning_threshold=4, critical_threshold=6, global_circuit_breaker_threshold=8
    )
    assert actions(made, SAME[:6]) == [(4, "notify"), (6, "block")]
    assert actions(made, TURNS[:6]) == [(4, "notify"), (6, "block")]
    same = LoopDetector.patient(warning_threshold=6, critical_threshold=6)
    assert actions(same, TURNS[:6]) == [(6, "block")]


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: LoopDetector.budgeted(same_call_critical=2), "same_call_warning 3, same_call_cr"),
        (
            lambda: LoopDetector.budgeted(pingpong_warning=1),
            "pingpong_warning must be a whole number, 2 or more",
        ),
        (
            lambda: LoopDetector.budgeted(max_tool_calls_per_turn=0),
            "per_turn must be a whole number, 1 or more",
        ),
        (lambda: LoopDetector.patient(warning_threshold=25), "warning_threshold 25, critical_th"),
        (lambda: LoopDetector.cycles(1), "laps must be a whole number, 2 or more, got 1"),
    ],
)
def test_counts_that_contradict_each_other_are_refused(make, complaint):
    with pytest.raises(ValueError, match=complaint):
        make()
