"""What a file of settings says, and the detector that it makes."""

import importlib
import inspect
import json
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import antiloop
from antiloop import LoopDetector, RepeatDetector
from antiloop._json_schema import schema_errors
from antiloop.exceptions import SettingsError
from antiloop.loop_detection import Escalation, ToolPolicy
from antiloop.loop_detection._project import schema
from antiloop.loop_detection._project.schema import settings_schema
from antiloop.loop_detection._project.settings import ProjectSettings, SettingsFile
from antiloop.loop_detection._registry import DETECTORS, threshold_of
from antiloop.loop_detection.presets import PRESETS
from antiloop.prices import Price

SCHEMA = settings_schema()
SHIPPED = Path(antiloop.__file__).with_name("antiloop.schema.json")


def settings_of(**values):
    return ProjectSettings(SettingsFile("antiloop.toml", values))


def refused(**values):
    """Return the words with which settings are refused."""
    with pytest.raises(SettingsError) as caught:
        settings_of(**values).detector(LoopDetector)
    return str(caught.value)


def test_no_file_leaves_everything_as_it_is():
    assert (
        ProjectSettings().detector(LoopDetector).to_config() == LoopDetector.default().to_config()
    )
    assert (
        ProjectSettings().detector(LoopDetector, "escalating").to_config()
        == LoopDetector.escalating().to_config()
    )


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_taken_as_it_is(name):
    assert (
        settings_of(preset=name).detector(LoopDetector).to_config() == PRESETS[name]().to_config()
    )


def test_a_number_is_the_threshold_and_nothing_else_falls_below_it():
    found = settings_of(thresholds={"repeat": 18, "ping_pong": 4}).detector(LoopDetector)
    repeat, _, ping_pong = found.to_config()["detectors"]
    assert (repeat["threshold"], repeat["patience"]) == (18, 18)
    assert (ping_pong["repetitions"], ping_pong["patience"]) == (4, 12)


def test_a_table_sets_the_options_that_it_names():
    found = settings_of(thresholds={"repeat": {"threshold": 4, "patience": 9}}).detector(
        LoopDetector
    )
    assert found.to_config()["detectors"][0]["patience"] == 9


def test_tools_are_declared_and_ignored():
    tools = {"job_status": {"poll": True}, "write": {"mutates": True}}
    found = settings_of(tools=tools, ignore=["todo", "write"]).detector(LoopDetector)
    assert found.tools["job_status"] == ToolPolicy(poll=True)
    assert found.tools["todo"] == ToolPolicy(exempt=True)
    assert found.tools["write"] == ToolPolicy(mutates=True, exempt=True)


def test_what_a_preset_declares_of_other_tools_stays():
    found = settings_of(preset="patient", tools={"x": {"exempt": True}}).detector(LoopDetector)
    assert found.tools["command_status"].poll
    assert found.tools["x"].exempt


def test_a_ladder_is_taken():
    found = settings_of(policy={"actions": ["notify", "stop"], "every": 2}).detector(LoopDetector)
    assert found.escalation == Escalation(("notify", "stop"), every=2)


def test_the_rest_is_taken():
    said = {"shadow": True, "mask": "arguments", "window": 60, "notice_role": "user"}
    said.update(inject_message="Stop it.", log_verdicts=True, policy="stop")
    config = settings_of(**said).detector(LoopDetector).to_config()
    assert {name: config[name] for name in said} == said


def test_a_calibrated_configuration_is_read_beside_the_file(tmp_path):
    config = LoopDetector([RepeatDetector(7)]).to_config()
    (tmp_path / "fitted.json").write_text(json.dumps(config), "utf-8")
    file = SettingsFile(str(tmp_path / "antiloop.toml"), {"config": "fitted.json"})
    assert ProjectSettings(file).detector(LoopDetector).to_config() == config


def test_what_stands_in_a_configuration_is_checked_with_its_place(tmp_path):
    (tmp_path / "fitted.json").write_text("{}", "utf-8")
    file = SettingsFile(str(tmp_path / "antiloop.toml"), {"config": "fitted.json"})
    with pytest.raises(SettingsError, match=r"toml: config: .*fitted\.json: version must"):
        ProjectSettings(file).detector(LoopDetector)
    assert "config: gone.json: No such file" in refused(config="gone.json")


def test_another_detector_takes_the_place_of_what_is_said_about_detectors():
    said = settings_of(preset="literal", thresholds={"repeat": 9}, shadow=True, ignore=["todo"])
    found = said.detector(LoopDetector, instead=LoopDetector.escalating())
    assert found.to_config()["detectors"] == LoopDetector.escalating().to_config()["detectors"]
    assert (found.shadow, found.tools["todo"].exempt) == (True, True)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"tresholds": {}}, "tresholds: unexpected; did you mean 'thresholds'?"),
        ({"preset": "escalate"}, "preset: expected one of 'default', 'escalating'"),
        ({"shadow": "no"}, "shadow: expected a boolean, got 'no'"),
        ({"window": 1}, "window: expected a whole number of 2 or more, got 1"),
        ({"ignore": "todo"}, "ignore: expected an array, got 'todo'"),
        ({"thresholds": {"repeet": 4}}, "thresholds.repeet: no such detector here; did you mean"),
        (
            {"thresholds": {"xyz": 4}},
            "xyz: no such detector here; there are repeat, stall, ping_po",
        ),
        (
            {"thresholds": {"repeat": 1}},
            "thresholds.repeat: expected a whole number of 2 or more or a table, got 1",
        ),
        ({"thresholds": {"repeat": {"type": "stall"}}}, "thresholds.repeat.type: unexpected"),
        (
            {"thresholds": {"repeat": {"patiense": 9}}},
            "thresholds.repeat.patiense: unexpected; did you mean 'patience'?",
        ),
        (
            {"thresholds": {"stall": {"threshold": 9}}},
            "thresholds.stall: varied must be a whole number, 9 or more, got 5",
        ),
        ({"thresholds": {"ping_pong": 40}}, "ping_pong looks at 480 rounds"),
        ({"tools": {"x": {"pol": True}}}, "tools.x.pol: unexpected; did you mean 'poll'?"),
        ({"tools": {"x": {"exempt": 1}}}, "tools.x.exempt: expected a boolean, got 1"),
        ({"tools": {"x": {"thresholds": {"repeet": 4}}}}, "tools: x: no detector 'repeet'"),
        ({"policy": {"actions": ["stop", "notify"]}}, "policy: actions must not become milder"),
        ({"policy": "stopp"}, "policy: expected one of 'raise', 'inject_message'"),
        ({"preset": "default", "config": "x.json"}, "preset and config exclude each other"),
    ],
)
def test_a_mistake_names_file_key_and_remedy(values, words):
    said = refused(**values)
    assert said.startswith("antiloop.toml: ")
    assert words in said


def test_the_nearest_file_is_read(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text("[tool.antiloop]\npreset = 'literal'\n", "utf-8")
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    assert not LoopDetector.from_file().detectors[0].require_same_result
    found = LoopDetector.from_file(str(tmp_path / "pyproject.toml"), preset="escalating")
    assert not found.detectors[0].require_same_result
    (tmp_path / "pyproject.toml").write_text("[tool.antiloop]\npresett = 'x'\n", "utf-8")
    with pytest.raises(SettingsError, match=r"pyproject\.toml \[tool\.antiloop\]: presett: unexp"):
        LoopDetector.from_file()


def test_the_schema_that_ships_is_that_of_what_is_read():
    written = json.dumps(SCHEMA, indent=2) + "\n"
    assert SHIPPED.read_text("utf-8") == written, "write it: antiloop config --schema"


def test_a_new_process_makes_the_same_schema():
    made = importlib.reload(schema)
    assert json.dumps(made.settings_schema(), indent=2) + "\n" == SHIPPED.read_text("utf-8")


def test_the_schema_knows_every_option_of_a_tool_and_a_ladder():
    tool = SCHEMA["properties"]["tools"]["additionalProperties"]["properties"]
    assert list(tool) == [field.name for field in fields(ToolPolicy)]
    ladder = SCHEMA["properties"]["policy"]["anyOf"][1]["properties"]
    options = list(inspect.signature(Escalation).parameters)
    assert list(ladder) == [each for each in options if each != "on_notice"]  # it is code


SAMPLES = {
    "preset": "literal",
    "policy": "stop",
    "thresholds": {"repeat": 5},
    "tools": {"x": {"poll": True}},
    "ignore": ["x"],
    "profiles": {"ours": {"wraps": ["x"]}},
    "shadow": True,
    "mask": "arguments",
    "window": 60,
    "notice_role": "user",
    "inject_message": "Stop it.",
    "log_verdicts": True,
    "baseline": "known.jsonl",
    "prices": {"small": {"input": 1, "output": 2}},
    "config": None,
}


@pytest.mark.parametrize("name", SCHEMA["properties"])
def test_every_key_of_the_schema_has_an_effect(name, tmp_path):
    value = SAMPLES[name]
    if name == "config":
        value = str(tmp_path / "x.json")
        Path(value).write_text(json.dumps(LoopDetector([RepeatDetector(9)]).to_config()), "utf-8")
    without, found = ProjectSettings(), settings_of(**{name: value})
    one, other = [
        (
            *(each.detector(LoopDetector).to_config(), each.ignore, each.baseline),
            *(repr(each.prices), each.profiles),
        )
        for each in (without, found)
    ]
    assert one != other


def test_prices_stand_in_the_settings_or_in_a_file_beside_them(tmp_path):
    said = settings_of(prices={"small": {"input": 2, "output": 8, "cached_input": 0.5}})
    assert said.prices.price("small") == Price(2, 8, 0.5)
    (tmp_path / "prices.json").write_text(
        '{"small": {"input_cost_per_token": 3e-6, "output_cost_per_token": 1e-5}}', "utf-8"
    )
    file = SettingsFile(str(tmp_path / "antiloop.toml"), {"prices": "prices.json"})
    assert ProjectSettings(file).prices.price("small").input == pytest.approx(3)
    (tmp_path / "prices.json").write_text("{}", "utf-8")
    with pytest.raises(SettingsError, match=r"toml: prices: .*prices\.json: no prices; expected"):
        str(ProjectSettings(file).prices)
    with pytest.raises(SettingsError, match=r"antiloop\.toml: prices: gone\.json: No such file"):
        str(settings_of(prices="gone.json").prices)
    with pytest.raises(SettingsError, match=r"prices\.small\.output: missing"):
        settings_of(prices={"small": {"input": 2}})


NAMES = ["actions", "poll", "repeat", "every", "x"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 70) | st.sampled_from(["stop", "user", "", "x"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=2)
    ),
    max_leaves=6,
)
KEYS = [*SCHEMA["properties"], "other"]


def validator():
    jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema")
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    return jsonschema.Draft202012Validator(SCHEMA)


@given(values=st.dictionaries(st.sampled_from(KEYS), JSON, max_size=3))
def test_what_is_read_is_what_the_schema_allows(values):
    assert (schema_errors(values, SCHEMA, "") == []) == validator().is_valid(values)


@given(
    values=st.dictionaries(
        st.sampled_from([key for key in KEYS if key != "config"]), JSON, max_size=3
    )
)
def test_settings_make_a_detector_or_are_refused_with_their_file(values):
    said = ""
    try:
        settings_of(**values).detector(LoopDetector)
    except SettingsError as error:
        said = str(error)
    assert not said or said.startswith("antiloop.toml: ")


def test_a_detector_may_be_set_by_a_name_of_its_own():
    said = settings_of(preset="patient", thresholds={"no_progress": 21, "ping_pong": 6})
    found = {each.name: each for each in said.detector(LoopDetector).detectors}
    assert (found["no_progress"].threshold, found["no_progress"].patience) == (21, 21)
    assert (found["ping_pong"].repetitions, found["standstill"].threshold) == (6, 30)
    assert found["repeat"].threshold == 10
    found = settings_of(thresholds={"stall": 6}).detector(LoopDetector).detectors[1]
    assert (found.threshold, found.varied) == (6, 6)
    said = settings_of(preset="budgeted", thresholds={"call_limit": 9}).detector(LoopDetector)
    assert said.detectors[0].limit == 9
    said = settings_of(preset="escalating", thresholds={"failure_streak": 6, "chant": 8})
    streak, chant = (said.detector(LoopDetector).detectors[at] for at in (5, 11))
    assert (streak.threshold, streak.in_a_row, streak.patience) == (6, 6, 12)
    assert (chant.repetitions, chant.length) == (8, 400)


def test_a_mistake_lists_the_names_that_there_are():
    assert refused(preset="patient", thresholds={"xyz": 4}) == (
        "antiloop.toml: thresholds.xyz: no such detector here; there are standstill,"
        " no_progress, repeat, ping_pong"
    )
    assert refused(thresholds={"repeet": 4}) == (
        "antiloop.toml: thresholds.repeet: no such detector here; did you mean 'repeat'?"
    )
    assert refused(preset="default", config="x.json") == (
        "antiloop.toml: preset and config exclude each other: remove one of them"
    )
    assert refused(config="gone.json").startswith("antiloop.toml: config: gone.json: No such")


@pytest.mark.parametrize("preset", ["default", "patient"])
@pytest.mark.parametrize("values", [{}, {"window": 40}, {"shadow": True}])
def test_shadow_mode_may_be_asked_for_beside_the_file(preset, values):
    said = settings_of(**values)
    assert said.detector(LoopDetector, preset, shadow=True).shadow is True
    assert said.detector(LoopDetector, preset).shadow is values.get("shadow", False)
    instead = LoopDetector([RepeatDetector(4)])
    assert said.detector(LoopDetector, instead=instead, shadow=True).shadow is True


def test_a_detector_that_is_given_keeps_what_chooses_it():
    said = settings_of(window=60, policy="stop", mask="arguments", notice_role="user")
    instead = LoopDetector([RepeatDetector(4)], "block", window=30)
    found = said.detector(LoopDetector, instead=instead)
    assert (found.window, found.policy.value) == (30, "block")
    assert (found.mask, found.notice_role.value) == ("arguments", "user")


def test_settings_of_a_tool_add_to_those_of_the_preset():
    said = settings_of(
        preset="patient", tools={"process": {"exempt": True}}, ignore=["process.poll", "look"]
    )
    tools = said.detector(LoopDetector).tools
    clock = LoopDetector.patient().tools["process"].strip
    polled = {"action": ["poll", "log"]}
    assert tools["process"] == ToolPolicy(poll=polled, strip=clock, exempt=True)
    assert tools["process.poll"] == ToolPolicy(poll=True, strip=clock, exempt=True)
    assert tools["look"] == ToolPolicy(exempt=True)
    assert said.ignore == ("process.poll", "look")
    assert ProjectSettings().ignore == ()


def test_a_baseline_stands_beside_the_file():
    assert settings_of(baseline="known.jsonl").baseline == "known.jsonl"
    file = SettingsFile("some/antiloop.toml", {"baseline": "../known.jsonl"})
    assert Path(ProjectSettings(file).baseline) == Path("known.jsonl")
    assert ProjectSettings().baseline is None
    assert ProjectSettings().prices is None


def test_a_configuration_may_begin_with_a_byte_order_mark(tmp_path):
    config = LoopDetector([RepeatDetector(7, name="über")]).to_config()
    (tmp_path / "fitted.json").write_text(json.dumps(config, ensure_ascii=False), "utf-8-sig")
    file = SettingsFile(str(tmp_path / "antiloop.toml"), {"config": "fitted.json"})
    assert ProjectSettings(file).detector(LoopDetector).to_config() == config


@pytest.mark.parametrize("name", sorted(DETECTORS))
@given(st.integers(0, 20), st.booleans())
def test_a_threshold_is_refused_in_a_file_where_it_is_in_code(name, number, is_float):
    option, names = threshold_of(name), [each.name for each in LoopDetector.escalating().detectors]
    try:
        DETECTORS[name](**{option: number})
    except ValueError:
        is_refused = True
    else:
        is_refused = False
    schema = settings_schema()["properties"]["thresholds"]["properties"][name]
    errors = schema_errors(float(number) if is_float else number, schema, name)
    assert bool(errors) == is_refused
    assert all(" or a" in error and "expected a whole number of " in error for error in errors)
    if not is_refused and name in names and number <= 4:
        said = settings_of(preset="escalating", window=60.0, thresholds={name: float(number)})
        made = said.detector(LoopDetector)
        found = next(each for each in made.detectors if each.name == name)
        assert (getattr(found, option), made.window) == (number, 60)


@pytest.mark.parametrize("words", ["", " ", "\n"])
def test_a_notice_is_not_blank(words):
    told = "must not be blank"
    with pytest.raises(ValueError, match=told):
        LoopDetector.default(inject_message=words)
    assert told in refused(inject_message=words)
    with pytest.raises(ValueError, match=r"^inject_message: the text must be a text, got 5"):
        LoopDetector.from_config({**LoopDetector.default().to_config(), "inject_message": 5})
