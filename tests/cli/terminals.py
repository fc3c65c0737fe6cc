"""A program in a pseudo terminal, which shows what a person would see."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path
from threading import Timer

ROOT = Path(__file__).parents[2]
PATIENCE_S = 20


class Terminal:
    """The program in a terminal and a process group.

    Args:
        arguments: of the command line.
        size: columns and lines.
        has_shell: whether somebody can continue it; if not, it cannot be stopped.
    """

    def __init__(self, *arguments, size=(90, 12), has_shell=True):
        self.master, slave = pty.openpty()
        self.resize(*size)
        self.shown = ""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "antiloop", *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "TERM": "xterm", "COLUMNS": ""},
            start_new_session=not has_shell,
            preexec_fn=os.setpgrp if has_shell else None,
        )
        os.close(slave)

    def resize(self, columns_, lines):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns_, 0, 0))

    def read_until(self, *words):
        """Read until the latest screen has all these words; give its lines."""
        while self.read(PATIENCE_S):
            screen = self.shown.rpartition("\x1b[H")[2].partition("\x1b[J")
            if screen[1] and all(word in screen[0] for word in words):
                return re.sub(r"\x1b\[[?\d]*[a-zA-Z]", "", screen[0]).replace("\r", "").split("\n")
        raise AssertionError(f"never shown: {words}")

    def read(self, patience_s):
        """Read a part of what is shown; give whether there was any."""
        if not select.select([self.master], [], [], patience_s)[0]:
            return False
        try:
            part = os.read(self.master, 65536)
        except OSError:  # the other end is closed
            return False
        self.shown += part.decode("utf-8", "replace")
        return True

    def stop(self, number):
        """Send a signal that stops the program, and read all that is shown until then."""
        self.process.send_signal(number)
        timer = Timer(PATIENCE_S, self.process.kill)
        timer.start()
        _, status = os.waitpid(self.process.pid, os.WUNTRACED)
        timer.cancel()
        while self.read(0):
            pass
        return os.WIFSTOPPED(status) and os.WSTOPSIG(status)

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        while self.read(PATIENCE_S):
            pass
        os.close(self.master)
        return self.process.wait(timeout=PATIENCE_S)
