"""The arena: bots play each other in pairs of matches with the same cards, and what that proves."""
