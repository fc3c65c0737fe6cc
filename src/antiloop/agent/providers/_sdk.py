"""The base of providers over an official SDK: their clients and the four ways to ask.

A provider of one SDK says which arguments a request becomes and how a reply is read; the rest is
here once, so the sync and the async side, plain and streaming, cannot drift apart. No SDK is
imported here.
"""

from abc import ABC, abstractmethod
from importlib import import_module
from typing import (
    Any,
    AsyncIterator,
    Callable,
    Dict,
    Iterator,
    Mapping,
    MutableMapping,
    Optional,
    Protocol,
    Sequence,
    TypeVar,
)
from weakref import WeakKeyDictionary

from ..._process_lock import ProcessLock
from ..._short_repr import quoted, short_repr
from ._failures import named_failures
from ._protocol import ModelReply, ModelRequest, StreamItem

P = TypeVar("P", bound="SdkProvider")


class Collector(Protocol):
    """Joins the events of one stream."""

    def add(self, event: Any) -> Sequence[StreamItem]:
        """Take the next event, and return the text and the thoughts that it brought."""
        ...

    def reply(self) -> ModelReply:
        """Return the whole reply; ProviderError if the events make none."""
        ...


class Clients:
    """The clients of a provider: the user's, never closed here, or ones made when first needed.

    An async client is bound to the event loop in which it opened its connections, so each loop has
    an async client made for it.
    """

    def __init__(
        self,
        make: Callable[[], Any],
        make_async: Callable[[], Any],
        client: Optional[Any] = None,
        async_client: Optional[Any] = None,
    ) -> None:
        self._make = {"client": make, "async_client": make_async}
        self._given = {"client": client, "async_client": async_client}
        self._made: MutableMapping[Any, Any] = WeakKeyDictionary()
        # Many runs share one provider: without the lock two threads would make a client each,
        # and one of them would never be closed.
        self._lock = ProcessLock()

    def get(self, kind: str) -> Any:
        """Return the client of a kind, ``"client"`` or ``"async_client"``.

        Raises:
            ValueError: if the user gave only the other one. A client of our own would talk to the
                default server under the default key, which may be the wrong place altogether.
        """
        if self._given[kind] is not None:
            return self._given[kind]
        if any(client is not None for client in self._given.values()):
            raise ValueError(f"this call needs {kind}=, and only the other client was given")
        user = self._user_of(kind)
        with self._lock:
            if user not in self._made:
                self._made[user] = self._make[kind]()
            return self._made[user]

    def forget(self, kind: str) -> Optional[Any]:
        """Hand over our own client of a kind to be closed, or None; the next `get` makes one.

        Of the async clients it is that of the running event loop.
        """
        user = self._user_of(kind)
        with self._lock:
            return self._made.pop(user, None)

    def _user_of(self, kind: str) -> Any:
        """Return what has a client to itself: these clients, or the running event loop."""
        if kind == "client":
            return self
        # Imported here, so that who never runs async never loads it.
        from asyncio import get_running_loop

        return get_running_loop()


def clients_of(title: str, options: Any, client: Any, async_client: Any) -> Clients:
    """Return the user's clients, or ones of the SDK whose clients bear this title, e.g. "OpenAI".

    Raises:
        ImportError: if the SDK is needed and not installed; it says what to install.
    """
    name = title.lower()

    def make(kind: str) -> Any:
        return getattr(_sdk(name, title), kind)(**(options or {}))

    if client is None and async_client is None:
        _sdk(name, title)
    return Clients(lambda: make(title), lambda: make(f"Async{title}"), client, async_client)


def _sdk(name: str, title: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        needed = f'the {title} SDK: pip install "antiloop[{name}]"'
        raise ImportError(f"{title}Provider needs {needed}") from error


class SdkProvider(ABC):
    """A provider over an official SDK.

    It keeps nothing between calls but its clients. Clients that it made itself are closed by
    ``close()`` and ``with`` (the sync one), ``aclose()`` and ``async with`` (both); they are made
    again when the provider is used again. Each event loop has an async client made for it, so leave
    ``async with`` before the loop ends.
    """

    _clients: Clients
    _model: str

    def __repr__(self) -> str:
        return short_repr(self, quoted(self._model))

    @abstractmethod
    def _endpoint(self, client: Any) -> Callable[..., Any]:
        """Return the method of an SDK client that asks the model."""

    @abstractmethod
    def _arguments(self, request: ModelRequest, stream: bool, client: Any) -> Dict[str, Any]:
        """Return the keywords for the endpoint."""

    @abstractmethod
    def _reply(self, answer: Any, client: Any) -> ModelReply:
        """Read a whole answer; ProviderError if it cannot be read."""

    @abstractmethod
    def _collector(self, client: Any) -> Collector:
        """Return what reads the events of one stream."""

    def complete(self, request: ModelRequest) -> ModelReply:
        """Ask, and wait for the reply.

        Raises:
            ProviderError: if the SDK raises, or the answer is not a reply.
        """
        client = self._clients.get("client")
        arguments = self._arguments(request, stream=False, client=client)
        with named_failures(self._model, client):
            return self._reply(self._endpoint(client)(**arguments), client)

    async def acomplete(self, request: ModelRequest) -> ModelReply:
        """Ask without blocking the event loop; otherwise like `complete`."""
        client = self._clients.get("async_client")
        arguments = self._arguments(request, stream=False, client=client)
        with named_failures(self._model, client):
            return self._reply(await self._endpoint(client)(**arguments), client)

    def stream(self, request: ModelRequest) -> Iterator[StreamItem]:
        """Ask, and yield text as it arrives; the last item is the whole reply.

        Closing the iterator early closes the connection. Errors are those of `complete`.
        """
        client = self._clients.get("client")
        arguments = self._arguments(request, stream=True, client=client)
        collector = self._collector(client)
        with named_failures(self._model, client):
            answer = self._endpoint(client)(**arguments)
            with answer as events, named_failures(self._model, client, has_begun=True):
                for event in events:
                    yield from collector.add(event)
            yield collector.reply()

    async def astream(self, request: ModelRequest) -> AsyncIterator[StreamItem]:
        """Like `stream`, without blocking the event loop."""
        client = self._clients.get("async_client")
        arguments = self._arguments(request, stream=True, client=client)
        collector = self._collector(client)
        with named_failures(self._model, client):
            async with await self._endpoint(client)(**arguments) as events:
                with named_failures(self._model, client, has_begun=True):
                    async for event in events:
                        for item in collector.add(event):
                            yield item
            yield collector.reply()

    def close(self) -> None:
        """Close the sync client that this provider made, if any."""
        client = self._clients.forget("client")
        if client is not None:
            client.close()

    async def aclose(self) -> None:
        """Close both clients that this provider made, if any."""
        self.close()
        client = self._clients.forget("async_client")
        if client is not None:
            await client.close()

    def __enter__(self: P) -> P:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self: P) -> P:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def checked_options(options: Mapping[str, Any], reserved: str) -> Dict[str, Any]:
    """Return the request options, or raise ValueError if one is set by each request itself."""
    clash = sorted(set(options) & set(reserved.split()))
    if clash:
        raise ValueError(f"{', '.join(clash)}: set by each request, not by the provider")
    return dict(options)
