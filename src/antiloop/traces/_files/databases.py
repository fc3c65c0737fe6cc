"""SQLite databases in which clients keep sessions: opencode, Goose and Crush.

Each session becomes one JSON value, in the shape in which the client exports it, or nearly so. A
database is opened read-only and as immutable, so that nothing is written beside it. Where a
write-ahead log lies beside it, that is copied with it and the copy is read: all of a session may be
in there, also after its client has ended.
"""

import json
import shutil
import sqlite3
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

from ..._text.canonical import json_or
from ...exceptions import NoTrace, TraceUnreadable

TableRow = Dict[str, Any]
StoredSession = Tuple[Dict[str, Any], List[str]]
"""A session as JSON, and what of it cannot be read."""
Reader = Callable[[sqlite3.Connection], Iterator[StoredSession]]
_PARTS = "SELECT message_id, data FROM part WHERE session_id = ? ORDER BY time_created, id"
_OF_GOOSE = (
    "SELECT id, role, content_json AS content, created_timestamp AS created FROM messages"
    " WHERE session_id = ? ORDER BY id"
)
_OF_CRUSH = "SELECT * FROM messages WHERE session_id = ? ORDER BY created_at, rowid"
_MESSAGES = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"


def sessions_in(path: str, max_length: int) -> Iterator[Tuple[int, str, str]]:
    """Yield the sessions of a database: its number, its JSON, and why it cannot be read.

    Raises:
        TraceUnreadable: if the database cannot be read; `NoTrace` if it is of another program.
    """
    try:
        with (
            _settled(Path(path)) as settled,
            closing(
                sqlite3.connect(f"{settled.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
            ) as database,
        ):
            database.row_factory = _row
            database.text_factory = bytes
            for number, (session, broken) in enumerate(_reader_of(database, path)(database), 1):
                text = json.dumps(session)
                if len(text) > max_length:
                    yield number, "", f"longer than {max_length:,} characters"
                else:
                    yield number, text, ""
                yield from ((number, "", each) for each in broken)
    except (sqlite3.Error, OSError) as error:
        raise TraceUnreadable(f"{path}: reading failed: {error}") from error


def _row(cursor: sqlite3.Cursor, row: Tuple[Any, ...]) -> TableRow:
    """Return a row by the names of its columns; a value may be of any type in any column."""
    texts = (one.decode("utf-8", "replace") if isinstance(one, bytes) else one for one in row)
    return dict(zip((column[0] for column in cursor.description), texts))


@contextmanager
def _settled(path: Path) -> Iterator[Path]:
    """Yield the path of a database with all that is in its write-ahead log."""
    log = Path(f"{path}-wal")
    if not log.is_file() or not log.stat().st_size:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="antiloop-") as folder:
        copy = Path(folder, "sessions.db")
        # The log last: what its client merges meanwhile is still in there.
        shutil.copyfile(path, copy)
        shutil.copyfile(log, f"{copy}-wal")
        with closing(sqlite3.connect(copy)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        yield copy


def _reader_of(database: sqlite3.Connection, path: str) -> Reader:
    names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    tables = {row["name"]: _columns(database, row["name"]) for row in names.fetchall()}
    for table, needed, reader in _KINDS:
        if needed <= tables.get(table, frozenset()):
            return reader
    raise NoTrace(f"{path}: no recorded runs here; a database, not of opencode, Goose or Crush")


def _columns(database: sqlite3.Connection, table: str) -> frozenset[str]:
    found = database.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return frozenset(row["name"] for row in found)


def _opencode(database: sqlite3.Connection) -> Iterator[StoredSession]:
    for session in database.execute("SELECT id FROM session ORDER BY time_created, id"):
        own = (session["id"],)
        broken: List[str] = []
        parts: Dict[str, List[Any]] = {}
        for row in database.execute(_PARTS, own):
            part = _value(row["data"], dict, f"a part of message {row['message_id']!r}", broken)
            parts.setdefault(row["message_id"], []).append(part)
        messages = []
        for row in database.execute(_MESSAGES, own):
            info = _value(row["data"], dict, f"message {row['id']!r}", broken) or {}
            held = {"info": {**info, "id": row["id"]}, "parts": parts.get(row["id"], [])}
            messages.append(held)
        yield {"info": {"id": session["id"]}, "messages": messages}, broken


def _goose(database: sqlite3.Connection) -> Iterator[StoredSession]:
    for own, messages, broken in _with_messages(database, _OF_GOOSE, "content"):
        yield {"id": own, "working_dir": "", "conversation": messages}, broken


def _crush(database: sqlite3.Connection) -> Iterator[StoredSession]:
    for own, messages, broken in _with_messages(database, _OF_CRUSH, "parts"):
        yield {"crush_session": own, "messages": messages}, broken


def _with_messages(
    database: sqlite3.Connection, query: str, column: str
) -> Iterator[Tuple[Any, List[TableRow], List[str]]]:
    """Yield the id of each session, its messages with the JSON of a column, and what is broken."""
    for session in database.execute("SELECT id FROM sessions ORDER BY created_at, id"):
        broken: List[str] = []
        messages = [
            {**row, column: _value(row[column], list, f"message {row.get('id')!r}", broken)}
            for row in database.execute(query, (session["id"],))
        ]
        yield session["id"], messages, broken


def _value(text: Any, kind: type, what: str, broken: List[str]) -> Any:
    """Return the JSON of a column; note where it is not what it should be."""
    value = json_or(text)
    if isinstance(value, kind):
        return value
    broken.append(f"{what} is not a JSON {'object' if kind is dict else 'array'}")
    return None


_KINDS = (
    ("part", frozenset(("message_id", "session_id", "data")), _opencode),
    ("messages", frozenset(("session_id", "content_json", "role")), _goose),
    ("messages", frozenset(("session_id", "parts", "role")), _crush),
)
"""A table of each client, columns by which it is known, and how its sessions are read."""
