"""Judges that tests name on the command line."""

from antiloop.loop_detection import Opinion, SecondOpinion

STUCK = Opinion(True, 0.9, "It looks for what is not there.")


def stuck(case):
    return STUCK


async def later(case):
    return STUCK


def broken(case):
    raise PermissionError("no key")


async def broken_later(case):
    raise PermissionError("no key")


def unsure(case):
    return None


settings = SecondOpinion(stuck, suspicion=0.9)
Judge = type("Judge", (), {})
nothing = 7
