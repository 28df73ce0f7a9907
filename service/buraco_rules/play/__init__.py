"""A turn: what may be drawn, laid and discarded, and what follows from it (R3, R6 to R8, R11)."""
