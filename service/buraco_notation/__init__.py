"""Text forms of cards, melds, moves, positions, records and rule sets, as FEN and PGN are for chess.

Every `format_…` has its `parse_…`, which gives back the same value or names all that is wrong and where.
"""

from buraco_notation.cards import NotationError, format_cards, parse_cards
from buraco_notation.melds import format_meld
from buraco_notation.moves import format_move, parse_move
from buraco_notation.positions import format_position, parse_position
from buraco_notation.reading import Fault, NotationFaults, pointed_out
from buraco_notation.records import format_record, parse_record
from buraco_notation.rule_sets import format_rule_set, parse_rule_set

__all__ = [
    "Fault",
    "NotationError",
    "NotationFaults",
    "format_cards",
    "format_meld",
    "format_move",
    "format_position",
    "format_record",
    "format_rule_set",
    "parse_cards",
    "parse_move",
    "parse_position",
    "parse_record",
    "parse_rule_set",
    "pointed_out",
]
