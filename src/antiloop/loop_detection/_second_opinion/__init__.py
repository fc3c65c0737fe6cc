"""The second opinion: the question to a judge, the case file and the answer."""
