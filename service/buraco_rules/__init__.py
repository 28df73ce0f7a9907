"""The game of Buraco: pure functions of immutable values, without I/O, clock or randomness but the seed given.

Other packages import from here, and the names of cards and events from `buraco_rules.cards` and `buraco_rules.events`.
Inside, packages build on each other: values at the top of this folder; `melds`, what cards can make; `match`, dealing
and scores; `play`, what a turn may do; `validation` of positions from elsewhere; `replay` of records.

>>> deal, dealt = deal_first(PRESETS_BY_ID["buraco-plus-classic"], 2, bytes(32), starter=0)
>>> legal_moves(deal)
[DrawStock(), TakePile()]
>>> deal, events = apply(deal, DrawStock())
>>> view_of(deal, seat=1).hand_counts
(12, 11)
"""

from buraco_rules.deal import HAND_SIZE, MAX_UNDO_STEPS, POTS, Deal, Ending, Match, Phase, Side, Turn, UndoStep
from buraco_rules.match.dealing import deal_first, deal_match
from buraco_rules.match.result import MatchResult, match_result, next_match, payouts
from buraco_rules.match.scoring import score_deal
from buraco_rules.meld import BURACO_SIZE, BuracoKind, Meld, MeldKind, buraco_points, card_points, make_meld
from buraco_rules.melds.meld_book import meld_book
from buraco_rules.melds.refusal import why_not_laid
from buraco_rules.moves import Discard, DrawStock, LayMeld, LayOff, Move, MoveWild, TakePile
from buraco_rules.play.apply import apply, apply_for
from buraco_rules.play.drawing import draw_violation
from buraco_rules.play.going_out import LastCard, has_pot_left, judge_last_card
from buraco_rules.play.laying import choose_outcome, discard_violation, legal_lays
from buraco_rules.play.legal_moves import legal_moves, normalise_move
from buraco_rules.play.seat_view import view_of
from buraco_rules.play.undo import undo
from buraco_rules.presets import PRESETS, PRESETS_BY_ID
from buraco_rules.problems import MAX_PROBLEMS, Path, Problem, Problems, ValidationError, join_path
from buraco_rules.replay import (
    DealRecord,
    MatchRecord,
    ReplayedMove,
    normalise_record,
    record_deal,
    record_problems,
    replay_deal,
)
from buraco_rules.rule_sets import (
    CloseBy,
    OpeningMinimum,
    PotBy,
    RuleSet,
    StockEnd,
    Tie,
    WildEnd,
    WildMoves,
)
from buraco_rules.scores import DealScore, ScoreLine, ScoreLineKind, SideScore
from buraco_rules.shuffle import SEED_BYTES, commitment, mix_seed, seed_problems, server_seed
from buraco_rules.validation.positions import deal_problems, match_problems
from buraco_rules.view import NextAction, SideView, View
from buraco_rules.violations import VIOLATION_TEXT, IllegalMove, Violation

__all__ = [
    "BURACO_SIZE",
    "HAND_SIZE",
    "MAX_PROBLEMS",
    "MAX_UNDO_STEPS",
    "POTS",
    "PRESETS",
    "PRESETS_BY_ID",
    "SEED_BYTES",
    "VIOLATION_TEXT",
    "BuracoKind",
    "CloseBy",
    "Deal",
    "DealRecord",
    "DealScore",
    "Discard",
    "DrawStock",
    "Ending",
    "IllegalMove",
    "LastCard",
    "LayMeld",
    "LayOff",
    "Match",
    "MatchRecord",
    "MatchResult",
    "Meld",
    "MeldKind",
    "Move",
    "MoveWild",
    "NextAction",
    "OpeningMinimum",
    "Path",
    "Phase",
    "PotBy",
    "Problem",
    "Problems",
    "ReplayedMove",
    "RuleSet",
    "ScoreLine",
    "ScoreLineKind",
    "Side",
    "SideScore",
    "SideView",
    "StockEnd",
    "TakePile",
    "Tie",
    "Turn",
    "UndoStep",
    "ValidationError",
    "View",
    "Violation",
    "WildEnd",
    "WildMoves",
    "apply",
    "apply_for",
    "buraco_points",
    "card_points",
    "choose_outcome",
    "commitment",
    "deal_first",
    "deal_match",
    "deal_problems",
    "discard_violation",
    "draw_violation",
    "has_pot_left",
    "join_path",
    "judge_last_card",
    "legal_lays",
    "legal_moves",
    "make_meld",
    "match_problems",
    "match_result",
    "meld_book",
    "mix_seed",
    "next_match",
    "normalise_move",
    "normalise_record",
    "payouts",
    "record_deal",
    "record_problems",
    "replay_deal",
    "score_deal",
    "seed_problems",
    "server_seed",
    "undo",
    "view_of",
    "why_not_laid",
]
