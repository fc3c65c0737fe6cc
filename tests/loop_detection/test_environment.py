"""Two switches of the environment hold for every live monitor, however it was made."""

import logging

import pytest

from antiloop import LoopDetector
from antiloop.exceptions import SettingsError
from antiloop.traces import RecordedRun, replay
from antiloop.types import ToolCall, ToolResult

MAKERS = [
    LoopDetector.default,
    LoopDetector.escalating,
    LoopDetector.from_file,
    lambda: LoopDetector.from_config(LoopDetector.default().to_config()),
]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("ANTILOOP_SHADOW", "ANTILOOP_DISABLED"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def loop_in(monitor):
    return [monitor.record_call("ls", {}, "a.py") for _ in range(4)]


@pytest.mark.parametrize("make", MAKERS)
def test_a_shadow_of_the_environment_reports_and_does_nothing(make, monkeypatch):
    monkeypatch.setenv("ANTILOOP_SHADOW", "1")
    seen = []
    monitor = make().monitor()
    monitor.add_listener(seen.append)
    assert {each.action.value for each in loop_in(monitor)} == {"continue"}
    assert seen
    assert all(each.is_shadow for each in seen)


@pytest.mark.parametrize("make", MAKERS)
def test_a_disabled_monitor_records_nothing(make, monkeypatch):
    monkeypatch.setenv("ANTILOOP_DISABLED", "true")
    monitor = make().monitor()
    assert {each.action.value for each in loop_in(monitor)} == {"continue"}
    assert monitor.call_count == 0


@pytest.mark.parametrize("value", ["", "0", "false", "No", " off "])
def test_a_switch_that_is_off_changes_nothing(value, monkeypatch):
    monkeypatch.setenv("ANTILOOP_SHADOW", value)
    monkeypatch.setenv("ANTILOOP_DISABLED", value)
    assert loop_in(LoopDetector.default().monitor())[-1].action.value == "raise"


def test_a_replay_is_as_it_always_is(monkeypatch):
    run = RecordedRun("r", (ToolCall("ls"),) * 4, (ToolResult("a"),) * 4)
    plain = list(replay(run, LoopDetector.default()))
    monkeypatch.setenv("ANTILOOP_SHADOW", "1")
    monkeypatch.setenv("ANTILOOP_DISABLED", "1")
    assert list(replay(run, LoopDetector.default())) == plain != []


def test_without_a_file_the_log_says_what_is_used(folder, caplog):
    with caplog.at_level(logging.INFO, "antiloop"):
        LoopDetector.from_file()
    assert caplog.messages == [
        "no settings file was found; preset 'default' is used; actions on a loop: raise"
    ]
    assert caplog.records[0].levelname == "WARNING"
    caplog.clear()
    (folder / "antiloop.toml").write_text('preset = "escalating"\n')
    with caplog.at_level(logging.INFO, "antiloop"):
        LoopDetector.from_file(required=True)
    assert caplog.messages == [
        "settings of antiloop.toml are used; actions on a loop: notify, block, stop"
    ]


def test_a_required_file_that_is_not_there_is_refused(folder):
    with pytest.raises(SettingsError, match=r"no antiloop\.toml, and no \[tool\.antiloop\] in a"):
        LoopDetector.from_file(required=True)
    with pytest.raises(TypeError, match="required"):
        LoopDetector.from_file(required="yes")
    with pytest.raises(SettingsError, match=r"none\.toml"):
        LoopDetector.from_file("none.toml", required=True)
