"""Calls of RulesService, errors, and what every call goes through."""
