"""Times, ids and counters say nothing new; other numbers are what was asked for."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import LoopDetector, ToolCall, ToolPolicy
from antiloop._text.canonical import parsed_arguments
from antiloop.loop_detection._evidence.noise import (
    _MARK,
    does_nothing,
    near_arguments,
    template,
    with_command_line,
    without_noise,
    without_places,
    wording,
    words,
)

NOISE = [
    ("done at 2024-01-02T03:04:05Z", "done at 2025-11-12T13:14:15.123+01:00"),
    ("done on 2024-01-02", "done on 2024-01-03"),
    ("at 12:00:01 nothing", "at 12:00:02 nothing"),
    ("_as of 12:00:01_ nothing", "_as of 12:00:02_ nothing"),
    (
        "id 123e4567-e89b-12d3-a456-426614174000 ok",
        "id 00000000-e89b-12d3-a456-426614174999 ok",
    ),
    ("digest 0123456789abcdef0123", "digest fedcba98765432100000"),
    ("now 1700000000", "now 1700000001"),
    ("now 1700000000123", "now 1700000001456"),
    ("object at 0x7f00aa", "object at 0x7f00bb00"),
    ("killed pid 311", "killed pid 312"),
    ("failed\nProcess Group PGID: 311", "failed\nProcess Group PGID: 4012"),
    ("still running (session sess-3, pid 311)", "still running (session sess-17, pid 4012)"),
    ('{"request_id": "a-1", "out": "no"}', '{"request_id": "b-2", "out": "no"}'),
    ('{"session_id": "a-1", "out": "no"}', '{"session_id": "b-2", "out": "no"}'),
    ("1. [9e3779b1] likes tea", "1. [0b9f2c4e] likes tea"),
    ("now at dpl_8Fj3kd02 there", "now at dpl_2kD9slq7x there"),
    ('{"execution_count": 7, "out": ""}', '{"execution_count": 8, "out": ""}'),
]
COUNTERS = [
    ("bash: line 3: oops", "bash: line 4: oops"),
    ("it took 3.5s to run", "it took 14.25s to run"),
    ("after 1 second", "after 2 seconds"),
    ("attempt 3 of many", "attempt 4 of many"),
    ('{"duration_ms": 7, "out": "no"}', '{"duration_ms": 8.5, "out": "no"}'),
    ('{"p": 1, "executionTimeMs": 7, "out": "no"}', '{"p": 1, "executionTimeMs": 9, "out": "no"}'),
    ("see /tmp/spill-1.txt", "see /tmp/x/spill-2.txt"),
]
NEWS = [
    ("5 files", "6 files"),
    ("price 100", "price 101"),
    ("page alpha", "page beta"),
    ("40% done", "50% done"),
    ("version 1.2", "version 1.3"),
]


@pytest.mark.parametrize(("one", "other"), NOISE + COUNTERS)
def test_what_is_noise_in_an_answer(one, other):
    assert without_noise(one) == without_noise(other)


@pytest.mark.parametrize(("one", "other"), NEWS)
def test_what_is_news_in_an_answer(one, other):
    assert without_noise(one) != without_noise(other)
    assert without_noise(one, keeps_counts=True) != without_noise(other, keeps_counts=True)


@pytest.mark.parametrize(("one", "other"), NOISE)
def test_clocks_and_ids_are_noise_even_where_counts_are_the_answer(one, other):
    assert without_noise(one, keeps_counts=True) == without_noise(other, keeps_counts=True)


@pytest.mark.parametrize(("one", "other"), COUNTERS)
def test_counters_stay_where_they_are_the_answer(one, other):
    assert without_noise(one, keeps_counts=True) != without_noise(other, keeps_counts=True)


PLACES = [
    *("a/main.c:{}: oops", "a.test.ts:{}:7 - oops", "b.tsx({},3): oops", 'File "c.py", line {}'),
    *("Cell In[{}], oops", "Input In [{}], in <cell>"),
]


@given(st.sampled_from(PLACES), st.integers(1, 9_999), st.integers(1, 9_999))
def test_the_place_of_a_failure_is_not_what_failed(text, one, other):
    assert without_places(text.format(one)) == without_places(text.format(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("main.c:7: oops", "other.c:7: oops"),
        ("main.c:7: oops", "main.h:7: oops"),
        ("errno: 2", "errno: 13"),
        ("status:404", "status:403"),
        ("12 lines failed", "7 lines failed"),
        ("exit(1)", "exit(2)"),
        ("not in [404]", "not in [403]"),
    ],
)
def test_what_is_not_the_place_of_a_failure(one, other):
    assert without_places(one) != without_places(other)


def test_a_place_far_down_in_a_long_text_is_kept():
    text = "word " * 2_000
    assert without_places(f"{text}a.c:1:") != without_places(f"{text}a.c:2:")


@pytest.mark.parametrize("text", ["12:00:01", "1700000000", "3s", "", "2024-01-02"])
def test_a_text_that_is_nothing_but_noise_is_left_as_it_is(text):
    assert without_noise(text) == text


def test_what_differs_far_down_in_a_long_text_differs():
    text = "word " * 2_000
    assert without_noise(text + "a") != without_noise(text + "b")


def test_a_wording_leaves_out_numbers_and_echoes():
    one = wording("Error: ticket 1001 not found", {"id": 1001, "kind": "ticket"})
    other = wording("Error: order 7 not found", {"id": 7, "kind": "order"})
    assert one == other == "error not found"
    assert wording("Error: order 7 not found", {"id": 7}) == "error order not found"


def test_a_line_of_the_arguments_is_an_echo_as_a_whole():
    """Of a command, each flag is too short to be an echo by itself."""
    said = [
        wording(f"timed out: {line}", {"command": line})
        for line in ("nmap -p- -Pn a.example", "nmap -F  -sT --open a.example")
    ]
    assert said == ["timed out", "timed out"]
    texts = ("one of\ntwo", "two of\none")
    assert len({wording(f"not unique: {text}", {"old": text}) for text in texts}) == 1
    assert wording("not unique: it is\nso", {"old": "it is\nso"}) == "not unique it is so"


@given(st.uuids(), st.uuids(), st.sampled_from(["", "ab-", "/w/", "id=", "cf-ray: "]))
def test_an_id_is_no_part_of_a_wording(one, other, before):
    """Many services put another id into each failure, by which support finds it."""
    said = [wording(f"Denied: no quota ({before}{token})", {}) for token in (one.hex, other.hex)]
    assert said[0] == said[1]
    assert said[0].startswith("denied no quota")


FILES = [
    *("see /w/_logs/%Y-%m-%dT%H_%M_%S_%fZ-debug-0.log", "at build-%Y-%m-%d-%H-%M-%S.txt:"),
    *("a %Y-%m-%d_%H-%M-%S.log", "dump %Y-%m-%dT%H-%M-%S.%f"),
]


@given(st.datetimes(datetime(2000, 1, 1)), st.datetimes(datetime(2000, 1, 1)))
@pytest.mark.parametrize("form", FILES)
def test_a_time_in_the_name_of_a_file_is_noise(form, one, other):
    texts = [each.strftime(f"No such host {form}") for each in (one, other)]
    assert wording(texts[0], {}) == wording(texts[1], {})
    assert without_noise(texts[0]) == without_noise(texts[1])
    # To ask for the file of another time is another question.
    names = [text.split()[-1] for text in texts]
    asked = [near_arguments({"path": name}) for name in names]
    assert (asked[0] == asked[1]) is (names[0] == names[1])


def test_short_words_are_no_echo():
    assert wording("no go", {"answer": "no"}) == "no go"


@given(st.text("ab/. \"'`=:,;()<>[]{}", max_size=20))
def test_a_wording_has_the_same_terms_beside_another_script(text):
    echo = {"path": "a/b"}
    assert wording(f"{text} é", echo).split() == [*wording(text, echo).split(), "é"]


def test_a_template_is_equal_for_a_file_that_grows():
    line = '  print("hello")\n'
    assert template("1 line\n" + line) == template("2 lines\n".replace("s", "") + line * 2)
    assert template(line) != template(line + "  pass\n")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"message_id": "m-17", "sent": true}', '{"message_id": "m-18", "sent": true}'),
        ("sent, id=abc.1", "sent, id=def.2"),
        ("saved, ts: 17:30", "saved, ts: 17:31"),
    ],
)
def test_ids_are_no_part_of_a_template(one, other):
    assert template(one) == template(other)


NEAR = [
    ({"q": "cats, dogs"}, {"q": "dogs, cats"}),
    ({"q": "cats dogs"}, {"q": "Cat dog"}),
    ({"q": "cat cat dog"}, {"q": "dog cat"}),
    ({"q": "a cat in the house"}, {"q": "cat the house"}),
    ({"q": "cats", "request_id": 1}, {"q": "cats", "request_id": 2}),
    ({"q": "cats", "nonce": 1}, {"q": "cats"}),
    ({"q": "cats", "at": "2024-01-02T03:04:05Z"}, {"q": "cats", "at": "2024-01-02T03:04:06Z"}),
    ({"limit": 5}, {"limit": "5"}),
    ({"a": {"q": "x", "trace_id": 1}}, {"a": {"q": "x", "trace_id": 2}}),
    ({"command": "# just thinking"}, {"command": ": nothing at all"}),
    ({"items": ["cat", "dog"]}, {"items": ("cats", "dogs")}),
    ("one two", "two one"),
    ({"q": "ab cd"}, {"q": "cd ab"}),
]
FAR = [
    ({"path": "src/a_01.py"}, {"path": "src/a_02.py"}),
    ({"path": "src/a/x.py"}, {"path": "src/b/x.py"}),
    ({"path": "src/a/b"}, {"path": "src/b/a"}),
    ({"file": "b.movie"}, {"file": "c.movie"}),
    ({"q": "cats"}, {"q": "birds"}),
    ({"limit": 5}, {"limit": 6}),
    ({"a": "x"}, {"b": "x"}),
    ({"offset": 0}, {"offset": 100}),
    ({"q": None}, {"q": "x"}),
    ({"command": ":q"}, {"command": "# nothing"}),
    ({"on": True}, {"on": False}),
    ({"a": [["cat"], ["dog"]]}, {"a": [["cat"], ["bird"]]}),
]


@pytest.mark.parametrize(("one", "other"), NEAR)
def test_what_is_cosmetic_in_arguments(one, other):
    assert near_arguments(one) == near_arguments(other)


@pytest.mark.parametrize(("one", "other"), FAR)
def test_what_is_not_cosmetic_in_arguments(one, other):
    assert near_arguments(one) != near_arguments(other)


@given(st.from_regex(r"[a-z]{0,2}[0-9]{1,3}", fullmatch=True), st.integers(1, 9))
def test_short_names_with_another_number_are_other_arguments(name, step):
    stem = name.rstrip("0123456789")
    other = f"{stem}{int(name[len(stem) :]) + step}"
    for command in ("git add {}", "rm -f dist/{}.txt", "{}"):
        assert near_arguments(command.format(name)) != near_arguments(command.format(other))


SHORT = st.from_regex(r"[a-z]{1,2}", fullmatch=True)
LINES = ["make site {}", "{} src", "cd out && {} de", "deploy.sh --to {}"]


@given(st.sampled_from(LINES), SHORT, SHORT)
def test_each_short_word_of_a_command_line_counts(line, one, other):
    asked = [near_arguments({"command": line.format(word)}) for word in (one, other)]
    assert (asked[0] == asked[1]) is (one == other)


@given(SHORT, SHORT)
def test_short_options_are_cosmetic(one, other):
    asked = [near_arguments({"cmd": f"grep -{letters} main ."}) for letters in (one, other)]
    assert asked[0] == asked[1]


@pytest.mark.parametrize("preset", ["default", "escalating", "thorough"])
def test_one_thing_after_the_other_may_be_built_and_acknowledged_alike(preset):
    monitor = getattr(LoopDetector, preset)().monitor()
    for code in "de fr es it pl nl sv da fi pt cs hu".split():
        call = ToolCall("shell", {"command": f"python build.py {code}"})
        assert monitor.after([call], ["ok"]).action.value == "continue"


@given(st.dates(), st.dates())
def test_another_day_is_another_question(one, other):
    for form in ("{}", "flights on {}", "report-{}.csv"):
        asked = [near_arguments({"on": form.format(day)}) for day in (one, other)]
        assert (asked[0] == asked[1]) == (one == other)


def test_words_are_lower_case_and_without_marks():
    assert words("Über_alles, Wörter: 42!") == ["über", "alles", "wörter", "42"]


@given(
    st.recursive(
        st.none() | st.text() | st.floats() | st.binary(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=20,
    ),
    st.text(),
)
def test_any_arguments_and_any_text_have_all_forms(value, text):
    arguments = parsed_arguments(value)
    assert near_arguments(arguments) == near_arguments(parsed_arguments(value))
    for form in (wording(text, arguments), template(text), without_noise(text)):
        assert isinstance(form, str)


def test_deep_and_wide_arguments_cost_little():
    deep = "leaf"
    for _ in range(60):
        deep = {"k": deep}
    assert len(near_arguments(deep)) < 500
    assert len(near_arguments({"items": [f"word{n}" for n in range(10_000)]})) < 2_000
    assert len(near_arguments({"text": "word " * 100_000})) < 100


@pytest.mark.parametrize("name", ["to", "text", "order_id"])
def test_only_a_command_line_can_do_nothing(name):
    assert near_arguments({name: "#one"}) != near_arguments({name: "#two"})
    assert near_arguments({"command": "#one"}) == near_arguments({"command": "#two"})


@pytest.mark.parametrize(
    ("arguments", "form"),
    [
        ({"b": "Two cats", "a": [1, {"c": None}]}, ".a=1\n.a.c=null\n.b=cat two"),
        ({"a": {"d": ["x"]}}, ".a.d=x"),
        ("two one", "=one two"),
        ({1: "x", "a": "y"}, ".1=x\n.a=y"),
        ({"request_id": 7, "q": "x"}, ".q=x"),
        ({"q": "a b cat"}, ".q=cat"),
        ({"q": "b a"}, ".q=a b"),
        ({"q": "bus cats ass"}, ".q=ass bus cat"),
        ({"q": "2024-01-02T03:04:05Z cats"}, ".q=cat"),
        ({"q": "abcdefab-cdef-abcd-efab-cdefabcdef12 cats"}, ".q=cat"),
        ({"q": "abcdefab-cdef-abcd-efab"}, ".q=abcdefab_cdef_abcd_efab"),
        ({"command": "  # x"}, ":"),
        (": x", ":"),
        ({}, ""),
        (None, "=null"),
        ([[[[[[[{"cat": "dog"}]]]]]]], ".cat=dog"),
        ([[[[[[[[{"cat": "dog"}]]]]]]]], "=cat_dog"),
        ({"deep": {"on": {"and": {"a": {"b": {"c": {"d": {"e": {"cat": "dog"}}}}}}}}},
         ".deep.on.and.a.b.c.d.e=cat_dog"),
        ({"items": [f"w{n:03}" for n in range(66)]},
         "\n".join(f".items=w{n:03}" for n in range(64))),
        ({"q": " ".join(f"w{n:03}" for n in range(66))},
         ".q=" + " ".join(f"w{n:03}" for n in range(64))),
        ({"q": "x" * 1_999 + "yz"}, ".q=" + "x" * 1_999 + "y"),
    ],
)  # fmt: skip
def test_what_remains_of_arguments(arguments, form):
    assert near_arguments(arguments) == form


@pytest.mark.parametrize("command", ["/usr/bin/python3 -V", "/bin/ls", "bash run", "true"])
def test_a_path_that_shares_a_word_with_the_arguments_is_no_echo(command):
    assert wording("/bin/bash: line 1: -V: not found", {"command": command}) == (
        "bin bash line v not found"
    )


@given(st.lists(st.from_regex(r"[a-z]{1,8}", fullmatch=True), min_size=2, max_size=4))
def test_what_was_asked_for_is_an_echo_with_each_of_its_parts(parts):
    path = "/".join(parts)
    for echo in (path, path.upper(), f"'{path}'", f"{path}:12:", f"/{path}"):
        assert wording(f"0 {echo} 1", {"path": path}) == ""
    # A word such as "no" may be the answer.
    assert wording(parts[-1], {"path": path}) == ("" if len(parts[-1]) > 2 else parts[-1])


def test_what_remains_of_an_answer():
    said = "Error: The tab 12 of cat x1 is gone, 7"
    arguments = {"a": "tab", "b": ["x1"], "c": {"d": "no cat"}}
    assert wording(said, arguments) == "error the of x1 is gone"
    assert wording("aaa " * 499 + "aaa bbb ccc", {}).split()[-1] == "aaa"
    assert template("b 12\nid=abc x\na 3\nb 7\n") == "a #\nb #\nid=# x"
    text = "took 3s at 12:00:01 pid 42 /tmp/x"
    assert without_noise(text) == "#s at # # #"
    assert without_noise(text, True) == "took 3s at # # /tmp/x"
    assert without_noise("12:00:01", False, True) == "#"
    assert without_noise("x" * 2_000 + " 12:00:01") == "x" * 2_000 + " 12:00:01"


def test_an_address_that_begins_a_line_is_a_place_in_a_program():
    assert without_noise("0x00401136 in main ()") == "0x00401136 in main ()"
    assert without_noise("stepped:\n0x00401136 in main ()") == "stepped:\n0x00401136 in main ()"
    assert without_noise("<Node object at 0x7f3a5c11d0>") == "<Node object at #>"
    monitor = LoopDetector.default().monitor()
    step = ToolCall("gdb", {"command": "si"})
    places = [f"0x{0x401136 + n:08x} in main ()" for n in range(9)]
    assert {monitor.after([step], [place]).action.value for place in places} == {"continue"}


NOTES = st.lists(st.sampled_from(["", "  # why", "# look at it", "\t"]))


@given(NOTES, st.sampled_from(["ls", "grep -rn a ."]))
def test_a_comment_above_a_command_takes_nothing_from_it(comments, command):
    assert not does_nothing({"command": "\n".join([*comments, command])})
    assert does_nothing({"command": "\n".join([*comments, f"# {command}"])})


IDS = ["89f193", "a1b2c3d4e5", "0f3b9c2d", "xk3Bq7R2z", "toolu_01AbC2dEf", "req_9Zk2Lm4Q"]
NAMES = ["17", "1048576", "batch12", "utf8", "sha256", "python3", "v2beta", "TCK-1041", "decade"]
NAMES += ["a.b3c9d1.py", "1.2.3", "2fa", "item7of9", "12345678901"]


@pytest.mark.parametrize("token", IDS)
def test_what_looks_like_a_random_id_marks_a_line(token):
    marked = f"chunk {token} ended".lower()
    assert _MARK.findall(marked) == [token.lower()]
    assert _MARK.sub("#", marked) == "chunk # ended"


@pytest.mark.parametrize("token", NAMES)
def test_a_number_or_a_name_marks_no_line(token):
    assert not _MARK.findall(f"chunk {token} ended".lower())


LINES = [
    "sed -i s/a/b/ a.py",
    "pytest -q",
    "sleep 30 && tail log",
    "grep -rn x src",
    "ls",
    "# look",
]
SAID = ["", "1 failed", "building", "a.py\nb.py", "Error: no such file"]
SHELLS = [
    ["bash", "-lc"],
    ["/bin/sh", "-c"],
    [r"C:\Windows\System32\cmd.exe", "/c"],
    ["powershell.exe", "-NoProfile", "-Command"],
]


@given(
    st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(SAID)), max_size=14),
    st.sampled_from(SHELLS),
)
def test_a_line_is_judged_alike_as_a_text_and_as_a_list_of_words(steps, shell):
    def taken(form):
        monitor = LoopDetector.escalating().monitor()
        calls = [(ToolCall("run", {"cmd": form(line)}), said) for line, said in steps]
        return [monitor.after([call], [said]).action for call, said in calls]

    as_text = taken(lambda line: line)
    assert taken(lambda line: [*shell, line]) == as_text
    assert taken(lambda line: line.split(" ")) == as_text


@pytest.mark.parametrize(
    "arguments",
    [None, ["ls"], {}, {"command": []}, {"command": ["ls", 7]}, {"tags": ["ls", "-l"]}],
)
def test_other_lists_stay_lists(arguments):
    assert with_command_line(arguments) is arguments


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["bash", "run.sh"], "bash run.sh"),
        (["-c", "ls"], "-c ls"),
        (["python", "-c", "print(1)"], "python -c print(1)"),
        (["bash", "-x", "run.sh"], "bash -x run.sh"),
    ],
)
def test_a_program_that_is_no_shell_gets_no_line(words, line):
    assert with_command_line({"command": words}) == {"command": line}


def test_a_declared_key_reads_the_arguments_as_the_model_made_them():
    seen = []
    tools = {"run": ToolPolicy(key=lambda arguments: seen.append(arguments) or arguments)}
    arguments = {"command": ["bash", "-lc", "ls"]}
    LoopDetector.default(tools=tools).monitor().after([ToolCall("run", arguments)], ["a.py"])
    assert seen == [arguments]


@pytest.mark.parametrize("clock", ["10:0{} AM", "9:0{}pm"])
def test_the_clock_of_a_page_is_noise_and_a_time_in_a_sentence_is_the_answer(clock):
    def texts(form):
        return {without_noise(form.format(clock.format(minute))) for minute in range(6)}

    assert len(texts("Taskbar {}\nWindow: Settings\nButton: Apply")) == 1
    assert len(texts("The next train leaves at {}.")) == 6
    assert len(texts("{}\n\n")) == 6
