"""The LiteLLM proxy: agents in any language that ask their models through it."""

import time
from typing import Any, AsyncIterator, Dict, Mapping, Optional, Sequence

from ._needed import needed

with needed("litellm[proxy]", "litellm", __name__):
    from litellm.exceptions import RejectedRequestError
    from litellm.integrations.custom_guardrail import ModifyResponseException
    from litellm.integrations.custom_logger import CustomLogger
    from litellm.proxy import proxy_server
    from litellm.proxy._types import ProxyException

from ..formats._internal import field_of, items_of, tag_of
from ..loop_detection import LoopAction
from ..stability import stable
from ._request_answers import Answer
from ._thoughts import Thoughts, leave, thought_in
from .gateway import GatewayGuard

__all__ = ["LoopGuard", "handler"]

_KINDS = {
    "acompletion": "openai_chat",
    "completion": "openai_chat",
    "aresponses": "openai_responses",
    "responses": "openai_responses",
    "anthropic_messages": "anthropic",
}
"""The APIs by what LiteLLM calls them."""
_RUN_IDS = ("litellm_session_id", "litellm_trace_id", "litellm_call_id")
_ANSWER = "antiloop_answer"


@stable
class LoopGuard(GatewayGuard, CustomLogger):
    """A callback of the LiteLLM proxy; see `Guard` for its arguments.

    A request is judged before it is sent on: it gets a notice, or no tool may be called, or the
    client is answered and the model is not asked, or the client gets an error with the status 400.

    A chat completion that is streamed ends as one that has reached the limit of its length where
    the model repeats itself without end in its thoughts.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        GatewayGuard.__init__(self, *args, **options)
        CustomLogger.__init__(self)

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: Dict[str, Any], call_type: str
    ) -> Optional[Dict[str, Any]]:
        """Judge a request."""
        kind = _KINDS.get(call_type)
        if kind is None:
            return None
        judged = await self._judge_or_pass(data, kind, _run_of(data))
        if judged.answer is not None:
            raise _instead(judged.answer, data)
        return None if judged.body is data else dict(judged.body)

    def _models_of(self, body: Mapping[str, Any]) -> Sequence[str]:
        """Return the model that is asked for, and those that the proxy has by this name."""
        name = tag_of(body, "model")
        router = proxy_server.llm_router
        known = (router.get_model_list(model_name=name) if router and name else None) or ()
        return [name, *(tag_of(field_of(each, "litellm_params"), "model") for each in known)]

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: Any
    ) -> AsyncIterator[Any]:
        """Stream an answer of ours as the API does, and end one that thinks in circles.

        LiteLLM would say that a filter has ended a chat completion, and send an answer in the form
        of Anthropic in one piece.
        """
        answer = field_of(request_data, _ANSWER)
        if isinstance(answer, Answer) and answer.kind == "anthropic":
            yield answer.content(int(time.time())).decode()
            return
        thoughts = Thoughts(self, _run_of(request_data or {}))
        async for chunk in response:
            if answer is not None:
                yield _ended(chunk, "stop")
                continue
            is_stuck = thoughts.hear(thought_in(chunk)).action is not LoopAction.CONTINUE
            yield _ended(chunk, "length", at_once=True) if is_stuck else chunk
            if is_stuck:
                await leave(response)
                return


def _run_of(data: Dict[str, Any]) -> str:
    return next((str(data[name]) for name in _RUN_IDS if data.get(name)), "")


def _instead(answer: Answer, data: Dict[str, Any]) -> Exception:
    """Return the exception with which LiteLLM answers in place of the model."""
    if answer.status != 200:
        body = answer.body(0)["error"]
        return ProxyException(answer.text, body["type"], None, answer.status)
    if answer.kind == "openai_chat" and not answer.streamed:
        # The other exception would say that a filter has ended the answer.
        ended = RejectedRequestError(answer.text, answer.model, "", data)
        ended.message, ended.status_code = answer.text, answer.status
        return ended
    noted = {_ANSWER: answer} if answer.streamed else {}
    return ModifyResponseException(answer.text, answer.model, {**data, **noted})


def _ended(chunk: Any, reason: str, *, at_once: bool = False) -> Any:
    """Set why a chat completion ends, in the part that ends it, and return the part."""
    for choice in items_of(field_of(chunk, "choices")):
        if at_once or choice.finish_reason is not None:
            choice.finish_reason = reason
    return chunk


handler = LoopGuard()
"""The guard that ``callbacks`` in LiteLLM's config.yaml names, with the escalating preset."""
