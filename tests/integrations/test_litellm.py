"""The contract with the LiteLLM proxy on loopback, and what is special about it."""

import asyncio
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from contract import Hearer, detector
from gateway_contract import GatewayContract
from model_server import model_server
from request_bodies import chat, repeated
from served import served

# Read when it is imported: nothing is fetched, and no key is asked for.
os.environ.update(
    LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY="true",
    LITELLM_LOCAL_MODEL_COST_MAP="true",
    LITELLM_TELEMETRY="false",
    LITELLM_LOG="ERROR",
)
pytest.importorskip("litellm", reason="needs the extra 'litellm'")
pytest.importorskip("litellm.proxy.proxy_server", reason="needs the extra 'litellm'")

import litellm
from litellm.proxy import proxy_server
from litellm.proxy.proxy_server import app
from litellm.types.utils import (
    Delta,
    ModelResponseStream,
    StreamingChoices,
    TextChoices,
    TextCompletionResponse,
)

from antiloop import LoopDetector, LoopPolicy
from antiloop.integrations.litellm import LoopGuard, handler

# The proxy runs in this process, where a warning that is an error would break a request.
pytestmark = pytest.mark.filterwarnings("ignore")


CONFIG = """
model_list:
  - model_name: m
    litellm_params: {{model: openai/m, api_base: "{url}/v1", api_key: none}}
  - model_name: claude-m
    litellm_params: {{model: anthropic/claude-m, api_base: "{url}", api_key: none}}
litellm_settings:
  callbacks: antiloop.integrations.litellm.handler
  num_retries: 0
"""


def guard_by(**options):
    """Let the handler that the configuration names be another."""
    vars(handler).update(vars(LoopGuard(**options)))


@contextmanager
def proxy():
    """Run the proxy in front of a scripted model; give both, and what sets the guard."""
    with tempfile.TemporaryDirectory() as folder, model_server() as model:
        config = Path(folder, "config.yaml")
        config.write_text(CONFIG.format(url=model.url), encoding="utf-8")
        os.environ["CONFIG_FILE_PATH"] = str(config)
        with served(closing_its_clients) as url:
            yield url, model, guard_by


async def closing_its_clients(scope, receive, send):
    """Run the proxy; when it ends, close what it calls models with, which it leaves open itself."""

    async def sending(message):
        if message["type"] == "lifespan.shutdown.complete":
            await litellm.close_litellm_async_clients()
        await send(message)

    await app(scope, receive, sending)


class LiteLLMContract(GatewayContract):
    name = "litellm"
    start = staticmethod(proxy)


class TestChat(LiteLLMContract):
    kind = "openai_chat"


class TestResponses(LiteLLMContract):
    kind = "openai_responses"
    test_resumed_elsewhere = None  # as for `TestChat`: two more proxies start for each API


class TestMessages(LiteLLMContract):
    kind = "anthropic"
    test_resumed_elsewhere = None  # the same


def hooked(data, call_type, guard=None):
    """Return what the hook gives for a request."""
    guard = guard or LoopGuard(detector(LoopPolicy.INJECT_MESSAGE))
    return asyncio.run(guard.async_pre_call_hook(None, None, data, call_type))


def test_the_handler_is_what_the_configuration_names(gateway_of):
    gateway_of(proxy)
    assert handler in litellm.callbacks


def test_other_endpoints_pass():
    assert hooked(chat(repeated(3)), "aembedding") is None
    assert hooked(chat(repeated(3)), "acompletion") is not None


def test_a_request_without_a_loop_is_left_as_it_is():
    assert hooked(chat(repeated(2)), "acompletion") is None


def test_observers_hear_of_which_session():
    hearer = Hearer()
    guard = LoopGuard(detector(LoopPolicy.INJECT_MESSAGE), observers=[hearer])
    data = {**chat(repeated(3)), "litellm_call_id": "call-1"}
    hooked(data, "acompletion", guard)
    hooked({**data, "litellm_session_id": "session-1"}, "acompletion", guard)
    assert hearer.runs == ["call-1", "session-1"]


def test_what_goes_wrong_harms_no_request(monkeypatch, caplog):
    guard = LoopGuard()
    monkeypatch.setattr(guard, "ajudge_request", lambda *_: 1 / 0)
    assert hooked(chat(repeated(3)), "acompletion", guard) is None
    assert "could not be judged" in caplog.text


CHANT = "I should look at the file again before I go on. "


def streamed(guard, pieces):
    """Return the parts that a client gets of a stream, and how many were left unread."""
    return read_through(
        guard,
        [
            ModelResponseStream(choices=[StreamingChoices(index=0, delta=Delta(**piece))])
            for piece in pieces
        ],
    )


def read_through(guard, waiting):
    """Return the parts that a client gets of these, and how many were left unread."""

    async def response():
        while waiting:
            yield waiting.pop(0)

    async def read():
        asked = {"litellm_session_id": "session-1"}
        parts = guard.async_post_call_streaming_iterator_hook(None, response(), asked)
        return [part.choices[0] async for part in parts]

    return asyncio.run(read()), len(waiting)


def test_a_stream_of_thoughts_that_repeat_ends_for_its_length():
    hearer = Hearer()
    given, unread = streamed(LoopGuard(observers=[hearer]), [{"reasoning_content": CHANT}] * 60)
    assert unread == 60 - len(given) > 40
    assert [each.finish_reason for each in given] == [None] * (len(given) - 1) + ["length"]
    assert given[-1].delta.reasoning_content == CHANT
    assert hearer.runs == ["session-1"]


def test_a_stream_of_another_api_is_the_same():
    parts = [TextCompletionResponse(choices=[TextChoices(text="a")], stream=True)] * 2
    first = parts[0].choices[0]
    assert not hasattr(first, "delta")
    given, unread = read_through(LoopGuard(), parts)
    assert ([each is first for each in given], unread) == ([True, True], 0)


def test_a_stream_that_says_something_new_is_read_to_its_end():
    pieces = [{"reasoning_content": f"Part {n} comes now. "} for n in range(60)]
    pieces += [{"content": CHANT}] * 60  # the next request is judged by it, and it may hold calls
    given, unread = streamed(LoopGuard(), pieces)
    assert (len(given), unread) == (120, 0)
    assert {each.finish_reason for each in given} == {None}


def test_a_stream_is_read_to_its_end_where_nothing_is_to_be_done():
    guard = LoopGuard(LoopDetector.escalating(shadow=True))
    assert len(streamed(guard, [{"reasoning_content": CHANT}] * 60)[0]) == 60


@pytest.mark.parametrize(
    ("behind", "before"), [("openai/gpt-5", "tool"), ("mistral/x", "assistant")]
)
def test_a_model_of_mistral_is_known_by_what_the_proxy_calls_it(behind, before, monkeypatch):
    parameters = {"model": behind, "api_key": "none"}
    known = [{"model_name": "coder", "litellm_params": parameters}]
    monkeypatch.setattr(proxy_server, "llm_router", litellm.Router(model_list=known))
    sent = hooked(chat(repeated(3), model="coder"), "acompletion")
    assert [each["role"] for each in sent["messages"][-2:]] == [before, "user"]
    assert "was called 3 times in a row" in sent["messages"][-1]["content"]
