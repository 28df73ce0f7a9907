"""Fuzzing: broken bytes and texts at every way in. `make fuzz` runs it for a bounded time."""
