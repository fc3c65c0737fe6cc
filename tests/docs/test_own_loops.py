"""The two whole loops of the page on own loops do what each action says."""

import json

import pytest
from model_server import ModelServer, model_server
from test_pages import ROOT, blocks_of

from antiloop import Escalation, LoopDetectedError, LoopDetector, RepeatDetector

openai = pytest.importorskip("openai")
anthropic = pytest.importorskip("anthropic")

PAGE = ROOT / "docs" / "how-to" / "guard-your-own-loop.md"
QUERY = {"query": "refunds"}


class Stubborn(ModelServer):
    """Searches for the same until it is told how often; refuses what the APIs would refuse."""

    until = "never"

    def calls(self, request):
        turns = request.get("messages", request.get("input"))
        text = json.dumps(turns)
        roles = [turn.get("role") for turn in turns]
        assert "system" not in roles
        number = text.count('"call-') // 2
        if request.get("tool_choice") in ("none", {"type": "none"}):
            return [], "Last words."
        if self.until in text:
            return [], "I understand."
        return [(f"call-{number}", "search", QUERY)], ""


def functions_of_the_page():
    """Run what the page defines, and nothing that asks a model."""
    names = {"LoopDetector": LoopDetector}
    for language, code, _ in blocks_of(PAGE):
        wanted = ("def run_tool", "def run_on", "import ToolCall")
        if language == "python" and any(each in code for each in wanted):
            exec(code.partition("\nwith ")[0], names)
    return names


NAMES = functions_of_the_page()


def run_openai(url, monitor):
    with openai.OpenAI(base_url=url, api_key="k", max_retries=0) as client:
        return NAMES["run_on_responses"](client, "m", "Refunds?", monitor)


def run_anthropic(url, monitor):
    with anthropic.Anthropic(base_url=url, api_key="k", max_retries=0) as client:
        return NAMES["run_on_messages"](client, "m", "Refunds?", monitor)


LOOPS = {"openai": run_openai, "anthropic": run_anthropic}


def run(api, *actions, until="never"):
    with model_server(Stubborn()) as server:
        server.until = until
        detector = LoopDetector([RepeatDetector(3)], Escalation(actions))
        try:
            return LOOPS[api](server.url, detector.monitor()), server.received
        except LoopDetectedError as error:
            return error, server.received


@pytest.mark.parametrize("api", LOOPS)
def test_a_notice_reaches_the_model_after_the_results(api):
    said, received = run(api, "notify", "stop", until="[antiloop] Notice:")
    assert (said, len(received)) == ("I understand.", 4)
    last = received[-1].get("messages", received[-1].get("input"))[-1]
    if api == "openai":
        assert last["role"] == "developer"
    else:
        assert [block["type"] for block in last["content"]] == ["tool_result", "text"]


@pytest.mark.parametrize("api", LOOPS)
def test_a_refusal_is_the_result_of_the_call(api):
    said, received = run(api, "block", "block", "stop", until="[antiloop] Refused:")
    assert (said, len(received)) == ("I understand.", 5)


@pytest.mark.parametrize("api", LOOPS)
def test_the_model_has_the_last_word(api):
    said, received = run(api, "conclude")
    assert (said, len(received)) == ("Last words.", 4)
    assert "what is missing" in json.dumps(received[-1])


@pytest.mark.parametrize("api", LOOPS)
def test_a_stop_ends_the_loop(api):
    said, received = run(api, "stop")
    assert said.startswith("Stopped: ")
    assert len(received) == 3


@pytest.mark.parametrize("api", LOOPS)
def test_an_error_ends_the_loop(api):
    error, received = run(api, "raise")
    assert isinstance(error, LoopDetectedError)
    assert len(received) == 3


@pytest.mark.parametrize("arguments", ['{"query": ', '{"nothing": 1}', '"x"'])
def test_arguments_that_cannot_be_used_are_told_to_the_model(arguments):
    result = NAMES["run_tool"](NAMES["ToolCall"]("search", arguments))
    assert result.is_error
