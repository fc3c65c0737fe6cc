"""Links from docstrings and signatures: what a short name means, and what needs no link."""

import builtins
import sys
from importlib.util import find_spec
from typing import Any, Dict, Optional

from docutils import nodes
from frameworks import MOCKED
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode

from public_names import public_names


def setup(app: Sphinx) -> Dict[str, Any]:
    """Connect to the build."""
    app.connect("missing-reference", find)
    return {"parallel_read_safe": True}


def find(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element
) -> Optional[nodes.Element]:
    """Find what a name means that is not defined where it is used; None fails the build."""
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    return public(app, env, node, content) or (content if needs_no_link(target, node) else None)


def public(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element
) -> Optional[nodes.Element]:
    """Link to the one public thing whose name ends like this, if there is just one."""
    objects = env.domains.python_domain.objects.items()
    target = node["reftarget"]
    if not any(letter.isupper() for letter in target):
        return None
    ending = f".{target}"
    entries = {(each.docname, each.node_id) for name, each in objects if name.endswith(ending)}
    if len(entries) != 1:
        return None
    docname, node_id = entries.pop()
    return make_refnode(app.builder, node["refdoc"], docname, node_id, content, target)


def needs_no_link(target: str, node: pending_xref) -> bool:
    """Whether a name is described nowhere on this site, and rightly so.

    Builtins, the standard library and the frameworks are described elsewhere. Lower-case
    names in prose are parameters and fields. Signatures and bases name private classes in full.
    """
    first = target.partition(".")[0]
    if hasattr(builtins, target) or first in {*sys.stdlib_module_names, *MOCKED}:
        return True
    if node["reftype"] == "obj":
        return target == target.lower()
    return first == "antiloop" and is_private(target)


def is_private(target: str) -> bool:
    """Whether a name in full is one of the package that is not public."""
    module, _, name = target.rpartition(".")
    return find_spec(module) is not None and name not in public_names().get(module, ())
