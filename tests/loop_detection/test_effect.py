"""What a call does to the world is guessed in one place, wherever its verb stands."""

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import features_of, fresh_answers, step, verdicts

from antiloop import LoopAction, LoopDetector, ToolCall
from antiloop.loop_detection._evidence.effect import (
    asks_of_a_job,
    carries_text,
    command_changes,
    is_typed,
    seems_to_look,
    seems_to_move,
    seems_to_mutate,
)

CHANGES = st.sampled_from(["send", "create", "delete", "publish", "update_all", "bookNow"])
PLACES = st.sampled_from(["command", "action", "operation", "method"])
NOUNS = st.sampled_from(["message", "ticket", "mail", "calendar", "x"])


def actions(tool, arguments):
    answers = (f'{{"message_id": "m-{n}"}}' for n in range(5))
    run = ([step(tool, answer, **arguments)] for answer in answers)
    return [verdict.action.value for verdict in verdicts(LoopDetector.escalating(), *run)]


@given(CHANGES, PLACES, NOUNS)
def test_a_verb_says_the_same_wherever_it_stands(verb, place, noun):
    in_the_name = actions(f"{verb}_{noun}", {"text": "hi"})
    assert in_the_name[2] == "notify"
    assert actions(noun, {"text": "hi", place: verb}) == in_the_name


@given(CHANGES, PLACES, NOUNS)
def test_a_verb_that_only_looks_comes_before_the_name(verb, place, noun):
    assert seems_to_mutate(f"{verb}_{noun}", {})
    assert not seems_to_mutate(f"{verb}_{noun}", {place: "get_all"})


GROUPS = st.lists(st.sampled_from(["chat", "issues", "v1", "users_info", "my-team"]), max_size=3)
TURNS = st.sampled_from(["{0}", "{1}", "{2}", "{0}{4}", "{1}{4}", "{0}_{3}", "{1}-{3}", "{2}_{3}"])
PLAIN = st.sampled_from(["send", "create", "delete", "publish", "post", "patch"])
LOOKS = st.sampled_from(["get", "list", "view", "search", "find", "show"])


def dotted(groups, turn, verb, noun):
    forms = (verb, verb.capitalize(), verb.upper(), noun, noun.capitalize())
    return ".".join([*groups, turn.format(*forms)])


@given(PLAIN, PLACES, NOUNS, GROUPS, TURNS)
def test_a_verb_says_the_same_in_any_group(verb, place, noun, groups, turn):
    told = dotted(groups, turn, verb, noun)
    assert seems_to_mutate("slack", {place: told})
    assert actions("slack", {"text": "hi", place: told})[2] == "notify"


@given(LOOKS, PLACES, NOUNS, GROUPS, TURNS)
def test_a_verb_that_only_looks_does_so_in_any_group(verb, place, noun, groups, turn):
    told = dotted(groups, turn, verb, noun)
    assert seems_to_look("update_record", {place: told})
    assert not seems_to_mutate("update_record", {place: told})


@given(
    st.sampled_from(["get_note", "list", "create_note", "search", "bash", "next", "get_next", "x"]),
    st.sampled_from(["mcp__files__", "mcp__my-server__", "functions.", "server/", "a.b:"]),
)
def test_a_tool_says_the_same_in_any_group(tool, group):
    for guess in (seems_to_mutate, seems_to_look, seems_to_move, is_typed):
        assert guess(f"{group}{tool}", {"n": 7}) == guess(tool, {"n": 7})


@given(
    PLAIN,
    PLACES,
    st.sampled_from(
        [
            *("{}.py", "src/{}.py", "./{}.sh", "see {}.py", "{}.test.ts", "{}..x", ".{}", "{}."),
            *("src/{}", "Then {} it.", "a.b {}", "1.{}", "{}.tar.gz", "https://a.b/{}"),
        ]
    ),
)
def test_a_file_and_prose_are_not_a_verb(verb, place, text):
    assert not seems_to_mutate("note", {place: text.format(verb)})


@pytest.mark.parametrize(
    ("tool", "arguments", "answer"),
    [
        ("grep", {}, True),
        ("message", {"action": "list"}, True),
        ("bash", {"command": "grep -rn a src"}, True),
        ("bash", {"command": "cd src && rg 'a|b' | head"}, True),
        ("bash", {"command": "grep -rn a src > found.txt"}, False),
        ("bash", {"command": "find . -name '*.pyc' -delete"}, False),
        ("bash", {"command": "find . -exec touch {} +"}, False),
        ("bash", {"command": "find . -exec cat {} \\; -exec touch {} +"}, False),
        ("bash", {"command": "find . -name '*.bin' -exec strings {} \\; | grep key"}, True),
        ("bash", {"command": "find . -type d -execdir grep -l key {} +"}, True),
        ("ls", {"input": "ls -F | grep '.*env'"}, True),
        ("ls", {"input": "ls -F | grep env > found.txt"}, False),
        ("ls", {"input": "ls -F"}, True),
        ("ls", {"input": "lsof | grep env"}, False),
        ("ls", {"depth": 3}, False),
        ("note", {"input": "ls -F | grep env"}, False),
        ("bash", {"command": "make"}, False),
        ("bash", {"command": "pwd; echo --- && cat a"}, True),
        ("bash", {"command": "echo ready; make"}, False),
        ("bash", {"command": "echo a > a.txt"}, False),
        ("bash", {"command": ""}, False),
        ("edit", {}, False),
        ("run", {}, False),
    ],
)
def test_what_only_looks(tool, arguments, answer):
    assert seems_to_look(tool, arguments) is answer


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        *((name, True) for name in ("command", "cmd", "script", "shell_cmd", "bash_command")),
        *((name, True) for name in ("CommandLine", "command_line", "commandLine", "setupScript")),
        *(
            (name, False)
            for name in ("command_id", "description", "manuscript", "commands", "line")
        ),
    ],
)
def test_where_a_command_line_stands(name, answer):
    assert seems_to_look("run", {"cwd": "/src", name: "grep -rn a src"}) is answer
    assert not seems_to_look("run", {"cwd": "/src", name: ["grep -rn a src"]})


@pytest.mark.parametrize(
    ("tool", "arguments", "answer"),
    [
        ("ersetzen", {"datei": "a.py", "neu": "a = 1\nb = 2"}, True),
        ("ersetzen", {"datei": "a.py", "neu": "a = 1\n"}, False),
        ("ersetzen", {"datei": "a.py", "zeilen": ["a = 1\nb = 2"]}, False),
        ("search", {"question": "a = 1\nb = 2"}, False),
        ("bash", {"command": "cat <<EOF\na\nEOF"}, False),
        ("type_text", {"text": "a = 1\nb = 2"}, False),
        ("ersetzen", "a = 1\nb = 2", False),
        ("ersetzen", ["a = 1\nb = 2"], False),
    ],
)
def test_who_brings_a_text_of_several_lines(tool, arguments, answer):
    assert carries_text(tool, arguments) is answer


@pytest.mark.parametrize("answer", ["Der Text ist ersetzt.", "Edit applied successfully to a.py."])
def test_edits_are_acknowledged_alike_whatever_their_tool_is_called(answer):
    words = list(islice(fresh_answers(), 20))
    edits = [[step("ersetzen", answer, neu=f"{each}\nende")] for each in words]
    questions = [[step("ersetzen", answer, neu=each)] for each in words]
    detector = LoopDetector.escalating()
    assert {each.action for each in verdicts(detector, *edits)} == {LoopAction.CONTINUE}
    assert LoopAction.NOTIFY in {each.action for each in verdicts(detector, *questions)}


@pytest.mark.parametrize(
    ("tool", "arguments", "answer"),
    [
        ("job", {}, True),
        ("command_status", {}, True),
        ("process", {"action": "poll"}, True),
        ("ci", {"method": "pipelines.status"}, True),
        ("ci", {"method": "status.create"}, False),
        ("build", {}, False),
        ("bash", {"command": "git status"}, False),
        ("get_page", {}, False),
    ],
)
def test_who_asks_of_a_job(tool, arguments, answer):
    assert asks_of_a_job(tool, arguments) is answer


def test_a_duration_is_the_news_of_a_job_and_noise_in_the_answer_of_a_shell():
    def found(tool, answer):
        run = ([step(tool, answer % (10 * n), id=5)] for n in range(1, 6))
        return any(verdict.action.value != "continue" for verdict in verdicts(ours, *run))

    ours = LoopDetector.default()
    assert not found("job", '{"output": "no", "duration_seconds": %d}')
    assert not found("state", '{"state": "running", "duration_seconds": %d}')
    assert found("shell", '{"output": "no", "duration_seconds": %d}')


@pytest.mark.parametrize(
    ("tool", "arguments", "answer"),
    [
        ("write_file", {}, True),
        ("writeFile", {}, True),
        ("UpdateTicket", {}, True),
        ("file-edit", {}, True),
        ("send_message", {}, True),
        ("read_file", {}, False),
        ("get_update", {}, False),
        ("search", {}, False),
        ("bash", {}, False),
        ("send_keys", {}, False),
        ("write_stdin", {}, False),
        ("insert_line", {}, True),
        ("replace_lines_in_file", {}, True),
        ("search_replace", {}, True),
        ("findAndReplace", {}, True),
        ("search_replaced", {}, False),
        ("press_submit_key", {}, False),
        ("editor", {"command": "view"}, False),
        ("editor", {"command": "insert"}, True),
        ("write", {"command": "rm -rf x"}, True),
        ("write", {"command": 5}, True),
        ("message", {"action": "send"}, True),
        ("message", {"action": "list"}, False),
        ("message", {"operation": "sendText"}, True),
        ("message", {"action": "hello"}, False),
        ("http", {"method": "POST"}, True),
        ("slack", {"action": "chat.postMessage"}, True),
        ("github", {"method": "issues.create"}, True),
        ("github", {"method": "issues.list"}, False),
        ("tmux", {"action": "pane.send-keys"}, False),
        ("a", {"action": "x" * 94 + ".create"}, False),
        ("a", {"action": "x" * 93 + ".create"}, True),
        ("http", {"method": "GET"}, False),
        ("update_record", {"method": "GET"}, False),
        ("update_record", {"action": "fast"}, True),
        ("tickets", {"command": "next", "operation": "delete"}, True),
        ("process", {"action": "write"}, False),
        ("tmux", {"action": "send-keys"}, False),
        ("write", "text", True),
        ("", {}, False),
        ("42", {}, False),
        ("日本", {}, False),
    ],
)
def test_whether_a_tool_changes_the_world_is_guessed_from_its_name(tool, arguments, answer):
    assert seems_to_mutate(tool, arguments) is answer


@pytest.mark.parametrize(
    "command",
    [
        "sed -i s/a/b/ x.py",
        "perl -pe s/a/b/ -i x.py",
        "cat > x.py <<EOF",
        "echo a >> log.txt",
        "git commit -am fix",
        "rm -rf build && make",
    ],
)
def test_a_command_line_that_changes_files_is_known_by_its_words(command):
    assert command_changes({"command": command})
    assert command_changes({"cmd": command})
    assert command_changes(command)


@pytest.mark.parametrize(
    "command",
    [
        "pytest -q 2>/dev/null",
        "ls > /dev/null 2>&1",
        "grep -i name x.py",
        "python -c 'f = lambda x -> x'",
        "git status",
        "",
    ],
)
def test_a_command_line_that_only_looks_changes_nothing(command):
    assert not command_changes({"command": command})


@pytest.mark.parametrize("arguments", [{}, {"command": 7}, None, ["rm"], {"text": "rm x"}])
def test_what_is_no_command_line_changes_nothing(arguments):
    assert not command_changes(arguments)


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ({"action": "v" * 95 + "_send"}, True),
        ({"action": "v" * 96 + "_send"}, False),
        ({"action": "send-all"}, True),
        ({"action": "send all"}, False),
        ({"action": 7, "method": "POST"}, True),
        ({"note": "send"}, False),
        (["send"], False),
    ],
)
def test_a_verb_is_one_word_of_a_hundred_letters_at_most(arguments, answer):
    assert seems_to_mutate("thing", arguments) is answer


@pytest.mark.parametrize("answer", ["a\nb\nc", "done " * 100, "Error: not done"])
def test_a_text_that_is_brought_is_written_only_if_the_answer_is_short(answer):
    features = features_of(ToolCall("thing", {"text": "a = 1\nb = 2"}), answer)
    assert not features.changes_world


@pytest.mark.parametrize("answer", ["", "ok"])
def test_a_thought_between_two_calls_hides_no_loop(answer):
    again = [step("search", "3 documents\nabout dogs\nand birds", q="cats")]
    thoughts = [[step("think", answer, thought=each)] for each in islice(fresh_answers(), 9)]
    rounds = [each for thought in thoughts for each in (again, thought)]
    assert LoopAction.NOTIFY in {
        each.action for each in verdicts(LoopDetector.escalating(), *rounds)
    }


@pytest.mark.parametrize(
    ("tool", "arguments", "is_silent", "answer"),
    [
        ("thing", {"command": "rm a"}, False, True),
        ("thing", {"command": "make"}, False, False),
        ("thing", {"command": "make"}, True, True),
        ("thing", {}, False, False),
        ("thing", {}, True, False),
        ("thing", {"text": "a = 1\nb = 2"}, True, True),
        ("thing", {"text": "a = 1\nb = 2"}, False, True),
        ("thing", {"input": "thing that works"}, True, True),
        ("terminal", {}, True, True),
        ("bash", {"input": "make"}, True, True),
        ("grep", {}, True, False),
        ("bash", {"command": "# nothing"}, True, False),
        ("bash", {"command": "grep -rn a src"}, True, False),
    ],
)
def test_what_says_nothing_was_done_for_its_effect(tool, arguments, is_silent, answer):
    features = features_of(ToolCall(tool, arguments), "" if is_silent else "Here it is.")
    assert features.changes_world is answer


def test_words_of_a_busy_host_in_what_was_written_put_nothing_off():
    edit = ToolCall("edit_file", {"path": "a.py"})
    saved = '{"saved": true, "lines": ["429", "too many requests, try again later"]}'
    assert features_of(edit, saved).changes_world
    assert not features_of(edit, "Too many requests, try again later.").changes_world


def test_only_the_first_word_of_a_command_says_that_it_searches():
    assert seems_to_look("bash", {"command": "ls; grep a b"})
    assert not seems_to_look("bash", {"command": "make grep a b"})
    assert not seems_to_look("bash", {"command": "echo a; make grep"})


KEYS = [("send_dtmf", "button"), ("type", "char"), ("send_keys", "keys"), ("press_key", "key")]


@pytest.mark.parametrize("preset", [LoopDetector.default, LoopDetector.escalating])
@given(st.sampled_from(KEYS), st.sampled_from("0*#uy"), st.integers(3, 11))
def test_a_key_may_be_pressed_again(preset, key, character, times):
    tool, name = key
    monitor, call = preset().monitor(), ToolCall(tool, {name: character, "hold": False})
    actions = [monitor.after([call], ["ok"]).action.value for _ in range(times)]
    assert set(actions) == {"continue"}


@given(PLACES, st.sampled_from(["back", "scroll", "go_forward", "page.next"]))
def test_a_tool_of_several_commands_moves_where_the_command_does(place, verb):
    assert seems_to_move("browser", {place: verb, "n": 3})
    assert not seems_to_move("browser", {place: "open", "text": verb})
    assert not seems_to_move("browser", {place: "get_next", "n": 3})


@pytest.mark.parametrize("arguments", [{"to": "a", "text": "b"}, {"text": "call me"}, {}, "0"])
def test_a_message_is_no_key(arguments):
    assert not seems_to_move("send", arguments)
    assert not seems_to_move("set_flag", {"to": "0"})
