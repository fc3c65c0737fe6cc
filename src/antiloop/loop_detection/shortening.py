"""Long texts, cut so that they can be shown."""

LABEL_LENGTH = 60
"""Characters of the arguments that are shown to a person or a model."""


def shortened(text: str, length: int = LABEL_LENGTH) -> str:
    """Cut a text in the middle, so that both ends stay readable."""
    if len(text) <= length:
        return text
    half = (length - 3) // 2
    return f"{text[:half]}...{text[-half:]}"
