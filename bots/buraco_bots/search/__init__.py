"""Bots that try their moves in deals that they imagine."""
