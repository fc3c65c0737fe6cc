"""Answer an event for every way in which a transcript can be cut, each as a fresh process would.

    python cut_transcript.py TRANSCRIPT SAME OTHER

TRANSCRIPT is cut at every byte, as one that is still written, and within each of its first lines.
SAME is the event of a call that is in all of its lines, OTHER that of one that only looks like it;
both name the file ``cut.jsonl`` beside it. Printed is what comes of each: the event, the number of
lines that are whole, and what the hook writes.

With ``fork`` before the arguments each answer is that of a process of its own.
"""

import io
import os
import sys

from antiloop.integrations._hooks import hook_process


def cuts(data):
    """Yield which event, and the transcript that is left."""
    lines = data.splitlines(True)
    for end in range(len(data) + 1):
        yield 0, data[:end]
    for number, line in enumerate(lines[:2]):
        before, after = b"".join(lines[:number]), b"".join(lines[number + 1 :])
        for end in range(len(line) - 1):
            for event in (0, 1):
                yield event, before + line[:end] + b"\n" + after


def answered(event):
    """Answer an event, and give what is written to standard output and error."""
    before = sys.stdin, sys.stdout, sys.stderr
    sys.stdin = io.TextIOWrapper(io.BytesIO(event.encode()))
    sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
    try:
        hook_process.main([])
        return sys.stdout.getvalue() + sys.stderr.getvalue()
    finally:
        sys.stdin, sys.stdout, sys.stderr = before


def in_a_process(event):
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.write(write, answered(event).encode())
        os._exit(0)
    os.close(write)
    with open(read, encoding="utf-8") as file:
        said = file.read()
    os.waitpid(child, 0)
    return said


def main(transcript, *events):
    run = answered
    if transcript == "fork":
        run, (transcript, *events) = in_a_process, events
    with open(transcript, "rb") as file:
        data = file.read()
    lines = data.splitlines()
    for number, left in cuts(data):
        with open(os.path.join(os.path.dirname(transcript), "cut.jsonl"), "wb") as file:
            file.write(left)
        whole = sum(line in lines for line in left.splitlines())
        print(number, whole, run(events[number]).strip(), sep="\t")


if __name__ == "__main__":
    main(*sys.argv[1:])
