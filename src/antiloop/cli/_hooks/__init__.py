"""The settings of coding agents that start the hook."""
