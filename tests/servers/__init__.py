"""Real servers that the tests start: found in wheels, on loopback, each in a folder of its own."""
