"""The form of an answer is read before its words, however deep it is wrapped."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop.loop_detection._evidence.outcome import Outcome, outcome
from antiloop.loop_detection._evidence.plain_answer import is_plain_success
from antiloop.loop_detection._evidence.structure import Form, form_of

words = st.text("abc déé 文件 .,", min_size=1).filter(str.strip)
LAYERS = {
    "MCP content": lambda text: {"content": [{"type": "text", "text": text}]},
    "a block of text": lambda text: {"type": "text", "text": text},
    "blocks of text": lambda text: [{"type": "text", "text": text}],
    "an object with one field": lambda text: {"result": text},
    "what a program printed": lambda text: {"stdout": text, "stderr": ""},
    "a message beside a verdict in words": lambda text: {"status": "OK", "message": text},
    "a message with numbers": lambda text: {"message": text, "took": 3, "cached": None},
    "a shell's object": lambda text: {"stdout": text, "stderr": "", "exit_code": 0},
}


@given(words, st.lists(st.sampled_from(sorted(LAYERS)), max_size=3))
def test_what_is_wrapped_is_judged_as_it_is_unwrapped(text, layers):
    wrapped = text
    for name in layers:
        wrapped = json.dumps(LAYERS[name](wrapped))
    assert outcome(wrapped) is outcome(text)


@given(words, st.integers(2, 255), st.booleans())
def test_an_exit_code_is_read_wherever_it_stands(text, code, is_long):
    text = text * 200 if is_long else text
    hosts = [
        {"output": text, "metadata": {"exit_code": code, "duration_seconds": 1.5}},
        {"result": {"stdout": text, "stderr": "", "returnCode": code}},
        {"code": code, "stdout": text, "stderr": ""},
    ]
    for host in hosts:
        assert form_of(json.dumps(host)).has_failed
        assert not form_of(json.dumps(host).replace(f": {code}", ": 0")).has_failed
    assert form_of(f"<returncode>{code}</returncode>\n<output>\n{text}\n</output>").has_failed
    assert not form_of(json.dumps({"job": {"id": 7, "exit_code": code}})).has_failed


def test_a_code_without_a_word_in_markup_is_silence():
    empty = "<returncode>{}</returncode>\n<output>\n</output>"
    assert outcome(empty.format(0)) is outcome(empty.format(1)) is Outcome.SILENT
    assert outcome(empty.replace("\n</", "\na\n</").format(1)) is Outcome.FAILURE


@pytest.mark.parametrize("name", ["success", "ok", "succeeded"])
def test_a_verdict_may_be_a_text(name):
    assert outcome(json.dumps({name: "false", "message": "x"})) is Outcome.FAILURE
    assert outcome(json.dumps({name: "true", "message": "x"})) is Outcome.SUCCESS
    assert outcome(json.dumps({name: "partly", "message": "x"})) is Outcome.SUCCESS


@given(words, words, st.sampled_from([{"ok": False}, {"exit_code": 3}]))
def test_what_a_program_printed_says_more_of_a_failure_than_what_is_said_about_it(one, other, how):
    form = form_of(json.dumps({**how, "stderr": one, "message": other}))
    assert (form.text, form.has_failed) == (one, True)
    assert form_of(json.dumps({**how, "message": other})).text == other


@given(words, st.sampled_from([0, 1, 3]), st.booleans())
def test_a_program_that_was_ended_has_failed_whatever_its_code(text, code, is_over):
    form = form_of(json.dumps({"stdout": text, "exit_code": code, "timed_out": is_over}))
    assert (form.text, bool(form.has_failed)) == (text, is_over or code != 0)


@given(words | st.just(""), st.integers(2, 255), st.sampled_from(["exit_code", "exitCode"]))
def test_a_program_that_ends_with_a_code_has_failed_whatever_it_printed(text, code, name):
    answer = json.dumps({"output": text, name: code})
    assert outcome(answer).is_failure
    assert outcome(f"[stdout]\n{text}\n[exit {code}]").is_failure
    assert outcome(f"{text * 400}\nProcess exited with code {code}").is_failure


@given(words)
def test_a_program_that_answers_no_without_a_word_has_not_failed(text):
    assert outcome('{"stdout": "", "stderr": "", "returncode": 1}') is Outcome.SILENT
    assert outcome(json.dumps({"stdout": f"a{text}", "returncode": 1})) is Outcome.FAILURE


@pytest.mark.parametrize(
    "answer",
    [
        '{"success": false}',
        '{"ok": false, "data": "all well"}',
        '{"status": "error"}',
        '{"error": {"code": 7}}',
        '{"errors": ["x"], "data": null}',
        '{"errors": ["x"], "data": {"user": null, "posts": []}}',
        '{"errors": ["x"], "data": "it was not sent"}',
        '{"isError": true, "content": [{"type": "text", "text": "x"}]}',
        '{"code": 403, "msg": "x"}',
        '{"statusCode": 500, "body": "x"}',
        '{"timed_out": true, "stdout": "x", "stderr": ""}',
        '{"code": -2019, "msg": "x"}',
        '{"type": "error", "message": "x"}',
        '{"errorMessages": ["x"], "data": {}}',
        '{"__type": "com.amazon.api#ValidationException", "detail": "x"}',
        '{"errorCode": "REQUEST_LIMIT_EXCEEDED", "message": "x"}',
        '{"errcode": 40001, "errmsg": "x"}',
        "<result><status>error</status><code>EROFS</code></result>",
        "<success>false</success>\n<path>a.txt</path>",
        "<response><code>404</code><message>x</message></response>",
        "<file><error> x </error><path>a.txt</path></file>" + " y" * 600,
        "<tool_use_error>It is so.\n</tool_use_error>\n",
        f"<error_details>\n{'so it is <b>' * 90}</error_details>",
        "HTTP/1.1 404 x",
        "Status: 502 x",
        "502 Bad Gateway",
        "404 - Not found",
        "KeyError: 'a'",
        "app.errors.NotThereException",
        "  Error: x" + " y" * 400,
        "Erreur : x",
        "Fehler: x",
        "ошибка: x",
        "错误：x",  # noqa: RUF001
        "connect ECONNREFUSED 127.0.0.1:5432",
    ],
)
def test_who_wrapped_an_answer_says_that_it_failed(answer):
    assert outcome(answer) is Outcome.FAILURE
    if answer.startswith("{"):
        assert outcome(f"[{answer}]") is Outcome.FAILURE
        assert outcome(f'[{answer}, {{"title": "a page"}}]') is Outcome.SUCCESS


@pytest.mark.parametrize(
    ("names", "value"),
    [
        ("exit_code exitcode exitCode exit-code exit_status return_code returncode exit", 3),
        ("status status_code statuscode statusCode code http_status httpstatus httpStatus", 500),
        ("success ok succeeded successful is_success", False),
    ],
)
def test_each_field_of_a_verdict_says_that_a_call_failed(names, value):
    for name in names.split():
        form = form_of(json.dumps({name: value, "message": "the page"}))
        assert (name, form.text, form.has_failed) == (name, "the page", True)


@pytest.mark.parametrize(
    "name", "status status_code statuscode code http_status httpstatus".split()
)
@pytest.mark.parametrize("status", [429, 503])
def test_each_field_of_a_status_says_that_the_other_side_is_busy(name, status):
    assert form_of(json.dumps({name: status, "message": "the page"})).is_busy


@pytest.mark.parametrize(
    "name", "stdout stderr output text message result msg reason error".split()
)
def test_each_field_of_words_says_why_a_call_failed(name):
    assert form_of(json.dumps({"ok": False, "took": 3, name: "a page"})).text == "a page"


@pytest.mark.parametrize(
    "answer",
    [
        '{"title": "Missing persons", "year": 2013}',
        '{"ok": true, "message": "an error was mended"}',
        '{"error": null, "price": 7}',
        '{"errors": 0, "lines": 12}',
        '{"code": 404, "color": "red"}',
        '{"code": -3, "color": "red"}',
        '{"code": false, "message": "a page"}',
        '{"type": "error", "count": 3}',
        '{"errorMessages": [], "data": {"a": 1}}',
        '{"errors": ["no right to read mail"], "data": {"user": {"name": "Ann", "mail": null}}}',
        '{"errorCode": "SUCCESS", "data": {"a": 1}}',
        '{"error_code": "00000", "data": {"a": 1}}',
        '{"errcode": 0, "errmsg": "ok", "count": 3}',
        '{"__type": "Movie", "detail": "x"}',
        '[{"title": "The Trial", "note": "not found for years"}]',
        "exit 1 is what the script says",
        "main.c:429: return",
        "404 files changed",
        "404 Oak Avenue",
        "mean_error: 0.02",
        "Terror: a film",
        "Error" + " y" * 600,
        "KeyError: y" * 100,
        "ticket 429 was closed",
        "Order 11 shipped. It is not insured.",
        "Task created. Don't forget to assign it.",
        "ok, cannot be reordered",
    ],
)
def test_words_that_are_values_or_asides_are_no_failure(answer):
    assert outcome(answer) is Outcome.SUCCESS


@pytest.mark.parametrize("text", ["It is not insured.", "not found", "cannot open it, sorry"])
def test_a_denial_in_the_first_clause_is_a_failure(text):
    assert outcome(text) is Outcome.FAILURE
    assert outcome(f"Done. {text}") is Outcome.SUCCESS


@pytest.mark.parametrize(
    "answer",
    [
        "<error></error><status>ok</status><success>true</success>",
        "<error>none</error><path>a.txt</path>",
        "<error_count>0</error_count>",
        "<lint_error>so it is</lint_error> and so on",
        "<a><error><b>1</b></error></a>",
        "<code>404</code>",
        "about <status>error</status>",
        "<status>error</code>",
        "<html><title>Error</title><h1>Status: error</h1></html>",
    ],
)
def test_an_element_that_is_empty_or_no_verdict_is_no_failure(answer):
    assert form_of(answer).has_failed is None


def traceback_of(header, name, frames, said):
    lines = [f'  File "/w/a{number}.py", line {number}, in f\n    g()' for number in range(frames)]
    return "\n".join([header, *lines, f"{name}: {said}"])


@given(
    st.sampled_from(["KeyError", "requests.exceptions.HTTPError", "KeyboardInterrupt"]),
    st.integers(0, 60),
    words,
)
def test_a_traceback_of_any_length_is_a_failure(name, frames, said):
    usual = "Traceback (most recent call last)"
    notebook = f"{'-' * 75}\n{name.rpartition('.')[2]:<42}{usual}"
    for header in (f"{usual}:", notebook):
        text = traceback_of(header, name, frames, said)
        assert outcome(text) is Outcome.FAILURE
        assert not is_plain_success(text)


def test_a_log_that_goes_on_behind_a_traceback_is_none():
    text = traceback_of("Traceback (most recent call last):", "KeyError", 60, "'a'")
    assert outcome(f"{text}\nretrying in 3 s\n") is Outcome.SUCCESS
    assert outcome(f"12:00:01 job 7\n{text}") is Outcome.SUCCESS


def test_an_object_that_lists_nothing_is_empty_also_deep_inside():
    found = json.dumps({"total_count": 0, "items": []})
    for wrap in LAYERS.values():
        assert outcome(json.dumps(wrap(found))) is Outcome.EMPTY


def test_json_that_is_cut_or_too_long_is_a_text():
    assert form_of('{"items": [1, 2').has_failed is None
    assert form_of('{"exit_code": 3, "output": "x').has_failed
    assert form_of(json.dumps({"a": "x" * 20_000})) == Form(json.dumps({"a": "x" * 20_000}))
    assert form_of(json.dumps({"output": "x" * 20_000, "exit_code": 3})).has_failed


@pytest.mark.parametrize("name", LAYERS)
def test_four_layers_of_any_kind_are_taken_off_and_no_more(name):
    text = "3 files"
    for _ in range(4):
        text = json.dumps(LAYERS[name](text))
    assert form_of(text).text == "3 files"
    assert form_of(json.dumps(LAYERS[name](text))).text.startswith(("{", "["))


def test_an_object_that_prints_nothing_is_silent_and_one_with_words_is_not():
    assert outcome(json.dumps({"exit_code": 0, "output": ""})) is Outcome.SILENT
    assert outcome(json.dumps({"type": "text", "text": "x", "annotations": {}})) is Outcome.SUCCESS


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(
                    ["status", "error", "text", "content", "output", "exit_code", "type", "x"]
                ),
                inner,
            )
        ),
    )
)
def test_any_object_is_read(value):
    assert isinstance(form_of(json.dumps(value)), Form)
    assert isinstance(form_of(json.dumps([value])), Form)


@given(st.integers(0, 3_000))
def test_an_object_of_any_depth_is_read(depth):
    assert outcome('{"a":' * depth + "1" + "}" * depth) in (Outcome.SUCCESS, Outcome.FAILURE)


@pytest.mark.parametrize("state", ["failure", "rejected", "denied", "Error"])
@pytest.mark.parametrize("name", ["resultType", "result_type", "outcome", "result"])
def test_a_field_that_is_named_after_the_result_says_how_the_call_went(name, state):
    assert outcome(json.dumps({"textResultForLlm": "Use a.", name: state})) is Outcome.FAILURE
    assert outcome(json.dumps({"textResultForLlm": "Use a.", name: "done"})) is Outcome.SUCCESS
    assert outcome(json.dumps({name: {"state": state}, "rows": [1]})) is Outcome.SUCCESS
    assert outcome(f"<a><b>Use a.</b><{name}>{state}</{name}></a>") is Outcome.FAILURE


def test_an_order_may_be_denied_by_a_call_that_went_well():
    assert outcome(json.dumps({"id": 7, "status": "denied"})) is Outcome.SUCCESS


@pytest.mark.parametrize("name", ["exitcode", "return_code", "exit_status"])
@pytest.mark.parametrize("around", ["<r>{}</r>", "<r>\n  {}\n</r>", "<a><r>{}</r></a>"])
def test_an_element_inside_of_others_holds_the_exit_code(around, name):
    def judged(code, said):
        element = f"<{name}>{code}</{name}>"
        return outcome(around.format(f"{element}<output>{said}</output>"))

    assert judged(2, "kaputt") is judged(1, "kaputt") is Outcome.FAILURE
    assert judged(0, "kaputt") is Outcome.SUCCESS
    assert judged(1, "") is judged(0, "") is Outcome.SILENT


@pytest.mark.parametrize("lines", [0, 300])
@pytest.mark.parametrize(
    "end",
    [
        "make: *** [Makefile:12: all] Error 2",
        "make[1]: *** [all] Fehler 1\nmake[1]: Leaving directory '/a'",
        "gmake: *** No rule to make target 'b'.  Stop.",
    ],
)
def test_make_says_in_a_line_of_its_own_that_it_failed(end, lines):
    assert outcome("cc -c a.c\n" * lines + end) is Outcome.FAILURE
    assert outcome("cc -c a.c\n" * 300 + end.replace("***", "")) is Outcome.SUCCESS


@pytest.mark.parametrize("said", ["all: *** [a] b", "see make: *** [a]", "*** make ***"])
def test_stars_are_no_failure_of_make(said):
    assert outcome(said) is Outcome.SUCCESS
