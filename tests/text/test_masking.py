"""What is taken for a secret, and what is not."""

import json
import logging

import pytest
from growth import grows_as_the_length
from hypothesis import given
from hypothesis import strategies as st
from planted import KEYS, MARK, PLAIN_KEYS, is_told, planted

from antiloop import BaseDetector, LoopDetection, LoopDetector, RepeatDetector, ToolCall
from antiloop._text.masking import MASK, SECRETS, masking_of
from antiloop.loop_detection import Escalation, mask_secrets

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(planted)
def test_no_secret_is_left_in_any_value(value):
    assert not is_told(json.dumps(mask_secrets(value)))


@given(json_values)
def test_what_is_masked_stays_masked(value):
    once = mask_secrets(value)
    assert mask_secrets(once) == once


@given(json_values)
def test_a_value_that_is_masked_is_not_changed_itself(value):
    before = json.dumps(value)
    mask_secrets(value)
    assert json.dumps(value) == before


@pytest.mark.parametrize("key", KEYS)
def test_the_value_of_a_key_that_names_a_secret_is_masked(key):
    assert mask_secrets({key: MARK, "user": "bob"}) == {key: MASK, "user": "bob"}


@pytest.mark.parametrize("key", PLAIN_KEYS)
def test_the_value_of_another_key_stays(key):
    assert mask_secrets({key: "bob"}) == {key: "bob"}
    assert mask_secrets(f"{key}=bob and {key}: bob") == f"{key}=bob and {key}: bob"


@pytest.mark.parametrize("value", [None, True, False, ""])
def test_that_there_is_none_is_no_secret(value):
    assert mask_secrets({"password": value}) == {"password": value}


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("mysql --password a1b2 -h db", "mysql --password *** -h db"),
        ("PASSWORD='a 1' B=2 ./run", "PASSWORD='***' B=2 ./run"),
        ("curl -H 'Authorization: Bearer a.b' u", "curl -H 'Authorization: ***' u"),
        ("curl -u bob:a1b2 https://a.b", "curl -u bob:*** https://a.b"),
        ("https://bob:a1b2@a.b/c", "https://bob:***@a.b/c"),
        ("a?token=a1b2&page=2", "a?token=***&page=2"),
        ('{"token": "a", "b": 1}', '{"token": "***", "b": 1}'),
        ('x {"credentials": {"a": "}"}, "b": 1', 'x {"credentials": "***", "b": 1'),
        ("x {'credentials': {'a': ['b']}, 'b': 1}", "x {'credentials': '***', 'b': 1}"),
        ("password = '''a\n'b''' + c", "password = '''***''' + c"),
        ("password: one two\nuser: bob", "password: ***\nuser: bob"),
        ("it says password: one two", "it says password: *** two"),
        ("see sk-ant-api03-abcdefgh.", "see ***."),
        ("token=", "token="),
        ("password: null", "password: null"),
        ("password = 'a", "password = '***"),
        ('{"a": {\\"token\\": \\"b', '{"a": {\\"token\\": \\"***'),
        ("Bearer abc", "Bearer ***"),
    ],
)
def test_the_rest_of_a_text_stays_readable(text, masked):
    assert mask_secrets(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        *("--- PASS: TestLogin (0.00s)", "tests/test_auth.py::test_token - ok", "task-force-one"),
        *("git@github.com:a/b.git", "ssh://git@example.org/a", "git push -u origin main"),
        *("max_tokens=5", "12 passed, 1 failed", "the key is on the table", "sk-learn"),
        *("https://a.b:8080/c@d", "a key", "password", "[not json}", '{"a": 1,}', "sudo -u bob"),
    ],
)
def test_an_innocent_text_stays(text):
    assert mask_secrets(text) == text


def test_json_with_a_key_twice_is_masked_in_both():
    text = json.dumps({"a": {"password": MARK}})[:-1] + ', "a": 1}'
    assert not is_told(mask_secrets(text))


def test_what_lies_too_deep_is_masked_whole():
    deep, shallow = MARK, ["cats"]
    for _ in range(100):
        deep = [deep]
    assert not is_told(json.dumps(mask_secrets(deep)))
    assert mask_secrets({"a": shallow, "b": (1,)}) == {"a": ["cats"], "b": (1,)}
    assert not is_told(json.dumps(mask_secrets({"a": "[" * 100_000 + f'"password={MARK}"'})))
    for _ in range(100):
        deep = {"a": deep}
    assert not is_told(json.dumps(mask_secrets(deep)))


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_secret_with_quotes_is_masked_however_deep_it_is_quoted(depth):
    text, expected = '{"token": "hun\\"ter2 more", "b": 1}', '{"token": "***", "b": 1}'
    for _ in range(depth):
        text, expected = json.dumps(text)[1:-1], json.dumps(expected)[1:-1]
    assert SECRETS.text(f"log: {text}") == f"log: {expected}"


def test_keys_that_are_no_text_and_keys_that_are_secrets_are_masked():
    made = {1: "a", "ghp_" + MARK * 8: 2}
    assert mask_secrets(made) == {1: "a", MASK: 2}


def test_a_long_key_is_looked_at_from_both_ends():
    assert mask_secrets({"x" * 500 + "_password": MARK}) == {"x" * 500 + "_password": MASK}
    assert mask_secrets("x" * 500 + f"_password={MARK}") == "x" * 500 + "_password=***"


def test_a_letter_that_grows_when_it_is_made_small_shifts_nothing():
    assert mask_secrets("İİİİ password=a") == "İİİİ password=***"


HOSTILE = (
    *("sk-", "-sk-", "eyJ", "eyJa.", "-----BEGIN ", "-----BEGIN A-----", "-u=", " -u x", "-u"),
    *("password=[", 'password="', 'password=\\"', "password=,", "password=", "\npassword:"),
    *("password=\\", "password='''", "password=`", "password ", "key\\", '"key":', "keykey"),
    *("bearer ", "cookie:", "--token ", '--token\\",', "api ", "session ", "x://a:b", "://a:"),
    *("password={'", "password=[\\", 'token={"', "token={\\", "['password'", '"name", "value"'),
    *('{"a":', '["', "\\", " ", "a.", "-", "token[", "Authorization: Basic ", "gho_", "AKIA"),
)


@pytest.mark.parametrize("unit", HOSTILE)
def test_the_time_grows_with_the_text_only(unit):
    assert grows_as_the_length(lambda size: mask_secrets(unit * (size // len(unit))), 6_000)


class TestRule:
    """``LoopDetector(mask=...)``."""

    def test_a_refusal_shows_what_the_mask_leaves(self):
        detector = LoopDetector([RepeatDetector(2)], Escalation(("block",)), mask="arguments")
        monitor = detector.monitor()
        for _ in range(2):
            monitor.record_call("send", {"to": "bob"}, "no")
        refused = monitor.before(ToolCall("send", {"to": "bob"}))
        assert refused.action == "block"
        assert "bob" not in refused.message
        assert MASK in refused.message

    @staticmethod
    def found(mask, **arguments):
        monitor = LoopDetector([RepeatDetector(3)], "inject_message", mask=mask).monitor()
        verdicts = [monitor.record_call("look", arguments, "same") for _ in range(3)]
        return verdicts[-1], monitor.snapshot()

    def test_secrets_are_masked_where_nothing_is_said(self):
        detector = LoopDetector([RepeatDetector(3)])
        assert detector.mask == "secrets"
        found = detector.check([ToolCall("look", {"password": MARK, "q": "cats"})] * 3, [])
        assert found.details["arguments"] == {"password": MASK, "q": "cats"}

    def test_arguments_can_be_left_out_altogether(self):
        verdict, snapshot = self.found("arguments", q="cats")
        assert "cats" not in json.dumps([verdict.message, verdict.detection.details, snapshot])
        assert verdict.detection.details["arguments"] == MASK

    def test_a_function_takes_its_place(self):
        verdict, snapshot = self.found(lambda value: {"seen": sorted(value)}, q="cats")
        assert verdict.detection.details["arguments"] == {"seen": ["q"]}
        assert 'look {"seen":["q"]}' in verdict.message
        assert snapshot["window"]["rounds"][-1][-1][1] == '{"seen":["q"]}'

    def test_a_function_that_raises_shows_nothing(self, caplog):
        def broken(value):
            raise KeyError(value["q"])

        with caplog.at_level(logging.ERROR, "antiloop"):
            verdict, snapshot = self.found(broken, q=MARK)
        assert verdict.detection.details["arguments"] == MASK
        assert not is_told(json.dumps([verdict.message, snapshot]) + caplog.text)
        assert "mask= raised KeyError" in caplog.text

    def test_a_function_that_changes_what_it_is_given_falsifies_nothing(self):
        calls = [{"q": ["cats"]} for _ in range(3)]
        monitor = LoopDetector([RepeatDetector(3)], mask=lambda value: value.clear()).monitor()
        verdicts = [monitor.record_call("look", each, "same") for each in calls]
        assert verdicts[-1].detection is not None
        assert calls == [{"q": ["cats"]}] * 3

    def test_detectors_of_one_process_mask_each_by_its_own_rule(self):
        calls = [ToolCall("look", {"q": "cats"})] * 3
        shown = [
            LoopDetector([RepeatDetector(3)], mask=mask).check(calls, []).details["arguments"]
            for mask in ("secrets", "arguments", str, "secrets")
        ]
        assert shown == [{"q": "cats"}, MASK, "{'q': 'cats'}", {"q": "cats"}]

    @pytest.mark.parametrize(
        ("mask", "error", "words"),
        [
            ("all", ValueError, "unknown mask 'all'; choose from secrets, arguments"),
            (None, TypeError, "mask must be a name or a function, got None"),
        ],
    )
    def test_what_is_no_rule_is_refused(self, mask, error, words):
        with pytest.raises(error, match=words):
            LoopDetector([RepeatDetector(3)], mask=mask)
        with pytest.raises(error, match=words):
            masking_of(mask)


class Own(BaseDetector):
    """Says what it was shown, as a detector of the user's own may."""

    name = "own"

    def check(self, tool_calls, tool_results):
        shown = dict(tool_calls[-1].arguments)
        said = f"again: {shown}, {tool_results[-1].text}"
        return LoopDetection("own", said, {"last": shown}, label=said, answer=said)


def test_what_a_detector_of_your_own_says_is_masked():
    monitor = LoopDetector([Own()], "inject_message").monitor()
    verdict = monitor.record_call("look", {"password": MARK, "q": "cats"}, f"token={MARK}")
    assert verdict.detection.details == {"last": {"password": MASK, "q": "cats"}}
    found = verdict.detection
    for said in (verdict.message, found.message, found.summary, found.label, found.answer):
        assert "again: {'password': '***', 'q': 'cats'}, token=***" in said
    assert not is_told(json.dumps(monitor.snapshot()))


def test_details_that_a_mask_makes_something_else_are_left_out():
    monitor = LoopDetector([Own()], "inject_message", mask=lambda value: 7).monitor()
    verdict = monitor.record_call("look", {"password": MARK}, "x")
    assert (verdict.detection.message, verdict.detection.details) == ("7", {})


def test_the_beginning_of_long_arguments_is_enough_for_a_label():
    verdicts = []
    for arguments in (
        {"password": MARK, "text": "cats and dogs " * 1_000},
        {"pages": ["cats and dogs"] * 1_000, "token": MARK},
        {"numbers": list(range(10_000)), "token": MARK},
        {"text": MARK * 5_000},
        {"pages": ["cats", 1], "text": "cats and dogs " * 1_000},
        {f"key{number:04}": "cats" for number in range(1_000)},
    ):
        monitor = LoopDetector([RepeatDetector(3)], "inject_message").monitor()
        verdicts.append([monitor.record_call("look", arguments, "same") for _ in range(3)][-1])
    shown = [verdict.detection.details["arguments"] for verdict in verdicts]
    assert shown[0] == '{"password":"***","text":"ca...cats and dogs cats and ..."}'
    assert shown[3] == '{"text":"..."}'
    assert not is_told(json.dumps(shown[:3]))
    assert all(len(each) <= 60 for each in shown)


VALUES = [
    (
        [
            {"name": "API_KEY", "value": "abc", "x": "abc"},
            {"key": "password", "value": "abc"},
            {"name": "city", "value": "abc"},
            {"name": "city", "key": "password", "value": "abc"},
        ],
        [
            {"name": "API_KEY", "value": "***", "x": "abc"},
            {"key": "password", "value": "***"},
            {"name": "city", "value": "abc"},
            {"name": "city", "key": "password", "value": "abc"},
        ],
    ),
    ({"name": 7, "value": "abc"}, {"name": 7, "value": "abc"}),
    ({"Name": "Authorization", "Value": "abc"}, {"Name": "Authorization", "Value": "***"}),
    ({"KEY": "password", "VALUE": "abc", "x": "y"}, {"KEY": "password", "VALUE": "***", "x": "y"}),
    ({None: "abc", "name": "password"}, {None: "abc", "name": "password"}),
    ({"pw": "abc", "subscription-key": "abc"}, {"pw": "***", "subscription-key": "***"}),
    (
        {"name": "password", "x": {"name": "city", "value": "abc"}},
        {"name": "password", "x": {"name": "city", "value": "abc"}},
    ),
    (["--password", "abc", "x"], ["--password", "***", "x"]),
    (["password", "abc"], ["password", "***"]),
    (["password", "abc", "x"], ["password", "abc", "x"]),
    (["x", "--token", "abc"], ["x", "--token", "***"]),
    (["--token"], ["--token"]),
    (("password", "abc"), ("password", "***")),
    (["password", None], ["password", None]),
    (["password", True], ["password", True]),
    (["password", ""], ["password", ""]),
    (["password", ["a", "b"]], ["password", "***"]),
    (["password", 0], ["password", "***"]),
    ({"a": "password=abc, b=1; token=xyz"}, {"a": "password=*** b=1; token=***"}),
]
TEXTS = [
    ('["password","abc"]', '["password", "***"]'),
    (' {"token": "é\\u00e9abc"} ', '{"token": "***"}'),
    ('"password=abc"', '"password=***"'),
    ('{"a": "é", "token": "x"}', '{"a": "é", "token": "***"}'),
    ('[1, {"token": "abc"}]', '[1, {"token": "***"}]'),
    ('[{"token":"é"},"é"]', '[{"token": "***"}, "é"]'),
    ('{"token": 5}', '{"token": "***"}'),
    ("['password', 'abc']", "['password', '***']"),
    ('("password", "abc")', '("password", "***")'),
    ('x ["password", "abc"]', 'x ["password", "***"]'),
    ('x\n[ "password",\n "abc"]', 'x\n[ "password",\n "***"]'),
    ("x\\npassword: one two\\nb: c", "x\\npassword: ***\\nb: c"),
    ("say 'password': 'abc'", "say 'password': '***'"),
    ("api key: abc", "api key: ***"),
    ("my api key = abc def", "my api key = *** def"),
    ("API KEY=abc", "API KEY=***"),
    ("secret key=abc; secret=abc,b", "secret key=*** secret=***"),
    ("session key: abc", "session key: ***"),
    (
        '"name": "password", "value": "abc", "b": "c"',
        '"name": "password", "value": "***", "b": "c"',
    ),
    ("token='' password=abc", "token='' password=***"),
    ("token=none password=abc", "token=none password=***"),
    ("max_tokens=5 password=abc", "max_tokens=5 password=***"),
    ("password=abc max_tokens=5 token=xyz", "password=*** max_tokens=5 token=***"),
    ("password=password=abc token=x", "password=*** token=***"),
    ("token=null, password=abc", "token=null, password=***"),
    ("password='it\\'s' b", "password='***' b"),
    ('password="""a"b""" c', 'password="""***""" c'),
    ('password="""a', 'password="""***'),
    ('password = \\"\\"\\"a\nb\\"c\\"\\"\\" d', 'password = \\"\\"\\"***\\"\\"\\" d'),
    ("password=\\'\\'\\'a\\'b", "password=\\'\\'\\'***"),
    ('password=\\\\\\"\\\\\\"\\\\\\"a b', 'password=\\\\\\"\\\\\\"\\\\\\"***'),
    ('password=\\"\\" token=\\"a b\\"', 'password=\\"\\" token=\\"***\\"'),
    ("password=`a b` c", "password=`***` c"),
    ("password=b'abc' c", "password=b'***' c"),
    ("password=[1,[2]] c", "password=*** c"),
    ("password={'a': '}'} c", "password=*** c"),
    ("password=[ c", "password=***"),
    ("password=(a) c", "password=*** c"),
    ('x=\\"password\\": \\"a b\\", c', 'x=\\"password\\": \\"***\\", c'),
    ('x=\\"password\\": \\"a', 'x=\\"password\\": \\"***'),
    ("auth=('bob', 'a)b'), x", "auth=***, x"),
    ("e['API_KEY'] = 'abc'; b", "e['API_KEY'] = '***'; b"),
    ('e[\\"token\\"]=\\"a b\\" c', 'e[\\"token\\"]=\\"***\\" c'),
    ("<password>a b</password> c", "<password>***</password> c"),
    ("<x><apiKey>\n a\n</apiKey></x>", "<x><apiKey>***</apiKey></x>"),
    ("password:\n  abc\nx: y", "password:\n  ***\nx: y"),
    ("  api_key:\r\n\tabc", "  api_key:\r\n\t***"),
    ("token: |-\n  a b\n  c\nd", "token: |-\n  ***\nd"),
    ("token: >\n  a\n\n  c", "token: >\n  ***"),
    ("password => abc d", "password => *** d"),
    ("password := abc d", "password := *** d"),
    ("password == abc d", "password == *** d"),
    ("password:abc", "password:***"),
    ("Authorization: Basic abc def\nx", "Authorization: ***\nx"),
    ("authorization=Bearer abc def", "authorization=***"),
    ("token=Bearer abc def", "token=*** def"),
    ("Cookie: a=b; c=d\nx: y", "Cookie: ***\nx: y"),
    ("- password: a b c\nd", "- password: ***\nd"),
    ('password: a b "c" d', 'password: ***"c" d'),
    ("--pass abc", "--pass ***"),
    ("pass=abc", "pass=***"),
    ("--token\tabc", "--token\t***"),
    ("--token=abc", "--token=***"),
    ("'--token', 'abc', 'x'", "'--token', '***', 'x'"),
    ("curl --user 'bob:abc' x", "curl --user 'bob:***' x"),
    ("-ubob:abc", "-ubob:***"),
    ("--proxy-user=bob:abc", "--proxy-user=bob:***"),
    ("bearer abc=", "bearer ***"),
    ("BEARER abc d", "BEARER *** d"),
    ("\\neyJab.cd.ef", "\\n***"),
    ("sk_live_12345678 rk_test_12345678", "*** ***"),
    ("github_pat_12345678", "***"),
    ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY----- x", "*** x"),
    ("-----BEGIN KEY-----\nabc", "***"),
]
INNOCENT = [
    "the key=abc",
    "password::abc",
    "password://abc",
    "PASS: abc",
    "pass: abc",
    "--token -x",
    "x-u bob:abc",
    "-u http://a.b",
    "xbearer abc",
    "aeyJab.cd.ef",
    "glpat-1234567",
    "sk-1234567",
    "ask-12345678",
    "AKIAAAAAAAAAAAA",
    "access token abc",
    "name: password, value: abc",
    '["a"',
    '{"a": "é"}',
    '{"a":"é"}',
    "password='",
    "token=",
    "login <password> [options] <file>",
    "<token></token>",
    "Password:\n  Enter it here.",
    "auth:\n  type: basic",
    "PASS:\n  test_login",
]


@pytest.mark.parametrize(("value", "masked"), VALUES)
def test_what_remains_of_a_value(value, masked):
    assert mask_secrets(value) == masked
    assert type(mask_secrets(value)) is type(value)


@pytest.mark.parametrize(("text", "masked"), TEXTS)
def test_what_remains_of_a_text(text, masked):
    assert mask_secrets(text) == masked
    assert mask_secrets({"a": [text]}) == {"a": [masked]}


@pytest.mark.parametrize("text", INNOCENT)
def test_what_only_looks_like_a_secret_stays(text):
    assert mask_secrets(text) == text


@pytest.mark.parametrize(("depth", "kept"), [(63, True), (64, False)])
def test_sixty_four_levels_are_looked_at(depth, kept):
    listed, mapped = "cats", "cats"
    for _ in range(depth + 1):
        listed, mapped = [listed], {"a": mapped}
    assert ("cats" in json.dumps(mask_secrets(listed))) is kept
    assert ("cats" in json.dumps(mask_secrets(mapped))) is kept
    assert (MASK in json.dumps(mask_secrets(listed))) is not kept


@pytest.mark.parametrize(
    ("before", "after", "is_masked"),
    [(92, 100, True), (92, 101, True), (93, 100, False), (101, 92, True), (101, 93, False)],
)
def test_of_a_long_key_two_hundred_characters_are_looked_at(before, after, is_masked):
    key = "x" * before + "password" + "x" * after
    assert mask_secrets({key: "abc"}) == {key: MASK if is_masked else "abc"}


def test_a_rule_that_raises_is_logged_by_its_kind(caplog):
    def broken(value):
        raise KeyError(value)

    assert masking_of(broken).text("x") == MASK
    assert caplog.messages == ["mask= raised KeyError; *** is shown instead"]


def test_a_rule_may_return_what_is_no_text():
    assert masking_of(lambda value: {"b": 1.0}).text("x") == '{"b":1}'
    assert masking_of("arguments").arguments({"q": 1}) == MASK
    assert masking_of("arguments").value({"password": "x", "q": 1}) == {"password": MASK, "q": 1}
