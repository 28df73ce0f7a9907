"""What a seat knows of hidden cards from the events that it has seen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from buraco.v1 import event_pb2
from buraco_rules import View
from buraco_rules.cards import FACES, JOKER

UNKNOWN: Final = 0
"""Takes the place of a card that was not seen."""


class Memory:
    """Remembers where the cards are that were seen and are hidden again: in hands, and in a closed pile.

    It may begin in the middle of a deal, and then knows less. A view is always right: what contradicts it is forgotten.
    """

    def __init__(self) -> None:
        self._deal_number = 0
        self._hands: defaultdict[int, list[int]] = defaultdict(list)
        self._pile: list[int] = []

    def note(self, event: event_pb2.Event) -> None:
        """Note an event of the table, redacted for any seat. All events of a deal are needed, in their order."""
        match event.WhichOneof("event"):
            case "dealt":
                self._forget()
                self._deal_number = event.dealt.deal_number
                if event.dealt.upcard:
                    self._pile.append(event.dealt.upcard)
            case "discarded":
                self._remove(event.discarded.seat, [event.discarded.card])
                self._pile.append(event.discarded.card)
            case "took_pile":
                taken = event.took_pile
                self._hands[taken.seat] += taken.cards
                # Of a closed pile only the top card is taken with this event (R3.4).
                del self._pile[max(0, len(self._pile) - len(taken.cards)) :]
            case "took_rest":
                self._hands[event.took_rest.seat] += [card for card in self._pile if card != UNKNOWN]
                self._pile.clear()
            case "melded":
                self._remove(event.melded.seat, event.melded.meld.cards)
            case "laid_off":
                self._remove(event.laid_off.seat, event.laid_off.cards)
            case "opening_failed":
                self._hands[event.opening_failed.seat] += event.opening_failed.cards
            case "undone":
                self._hands[event.undone.seat] += event.undone.cards
            case "pot_taken":
                self._hands[event.pot_taken.seat] = []  # nothing else is in the hand

    def known_hands(self, view: View) -> tuple[tuple[int, ...], ...]:
        """Return by seat the cards known to be in its hand, sorted: all of the view's own, few or none of others."""
        self._correct(view)
        return self._hands_with(view)

    def known_pile(self, view: View) -> tuple[int, ...]:
        """Return all cards of the pile, top last; those that were not seen are UNKNOWN."""
        self._correct(view)
        return self._pile_with(view)

    def unseen_cards(self, view: View) -> tuple[int, ...]:
        """Return the cards whose place is not known, sorted: in stock, pots, other hands, or a closed pile."""
        self._correct(view)
        counts = self._count_unseen(view)
        return tuple([card for card in FACES for _ in range(counts[card])])

    def _forget(self) -> None:
        self._hands.clear()
        self._pile.clear()

    def _remove(self, seat: int, cards: Iterable[int]) -> None:
        """Remove cards that have left a hand from those known to be in it."""
        known = self._hands[seat]
        for card in cards:
            if card in known:
                known.remove(card)

    def _correct(self, view: View) -> None:
        """Forget all that was seen in the deal if the view contradicts it."""
        is_right = (
            self._deal_number in (0, view.match.deal_number)
            and len(self._pile) <= view.pile_count
            and all([seen == card for seen, card in zip(self._pile[::-1], view.pile[::-1], strict=False)])
            and all([len(self._hands[seat]) <= count for seat, count in enumerate(view.hand_counts)])
            and min(self._count_unseen(view)) >= 0
        )
        if not is_right:
            self._forget()
        self._deal_number = view.match.deal_number

    def _pile_with(self, view: View) -> tuple[int, ...]:
        """Return the pile of the view, with the hidden cards that were seen; the lowest may be UNKNOWN."""
        hidden = self._pile[: max(0, len(self._pile) - len(view.pile))]
        return (*[UNKNOWN] * (view.pile_count - len(view.pile) - len(hidden)), *hidden, *view.pile)

    def _hands_with(self, view: View) -> tuple[tuple[int, ...], ...]:
        """Return the known cards of each hand, the view's own included."""
        seats = range(len(view.hand_counts))
        return tuple([view.hand if seat == view.seat else tuple(sorted(self._hands[seat])) for seat in seats])

    def _count_unseen(self, view: View) -> list[int]:
        """Return by card how many are left when those of the table, the pile and the known hands are counted."""
        counts = [0, *[2] * (JOKER - 1), view.rules.jokers]
        places = [
            self._pile_with(view),
            *self._hands_with(view),
            *[meld.cards for side in view.sides for meld in side.melds],
        ]
        for cards in places:
            for card in cards:
                if card != UNKNOWN:
                    counts[card] -= 1
        return counts
