"""Traces of agents: spans of OpenTelemetry, and exports of tools for observability."""
