"""Replies that were cut off: a cut call never runs, and a cut text is no answer."""

import json
from functools import partial
from typing import ClassVar

import pytest
from strict_server import (
    WAYS,
    Refused,
    anthropic_events,
    anthropic_whole,
    openai_events,
    openai_whole,
    responses_call,
    responses_events,
    responses_reasoning,
    responses_replies,
    responses_text,
    responses_whole,
    runs_over,
)

from antiloop import Agent, Message, RunStatus, ScriptedProvider
from antiloop.agent import ModelReply, ReplyEnd
from antiloop.agent.providers._anthropic import AnthropicProvider
from antiloop.agent.providers._openai import OpenAIProvider
from antiloop.exceptions import ProviderError
from antiloop.types import Role

pytest.importorskip("openai")
pytest.importorskip("anthropic")


class Disk:
    def __init__(self):
        self.files = {}

    def write_file(self, path: str, text: str = "") -> str:
        """Write a file."""
        self.files[path] = text
        return "written"


class OpenAI:
    """The replies of chat completions."""

    make = OpenAIProvider
    events = staticmethod(openai_events)

    def text(self, text, reason):
        return openai_whole({"content": text}, reason)

    def calls(self, reason, *arguments):
        calls = [
            {"id": f"c{n}", "type": "function", "function": {"name": "write_file", "arguments": a}}
            for n, a in enumerate(arguments)
        ]
        return openai_whole({"content": None, "tool_calls": calls}, reason)

    limit = "max_tokens"
    whole, cut = '{"path": "a.py", "text": "1"}', '{"path": "b.py", "te'
    ends: ClassVar = {"length": "length", "withheld": "content_filter", "done": "stop"}


class Anthropic:
    make = AnthropicProvider
    events = staticmethod(anthropic_events)

    def text(self, text, reason):
        return anthropic_whole([{"type": "text", "text": text}], reason)

    def calls(self, reason, *inputs):
        blocks = [
            {"type": "tool_use", "id": f"c{n}", "name": "write_file", "input": each}
            for n, each in enumerate(inputs)
        ]
        return anthropic_whole(blocks, reason)

    limit = "max_tokens"
    # The API mends what it cut: these arguments fit the schema of the tool.
    whole: ClassVar = {"path": "a.py", "text": "1"}
    cut: ClassVar = {"path": "b.py"}
    ends: ClassVar = {"length": "max_tokens", "withheld": "refusal", "done": "end_turn"}


class Responses(OpenAI):
    """The replies of the Responses API."""

    make = staticmethod(partial(OpenAIProvider, api="responses"))
    events = staticmethod(responses_events)

    def text(self, text, reason):
        return responses_whole([responses_text(text)], reason)

    def calls(self, reason, *arguments):
        calls = [responses_call("write_file", a, n) for n, a in enumerate(arguments)]
        return responses_whole(calls, reason)

    ends: ClassVar = {"length": "max_output_tokens", "withheld": "content_filter", "done": ""}
    limit = "max_output_tokens"


APIS = {"openai": OpenAI(), "responses": Responses(), "anthropic": Anthropic()}


def run_over(api, way, script, tools=(), **options):
    (result,), received = runs_over(
        api.make, way, script, api.events, "Go", tools=tools, options=options
    )
    return result, received


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("limit", [77, None])
def test_a_text_that_was_cut_off_is_no_answer(api, way, limit):
    api = APIS[api]
    options = {} if limit is None else {api.limit: limit}
    script = lambda _: api.text("The answer is four", api.ends["length"])  # noqa: E731
    result, received = run_over(api, way, script, **options)
    assert (result.status, result.text) == (RunStatus.TRUNCATED, "The answer is four")
    assert (f"{api.limit}=77; raise it" if limit else "the model allows") in result.error
    assert len(received) == 1


@pytest.mark.parametrize("api", APIS)
def test_an_answer_that_was_withheld_says_why(api):
    api = APIS[api]
    reason = api.ends["withheld"]
    result, _ = run_over(api, "run", lambda _: api.text("I will", reason))
    assert result.status is RunStatus.TRUNCATED
    assert reason in result.error


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("model_length", "raise"),
        ("sensitive", "withheld"),
        ("error", "ask again"),
        ("network_error", "ask again"),
        ("insufficient_system_resource", "ask again"),
        ("abort", "ask again"),
    ],
)
def test_servers_have_reasons_of_their_own_to_cut_an_answer_off(way, reason, said):
    api = APIS["openai"]
    script = lambda _: api.text("The answer is", reason)  # noqa: E731
    result, received = run_over(api, way, script, max_tokens=77)
    assert (result.status, result.text) == (RunStatus.TRUNCATED, "The answer is")
    assert said in result.error
    assert len(received) == 1


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("end", ["length", "withheld"])
def test_a_call_that_was_cut_off_never_runs(api, way, end):
    api, disk = APIS[api], Disk()
    first = api.calls(api.ends[end], api.whole, api.cut)

    def script(request):
        said = request.get("messages") or request["input"]
        return first if len(said) == 1 else api.text("Done.", api.ends["done"])

    result, _ = run_over(api, way, script, [disk.write_file])
    # What came before the cut is whole; of a reply that was withheld nothing is done.
    assert disk.files == ({"a.py": "1"} if end == "length" else {})
    assert [each.is_error for each in result.tool_results] == [end == "withheld", True]
    assert "Tool 'write_file' was not run: the reply" in result.tool_results[1].text
    assert (result.status, result.text) == (RunStatus.COMPLETED, "Done.")


@pytest.mark.parametrize("way", WAYS)
def test_reasoning_that_was_cut_off_is_not_sent_back(way):
    def script(request):
        replies = responses_replies(request)
        if not replies and "again" not in str(request["input"]):
            return responses_whole([responses_reasoning("So", 0)], "max_output_tokens")
        return responses_whole([responses_reasoning("So", 1), responses_text("Four.")])

    api = APIS["responses"]
    results, _ = runs_over(api.make, way, script, api.events, "Go")
    (first,) = results
    assert (first.status, first.text) == (RunStatus.TRUNCATED, "")
    again = [*first.messages, Message(Role.USER, "Go again")]
    (second,), received = runs_over(api.make, way, script, api.events, again)
    assert (second.status, second.text) == (RunStatus.COMPLETED, "Four.")
    assert [each["role"] for each in received[0]["input"]] == ["user", "user"]


@pytest.mark.parametrize("end", [ReplyEnd.LENGTH, ReplyEnd.BROKEN, ReplyEnd.WITHHELD])
def test_a_cut_answer_is_not_asked_for_again_as_invalid_json(end):
    agent = Agent([], ScriptedProvider([ModelReply('{"a": 1', end=end)]))
    result = agent.run("Go", response_format={"type": "object"})
    assert (result.status, result.output) == (RunStatus.TRUNCATED, None)
    assert end.value in result.error


@pytest.mark.parametrize("way", WAYS)
def test_a_turn_that_was_paused_goes_on(way):
    searched = [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"page": "signed"}]},
    ]

    def script(request):
        *_, last = request["messages"]
        if last["role"] == "user":
            return anthropic_whole(searched, "pause_turn")
        if last["content"] != searched:
            raise Refused("the paused turn was changed")
        return anthropic_whole([{"type": "text", "text": "Found."}])

    result, received = run_over(APIS["anthropic"], way, script)
    assert (result.status, result.text, len(received)) == (RunStatus.COMPLETED, "Found.", 2)


def test_a_turn_that_is_paused_for_ever_ends_with_the_iterations():
    provider = ScriptedProvider([ModelReply(end=ReplyEnd.PAUSED)], repeat_last=True)
    assert Agent([], provider).run("Go").status is RunStatus.MAX_ITERATIONS


def test_a_broken_stream_runs_what_is_whole_and_says_how_to_go_on():
    disk = Disk()

    def half(whole):
        return list(openai_events(whole))[:-1]

    api = OpenAI()
    api.events = half

    def script(request):
        is_first = len(request["messages"]) == 1
        return api.calls("stop", api.whole, api.cut) if is_first else api.text("Do", "stop")

    result, _ = run_over(api, "stream", script, [disk.write_file])
    assert disk.files == {"a.py": "1"}
    assert result.status is RunStatus.TRUNCATED
    assert "has_end_mark=False" in result.error


@pytest.mark.parametrize("way", ["stream", "astream"])
def test_a_broken_stream_of_items_runs_what_is_whole(way):
    disk, api = Disk(), Responses()
    api.events = lambda whole: list(responses_events(whole))[:-2]

    def script(request):
        if len(request["input"]) > 1:
            return responses_whole([responses_text("Done"), responses_reasoning("So")])
        return responses_whole(
            [responses_reasoning("I write.", 7), *api.calls("", api.whole, api.cut)["output"]]
        )

    result, (_, last) = run_over(api, way, script, [disk.write_file])
    assert disk.files == {"a.py": "1"}
    assert (result.status, result.text) == (RunStatus.TRUNCATED, "Done")
    assert "has_end_mark=False" in result.error
    # What was whole goes back, and of the call that was cut what there is.
    reasoning, whole, cut = last["input"][1:4]
    assert reasoning == responses_reasoning("I write.", 7)
    assert whole["arguments"] == api.whole
    assert json.loads(cut["arguments"]) == {"raw_arguments": api.cut}


def test_a_server_may_leave_out_the_end_of_its_streams():
    api = Responses()
    api.events = lambda whole: list(responses_events(whole))[:-1]
    said = lambda _: responses_whole([responses_text("Four.")])  # noqa: E731
    result, _ = run_over(api, "stream", said, has_end_mark=False)
    assert (result.status, result.text) == (RunStatus.COMPLETED, "Four.")


def test_a_server_may_leave_out_what_its_stream_has_brought():
    api = Responses()
    api.events = lambda whole: [
        *list(responses_events(whole))[:-1],
        {"type": "response.completed", "response": {**whole, "output": []}},
    ]
    said = lambda _: responses_whole([responses_text("Four.")])  # noqa: E731
    result, _ = run_over(api, "stream", said)
    assert (result.text, result.usage.output_tokens) == ("Four.", 5)


def limited(most):
    def script(request):
        if request["max_tokens"] > most:
            asked = request["max_tokens"]
            raise Refused(f"max_tokens: {asked} > {most}, which is the maximum allowed number")
        return anthropic_whole([{"type": "text", "text": "Yes."}])

    return script


@pytest.mark.parametrize("way", WAYS)
def test_a_reply_may_be_as_long_as_the_model_allows(way):
    results, received = runs_over(
        AnthropicProvider, way, limited(8192), anthropic_events, "Go", "Go on"
    )
    assert [result.text for result in results] == ["Yes."] * 2
    # The limit is learnt once.
    assert [each["max_tokens"] for each in received] == [64_000, 8192, 8192]


@pytest.mark.parametrize("way", ["run", "arun"])
def test_a_reply_may_be_as_long_as_the_context_allows(way):
    def script(request):
        if request["max_tokens"] > 1000:
            raise Refused(
                "input length and `max_tokens` exceed context limit: 199000 + 64000 > 200000"
            )
        return anthropic_whole([{"type": "text", "text": "Yes."}])

    result, received = run_over(APIS["anthropic"], way, script)
    assert result.text == "Yes."
    assert [each["max_tokens"] for each in received] == [64_000, 1000]


@pytest.mark.parametrize("way", ["run", "arun"])
def test_a_limit_of_the_users_is_not_changed(way):
    with pytest.raises(ProviderError, match="max_tokens: 9000 > 8192"):
        run_over(APIS["anthropic"], way, limited(8192), max_tokens=9000)


@pytest.mark.parametrize("way", ["run", "arun"])
def test_another_refusal_is_raised(way):
    def script(request):
        raise Refused("prompt is too long: 300000 tokens > 200000 maximum")

    with pytest.raises(ProviderError, match="prompt is too long"):
        run_over(APIS["anthropic"], way, script)
