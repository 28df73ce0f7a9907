"""Protobuf messages to values of the rules and back: plain functions, one module a thing.

`x_to_pb` cannot fail on what the rules made. `x_from_pb` raises `buraco_rules.ValidationError`, which names every field
at fault. Enum numbers are the same on both sides by design, and tests hold that; so cards cross as whole lists.
"""
