"""Whether a position from elsewhere could have come from play: all that is wrong with it, found at once."""
