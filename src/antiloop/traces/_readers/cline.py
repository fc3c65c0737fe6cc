"""Cline, Roo Code and Kilo Code: ``api_conversation_history.json``.

Newer versions call tools through the API. Older ones write each call into the reply, as XML, and
its result into the next message of the user, below a line that names the tool.
"""

import re
from typing import Any, Dict, Iterator, Optional, Tuple

from ..._amounts import moment_s
from ...formats._internal import field_of, items_of, tag_of, texts_in, thoughts_in
from .._shared.listed_run import Listed, ListedFormat, ListedRun, elements_in, kind_of
from .chats import messages_in

_TOOLS = frozenset(
    """
    access_mcp_resource apply_diff apply_patch ask_followup_question attempt_completion
    browser_action codebase_search condense delete_file edit_file execute_command fetch_instructions
    generate_image insert_content list_code_definition_names list_files load_mcp_documentation
    new_rule new_task plan_mode_respond read_file replace_in_file report_bug run_slash_command
    search_and_replace search_files switch_mode update_todo_list use_mcp_tool use_skill web_fetch
    web_search write_to_file
    """.split()
)
_NO_TOOLS = ("thinking", "task", "question", "result")
_OPENING = re.compile(r"<(\w+)>")
_RESULT = re.compile(r"\[(\w+)(?: for '.*?')?\] Result:\s*", re.DOTALL)
_MARKS = ("<environment_details>", "<task>", "<user_message>", "<feedback>", "[TASK RESUMPTION]")
_SAID = ("task", "user_message", "feedback", "answer")
_DETAILS = re.compile(r"<environment_details>.*?(?:</environment_details>|\Z)\s*", re.DOTALL)
_FAILED = re.compile(r"(?:The tool execution failed|\[ERROR\]|<error>|Error\b)")


def _recognizes(value: Any) -> bool:
    messages = items_of(messages_in(value))[:4]
    if not messages or not all(tag_of(one, "role") in ("user", "assistant") for one in messages):
        return False
    return any(_is_marked(one) for one in messages)


def _is_marked(message: Any) -> bool:
    """Whether a user's message holds what these programs write around one."""
    is_users = tag_of(message, "role") == "user"
    said = texts_in(field_of(message, "content")) if is_users else []
    return any(text.lstrip().startswith(_MARKS) for text in said)


def _listed(value: Any) -> Iterator[Listed]:
    for message in items_of(messages_in(value)):
        if tag_of(message, "role") in ("user", "assistant"):
            yield None, "", message


def _take(run: ListedRun, message: Any) -> None:
    content, at = field_of(message, "content"), moment_s(field_of(message, "ts"))
    if field_of(message, "isSummary") is True:
        run.add_summary(*texts_in(content))
    elif tag_of(message, "role") == "user":
        _take_users(run, content, at)
    elif any(kind_of(block).endswith("tooluse") for block in items_of(content)):
        run.message("assistant", content, at)
    else:
        _take_reply(run, content, at)


def _take_reply(run: ListedRun, content: Any, at: Optional[float]) -> None:
    run.begin_reply()
    run.add_thoughts(*thoughts_in(content))
    text = "\n".join(texts_in(content))
    said, call = _call_in(text)
    run.add_reply(said)
    if call is not None:
        run.call(*call, None, at)


def _call_in(text: str) -> Tuple[str, Optional[Tuple[str, Dict[str, str]]]]:
    """Split a reply into what is said and the call that ends it; one a reply is run."""
    for opening in _OPENING.finditer(text):
        name = opening[1]
        end = text.find(f"</{name}>", opening.end())
        # A tool that is not known, of an MCP server or a later version, ends the reply.
        is_last = end >= 0 and not text[end + len(name) + 3 :].strip()
        if end >= 0 and (name in _TOOLS or (is_last and name not in _NO_TOOLS)):
            return text[: opening.start()], (name, _parameters(text[opening.end() : end]))
    return text, None


def _parameters(body: str) -> Dict[str, str]:
    """Read the parameters of a call, each in an element; what they hold stays text."""
    found: Dict[str, str] = {}
    position = 0
    while True:
        opening = _OPENING.search(body, position)
        if opening is None:
            return found
        end = body.find(f"</{opening[1]}>", opening.end())
        if end < 0:
            return {**found, opening[1]: body[opening.end() :].strip()}
        found[opening[1]] = body[opening.end() : end].strip()
        position = end + len(opening[1]) + 3


def _take_users(run: ListedRun, content: Any, at: Optional[float]) -> None:
    """Take results, and what the user said among them."""
    blocks = items_of(content) or [content]
    native = [block for block in blocks if kind_of(block).endswith("toolresult")]
    run.message("tool", native, at)
    texts = [_DETAILS.sub("", text).strip() for text in texts_in(blocks)]
    texts = list(filter(None, texts))
    result = _RESULT.match(texts[0]) if texts and not native else None
    if result is not None:
        # The result itself is the rest of that text, or the texts that follow.
        output = "\n".join([texts[0][result.end() :], *texts[1:]]).strip()
        said = [text for name in _SAID for text in elements_in(output, name)]
        failed = bool(_FAILED.match(output))
        run.result(output, None, failed=failed, at=at, name=result[1])
        texts = said
    run.add_user_message(*texts)


FORMAT = ListedFormat(_recognizes, _listed, _take, client="cline", is_document=True)
