"""What cards can make: runs, sets, where their wilds act, and the candidate moves of a hand (R4, R5)."""
