"""Small builders of runs, so that a test shows only what it is about.

A run is written as rounds, a round as steps: ``rounds([LS], [LS, CAT])``.
"""

from itertools import count

from antiloop import ToolCall, ToolResult
from antiloop.loop_detection._evidence.asked import asked_of
from antiloop.loop_detection._evidence.call_features import CallFeatures
from antiloop.loop_detection._profiles import NO_CLIENT


def call(tool="ls", **arguments):
    """One call, as the model asked for it."""
    return ToolCall(tool, arguments)


def step(tool="ls", result=None, /, **arguments):
    """One call and what came back; None is a result that is not known."""
    return ToolCall(tool, arguments), result


def features_of(made, result, policy=None, client=NO_CLIENT):
    """Read a call and its result, with what is known of the tool and the client."""
    policies = {} if policy is None else {made.tool_name: policy}
    return CallFeatures.of(asked_of(made, policies, client), result)


def failed(tool, text, /, **arguments):
    """One call that the tool says has failed."""
    return step(tool, ToolResult(text, is_error=True), **arguments)


def in_rounds(*rounds):
    """Return calls and results of rounds of steps, numbered from 0, as `check` takes them."""
    calls, results = [], []
    for number, steps in enumerate(rounds):
        for made, result in steps:
            calls.append(ToolCall(made.tool_name, made.arguments, made.id, number))
            results.append(result)
    return calls, results


def in_a_row(*steps):
    """Return calls and results of a run in which each step is a round of its own."""
    return in_rounds(*([each] for each in steps))


def ask(detector, *steps):
    """Ask a detector about a run in which each step is a round of its own."""
    return detector.check(*in_a_row(*steps))


def ask_rounds(detector, *rounds):
    """Ask a detector about a run of rounds."""
    return detector.check(*in_rounds(*rounds))


def verdicts(detector, *rounds):
    """Return the verdict after each round of a run, from a monitor of its own."""
    monitor = detector.monitor()
    return [
        monitor.after([made for made, _ in steps], [result for _, result in steps])
        for steps in rounds
    ]


def fresh_answers(text="page {} of the list"):
    """Yield answers that differ in their words, never twice the same."""
    words = ("alpha", "beta", "gamma", "delta", "kappa", "lambda", "sigma", "theta", "omega")
    for number in count():
        yield text.format("-".join(words[int(digit)] for digit in f"{number:o}"))
