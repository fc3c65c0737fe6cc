"""The clients of a provider: whose they are, when they are made and who closes them."""

import sys
import threading

import pytest

from antiloop.agent.providers._anthropic import AnthropicProvider
from antiloop.agent.providers._openai import OpenAIProvider
from antiloop.agent.providers._sdk import Clients, SdkProvider, checked_options


class Client:
    def __init__(self):
        self.closed = 0

    def close(self):
        self.closed += 1


class AsyncClient(Client):
    async def close(self):
        self.closed += 1


class Provider(SdkProvider):
    """A provider that is never asked."""

    def __init__(self, **given):
        self._clients = Clients(Client, AsyncClient, **given)

    _endpoint = _arguments = _reply = _collector = None


def test_a_client_is_made_once_when_first_needed():
    made = []
    clients = Clients(lambda: made.append(1) or Client(), AsyncClient)
    assert made == []
    assert clients.get("client") is clients.get("client")
    assert made == [1]


def test_many_threads_get_one_client():
    together = threading.Barrier(8)
    clients = Clients(Client, AsyncClient)
    got = []

    def ask():
        together.wait()
        got.append(clients.get("client"))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, got))) == 1


def test_a_client_is_never_made_beside_one_that_was_given():
    given = Client()
    clients = Clients(Client, AsyncClient, client=given)
    assert clients.get("client") is given
    with pytest.raises(ValueError, match="async_client="):
        clients.get("async_client")


def test_with_closes_the_client_that_was_made():
    with Provider() as provider:
        client = provider._clients.get("client")
        assert client.closed == 0
    assert client.closed == 1
    provider.close()
    assert client.closed == 1
    assert provider._clients.get("client") is not client


async def test_async_with_closes_both():
    async with Provider() as provider:
        made = [provider._clients.get("client"), provider._clients.get("async_client")]
    assert [client.closed for client in made] == [1, 1]


async def test_clients_that_were_given_are_left_open():
    given = {"client": Client(), "async_client": AsyncClient()}
    async with Provider(**given):
        pass
    assert [client.closed for client in given.values()] == [0, 0]


def test_options_that_each_request_sets_are_refused():
    assert checked_options({"temperature": 0}, "messages stream") == {"temperature": 0}
    with pytest.raises(ValueError, match="messages, stream"):
        checked_options({"stream": True, "messages": [], "seed": 1}, "messages stream")


@pytest.mark.parametrize(
    ("provider", "extra"), [(OpenAIProvider, "openai"), (AnthropicProvider, "anthropic")]
)
def test_without_the_sdk_the_error_names_the_extra(monkeypatch, provider, extra):
    monkeypatch.setitem(sys.modules, extra, None)
    with pytest.raises(ImportError, match=rf'pip install "antiloop\[{extra}\]"'):
        provider("m")
