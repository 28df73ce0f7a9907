"""Bots, the arena and the fleet."""
