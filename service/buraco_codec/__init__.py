"""Messages of the contract as values of the rules, and back: plain functions, one module for each kind of value.

`x_to_pb` and `x_bytes` cannot fail on what the rules made. `x_from_pb` raises `buraco_rules.ValidationError` with every
field at fault. Enums, cards among them, have the same numbers on both sides, which tests hold.
"""
