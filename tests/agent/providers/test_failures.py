"""Failures of a model: what is asked for again, and what the error says in the end."""

import asyncio
import io
import json
import pickle
import threading
import time
from types import SimpleNamespace

import pytest

from antiloop.agent.providers._anthropic import AnthropicProvider
from antiloop.agent.providers._failures import named_failures
from antiloop.agent.providers._openai import OpenAIProvider
from antiloop.agent.providers._protocol import ModelReply, ModelRequest
from antiloop.exceptions import ProviderError
from antiloop.types import Message, Role

ASK = ModelRequest((Message(Role.USER, "hello"),))
WAYS = ("complete", "acomplete", "stream", "astream")
PROVIDERS = {"openai": OpenAIProvider, "anthropic": AnthropicProvider}
AT_ONCE = {"retry-after-ms": "1"}
REMEDIES = {
    400: "Check the options of the provider",
    401: "Check the API key",
    403: "Check that the key may use this model",
    404: "Check the name of the model",
    413: "Send a shorter conversation",
    418: "Check the options of the provider",
    429: "Ask less often",
    500: "The server has trouble",
    529: "The server has trouble",
}


class Model:
    """A provider whose server answers as a script says."""

    def __init__(self, vendor, server):
        self.vendor, self.server = vendor, server

    def made(self, options=None, *, url=None, **script):
        own = {"base_url": url or self.server.url, "api_key": "k", **(options or {})}
        return PROVIDERS[self.vendor](json.dumps(script), client_options=own)

    def sharing_a_client(self, scripts, **options):
        """Yield a provider for each script; to make a client takes a while."""
        sdk = pytest.importorskip(self.vendor)
        make = sdk.OpenAI if self.vendor == "openai" else sdk.Anthropic
        with make(base_url=self.server.url, api_key="k", **options) as client:
            for script in scripts:
                yield PROVIDERS[self.vendor](json.dumps(script), client=client)

    def ask(self, way, options=None, **script):
        """Ask in one of the four ways, and give the reply."""
        return asyncio.run(self._ask(way, self.made(options, **script)))

    async def _ask(self, way, provider):
        async with provider:
            answer = getattr(provider, way)(ASK)
            if way == "stream":
                return list(answer)[-1]
            if way == "astream":
                return [item async for item in answer][-1]
            return await answer if way == "acomplete" else answer

    def failure(self, way="complete", options=None, **script):
        """Ask once, and give the error."""
        with pytest.raises(ProviderError) as raised:
            self.ask(way, {"max_retries": 0, **(options or {})}, **script)
        return raised.value


@pytest.fixture(params=PROVIDERS)
def model(request):
    pytest.importorskip(request.param)
    return Model(request.param, request.getfixturevalue(f"{request.param}_server"))


@pytest.mark.parametrize("way", WAYS)
def test_a_failure_that_may_pass_is_asked_for_again(model, way):
    assert model.ask(way, fails=[429, 503], headers=AT_ONCE, text="ok") == ModelReply("ok")
    assert len(model.server.received) == 3


def test_between_the_tries_the_server_says_how_long_to_wait(model, monkeypatch):
    waits = []
    monkeypatch.setattr(time, "sleep", waits.append)
    with model.made(fails=[429, 503], headers={"retry-after": "7"}, text="ok") as provider:
        provider.complete(ASK)
    assert waits == [7, 7]


def test_without_a_word_of_the_server_the_wait_grows(model, monkeypatch):
    waits = []
    monkeypatch.setattr(time, "sleep", waits.append)
    with model.made({"max_retries": 4}, fails=[429] * 4, text="ok") as provider:
        provider.complete(ASK)
    assert len(waits) == 4
    assert waits == sorted(waits)


def test_a_refusal_is_not_asked_for_again(model):
    refusals = (400, 401, 403, 404, 422)
    for provider in model.sharing_a_client({"status": status} for status in refusals):
        with pytest.raises(ProviderError):
            provider.complete(ASK)
    assert len(model.server.received) == len(refusals)


@pytest.mark.parametrize("way", WAYS)
def test_the_error_names_model_address_status_and_remedy(model, way):
    failure = model.failure(way, status=429, headers=AT_ONCE, said="Slow down.")
    assert (failure.status, json.loads(failure.model)["status"]) == (429, 429)
    assert str(failure) == (
        f"model {failure.model!r} at {model.server.url}: status 429 (Too Many Requests): Slow down."
        " Ask less often, or let the SDK try more often: client_options={'max_retries': 5}."
    )
    assert type(failure.__cause__).__name__ == "RateLimitError"


def test_each_status_has_a_remedy(model):
    scripts = [{"status": status} for status in REMEDIES]
    for status, provider in zip(REMEDIES, model.sharing_a_client(scripts, max_retries=0)):
        with pytest.raises(ProviderError) as raised:
            provider.complete(ASK)
        assert raised.value.status == status
        assert f": status {status}" in str(raised.value)
        assert f". {REMEDIES[status]}" in str(raised.value)


@pytest.mark.parametrize("way", WAYS)
def test_a_server_that_is_silent_is_too_slow(model, way):
    failure = model.failure(way, {"timeout": 0.05}, silent=True)
    assert failure.status is None
    assert str(failure).endswith("Give it more time: client_options={'timeout': seconds}.")


def test_where_no_server_listens_the_address_is_named(model, unused_tcp_port):
    url = f"http://127.0.0.1:{unused_tcp_port}"
    failure = model.failure(url=url)
    assert f" at {url}: " in str(failure)
    assert str(failure).endswith("Check base_url and the network, and that the server runs.")


@pytest.mark.parametrize("way", ["stream", "astream"])
def test_a_stream_that_breaks_off_is_told_and_not_asked_for_again(model, way):
    with pytest.raises(ProviderError, match="Ask again: a reply that broke off"):
        model.ask(way, cut=True, text="Paris is the capital.")
    assert len(model.server.received) == 1


def test_what_came_before_a_stream_broke_off_was_given(model):
    heard = []
    with model.made(cut=True, text="Paris.") as provider:
        events = provider.stream(ASK)
        with pytest.raises(ProviderError):
            heard.extend(heard.append(each) for each in events)
    assert "".join(filter(None, heard)) == "Paris."


def test_an_event_that_is_no_json_is_told(model):
    name = "message_start"
    failure = model.failure("stream", events=[{"type": name}, "{broken"])
    assert f" at {model.server.url}: " in str(failure)


def test_a_reply_that_is_none_is_told_with_the_model(model):
    failure = model.failure(body={"error": {"message": "busy"}})
    assert str(failure).startswith(
        f"model {failure.model!r} at {model.server.url}: the reply has no"
    )


def test_secrets_and_control_characters_of_an_answer_are_not_told(model):
    said = "Incorrect API key: sk-proj-abcdefgh0123456789\x1b[2J"
    text = str(model.failure(status=401, said=said)).partition(model.server.url)[2]
    assert ": Incorrect API key: ***. Check" in text
    assert text.isprintable()


@pytest.mark.parametrize("pad", [0, 270])
def test_secrets_and_control_characters_of_what_is_no_reply_are_not_told(model, pad):
    said = f"{'x' * pad} Incorrect API key: sk-proj-abcdefgh0123456789\x1b[2J"
    text = str(model.failure(body={"error": {"message": said}}))
    assert "sk-proj" not in text.partition(model.server.url)[2]
    assert text.partition(model.server.url)[2].isprintable()


def test_a_failure_that_a_stream_of_items_tells_is_told_safely():
    said = "Incorrect API key: sk-proj-abcdefgh0123456789\x1b[2J"
    collector = OpenAIProvider("m", api="responses", client=object())._collector(None)
    with pytest.raises(ProviderError) as raised, named_failures("m", None):
        collector.add({"type": "error", "message": said})
    assert str(raised.value).endswith(": Incorrect API key: ***")
    assert str(raised.value).isprintable()


def test_a_mistake_of_the_program_passes_unchanged(model):
    provider = PROVIDERS[model.vendor](
        "m", client_options={"base_url": model.server.url, "api_key": "k"}, nonsense=1
    )
    with provider, pytest.raises(TypeError, match="nonsense"):
        provider.complete(ASK)


@pytest.mark.parametrize("vendor", PROVIDERS)
def test_the_error_survives_pickling(vendor):
    sdk = pytest.importorskip(vendor)
    answer = SimpleNamespace(status_code=503, headers={}, request=None, connection=threading.Lock())
    with pytest.raises(ProviderError) as raised, named_failures("m", None):
        raise sdk.APIStatusError("busy", response=answer, body=None)
    written = io.BytesIO()
    pickler = pickle.Pickler(written)
    pickler.dispatch_table = {}  # Dask registers a way that adds the cause of an exception
    pickler.dump(raised.value)
    again = pickle.loads(written.getvalue())
    assert (str(again), again.status, again.model) == (str(raised.value), 503, "m")
