"""Message lists of LLM APIs and agent frameworks."""
