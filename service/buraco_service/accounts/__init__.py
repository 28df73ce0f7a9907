"""Accounts of play money: credits that are worth nothing outside the games of this service."""
