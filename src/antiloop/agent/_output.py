"""Structured output: what the final answer must look like, and whether it does."""

import json
import re
from typing import Any, Mapping, Tuple

from .._frozen import frozen
from .._json_schema import schema_errors
from .._short_repr import error_text, said_by
from ._tools.annotations import annotation_schema, build_value
from ._tools.records import is_model

RETRY_MARKER = "Your answer does not have the required form."
"""The beginning of the message that asks again."""
_FENCED = re.compile(r"^```\w*[^\S\n]*\n(.*?)\n?```$", re.DOTALL)


class ResponseFormat:
    """The form that the final answer must have.

    Args:
        wanted: a dataclass, TypedDict or pydantic model, which the answer is turned into, or a
            JSON schema.
    """

    def __init__(self, wanted: Any) -> None:
        if not isinstance(wanted, Mapping) and not is_model(wanted):
            raise TypeError(
                "response_format must be a dataclass, a pydantic model or a JSON schema, got"
                f" {wanted!r}"
            )
        self._annotation = Any if isinstance(wanted, Mapping) else wanted
        self.schema: Mapping[str, Any] = (
            frozen(wanted) if isinstance(wanted, Mapping) else frozen(annotation_schema(wanted))
        )

    def read(self, text: str) -> Tuple[Any, str]:
        """Return the answer as a value, and what is wrong with it; one of the two is empty.

        A fence around the JSON is taken off: many models cannot help writing one.
        """
        fenced = _FENCED.match(text.strip())
        try:
            value = json.loads(fenced.group(1) if fenced else text)
            problems = schema_errors(value, self.schema, "answer")
        except (ValueError, RecursionError) as error:
            return None, f"not valid JSON: {error}"
        if problems:
            return None, "; ".join(problems)
        try:
            return build_value(self._annotation, value), ""
        except Exception as error:  # noqa: BLE001 - a dataclass may refuse its values in any way
            return None, f"answer: {said_by(error) or error_text(error)}"

    def retry_text(self, problem: str) -> str:
        """Return the message to the model: what was wrong and what is wanted."""
        schema = json.dumps(self.schema, default=str)
        return f"{RETRY_MARKER} {problem}\nAnswer with JSON alone, in this schema: {schema}"
