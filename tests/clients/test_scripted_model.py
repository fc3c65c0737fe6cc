"""The scripted model says what a scenario says, in the words of each API."""

import json
import urllib.request
from datetime import date

import pytest
from clients_page import Cell, page
from model_forms import FORMS, Anthropic, Call, Chat, Gemini, Responses, texts_in
from programs import CLIENTS
from run_clients import _LATE, Scan, calls_until, judged, make_project, rounds_told
from scenarios import DONE, OBEDIENT, SCENARIOS, STUBBORN, SUBTASK
from scripted_model import FULL, Play, ScriptedModel

SCHEMA = {"properties": {"command": {}, "path": {}, "old_str": {}, "new_str": {}, "prompt": {}}}
TOOLS = dict.fromkeys(("bash", "view", "edit", "task"), SCHEMA)


class Client:
    """A client that does what it is told, in the words of one API."""

    def __init__(self, form, play, tell=()):
        self.form, self.play, self.said, self.tell = form, play, [("other", "Go")], list(tell)
        self.calls = []

    def body(self):
        """Return a request with all that was said."""
        roles = [({"model": "assistant"}.get(who, "user"), text) for who, text in self.said]
        if self.form is Anthropic:
            tools = [{"name": name, "input_schema": given} for name, given in TOOLS.items()]
            return {"tools": tools, "messages": [{"role": r, "content": t} for r, t in roles]}
        if self.form is Chat:
            functions = [{"name": name, "parameters": given} for name, given in TOOLS.items()]
            tools = [{"type": "function", "function": each} for each in functions]
            return {"tools": tools, "messages": [{"role": r, "content": t} for r, t in roles]}
        if self.form is Responses:
            tools = [{"name": name, "parameters": given} for name, given in TOOLS.items()]
            return {"tools": tools, "input": [{"role": r, "content": t} for r, t in roles]}
        tools = [{"name": name, "parameters": given} for name, given in TOOLS.items()]
        contents = [
            {"role": "model" if r == "assistant" else "user", "parts": [{"text": t}]}
            for r, t in roles
        ]
        return {"tools": [{"functionDeclarations": tools}], "contents": contents}

    def turn(self):
        """Ask once, and return the reply."""
        reply, _ = self.play.reply(self.form.read(self.body()))
        self.said.append(("model", "calls"))
        self.calls += [part for part in reply if isinstance(part, Call)]
        number = len(self.calls)
        self.said.append(("other", self.tell.pop(0) if self.tell else f"result {number}"))
        return reply


@pytest.mark.parametrize("form", [Anthropic, Chat, Responses, Gemini])
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_plays_to_its_end_in_each_form(form, name):
    client = Client(form, Play(SCENARIOS[name], "/project"))
    replies = [client.turn() for _ in range(60)]
    assert replies[-1] in ([STUBBORN], [DONE], ["nothing was forgotten"])
    assert len(client.calls) >= (1 if name == "subagent" else 13)
    assert not client.play.is_cut_off


def test_a_model_that_obeys_answers_in_words():
    stopped = "Stopped: the agent was stuck in a loop. Answer in words now: say what you know."
    client = Client(Chat, Play(SCENARIOS["reads"], "/p"), ["alpha", "alpha", stopped])
    assert [client.turn() for _ in range(4)][-1] == [OBEDIENT]
    assert rounds_told(client.play) == {"stopped": 3}


def test_a_subagent_has_a_conversation_of_its_own():
    play = Play(SCENARIOS["subagent"], "/p")
    client, other = Client(Chat, play), Client(Chat, play)
    other.said = [("other", f"{SUBTASK}: look")]
    assert [call.name for call in client.turn()] == ["task"]
    for _ in range(3):
        assert [call.name for call in other.turn()] == ["bash"]
    assert client.turn() == [DONE]
    assert [each.agent for each in play.rounds] == ["main", "sub", "sub", "sub", "main"]


def test_a_compaction_is_asked_for_and_begins_the_scenario_anew():
    play = Play(SCENARIOS["compaction"], "/p")
    client = Client(Anthropic, play)
    for _ in range(9):
        client.turn()
    assert play.reply(Anthropic.read(client.body()))[1] == FULL
    client.said[-1] = ("other", "Your task is to create a detailed summary of this.")
    client.turn()
    again = [client.turn()[0] for _ in range(9)]
    assert [each.arguments["path"] for each in again] == [
        f"/p/f{number}.txt" for number in range(9)
    ]
    assert play.compactions == 1


def joined(form, events):
    """Return the calls and texts that a stream brings, as a client puts them together."""
    if form is Anthropic:
        return [
            each["delta"].get("text", each["delta"].get("partial_json"))
            for each in events
            if each["type"] == "content_block_delta"
        ]
    if form is Responses:
        items = [each["item"] for each in events if each["type"] == "response.output_item.done"]
        return [each.get("arguments") or each["content"][0]["text"] for each in items]
    if form is Chat:
        deltas = [each["choices"][0]["delta"] for each in events[:-2]]
        calls = [call for each in deltas for call in each.get("tool_calls", ())]
        texts = [each["content"] for each in deltas if each.get("content")]
        return texts + [each["function"]["arguments"] for each in calls]
    parts = events[0]["candidates"][0]["content"]["parts"]
    return [each.get("text") or json.dumps(each["functionCall"]["args"]) for each in parts]


@pytest.mark.parametrize("form", [Anthropic, Chat, Responses, Gemini])
def test_a_stream_brings_the_same_as_the_whole(form):
    reply = ["I look.", Call("bash", {"command": "ls"}), Call("view", {"path": "/a"})]
    events = list(form.streamed(form.whole(reply, "7", 20, "scripted")))
    assert joined(form, events) == ["I look.", '{"command": "ls"}', '{"path": "/a"}']


def test_the_server_streams_and_answers_whole_and_counts_tokens():
    model = ScriptedModel()
    model.plays["one"] = Play(SCENARIOS["shell"], "/p")
    try:
        body = Client(Anthropic, None).body()
        whole = json.loads(posted(f"{model.address('one')}/v1/messages", body))
        assert whole["content"][0]["input"] == {"command": "grep -rn NOT_THERE src"}
        stream = posted(f"{model.address('one')}/v1/messages", {**body, "stream": True})
        assert stream.startswith("event: message_start\ndata: {")
        assert "event: message_stop" in stream
        counted = posted(f"{model.address('one')}/v1/messages/count_tokens", body)
        assert json.loads(counted)["input_tokens"]
        assert posted(f"{model.address('none')}/v1/messages", body) == "{}"
        assert model.unknown == ["/none/v1/messages"]
    finally:
        model.close()


def posted(address, body):
    request = urllib.request.Request(address, json.dumps(body).encode())
    with urllib.request.urlopen(request) as answer:
        return answer.read().decode()


@pytest.mark.parametrize(
    "content",
    [
        "x",
        [{"type": "text", "text": "x"}],
        [{"type": "tool_result", "content": [{"type": "text", "text": "x"}]}],
        {"parts": [{"text": "x"}]},
    ],
)
def test_texts_are_found_wherever_they_are(content):
    assert texts_in(content) == "x"
    assert texts_in([{"type": "image", "source": {}}]) == ""


def told_play(*told):
    """Return a play whose model was told these after its rounds."""
    words = {"notice": "[antiloop] Notice: x", "refused": "[antiloop] Refused: x", "": "result"}
    words["stopped"] = "Stopped: the agent was stuck in a loop."
    client = Client(Chat, Play(SCENARIOS["shell"], "/p"), [words[each] for each in told])
    for _ in range(22):
        client.turn()
    return client.play


@pytest.mark.parametrize(
    ("told", "words", "faults"),
    [
        (["", "", "notice", "refused", *["stopped"] * 17], "notice 3, refused 4, stopped 5", []),
        (["", "", "stopped", *["stopped"] * 18], "stopped 3", ["no word before the stop"]),
        (["", "", "notice"], "notice 3", ["no stop"]),
        ([""] * 13 + ["notice"] + ["stopped"] * 7, None, ["noticed after round 12 only"]),
        (["", "", "notice", "stopped"], "notice 3, stopped 4", ["went on after the stop"]),
    ],
)
def test_a_run_is_judged_by_what_the_model_was_told(told, words, faults):
    play = told_play(*told)
    scan = Scan(20, rounds_told(play).get("notice", 3))
    cell = judged(CLIENTS["codex"], SCENARIOS["shell"], play, STUBBORN, scan)
    assert cell.faults == faults
    assert words is None or cell.words == words


@pytest.mark.parametrize(
    ("scan", "fault"),
    [
        (None, "no session that can be read"),
        (Scan(0, None), "scan finds no calls"),
        (Scan(20, None), "scan finds no loop"),
        (Scan(20, 7), "scan tells at call 7, not 3"),
    ],
)
def test_a_scan_has_to_say_the_same_as_the_hook(scan, fault):
    play = told_play("", "", "notice", *["stopped"] * 18)
    assert judged(CLIENTS["codex"], SCENARIOS["shell"], play, "", scan).faults == [fault]


def test_a_client_that_is_not_over_is_not_judged():
    cell = judged(CLIENTS["codex"], SCENARIOS["shell"], told_play("", ""), _LATE, None)
    assert str(cell) == f"**{_LATE}**"


def test_healthy_work_that_was_told_of_is_a_fault():
    play = told_play("", "", "notice")
    cell = judged(CLIENTS["codex"], SCENARIOS["hour"], play, "", Scan(20, 3))
    assert cell.faults == ["told though it was healthy"]


def test_the_calls_of_a_round_are_counted_together():
    client = Client(Chat, Play(SCENARIOS["parallel"], "/p"), ["x", "x", "[antiloop] Notice"])
    for _ in range(4):
        client.turn()
    assert calls_until(client.play, 3) == (7, 9)


def test_the_page_shows_what_does_not_hold():
    cells = {
        ("codex", "shell"): Cell("notice 3", ["no stop"]),
        ("codex", "hour"): Cell("silent", []),
    }
    text = page({"codex": "1.2.3"}, cells, date(2026, 1, 2))
    assert "| Codex | 1.2.3 | 2026-01-02 |" in text
    assert "| the same shell command | **no stop** (notice 3) |" in text
    assert "| a healthy hour in small | silent |" in text


def test_a_client_is_prepared_without_a_word_of_the_users(tmp_path):
    make_project(tmp_path / "project")
    assert (tmp_path / "project" / "status.sh").stat().st_mode & 0o100
    for name, client in CLIENTS.items():
        home = tmp_path / name
        home.mkdir()
        arguments, environment = client.start("http://127.0.0.1:1/x", home, tmp_path / "project")
        assert arguments
        said = json.dumps(environment) + "".join(
            each.read_text("utf-8") for each in home.rglob("*") if each.is_file()
        )
        settings = (
            (tmp_path / "project" / "opencode.json").read_text("utf-8")
            if name == "opencode"
            else ""
        )
        assert "http://127.0.0.1:1/x" in said + settings


def test_each_form_is_known_by_its_path():
    assert {form.__name__ for form in FORMS.values()} == {
        "Anthropic",
        "Chat",
        "Responses",
        "Gemini",
    }
