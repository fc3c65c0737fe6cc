"""The state of one run in a monitor, and the steps of a round."""
