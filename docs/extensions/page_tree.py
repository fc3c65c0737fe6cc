"""The site's tree of pages: the sections and lists of the index, and the pages of the API."""

import re
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

from sphinx.application import Sphinx

from public_names import public_names

_HEADING = re.compile(r"^##+ ([^:\n]+)")
_ENTRY = re.compile(r"^- \[[^]]+\]\((?!\.\./)([^)]+)\.md\)")
_API = "reference/api"
_OUTSIDE = {"changelog": "../CHANGELOG.md", "contributing": "../.github/CONTRIBUTING.md"}
"""Pages of the repository that stand elsewhere; in ``docs`` they stand while the site is built."""
_REDIRECT = '<!doctype html><meta http-equiv="refresh" content="0; url={0}"><a href="{0}">{0}</a>'


def setup(app: Sphinx) -> Dict[str, Any]:
    """Connect to the build."""
    app.connect("builder-inited", add_pages)
    app.connect("source-read", add_tree)
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True}


def add_pages(app: Sphinx) -> None:
    """Bring in the pages from outside."""
    for page, path in _OUTSIDE.items():
        text = (Path(app.srcdir) / path).read_text(encoding="utf-8")
        # Pages of the root name those of the site from there.
        made = text.replace("](docs/", "](").replace("](../docs/", "](")
        (Path(app.srcdir) / f"{page}.md").write_text(made, encoding="utf-8")


def finish(app: Sphinx, exception: object) -> None:
    """Leave the clone as it was, and lead from ``index.html`` to the index."""
    for page in _OUTSIDE:
        (Path(app.srcdir) / f"{page}.md").unlink(missing_ok=True)
    front = f"{app.config.root_doc}.html"
    (Path(app.outdir) / "index.html").write_text(_REDIRECT.format(front), encoding="utf-8")


def add_tree(app: Sphinx, page: str, source: List[str]) -> None:
    """Add to the index, and to the page about the API, which pages are below."""
    if page == app.config.root_doc:
        source[0] += "".join(tree(pages, caption) for caption, pages in sections(source[0]))
        source[0] += tree(list(_OUTSIDE), "Project")
        for name, path in _OUTSIDE.items():
            source[0] = source[0].replace(f"]({path})", f"]({name}.md)")
    elif page == _API:
        source[0] += tree([f"api/{module}" for module in public_names()])


def sections(index: str) -> Iterator[Tuple[str, List[str]]]:
    """Yield each section of the index that lists pages."""
    caption, pages = "", []  # type: Tuple[str, List[str]]
    for line in index.splitlines():
        heading, entry = _HEADING.match(line), _ENTRY.match(line)
        if entry:
            pages.append(entry[1])
        elif heading:
            if pages:
                yield caption, pages
            caption, pages = heading[1], []
    if pages:
        yield caption, pages


def tree(pages: List[str], caption: str = "") -> str:
    """Write the directive that puts pages into the tree, without showing it."""
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join(["\n\n```{toctree}", *options, "", *pages, "```\n"])
