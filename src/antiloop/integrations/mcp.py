"""Clients of MCP servers: the tools of any agent that calls them through the Python SDK."""

from typing import Any, Mapping, Optional

from ._needed import needed

with needed("mcp", "mcp", __name__):
    from mcp.types import CallToolResult, TextContent

from ..formats._internal import filled_field, flag_of, text_of
from ..stability import stable
from ..types import ToolCall, ToolResult
from ._call_guard import CallGuard

__all__ = ["LoopGuard"]


@stable
class LoopGuard(CallGuard):
    """Wrap a client session for one run; see `CallGuard` for the other arguments.

    A refused call does not reach the server; its result is an error that says why. A notice is
    added to a result as a further block of text. `call_tool` raises `LoopDetectedError` if the run
    should end: a session has no run that it could end itself. All else is the session's own.

    Args:
        session: `ClientSession`, `ClientSessionGroup`, `Client`, or whatever has their `call_tool`.
        args, options: those of `CallGuard`.
    """

    def __init__(self, session: Any, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.session = session

    def __getattr__(self, name: str) -> Any:
        if name == "session":  # while it is made, or copied
            raise AttributeError(name)
        return getattr(self.session, name)

    async def call_tool(
        self, name: str, arguments: Optional[Mapping[str, Any]] = None, *args: Any, **kwargs: Any
    ) -> Any:
        """Call a tool as the session does, with all that its `call_tool` takes.

        Raises:
            LoopDetectedError: if the run should end.
        """
        call = ToolCall(name, arguments)
        refusal = await self.abegin(call)
        if refusal is not None:
            await self.aend(call, refusal)
            return CallToolResult(content=[_block(refusal.text)], isError=True)
        try:
            result = await self.session.call_tool(name, arguments, *args, **kwargs)
        except BaseException as error:
            await self.afail(call, error)
            raise
        await self.aend(call, _read(result))
        return self._with_notice(result)

    def _with_notice(self, result: Any) -> Any:
        notice = self.take_notice() if isinstance(result, CallToolResult) else ""
        if not notice:
            return result
        return result.model_copy(update={"content": [*result.content, _block(notice)]})


def _block(text: str) -> TextContent:
    return TextContent(type="text", text=text)


def _read(result: Any) -> Optional[ToolResult]:
    """Return a result as a model reads it; None where the server asks for input first."""
    if not isinstance(result, CallToolResult):
        return None
    structured = filled_field(result, "structuredContent", "structured_content")
    text = text_of(result.content or structured)
    # The names of fields have changed from version 1 to 2.
    return ToolResult(text, flag_of(result, "isError") or flag_of(result, "is_error"))
