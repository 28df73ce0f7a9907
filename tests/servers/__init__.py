"""Starts real servers for tests: from wheels, on loopback, each in a folder of its own."""
