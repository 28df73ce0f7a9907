"""What cards can make: runs, sets, their wilds, and every meld and lay-off that a hand offers (R4, R5)."""
