"""Two environment variables that switch a process without a change of its code.

They hold for every live monitor, however its detector was made; a replay is as it always is.
"""

import os

SHADOW = "ANTILOOP_SHADOW"
"""Verdicts are reported, and no action is taken."""
DISABLED = "ANTILOOP_DISABLED"
"""Monitors record nothing, and every verdict says continue."""
_OFF = ("", "0", "false", "no", "off")


def is_on(name: str) -> bool:
    """Whether a switch is on: set to anything but an empty text, 0, false, no or off."""
    return os.environ.get(name, "").strip().lower() not in _OFF
