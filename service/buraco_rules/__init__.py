"""The game of Buraco: pure functions of immutable values, without I/O, clock or randomness but the seed given."""
