"""Errors between us and a model, in words that name the model, the status and the remedy.

The SDKs wait and ask again by themselves after a failure that may pass, so what arrives here is
final. The module of a class says which library it belongs to, so no SDK is imported here.
"""

from contextlib import contextmanager
from http import HTTPStatus
from json import JSONDecodeError
from typing import Any, Iterator, Optional

from ..._text.masking import SECRETS, safely_shown
from ...exceptions import ProviderError
from ._wire import part

_LIBRARIES = {"anthropic", "httpcore", "httpcore2", "httpx", "httpx2", "openai"}
_LONGEST = 500
"""Characters that are shown of what a server said."""
_MORE_TRIES = "let the SDK try more often: client_options={'max_retries': 5}"
_REMEDIES = {
    400: "Check the options of the provider, and whether the conversation fits into the model.",
    401: "Check the API key.",
    403: "Check that the key may use this model.",
    404: "Check the name of the model, and base_url.",
    408: f"Ask again later, or {_MORE_TRIES}.",
    413: "Send a shorter conversation.",
    429: f"Ask less often, or {_MORE_TRIES}.",
}
_LATER = f"The server has trouble. Ask again later, or {_MORE_TRIES}."
_UNREACHED = "Check base_url and the network, and that the server runs."
_TOO_SLOW = "Give it more time: client_options={'timeout': seconds}."
_BROKE_OFF = "Ask again: a reply that broke off is not asked for again by itself."
_UNREADABLE = "Check that base_url leads to a server of this API."


@contextmanager
def named_failures(model: str, client: Any, *, has_begun: bool = False) -> Iterator[None]:
    """Turn what an SDK raises into a ProviderError; errors of the program pass unchanged."""
    try:
        yield
    except ProviderError as error:
        if not error.model:
            error.model = model
            error.args = (f"{_named(model, client)}: {safely_shown(str(error), _LONGEST)}",)
        raise
    except Exception as error:
        if not _is_of_a_library(error):
            raise
        raise _failure(error, model, client, has_begun) from error


def _failure(error: Exception, model: str, client: Any, has_begun: bool) -> ProviderError:
    status = _status(error)
    what = [
        _named(model, client),
        *([] if status is None else [_status_text(status)]),
        _said(error),
    ]
    failure = ProviderError(f"{': '.join(what)}. {_remedy(error, status, has_begun)}")
    failure.model, failure.status = model, status
    return failure


def _named(model: str, client: Any) -> str:
    address = part(client, "base_url")
    at = "" if address is None else f" at {SECRETS.text(str(address)).rstrip('/')}"
    return f"model {model!r}{at}"


def _is_of_a_library(error: Exception) -> bool:
    roots = {base.__module__.partition(".")[0] for base in type(error).__mro__}
    return bool(roots & _LIBRARIES) or isinstance(error, JSONDecodeError)


def _status(error: Exception) -> Optional[int]:
    """Return the status of a refusal; a stream that fails later began with a good one."""
    status = part(error, "status_code")
    return status if type(status) is int and status >= 400 else None


def _status_text(status: int) -> str:
    known = [each.phrase for each in HTTPStatus if each.value == status]
    return " ".join(["status", str(status), *(f"({phrase})" for phrase in known)])


def _said(error: Exception) -> str:
    """Return what the server or the SDK says, made safe to show."""
    body = part(error, "body")
    inner = part(body, "error")
    texts = (part(inner, "message"), part(body, "message"), inner, str(error))
    text = next(text for text in (*texts, type(error).__name__) if text and isinstance(text, str))
    return safely_shown(text, _LONGEST).rstrip(".")


def _remedy(error: Exception, status: Optional[int], has_begun: bool) -> str:
    if status is not None:
        return _REMEDIES.get(status, _LATER if status >= 500 else _REMEDIES[400])
    if isinstance(error, JSONDecodeError):
        return _UNREADABLE
    if any("Timeout" in base.__name__ for base in type(error).__mro__):
        return _TOO_SLOW
    return _BROKE_OFF if has_begun else _UNREACHED
