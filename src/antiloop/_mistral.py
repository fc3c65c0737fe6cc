"""The order of messages that Mistral's API takes: after results, only the model may speak."""

__all__ = ["BRIDGE", "is_of_mistral"]

BRIDGE = "OK"
"""The words of a model between results and another's words, where its API wants some."""
_OF_MISTRAL = ("mistral", "mixtral", "ministral", "magistral", "codestral", "devstral", "pixtral")


def is_of_mistral(name: str) -> bool:
    """Whether a model is one of Mistral, whose API refuses a user's message right after results.

    >>> is_of_mistral("mistral/devstral-medium"), is_of_mistral("gpt-5")
    (True, False)
    """
    return any(each in name.lower() for each in _OF_MISTRAL)
