"""Two switches of the environment, for a process that must not be changed to be switched.

They hold for every live monitor, however its detector was made; a replay is as it always is.
"""

import os

SHADOW = "ANTILOOP_SHADOW"
"""Verdicts are reported, and none is acted on."""
DISABLED = "ANTILOOP_DISABLED"
"""Monitors record nothing, and every verdict says continue."""
_OFF = ("", "0", "false", "no", "off")


def is_on(name: str) -> bool:
    """Whether a switch is on: set to anything but an empty text, 0, false, no or off."""
    return os.environ.get(name, "").strip().lower() not in _OFF
