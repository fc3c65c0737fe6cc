"""Modules that several readers need."""
