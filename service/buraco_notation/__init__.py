"""Text forms of cards, melds, moves, positions, records and rule sets, as FEN and PGN are for chess.

What `format_move`, `format_position` and their like write, `parse_…` reads back, or names all problems and where they
are. Score sheets are for people alone.
"""

from buraco_notation.cards import format_cards, parse_cards
from buraco_notation.melds import format_meld
from buraco_notation.moves import format_move, parse_move
from buraco_notation.positions import format_position, parse_position
from buraco_notation.reading import NotationError, TextProblem, point_out
from buraco_notation.records import format_record, parse_record
from buraco_notation.rule_sets import format_rule_set, parse_rule_set
from buraco_notation.score_sheets import format_ending, format_points, format_score_sheet, format_side

__all__ = [
    "NotationError",
    "TextProblem",
    "format_cards",
    "format_ending",
    "format_meld",
    "format_move",
    "format_points",
    "format_position",
    "format_record",
    "format_rule_set",
    "format_score_sheet",
    "format_side",
    "parse_cards",
    "parse_move",
    "parse_position",
    "parse_record",
    "parse_rule_set",
    "point_out",
]
