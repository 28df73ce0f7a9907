"""The rules of the game, checked against what the rules say and not against the code."""
