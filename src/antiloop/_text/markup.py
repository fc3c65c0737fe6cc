"""Text of a recording as HTML that holds nothing but this text, in ASCII."""

import re

_INVISIBLE = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ud800-\udfff\ufff0-\uffff]"
)
"""Characters that cannot be seen, that turn the direction of a line, or that no page can hold."""
_SPECIAL = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})


def visible(text: str) -> str:
    r"""Write what cannot be seen as escapes; lines and tabs stay.

    >>> visible("a\u202eb\n")
    'a\\u202eb\n'
    """
    return _INVISIBLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def html(text: object) -> str:
    """Write any value as the text of an element or the value of an attribute.

    >>> html("<b>\u00e9")
    '&lt;b&gt;&#233;'
    """
    safe = visible(str(text)).translate(_SPECIAL)
    return safe.encode("ascii", "xmlcharrefreplace").decode("ascii")


def preformatted(text: str) -> str:
    """Write a text as a block; a browser drops the first line break of one, so there is another."""
    escaped = visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"<pre>\n{escaped.encode('ascii', 'xmlcharrefreplace').decode('ascii')}</pre>\n"
