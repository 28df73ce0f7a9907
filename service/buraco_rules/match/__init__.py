"""From deal to deal: dealing, the score of a deal, the result of a match (R2, R9, R10)."""
