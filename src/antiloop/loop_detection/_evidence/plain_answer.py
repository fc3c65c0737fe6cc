"""Answers that are plain successes, recognized without a regular expression.

Most answers of a healthy run are plain successes, so most need no closer look. Nothing is imported
here: a hook that is started for each call asks this first.
"""

SHORT = 1_000
"""Characters: in a longer answer the word "error" is part of what was asked for."""
BRIEF = 300
"""Characters of the longest answer that may be one of the usual phrases, such as "no output"."""
STATE = 200
"""Characters in which a long answer names the state of what it is about."""
WORK_WORDS = (
    *("ing", "queued", "progress", "ready", "yet", "jobid ", "busy"),
    *("complete", "done", "ended", "finished"),
)
"""Parts of the words that say in which state work is that is under way."""
OPEN_CELLS = ("pending", "queued", "in_progress", "creating", "starting")
"""Ends of the cells of a table that say so."""
HEAD = 120
"""Characters in which an answer that is a failure says so."""

_SPACED = bytes(  # lower-case; bytes are translated much more quickly than characters
    code if code > 127 or chr(code).isalnum() else ord(" ") for code in bytes(range(256)).lower()
)
NEGATIVE = frozenset(
    """
    aborted cannot couldn declined denied didn disallowed doesn don err error errors exception fail
    failed failing fails failure forbidden hasn illegal impossible incorrect invalid isn malformed
    mismatch missing not refused rejected traceback unable unauthorized unavailable undefined
    unexpected unknown unrecognized unresolved unsupported wasn wouldn wrong
    eacces eaddrinuse econnaborted econnrefused econnreset eexist ehostunreach eisdir enoent enospc
    enotdir enotempty enotfound eperm epipe etimedout
    """.split()
)
"""Words of failure, and what systems call their errors."""
DENIALS = frozenset("cannot couldn didn doesn don hasn isn not wasn wouldn".split())
"""Those of them that say nothing behind the first clause: "Created. Don't forget to assign it."."""
NOTHING_WORDS = frozenset(("", *"0 nil no none nothing null undefined zero".split()))
"""Each usual phrase for an empty answer contains one of these; a text without words has ``""``."""
SILENCE_WORDS = frozenset(("", "exit", "output"))
"""The same for an answer that only says that there is no output."""
PHRASE_WORDS = NOTHING_WORDS.union(
    SILENCE_WORDS,
    """
    busy create_in_progress creating hasn health in_progress isn jobid later limit limited limits
    not overloaded pending processing progress queued ready requests running starting state status
    stderr stdout temporarily waiting
    """.split(),
)
"""The same for every usual phrase."""
_CODES = (  # not "return" and "exit" alone, which most files of code hold
    *("exit code", "exit_code", "exitcode", "exit status", "exit_status", "exitstatus"),
    *("exit with", "exited", "[exit", "(exit", "return code", "return_code", "returncode"),
)
_CELL_WORDS = (*OPEN_CELLS, "ready")
_FORMAL = ("http", "status", "4", "5")
_THROWN = ("err", "exception", "fehl", "fout")  # error, erreur
_MARKS = " \t\n\r!\"#$%&'()*+,-./:;<=>?@[\\]^`{|}~"
_START = 16
"""Characters that a status at the beginning of an answer has at most."""
_TELLING = NEGATIVE | PHRASE_WORDS


def is_plain_success(text: str, is_error: bool = False) -> bool:
    """Whether an answer says something, and neither a failure nor that there is nothing.

    >>> is_plain_success("12 files changed"), is_plain_success("no such file: exit 1")
    (True, False)
    """
    if is_error or may_have_form(text) or (len(text) > BRIEF and may_be_running(text)):
        return False
    if len(text) > SHORT:
        return True
    telling = telling_words(text)
    return NEGATIVE.isdisjoint(telling) if len(text) > BRIEF else not telling


def telling_words(text: str) -> "frozenset[str]":
    """Return those of the first words that may say how a call ended; most answers have none."""
    return _TELLING.intersection(ascii_words(text[:HEAD]) or ("",))


def may_have_form(text: str) -> bool:
    """Whether a text may be an object, markup, a traceback, or say by a code how the call ended."""
    if text.lstrip()[:1] in ("{", "[", "<"):
        return True
    edges = f"{text[:STATE]}{text[-STATE:]}".lower()
    if may_have_code(edges) or "traceback" in edges:
        return True
    begin = edges[:_START]
    if not begin.isascii() or contains_any(begin, _FORMAL):
        return True
    first = edges.lstrip(_MARKS).partition(" ")[0]
    return contains_any(first, _THROWN)


def may_have_code(edges: str) -> bool:
    """Whether the ends of a text, in lower case, may say with which code a program ended."""
    is_exit = ("exit" in edges or "return" in edges) and contains_any(edges, _CODES)
    return is_exit or ": *** " in edges  # of make


def may_be_running(text: str) -> bool:
    """Whether a text may begin with a state, or list some, and one may be that work goes on."""
    head = text[:STATE].lower()
    if "stat" in head and contains_any(head, WORK_WORDS):  # status, state
        return True
    table = text[:SHORT]
    has_cells = "\t" in table or "   " in table
    return has_cells and contains_any(table.lower(), _CELL_WORDS)


def contains_any(text: str, parts: "tuple[str, ...]") -> bool:
    """Whether a text contains one of these parts; quicker than a regular expression."""
    return any(map(text.__contains__, parts))


def ascii_words(text: str) -> "list[str]":
    """Split a text into lower-case words; beyond ASCII, every character is part of one."""
    if text.isascii():
        return text.encode().translate(_SPACED).decode().split()
    data = text.lower().encode("utf-8", "surrogatepass").translate(_SPACED)
    return data.decode("utf-8", "surrogatepass").split()
