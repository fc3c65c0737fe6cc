"""Whether a conversation that is cut down has lost what the model knew."""

_FORGOTTEN_CALLS = 9
"""Calls between two times that a model forgets: three laps of three calls are found in between."""


def has_forgotten(made: int, mark: int, held: int) -> bool:
    """Say whether a model has forgotten what came before, since it last forgot something.

    A summary takes messages away at once, a window one by one. Once the conversation holds no call
    from before a mark, all of them are forgotten. A conversation of which hardly anything is kept
    is not forgotten each time, or no loop would ever be found in it.

    Args:
        made: how many calls were made.
        mark: how many calls were made when this last said yes; 0 at the beginning.
        held: how many calls the conversation still holds.
    """
    since = made - mark
    return since >= _FORGOTTEN_CALLS and held <= since and held < made
