"""What ArrangeMeld answers, of either service."""

from typing import Any, Final

from buraco.v1 import rules_service_pb2 as pb
from buraco_codec.melds import put_meld
from buraco_rules import Meld, RuleSet, buraco_points, card_points, meld_book, why_not_laid

MIN_ARRANGED: Final = 3
"""Cards of a new meld at least."""
MAX_ARRANGED: Final = 15
"""Cards of one request; no meld has more."""


def fill_arrangements(response: Any, rules: RuleSet, base: Meld | None, cards: tuple[int, ...]) -> None:
    """Put every arrangement of the cards on `base` (None: as a new meld) into a response, or why there is none."""
    for outcome in meld_book(rules).arrange(base, cards):
        meld = outcome.meld
        arrangement: pb.Arrangement = response.arrangements.add(
            card_points=card_points(rules, meld.cards), buraco_points=buraco_points(rules, meld.buraco)
        )
        put_meld(arrangement.meld, meld)
    if not response.arrangements:
        response.violations.extend(why_not_laid(rules, base, cards, None))
