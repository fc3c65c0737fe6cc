"""Tools: how a function is described to the model, and how a call of the model becomes its call."""

from .tool import Tool as Tool
from .tool import ToolOptions as ToolOptions
from .tool import tool as tool
