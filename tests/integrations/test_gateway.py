"""Requests are judged by the conversation that they carry, and by nothing else."""

import copy
import json

import pytest
from contract import Hearer, Raising, detector
from hypothesis import given
from hypothesis import strategies as st
from request_bodies import BODIES, SECRET, anthropic, chat, repeated, responses

from antiloop import LoopDetector, LoopPolicy
from antiloop.formats import from_anthropic, from_openai_chat, from_openai_responses
from antiloop.integrations._guard import Guard
from antiloop.integrations.gateway import GatewayGuard, judge_request
from antiloop.loop_detection import ClientProfile, Escalation, LoopAction
from antiloop.loop_detection._messages import NOTICE_MARKER

STOP = detector(LoopPolicy.STOP)
BLOCK = detector(Escalation(("block",)))
READERS = {
    "openai_chat": from_openai_chat,
    "openai_responses": from_openai_responses,
    "anthropic": from_anthropic,
}
PLACES = {"openai_chat": "messages", "openai_responses": "input", "anthropic": "messages"}
NO_TOOLS = {
    "openai_chat": {"tool_choice": "none"},
    "openai_responses": {"tool_choice": "none"},
    "anthropic": {"tool_choice": {"type": "none"}},
}

kinds = pytest.mark.parametrize("kind", BODIES)


def last_words(kind, body):
    """Return the text that stands at the end of a conversation."""
    last = body[PLACES[kind]][-1]
    return last["content"] if kind != "anthropic" else last["content"][-1]["text"]


@kinds
def test_two_equal_calls_are_sent_on_as_they_came(kind):
    body = BODIES[kind](repeated(2))
    judged = judge_request(body, kind)
    assert judged.body is body
    assert (judged.answer, judged.verdict.action) == (None, LoopAction.CONTINUE)


def test_a_client_is_known_by_its_tools_and_what_it_wraps_brings_nothing_new():
    rounds = [
        [("exec_command", {"cmd": "make"}, f"Chunk ID: {number:06x}\nOutput:\nfailed\n")]
        for number in range(3)
    ]
    tools = [{"type": "function", "name": name} for name in ("exec_command", "write_stdin", "exec")]
    judged = judge_request(responses(rounds, tools=tools), "openai_responses")
    assert judged.verdict.action is LoopAction.NOTIFY
    unknown = judge_request(responses(rounds), "openai_responses")
    assert unknown.verdict.action is LoopAction.CONTINUE


def test_a_client_of_ones_own_is_known_by_its_profile(tmp_path, monkeypatch):
    rounds = [[("search", {"query": "cats"}, f"took {word} hours\nnone")] for word in "abc"]
    body = responses(rounds)
    own = ClientProfile("ours", tools=("search",), wraps=(r"^took \w+ hours\n",))
    guard = GatewayGuard(LoopDetector.escalating(), profiles=[own])
    assert guard.judge_request(body, "openai_responses").verdict.action is LoopAction.NOTIFY
    assert judge_request(body, "openai_responses").verdict.action is LoopAction.CONTINUE
    monkeypatch.chdir(tmp_path)
    text = "[profiles.ours]\ntools = ['search']\nwraps = ['^took \\w+ hours\\n']"
    (tmp_path / "antiloop.toml").write_text(text, "utf-8")
    judged = GatewayGuard().judge_request(body, "openai_responses")
    assert judged.verdict.action is LoopAction.NOTIFY


@pytest.mark.parametrize(
    ("words", "action"),
    [
        ("<task-notification>\n<status>failed</status>\n</task-notification>", LoopAction.STOP),
        ("<system-reminder>\nToday is Monday.\n</system-reminder>", LoopAction.STOP),
        ("<system-reminder>\nx\n</system-reminder>\nTry it again", LoopAction.CONTINUE),
        ("Try it again", LoopAction.CONTINUE),
    ],
)
def test_only_what_a_person_says_begins_a_turn(words, action):
    messages = anthropic(repeated(1))["messages"]
    for _ in range(4):
        messages += [{"role": "user", "content": words}, *anthropic(repeated(1))["messages"][1:]]
    tools = [{"name": name} for name in ("Bash", "Read", "Edit")]
    judged = judge_request({"messages": messages, "tools": tools}, "anthropic")
    assert judged.verdict.action is action


@kinds
def test_a_notice_stands_after_the_results(kind):
    body = BODIES[kind](repeated(3))
    told = judge_request(body, kind).body
    assert NOTICE_MARKER in last_words(kind, told)
    read, sent = READERS[kind](told[PLACES[kind]]), READERS[kind](body[PLACES[kind]])
    assert list(read.rounds()) == list(sent.rounds())
    assert len(read.last_turn()) == len(sent.last_turn()) == 3
    assert {**told, PLACES[kind]: body[PLACES[kind]]} == body


@kinds
def test_a_notice_is_no_second_message_of_the_user_where_roles_take_turns(kind):
    told = judge_request(BODIES[kind](repeated(3)), kind).body[PLACES[kind]]
    grown = len(told) - len(BODIES[kind](repeated(3))[PLACES[kind]])
    assert grown == (0 if kind == "anthropic" else 1)


@pytest.mark.parametrize("kind", ["openai_chat", "openai_responses"])
@pytest.mark.parametrize(("model", "bridges"), [("gpt-5", 0), ("mistral/devstral-medium", 1)])
def test_a_model_of_mistral_has_spoken_between_the_results_and_a_notice(kind, model, bridges):
    body = BODIES[kind](repeated(3), model=model)
    for action in ("notify", "block", "conclude"):
        found = detector(Escalation((action,)))
        *_, before, notice = judge_request(body, kind, found).body[PLACES[kind]]
        assert NOTICE_MARKER in notice["content"]
        assert (before.get("role") == "assistant") == bool(bridges)


@kinds
def test_a_block_lets_no_tool_be_called_and_says_why(kind):
    judged = judge_request(BODIES[kind](repeated(3)), kind, BLOCK)
    assert judged.body["tool_choice"] == NO_TOOLS[kind]["tool_choice"]
    assert judged.body["tools"]
    assert "was called 3 times in a row" in last_words(kind, judged.body)
    assert "No tool can be called now" in last_words(kind, judged.body)
    assert judged.answer is None


@kinds
def test_the_last_words_are_asked_for_once_and_without_tools(kind):
    conclude = detector(Escalation(("notify", "conclude")))
    judged = [judge_request(BODIES[kind](repeated(times)), kind, conclude) for times in range(2, 7)]
    actions = [each.verdict.action.value for each in judged]
    assert actions == ["continue", "notify", "conclude", "conclude", "conclude"]
    asked = judged[2]
    assert asked.answer is None
    assert asked.body["tool_choice"] == NO_TOOLS[kind]["tool_choice"]
    assert asked.body["tools"]
    assert "was called 4 times in a row" in last_words(kind, asked.body)
    assert "what is still missing" in last_words(kind, asked.body)
    # The model has called a tool all the same: nobody asks it a second time.
    for later in judged[3:]:
        assert later.answer.text.startswith("Stopped: the agent was stuck in a loop.")


def test_the_last_words_are_asked_for_where_only_plans_were_repeated_before():
    # `update_plan` is exempt for who knows the client, here by its tools.
    rounds = [[("update_plan", {}, "ok")]] * 4 + [[("exec_command", {"cmd": "ls"}, "a")]] * 3
    tools = [{"type": "function", "name": name} for name in ("exec_command", "write_stdin", "exec")]
    conclude = detector(Escalation(("conclude",)))
    judged = judge_request(responses(rounds, tools=tools), "openai_responses", conclude)
    assert (judged.verdict.action, judged.answer) == (LoopAction.CONCLUDE, None)


@kinds
def test_who_speaks_after_the_last_words_is_heard(kind):
    conclude = detector(Escalation(("conclude",)))
    body = BODIES[kind](repeated(3), words=["try again"])
    body[PLACES[kind]] += BODIES[kind](repeated(3))[PLACES[kind]][1:]
    judged = judge_request(body, kind, conclude)
    assert (judged.verdict.action, judged.answer) == (LoopAction.CONCLUDE, None)


@kinds
def test_a_block_chooses_nothing_where_no_tools_are_offered(kind):
    body = BODIES[kind](repeated(3))
    del body["tools"]
    assert "tool_choice" not in judge_request(body, kind, BLOCK).body


def test_functions_of_the_older_kind_are_not_called_either():
    body = chat(repeated(3), functions=[{"name": "search"}])
    del body["tools"]
    judged = judge_request(body, "openai_chat", BLOCK).body
    assert judged["function_call"] == "none"
    assert "tool_choice" not in judged


@kinds
def test_a_block_stands_as_long_as_its_calls_go_on(kind):
    rarely = detector(Escalation(("block",), every=3))
    for times, action in ((2, "continue"), (3, "block"), (4, "block"), (5, "block")):
        judged = judge_request(BODIES[kind](repeated(times)), kind, rarely)
        assert judged.verdict.action.value == action
    left = [*repeated(4), [("search", {"query": "returns"}, "14 days")]]
    assert judge_request(BODIES[kind](left), kind, rarely).verdict.action is LoopAction.CONTINUE


@kinds
@pytest.mark.parametrize("streamed", [False, True])
def test_a_stop_is_an_answer_in_place_of_the_models(kind, streamed):
    body = BODIES[kind](repeated(3), stream=streamed)
    judged = judge_request(body, kind, STOP)
    assert judged.body is body
    assert (judged.answer.status, judged.answer.model) == (200, "m")
    assert judged.answer.text.startswith("Stopped: the agent was stuck in a loop.")
    media = "text/event-stream" if streamed else "application/json"
    assert judged.answer.content_type == media
    assert judged.answer.text in judged.answer.content(7).decode()


@kinds
@pytest.mark.parametrize("streamed", [False, True])
def test_a_raise_is_an_error_of_the_api(kind, streamed):
    raising = detector(LoopPolicy.RAISE)
    answer = judge_request(BODIES[kind](repeated(3), stream=streamed), kind, raising).answer
    assert (answer.status, answer.content_type) == (400, "application/json")
    error = json.loads(answer.content(7))["error"]
    assert error["type"] == "invalid_request_error"
    assert "3 times in a row" in error["message"]


@kinds
def test_the_ladder_is_read_off_the_conversation(kind):
    actions = [
        judge_request(BODIES[kind](repeated(times)), kind).verdict.action.value
        for times in range(1, 7)
    ]
    assert actions == ["continue", "continue", "notify", "block", "stop", "stop"]


@kinds
def test_who_says_try_again_is_heard(kind):
    body = BODIES[kind](repeated(6), words=["try again"])
    assert judge_request(body, kind, STOP).body is body
    assert judge_request(body, kind, STOP).answer is None
    assert judge_request(body, kind, STOP, across_turns=True).answer is None
    again = BODIES[kind](repeated(6), words=["try again"])
    more = BODIES[kind](repeated(2))[PLACES[kind]][1:]
    again[PLACES[kind]] += more
    assert judge_request(again, kind, STOP).answer is None
    assert judge_request(again, kind, STOP, across_turns=True).answer is not None


@kinds
def test_our_own_notice_is_no_word_of_the_user(kind):
    told = judge_request(BODIES[kind](repeated(3)), kind).body
    goes_on = {**told, PLACES[kind]: [*told[PLACES[kind]]]}
    goes_on[PLACES[kind]] += BODIES[kind](repeated(2))[PLACES[kind]][1:]
    assert judge_request(goes_on, kind).verdict.action is LoopAction.STOP


def test_a_reminder_of_the_client_is_no_word_of_the_user():
    said = "<system-reminder>\nThe list of tasks is empty.\n</system-reminder>"
    assert judge_request(anthropic(repeated(3), beside=[said]), "anthropic", STOP).answer
    words = f"{said} try again"
    assert not judge_request(anthropic(repeated(3), beside=[words]), "anthropic", STOP).answer
    told = judge_request(anthropic(repeated(3), beside=[said]), "anthropic").body
    assert [each["type"] for each in told["messages"][-1]["content"]] == [
        "tool_result",
        "text",
        "text",
    ]


@pytest.mark.parametrize("role", ["system", "developer"])
def test_a_system_message_may_follow_the_results(role):
    body = chat(repeated(3))
    body["messages"].append({"role": role, "content": "Be brief."})
    assert judge_request(body, "openai_chat", STOP).answer is not None


def test_a_notice_may_follow_a_system_message():
    body = anthropic(repeated(3))
    body["messages"].append({"role": "system", "content": "Be brief."})
    *sent, added = judge_request(body, "anthropic").body["messages"]
    assert sent == body["messages"]
    assert NOTICE_MARKER in added["content"]


def test_a_paused_turn_is_continued_as_it_is():
    """The last message is the model's then, and what is added to it would be the model's words."""
    body = anthropic([])
    for number in range(5):
        asked = {"type": "server_tool_use", "id": f"s{number}", "name": "find", "input": {}}
        given = {"type": "web_search_tool_result", "tool_use_id": f"s{number}", "content": "none"}
        body["messages"].append({"role": "assistant", "content": [asked, given]})
        assert judge_request(body, "anthropic").body is body
    body["messages"] += anthropic([[("find", {}, "none")]])["messages"][1:]
    assert judge_request(body, "anthropic", STOP).answer is not None


@kinds
def test_parallel_calls_are_one_round(kind):
    calls = [("search", {"query": "refunds"}, "nothing found")] * 3
    assert judge_request(BODIES[kind]([calls]), kind, STOP).answer is None
    beside = [[calls[0], ("note", {"text": f"line {number}"}, "ok")] for number in range(3)]
    assert judge_request(BODIES[kind](beside), kind, STOP).answer is not None


@kinds
def test_different_calls_and_a_poll_that_moves_on_pass(kind):
    different = [[("search", {"query": f"{topic} rules"}, f"see {topic}")] for topic in "abcdef"]
    poll = [[("search", {"query": "x"}, f"{done} of 60 copied")] for done in range(10, 70, 10)]
    for rounds in (different, poll):
        body = BODIES[kind](rounds)
        assert judge_request(body, kind).body is body


@kinds
def test_ignored_tools_pass(kind):
    body = BODIES[kind](repeated(6))
    assert judge_request(body, kind, STOP, ignore=["search"]).body is body


@kinds
def test_a_detector_that_raises_harms_nothing(kind):
    body = BODIES[kind](repeated(6))
    assert judge_request(body, kind, detector(LoopPolicy.RAISE, Raising())).body is body


@kinds
@pytest.mark.parametrize("policy", [*LoopPolicy, Escalation()])
def test_secrets_are_masked(kind, policy):
    body = BODIES[kind]([[("login", {"api_key": SECRET, "user": "ann"}, "nothing found")]] * 3)
    judged = judge_request(body, kind, detector(policy))
    assert judged.verdict.action is not LoopAction.CONTINUE
    said = last_words(kind, judged.body) if judged.answer is None else ""
    said += judged.answer.content(7).decode() if judged.answer else ""
    assert "login" in said
    assert SECRET not in said


@kinds
def test_observers_are_notified_of_which_run(kind):
    hearer = Hearer()
    guard = GatewayGuard(STOP, observers=[hearer])
    guard.judge_request(BODIES[kind](repeated(3)), kind, "run-1")
    assert (hearer.heard, hearer.runs) == (["repeat"], ["run-1"])


def test_an_unknown_api_is_named():
    with pytest.raises(ValueError, match="unknown kind 'gemini'; choose from openai_chat, openai"):
        judge_request({}, "gemini")


# What anyone may send.
NAMES = st.sampled_from(
    "role content type id name input arguments output call_id function tool_calls tool_use_id"
    " text".split()
)
TYPES = st.sampled_from(
    "user assistant tool tool_use tool_result text function_call function_call_output".split()
)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=20,
)
MESSAGES = st.lists(
    JUNK | st.dictionaries(NAMES, JUNK | TYPES | st.just("x"), max_size=6), max_size=8
)


@kinds
@given(messages=MESSAGES | JUNK, more=st.dictionaries(st.text(max_size=5), JUNK, max_size=2))
def test_what_is_no_conversation_is_survived_and_never_changed(kind, messages, more):
    body = {**more, PLACES[kind]: messages}
    before = copy.deepcopy(body)
    judged = judge_request(body, kind, detector(Escalation()))
    assert body == before
    if judged.answer is not None:
        judged.answer.content(0)
    json.dumps(judged.body)


@kinds
@given(body=JUNK)
def test_what_is_no_request_is_sent_on_as_it_came(kind, body):
    judged = judge_request(body, kind)
    assert (judged.body is body, judged.answer) == (True, None)


ROUNDS = st.lists(
    st.lists(
        st.tuples(
            st.sampled_from(["search", "write", "x"]),
            st.fixed_dictionaries({"q": st.sampled_from(["a", "b", 1, True, None, [], "a b c"])}),
            st.sampled_from(
                [
                    "nothing found",
                    "",
                    "error: no",
                    "ok",
                    "12 files at 10:42:17",
                    "12 files at 11:02:19",
                ]
                + [f"the text of page {n}" for n in range(3)]
            ),
        ),
        min_size=1,
        max_size=3,
    ),
    max_size=14,
)


@kinds
@given(rounds=ROUNDS)
def test_a_request_is_never_changed_and_judged_the_same_again(kind, rounds):
    body = BODIES[kind](rounds)
    before = copy.deepcopy(body)
    first, second = judge_request(body, kind), judge_request(body, kind)
    assert (first.body, first.answer) == (second.body, second.answer)
    assert body == before


@kinds
@given(rounds=ROUNDS)
def test_every_api_gives_the_verdict_of_the_monitor(kind, rounds):
    guard = Guard()
    monitor, verdict = guard.monitor(), None
    for together in READERS[kind](BODIES[kind](rounds)[PLACES[kind]]).rounds():
        verdict = guard.record(monitor, together)
    judged = judge_request(BODIES[kind](rounds), kind).verdict
    if verdict is not None and verdict.action is not LoopAction.CONTINUE:
        assert (judged.action, judged.detection) == (verdict.action, verdict.detection)
    else:
        assert judged.action in (LoopAction.CONTINUE, LoopAction.BLOCK)


def test_an_answer_has_an_id_of_its_own_and_the_same_when_asked_again():
    bodies = [responses(repeated(times), stream=False) for times in (3, 3, 4)]
    one, again, other = (judge_request(b, "openai_responses", STOP).answer.key for b in bodies)
    assert one == again != other


def test_without_a_detector_the_settings_of_the_folder_count(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert len(GatewayGuard().detector.detectors) == len(LoopDetector.escalating().detectors)
    (tmp_path / "antiloop.toml").write_text("shadow = true\n", "utf-8")
    assert GatewayGuard().detector.shadow
    assert not GatewayGuard(LoopDetector.escalating()).detector.shadow
    (tmp_path / "antiloop.toml").write_text("shadwo = true\n", "utf-8")
    with pytest.raises(ValueError, match="did you mean 'shadow'"):
        GatewayGuard()
