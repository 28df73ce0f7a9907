"""The client against a scripted service on loopback."""
