"""The effect of a call, guessed from its words: it changes something, or it only looks.

This is the one place that decides. What the user declares about a tool comes before it.
"""

import re
from functools import lru_cache
from typing import Any, List, Optional, Set

from .noise import command_line

_MUTATING = frozenset(
    """
    add apply append book cancel commit create delete disable edit enable exchange grant insert
    install modify move patch pay post publish put refund remove rename replace reset restart save
    send set submit toggle transfer turn update upload write
    """.split()
)
_READING = frozenset(
    """
    check fetch find get grep head list look open options query read search show status view
    """.split()
)
_ASKING = frozenset("check has is scan validate verify".split())  # whether something holds
_FINISHING = frozenset("complete completed completion done finish finished submit".split())
_HANDING = frozenset("escalate forward handoff handover transfer".split())
_PEOPLE = frozenset("human humans operator person staff supervisor".split())
_MOVING = frozenset(
    """
    back cd click computer down forward hover keypress keys mouse next pagedown pageup popd press
    previous pushd redo scroll swipe undo up
    """.split()
)
_SENDING = frozenset("send submit write".split())
_TYPED = frozenset(  # what is sent to a terminal, or is one
    "command console fill input key keys line process shell stdin terminal tmux".split()
)
_SHELLS = frozenset("bash powershell sh zsh".split())
VERBS = ("command", "action", "operation", "method")  # where a tool of several commands says which
LONGEST_NAME = 100
"""Characters of a verb at most: what is longer is a line for a shell."""
_JOBS = frozenset("job jobs poll progress status wait".split())
_CHANGING = frozenset(
    """
    apply apply_patch checkout chmod commit cp install ln merge mkdir mv patch reset restore revert
    rm stash switch tee touch unlink
    """.split()
)
_SEARCHING = frozenset("ack ag egrep fd fgrep find grep rg".split())
_PRINTING = _SEARCHING.union("cat echo file head ls od pwd stat strings tail wc xxd".split())
_EDITORS = frozenset(("perl", "sed"))
_SHELL_NAMES = ("bash", "dash", "sh", "zsh")
_REDIRECTED = re.compile(r"(?<![-=<&\d])>{1,2}\s*(?!/dev/|&)[\w./~$\"']")
_COMMANDS = re.compile(r"[|;&\n]\s*")
_SEQUENCE = re.compile(r"&&|;|\n")
_ID = re.compile(r"\w*(?:ids?|(?:\b|_)(?:key|name|number|slug))\Z")
_GROUPS = re.compile(r"\A.*(?:__|[./:])(?=\w)")
_NUMBERED = re.compile(r"[A-Za-z]{1,10}[-_#]?\d{1,9}\Z")  # T1, INV-003; a number may be an answer
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def seems_to_mutate(tool_name: str, arguments: Any) -> bool:
    """Guess from its name whether a call changes the world.

    A tool of several commands is judged by the command, if that says anything:
    ``{"command": "view"}`` only looks; ``{"action": "send"}``, ``{"method": "POST"}`` and
    ``{"method": "chat.postMessage"}`` change something.
    """
    return _effect(tool_name, arguments) is True


def seems_to_look(tool_name: str, arguments: Any) -> bool:
    """Guess from its name, or from the first words of a command line, whether a call only looks."""
    effect = _effect(tool_name, arguments)
    return _searches(tool_name, arguments) if effect is None else not effect


def command_changes(arguments: Any) -> bool:
    """Guess from its words whether a command line changes files."""
    command = command_line(arguments)
    if command is None:
        return False
    parts = command.split()
    if not _CHANGING.isdisjoint(parts) or ("-i" in parts and not _EDITORS.isdisjoint(parts)):
        return True
    return ">" in command and _REDIRECTED.search(command) is not None


def carries_text(tool_name: str, arguments: Any) -> bool:
    r"""Guess whether a call brings a text of several lines to where it acts, as an edit does.

    >>> carries_text("ersetzen", {"alt": "a = 1\nb = 2", "neu": "a = 2"})
    True
    >>> carries_text("run", {"command": "cat <<EOF\na\nEOF"})
    False
    """
    if command_line(arguments) is not None or _effect(tool_name, arguments) is False:
        return False
    texts = _texts_in(arguments)
    return any("\n" in each.strip() for each in texts) and not seems_to_type(tool_name)


def changes_midway(arguments: Any) -> bool:
    """Guess whether a part before the last one of a command line changes files.

    A test that fails behind ``git stash &&`` was run on another state of the files.
    """
    return any(map(command_changes, _parts_before_the_last(arguments)))


def switches_midway(arguments: Any) -> bool:
    """Guess whether a line goes to another state of the files before its last part, and that alone.

    >>> switches_midway({"command": "git checkout v2 && make"})
    True
    >>> switches_midway({"command": "git checkout a.py && sed -i s/a/b/ a.py && make"})
    False
    """
    changes = filter(command_changes, _parts_before_the_last(arguments))
    programs = {part.split(None, 1)[0] for part in changes}
    return programs == {"git"}


def _parts_before_the_last(arguments: Any) -> List[str]:
    command = command_line(arguments)
    if command is None or _SEQUENCE.search(command) is None:
        return []
    return _SEQUENCE.split(command)[:-1]


def asks_of_a_job(tool_name: str, arguments: Any) -> bool:
    """Guess from its name whether a call asks how far some work elsewhere is."""
    return not _JOBS.isdisjoint(name_parts(" ".join([tool_name, *_verbs(arguments)])))


@lru_cache(maxsize=1024)
def asks_whether(tool_name: str) -> bool:
    """Guess from its name whether "no" is as good an answer of a tool as "yes".

    >>> asks_whether("check_duplicate"), asks_whether("find_duplicates")
    (True, False)
    """
    return not _ASKING.isdisjoint(name_parts(tool_name))


@lru_cache(maxsize=1024)
def seems_to_finish(tool_name: str) -> bool:
    """Guess from its name whether a tool ends the run: its last word, or that people take over."""
    parts = name_parts(tool_name)
    # The last word only: `complete_order` is a step of the work.
    if not _FINISHING.isdisjoint(parts[-1:]):
        return True
    return not (_HANDING.isdisjoint(parts) or _PEOPLE.isdisjoint(parts))


def names_one_of_many(tool_name: str, arguments: Any) -> bool:
    """Guess whether arguments say by an id which one of many things a call is about.

    >>> names_one_of_many("task_done", {"id": 7}), names_one_of_many("mark_done", {"ticket": "T7"})
    (True, True)
    >>> names_one_of_many("task_done", {"message": "task 7 is done"})
    False
    """
    if not isinstance(arguments, dict):
        return False
    parts = name_parts(tool_name)
    return any(
        type(value) in (int, str)
        and len(str(value)[: LONGEST_NAME + 1].split()) == 1
        and (_is_id(key[:LONGEST_NAME].lower(), value) or key.lower() in parts)
        for key, value in arguments.items()
    )


def _is_id(key: str, value: Any) -> bool:
    return _ID.match(key) is not None or _NUMBERED.match(str(value)) is not None


@lru_cache(maxsize=1024)
def seems_to_type(tool_name: str) -> bool:
    """Guess from its name whether a tool types into a program or sends something."""
    parts = name_parts(tool_name)
    return not _TYPED.isdisjoint(parts) or any(part.startswith(("send", "type")) for part in parts)


@lru_cache(maxsize=1024)
def seems_to_be_shell(tool_name: str) -> bool:
    """Guess from its name whether a tool runs what it receives as a line of a shell.

    >>> [name for name in ("run_shell_command", "Bash", "gdb") if seems_to_be_shell(name)]
    ['run_shell_command', 'Bash']
    """
    return not _SHELLS.union(_TYPED).isdisjoint(name_parts(tool_name))


def is_typed(tool_name: str, arguments: Any) -> bool:
    """Guess whether a call is a line for a shell, or what is typed into a program."""
    is_line = _line_of(tool_name, arguments) is not None
    return is_line or seems_to_type(tool_name) or _last_name(tool_name).lower() in _SHELLS


def seems_to_move(tool_name: str, arguments: Any) -> bool:
    """Guess whether the same call leads further each time: by its name, or as it presses a key.

    >>> [name for name in ("scroll_down", "cd", "press_key", "write") if seems_to_move(name, {})]
    ['scroll_down', 'cd', 'press_key']
    >>> seems_to_move("send_dtmf", {"digit": "0"}), seems_to_move("send_sms", {"text": "call me"})
    (True, False)
    """
    if any(map(_is_named_move, [tool_name, *_verbs(arguments)])):
        return True
    is_pressed = _is_single_key(arguments) and seems_to_type(tool_name)
    return is_pressed and _effect(tool_name, arguments) is not False  # "read_terminal" of "2"


def _is_single_key(arguments: Any) -> bool:
    """Whether a single character is the only text in arguments."""
    texts = _texts_in(arguments)
    return len(texts) == 1 == len(texts[0])


@lru_cache(maxsize=1024)
def _is_named_move(tool_name: str) -> bool:
    parts = name_parts(_last_name(tool_name))
    # `get_next_page` says where it is, `next` does not.
    return not _MOVING.isdisjoint(parts) and _READING.isdisjoint(parts[:1])


def _searches(tool_name: str, arguments: Any) -> bool:
    """Whether a command line searches or only prints, and nothing that it finds is changed."""
    command = _line_of(tool_name, arguments)
    if command is None:
        return False
    first_words = [word for part in _COMMANDS.split(command) for word in part.split(None, 1)[:1]]
    # A search in any part makes silence its answer. Without one, all parts must only print.
    if _SEARCHING.isdisjoint(first_words) and not _PRINTING.issuperset(first_words or [""]):
        return False
    # `find -delete`, `find -exec touch` and `sed -i` begin like a search and are none.
    return not ("-delete" in command or command_changes(command))


def printing_programs(command: str) -> Set[str]:
    """Return the programs of a command line that only prints, and the shells; none of another.

    >>> sorted(printing_programs("sed -n 1,9p a.go | head -3"))[-3:]
    ['sed', 'sh', 'zsh']
    >>> printing_programs("make | head -3")
    set()
    """
    if command_changes(command):
        return set()
    parts = [part.split() for part in _COMMANDS.split(command) if part.strip()]
    names = {words[0] for words in parts if words[:2] != ["sed", "-n"]}
    only_prints = names <= _PRINTING | {"cd"}
    return {words[0] for words in parts}.union(_SHELL_NAMES) if only_prints else set()


def _line_of(tool_name: str, arguments: Any) -> Optional[str]:
    """Return the command line of a call: ``ls | grep a`` is one of the tool ``ls``, too."""
    named = (each for each in _texts_in(arguments) if each.split(None, 1)[:1] == [tool_name])
    return command_line(arguments) or next(named, None)


def _texts_in(arguments: Any) -> List[str]:
    given = arguments.values() if isinstance(arguments, dict) else ()
    return [each for each in given if isinstance(each, str)]


def _effect(tool_name: str, arguments: Any) -> Optional[bool]:
    """Whether a call changes something (True) or only looks (False) by its name."""
    for verb in _verbs(arguments):
        effect = _sounds_like_change(verb, tool_name)
        if effect is not None:
            return effect
    return _states_change(arguments) or _sounds_like_change(tool_name)


def _states_change(arguments: Any) -> Optional[bool]:
    """Whether an argument is a statement of SQL that changes something; None if none is.

    >>> _states_change({"sql": "INSERT INTO a VALUES (1)"}), _states_change({"q": "insert a row"})
    (True, None)
    """
    for text in _texts_in(arguments):
        # Its verbs are written in capitals; one word by itself is a value.
        said = text[:LONGEST_NAME].split(None, 1)
        if len(said) > 1 and said[0].isupper() and said[0].lower() in _MUTATING:
            return True
    return None


def _verbs(arguments: Any) -> List[str]:
    given = map(arguments.get, VERBS) if isinstance(arguments, dict) else ()
    return [_last_name(verb) for verb in given if isinstance(verb, str) and _is_name(verb)]


def _is_name(verb: str) -> bool:
    """Whether this is a name, or dotted names: ``send-keys``, ``chat.postMessage``."""
    if " " in verb or len(verb) > LONGEST_NAME:
        return False
    return all(map(str.isidentifier, verb.replace("-", "_").split(".")))


def _last_name(name: str) -> str:
    """Return the last of several names, as in ``mcp__files__read``; those before it are groups."""
    return _GROUPS.sub("", name)


@lru_cache(maxsize=1024)
def _sounds_like_change(name: str, of_tool: str = "") -> Optional[bool]:
    parts = name_parts(_last_name(name))
    if parts[-1:] == ["replace"]:
        return True  # `search_and_replace` looks for what it replaces
    # Its verb stands first, but for `web_search` and its like.
    if not _READING.isdisjoint(parts[:1]) or parts[-1:] == ["search"]:
        return False
    changes = _MUTATING.intersection(parts)
    # "send keys to the terminal" does what is typed, and that may be to look.
    is_typing = changes <= _SENDING and not _TYPED.isdisjoint([*parts, *name_parts(of_tool)])
    return True if changes and not is_typing else None


def name_parts(name: str) -> List[str]:
    """Split a name into its words, in lower case."""
    return [part.lower() for part in _PARTS.findall(name)]
