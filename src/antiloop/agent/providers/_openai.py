"""The provider over the official OpenAI SDK, also for compatible servers."""

from dataclasses import replace
from typing import Any, Callable, Dict, Mapping, Optional, Type, Union

from ..._checks import check_choice, check_flag
from ...stability import beta
from ._openai_chat import ChatApi
from ._openai_responses import ResponsesApi
from ._protocol import ModelReply, ModelRequest
from ._sdk import Collector, SdkProvider, checked_options, clients_of
from ._wire import part

_APIS: Mapping[str, Union[Type[ChatApi], Type[ResponsesApi]]] = {
    "chat": ChatApi,
    "responses": ResponsesApi,
}


@beta
class OpenAIProvider(SdkProvider):
    """A model of OpenAI, or of a server that is compatible with it.

    Args:
        model: the model's name, e.g. ``"gpt-5.4-mini"``.
        api: ``"chat"`` for chat completions, or ``"responses"`` for the Responses API, where
            OpenAI's reasoning models keep what they thought from one round to the next.
        client: your own ``openai.OpenAI``; by default the provider makes one when it needs it.
        async_client: your own ``openai.AsyncOpenAI``, likewise.
        client_options: keywords for the clients that this provider makes, e.g. ``base_url``.
        native_schema: send a response schema as such. False asks for it in a system message, for
            servers that refuse a schema, or one together with tools.
        takes_images: False leaves out the images of results and messages, for models that take
            text alone.
        has_end_mark: whether the server says where its streams end: by a ``finish_reason`` or the
            count of tokens, or by the event ``response.completed``. A stream that ends without is
            an incomplete reply, unless this is False.
        options: further keywords of every request, e.g. ``temperature=0`` or
            ``max_completion_tokens=500``. None leaves a keyword out, so ``stream_options=None``
            serves servers that do not know it, and ``include=None`` models that do not reason.

    Raises:
        ImportError: if the SDK is needed and not installed; it says what to install.
        ValueError: if there is no such API, or an option is one that every request sets for
            itself, or for another API.
        TypeError: if `api` is not a text.

    Nothing is kept at OpenAI: the Responses API gets the whole conversation each time, with the
    encrypted reasoning in it, and ``store=False``.

    A system message keeps its place in the conversation. A few compatible servers take one
    only at the start; send them notices as the user.
    """

    def __init__(
        self,
        model: str,
        *,
        api: str = "chat",
        client: Optional[Any] = None,
        async_client: Optional[Any] = None,
        client_options: Optional[Mapping[str, Any]] = None,
        native_schema: bool = True,
        has_end_mark: bool = True,
        takes_images: bool = True,
        **options: Any,
    ) -> None:
        check_flag("native_schema", native_schema)
        check_flag("has_end_mark", has_end_mark)
        check_flag("takes_images", takes_images)
        check_choice("api", api, _APIS)
        self._clients = clients_of("OpenAI", client_options, client, async_client)
        self._model = model
        self._takes_images = takes_images
        self._api = _APIS[api](
            checked_options(options, _APIS[api].reserved), native_schema, has_end_mark, str(model)
        )

    def _endpoint(self, client: Any) -> Callable[..., Any]:
        return self._api.endpoint(client)

    def _arguments(self, request: ModelRequest, stream: bool, client: Any) -> Dict[str, Any]:
        if not self._takes_images:
            bare = tuple(replace(message, images=()) for message in request.messages)
            request = replace(request, messages=bare)
        asked = self._api.arguments(request, self._source(client), stream=stream)
        arguments = {"model": self._model, **asked}
        return {name: value for name, value in arguments.items() if value is not None}

    def _reply(self, answer: Any, client: Any) -> ModelReply:
        return self._api.reply(answer, self._source(client))

    def _collector(self, client: Any) -> Collector:
        return self._api.collector(self._source(client))

    def _source(self, client: Any) -> str:
        """Name the API behind a client: what one server signs, another refuses."""
        host = part(part(client, "base_url"), "host")
        return f"{self._api.source}@{host}" if isinstance(host, str) else self._api.source
