"""How the time of a function grows with its input, whatever the machine."""

import time

NOTHING_S = 0.0001
"""Times below this are not compared: what is not linear needs far more for 2,000 characters."""
ATTEMPTS = 6


def seconds(function, *arguments):
    """Return what a call takes of the processor, in this thread."""
    began = time.thread_time()
    function(*arguments)
    return time.thread_time() - began


def grows_as_the_length(use, size):
    """Whether `use` takes for ten times the size nowhere near a hundred times as long.

    Other work on the machine disturbs a measurement, so that one of a few has to show it.
    """
    return any(
        seconds(use, 10 * size) < 40 * max(seconds(use, size), NOTHING_S) for _ in range(ATTEMPTS)
    )
