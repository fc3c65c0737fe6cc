"""Sessions that are written as Markdown: Aider's chat history, and SpecStory's.

Such a file is for people, so less is in it: of Aider which files a reply edited and which commands
ran, of SpecStory each use of a tool with all of its text. Results are not
marked.
"""

import re
from typing import Any, Iterable, Iterator, List, Optional, Tuple

from ..._amounts import moment_s
from .._recorded_run import RecordedRun
from .._shared.listed_run import ListedRun
from .._shared.records import OnTrouble, Record
from .._shared.run_under_way import not_by_record

AIDER = "# aider chat started at "
_EDIT = re.compile(r"> Applied edit to (.+?)\s*$")
_RAN = re.compile(r"> Running (.+?)\s*$")
_REFUSED = re.compile(r"> (?:The LLM did not conform|.*did not match|# \d+ SEARCH/REPLACE block)")
_SPEAKER = re.compile(r"_\*\*(User|Assistant|Agent)\b.*?\*\*_\s*$")
_TIME = re.compile(r'data-timestamp="([^"]*)"')
_TOOL = re.compile(r'<tool-use\b[^>]*\bdata-tool-name="([^"]*)"[^>]*>')


def recognizes(value: Any) -> bool:
    """Whether a value is a chat history of Aider or of SpecStory, as one text."""
    return isinstance(value, dict) and isinstance(value.get("markdown"), str)


def read(found: Iterable[Record], name: str, on_trouble: OnTrouble) -> Iterator[RecordedRun]:
    for record in found:
        if recognizes(record.value):
            lines = record.value["markdown"].replace("\r\n", "\n").split("\n")
            is_aider = any(line.startswith(AIDER) for line in lines[:50])
            yield from (_aider if is_aider else _specstory)(lines, name)
        else:
            on_trouble(record.line, "")


follow = not_by_record


def _aider(lines: List[str], name: str) -> Iterator[RecordedRun]:
    chat: Optional[_Aider] = None
    for number, line in enumerate(lines, 1):
        if line.startswith(AIDER):
            if chat is not None:
                yield chat.ended()
            chat = _Aider(f"{name}:{number}")
        elif chat is not None:
            chat.take(line.rstrip())
    if chat is not None:
        yield chat.ended()


class _Aider:
    """One chat of Aider's history."""

    def __init__(self, place: str) -> None:
        self._run = ListedRun(place, None, None)
        self._reply: List[str] = []
        self._replied = ""
        self._asked: List[str] = []

    def take(self, line: str) -> None:
        """Take a line: the user's after ``####``, the program's after ``>``, or a reply's."""
        if line.startswith("#### "):
            self._end_reply()
            self._asked.append(line[len("#### ") :])
            return
        self._end_question()
        if line.startswith("> "):
            self._take_note(line)
        elif line or self._reply:
            self._reply.append(line)

    def _take_note(self, line: str) -> None:
        edit, ran = _EDIT.match(line), _RAN.match(line)
        if edit or ran or _REFUSED.match(line):
            self._end_reply()
            # A reply that edits the same files in the same way again has the same text.
            path, text = edit[1] if edit else "", self._replied
            given = {"command": ran[1]} if ran else {"path": path, "text": text}
            self._run.call("run" if ran else "edit", given, None)
            if not ran:
                self._run.result(line[2:], None, failed=edit is None)

    def _end_question(self) -> None:
        if self._asked:
            self._run.add_user_message("\n".join(self._asked))
            self._asked, self._replied = [], ""

    def _end_reply(self) -> None:
        if self._reply:
            self._replied = "\n".join(self._reply).strip()
            self._run.begin_reply()
            self._run.add_reply(self._replied)
            self._reply = []

    def ended(self) -> RecordedRun:
        self._end_question()
        self._end_reply()
        return self._run.recorded()


def _specstory(lines: List[str], name: str) -> Iterator[RecordedRun]:
    run = ListedRun(f"{name}:1", None, None)
    speaker, said = "", []
    for line, tool, body in _with_tools(lines):
        heading = _SPEAKER.match(line)
        if heading is None and not tool:
            said.append(line)
            continue
        _end_words(run, speaker, said)
        said = []
        if tool:
            run.call(tool, {"text": body}, None, _moment_in(line))
        elif heading is not None:
            speaker = heading[1]
            run.begin_reply()
    _end_words(run, speaker, said)
    yield run.recorded()


def _end_words(run: ListedRun, speaker: str, said: List[str]) -> None:
    text = "\n".join(said).strip().strip("-").strip()
    if not text or not speaker:
        return
    if speaker == "User":
        run.add_user_message(text)
    else:
        run.add_reply(text)


def _with_tools(lines: List[str]) -> Iterator[Tuple[str, str, str]]:
    """Yield each line, or the use of a tool as its first line, the tool's name, and the rest."""
    waiting = iter(lines)
    for line in waiting:
        opening = _TOOL.match(line)
        if opening is None:
            yield line, "", ""
            continue
        body = []
        for inner in waiting:
            if inner.startswith("</tool-use>"):
                break
            body.append(inner)
        yield line, opening[1] or "tool", "\n".join(body).strip()


def _moment_in(line: str) -> Optional[float]:
    found = _TIME.search(line)
    return moment_s(found[1]) if found else None
