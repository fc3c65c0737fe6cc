"""Clients that a user declares in antiloop.toml, where files are read."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import LoopDetector, ToolCall, ToolResult
from antiloop.cli import main
from antiloop.formats import TextMessage
from antiloop.loop_detection import ClientProfile
from antiloop.traces import RecordedRun, read_runs
from antiloop.traces._live.live_lines import LiveLines
from antiloop.traces._own_clients import OwnClients
from antiloop.types import Role

SETTINGS = r"""
[profiles.ours]
tools = ["search", "note", "poll"]
wraps = ['^took \w+ hours\n']
host_texts = ["<reminder>"]
compaction = ["<memory>"]

[profiles.codex]
wraps = ['^took \w+ hours\n']
"""
OURS = ClientProfile("ours", tools=("search", "note", "poll"), wraps=(r"^took \w+ hours\n",))
HOURS = ("six", "seven", "eight", "nine", "ten")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "antiloop.toml").write_text(SETTINGS, "utf-8")
    return tmp_path


def said(text):
    return {"role": "user", "content": text}


def asked(number, tool="search", result="nothing"):
    function = {"name": tool, "arguments": '{"q": "cats"}'}
    call = {"id": f"c{number}", "type": "function", "function": function}
    text = f"took {HOURS[number]} hours\n{result}"
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": text},
    ]


def chat(folder, *messages, name="chat.json"):
    (folder / name).write_text(json.dumps({"messages": list(messages)}) + "\n", "utf-8")
    return name


def rounds(count=4, tool="search"):
    return [message for number in range(count) for message in asked(number, tool)]


COMMANDS = {
    "scan": ["scan", "chat.json"],
    "scan in processes": ["scan", "--jobs", "2", "chat.json"],
    "explain": ["explain", "chat.json"],
    "watch": ["watch", "-"],
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_file_is_read_by_the_profile_of_the_tools_in_it(command, folder, monkeypatch, capsys):
    path = folder / chat(folder, said("Go"), *rounds())
    with path.open("r", encoding="utf-8") as given:
        monkeypatch.setattr("sys.stdin", given)
        assert main(command) == 1
        given.seek(0)
        assert main([*command, "--isolated"]) == 0


def test_the_sums_and_the_report_count_its_loops(folder, capsys):
    chat(folder, said("Go"), *rounds())
    assert main(["summary", "--format", "json", "chat.json"]) == 0
    assert json.loads(capsys.readouterr().out)["total"]["untimed"]["loops"] == 1
    assert main(["report", "chat.json", "-o", "page.html"]) == 1
    assert "1 likely stuck" in "".join(capsys.readouterr())


def test_a_run_may_name_its_client(folder):
    steps = [
        {"tool_name": "other", "arguments": {}, "result": f"took {each} hours\nno"}
        for each in HOURS
    ]
    for client, status in (("ours", 1), ("codex", 1), ("unknown", 0), (None, 0)):
        line = json.dumps({"run_id": "r", "steps": steps, "client": client})
        (folder / "run.jsonl").write_text(line + "\n", "utf-8")
        assert main(["scan", "run.jsonl"]) == status, client


def test_what_the_client_says_in_the_users_place_begins_no_turn(folder):
    for words, status in (("<reminder>Be brief.</reminder>", 1), ("Look again", 0)):
        messages = [said("Go"), *rounds(2), said(words), *asked(2)]
        assert main(["scan", chat(folder, *messages)]) == status, words


def test_its_compaction_is_one(folder):
    messages = [said("Go"), *rounds(2), said("<memory>You looked for cats.</memory>"), *asked(2)]
    run = next(
        read_runs(
            chat(folder, *messages),
            profiles=[
                ClientProfile.from_dict("ours", {"tools": ["search"], "compaction": ["<memory>"]})
            ],
        )
    )
    assert [each.is_summary for each in run.messages] == [False, True]
    assert run.turn_starts == (0,)


def test_tools_of_another_client_tell_nothing(folder):
    assert main(["scan", chat(folder, said("Go"), *rounds(tool="look"))]) == 0
    one_of_two = [said("Go"), *rounds(3), *asked(3, "look"), *asked(4, "look")]
    assert main(["scan", chat(folder, *one_of_two)]) == 0


def test_a_recording_that_grows_is_known_as_soon_as_its_tools_tell(folder):
    lines, found = LiveLines("f", LoopDetector.default(), "chat-lines", print, profiles=[OURS]), []
    for number, message in enumerate([said("Go"), *rounds(4)], 1):
        found += lines.take(number, json.dumps(message))
    assert [step for _, step, _ in [*found, *lines.end()]][:1] == [2]


def test_a_redacted_run_is_read_by_the_profile_and_does_not_name_it(folder, capsys):
    chat(folder, said("Go"), *rounds())
    assert main(["redact", "chat.json"]) == 0
    redacted = json.loads(capsys.readouterr().out)
    assert {step["result"] for step in redacted["steps"]} == {"nothing"}
    assert redacted.get("client") is None
    assert main(["redact", "--isolated", "chat.json"]) == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    assert len({step["result"] for step in steps}) == 4
    (folder / "antiloop.toml").write_text("profiles = 7", "utf-8")
    assert main(["redact", "chat.json"]) == 2
    assert "profiles" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("client", "named"), [("codex", "codex"), ("ours", None), ("unknown", None)]
)
def test_a_redacted_run_names_a_known_client_alone(folder, capsys, client, named):
    run = {"run_id": "r", "steps": [{"tool_name": "search", "arguments": {}}], "client": client}
    (folder / "run.jsonl").write_text(json.dumps(run) + "\n", "utf-8")
    for options in ([], ["--isolated"]):
        assert main(["redact", *options, "run.jsonl"]) == 0
        assert json.loads(capsys.readouterr().out).get("client") == named


def test_its_name_is_written_and_read_again():
    run = OwnClients([OURS]).read(RecordedRun("r", (ToolCall("search"),), (ToolResult("no"),)))
    assert run.client == OURS
    assert json.loads(run.to_jsonl())["client"] == "ours"


TEXTS = st.sampled_from(["no", "took six hours\nno", "took six hours\n", "<reminder>x</reminder>"])


@given(st.lists(TEXTS, max_size=9), st.lists(st.tuples(st.integers(0, 9), TEXTS), max_size=4))
def test_to_read_a_run_twice_changes_nothing_more(results, words):
    own = ClientProfile("ours", tools=("search",), wraps=OURS.wraps, host_texts=("<reminder>",))
    words = sorted((min(at, len(results)), text) for at, text in words)
    run = RecordedRun(
        "r",
        tuple(ToolCall("search", {"q": "cats"}, round=at) for at in range(len(results))),
        tuple(map(ToolResult, results)),
        tuple(at for at, _ in words),
        messages=tuple(TextMessage(Role.USER, text, at) for at, text in words),
    )
    once = OwnClients([own]).read(run)
    assert OwnClients([own]).read(once) == once
    assert all(result and "took" not in result.text for result in once.results)
    assert set(once.turn_starts) == {at for at, text in words if "<reminder>" not in text}
