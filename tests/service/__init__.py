"""The service around the rules."""
