"""Melds as text: cards in order of place, brackets around the acting wild: `3h 4h [Jo] 6h`, `7s 7h [2c]`.

Whether a meld is a run or a set, and at which place it begins, follows from its cards. A ` !` at the end says that the
meld stays dirty (R9.3).

A text may be of a meld that the rule set refuses, and every card that does not fit is reported. So these readers do not
ask the rules, which find the melds that a choice of cards can make.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple

from buraco_notation.cards import CARD_BY_TEXT
from buraco_notation.reading import Cursor, TextProblems, Token
from buraco_rules import Meld, MeldKind, RuleSet, make_meld
from buraco_rules.cards import ACE, ACE_HIGH, CARD_TEXT, JOKER, RANK, SUIT, TWO, WILDS, card_at

DIRTY_MARK: Final = "!"


class NamedCard(NamedTuple):
    """A card and where it is named."""

    card: int
    token: Token


class MeldCards(NamedTuple):
    """Cards with at most one of them in brackets, as they stand in a text."""

    named: list[NamedCard]
    wild_index: int | None
    """Index of the card in brackets."""

    @property
    def cards(self) -> tuple[int, ...]:
        """The cards in their order."""
        return tuple([name.card for name in self.named])

    @property
    def naturals(self) -> list[int]:
        """The cards that are not in brackets."""
        return [name.card for index, name in enumerate(self.named) if index != self.wild_index]


def format_meld(meld: Meld) -> str:
    """Return a meld as text.

    >>> from buraco_rules import PRESETS_BY_ID
    >>> format_meld(make_meld(PRESETS_BY_ID["open"], MeldKind.RUN, (16, 17, 53, 19), low_position=3, wild_index=2))
    '3h 4h [Jo] 6h'
    """
    text = format_meld_cards(meld.cards, meld.wild_index)
    return f"{text} {DIRTY_MARK}" if meld.stays_dirty else text


def format_meld_cards(cards: Sequence[int], wild_index: int | None) -> str:
    """Return cards in order of place, the one that acts as a wild in brackets.

    >>> format_meld_cards([16, 17, 53], 2)
    '3h 4h [Jo]'
    """
    words = [CARD_TEXT[card] for card in cards]
    if wild_index is not None:
        words[wild_index] = f"[{words[wild_index]}]"
    return " ".join(words)


def read_meld(
    cursor: Cursor, rules: RuleSet, problems: TextProblems, stops: Collection[str] = ()
) -> tuple[Meld | None, list[NamedCard]]:
    """Read a meld up to the end, a comma or one of `stops`; return it with the cards it names.

    The meld is None, and there is a problem, if the cards do not make one. Whether the rule set allows it is not asked.
    """
    first, ends, before = cursor.peek(), ("", ",", DIRTY_MARK, *stops), len(problems)
    found = read_meld_cards(cursor, problems, lambda: cursor.peek().text not in ends)
    named = found.named
    stays_dirty = cursor.take_if(DIRTY_MARK)
    if len(named) < 3 and len(problems) == before:
        problems.add(first if named else cursor.peek(), "a meld has at least three cards (R4.1, R4.2)")
    if len(problems) > before:
        return None, named
    meld = _make_set(rules, found, problems) if is_of_one_rank(found.naturals) else _make_run(rules, found, problems)
    if meld is None or not stays_dirty:
        return meld, named
    return make_meld(rules, meld.kind, meld.cards, meld.low_position, meld.wild_index, stays_dirty=True), named


def read_meld_cards(cursor: Cursor, problems: TextProblems, goes_on: Callable[[], bool]) -> MeldCards:
    """Read cards, one of them possibly in brackets, while `goes_on` returns True.

    What is not a card is a problem and left out; of several in brackets the first counts as the wild.
    """
    named: list[NamedCard] = []
    wild_index: int | None = None
    while goes_on():
        name, is_wild = _read_card(cursor, problems)
        if name is None:
            continue
        if is_wild and wild_index is not None:
            problems.add(name.token, "at most one card acts as a wild in a meld (R4.4)")
        elif is_wild:
            wild_index = len(named)
        named.append(name)
    return MeldCards(named, wild_index)


def is_of_one_rank(naturals: Sequence[int]) -> bool:
    """Return True if these naturals make a meld a set: two or more of one rank.

    >>> is_of_one_rank([7, 20]), is_of_one_rank([7, 8]), is_of_one_rank([7])
    (True, False, False)
    """
    return len(naturals) >= 2 and JOKER not in naturals and len({RANK[card] for card in naturals}) == 1


def find_run(cards: Sequence[int], wild_index: int | None) -> tuple[int, int] | None:
    """Return the suit of a run and the place of its first card, as one of its naturals shows; None if all are aces or
    jokers.

    Whether the other cards stand at their places is not checked.

    >>> find_run([16, 17, 53], wild_index=2)  # 3h 4h [Jo]
    (1, 3)
    """
    naturals = [index for index, card in enumerate(cards) if index != wild_index and RANK[card] > ACE]
    if not naturals:
        return None
    # Not a 2 if possible: it may be a wild that lacks its brackets.
    index = min(naturals, key=lambda index: RANK[cards[index]] == TWO)
    return SUIT[cards[index]], RANK[cards[index]] - index


def natural_at(suit: int, place: int) -> int:
    """Return the natural card at a place of a run, 1 to 14; 0 for what is not a place (R4.1).

    >>> natural_at(1, 14), natural_at(1, 15)
    (14, 0)
    """
    return card_at(suit, place) if ACE <= place <= ACE_HIGH else 0


def _read_card(cursor: Cursor, problems: TextProblems) -> tuple[NamedCard | None, bool]:
    """Read a card, and whether it is in brackets. None, and a problem, if there is no card."""
    is_wild = cursor.take_if("[")
    token = cursor.take()
    card = CARD_BY_TEXT.get(token.text, 0)
    if not card:
        problems.add_unexpected(token, "a card")
        return None, is_wild
    if is_wild and card not in WILDS:
        problems.add(token, "only a joker or a 2 acts as a wild (R4.4)")
        is_wild = False
    if not cursor.take_if("]") and is_wild:
        problems.add_unexpected(cursor.peek(), "']' after the card that acts as a wild")
    return NamedCard(card, token), is_wild


def _make_set(rules: RuleSet, found: MeldCards, problems: TextProblems) -> Meld | None:
    naturals = sorted(found.naturals)
    if found.wild_index is None:
        return make_meld(rules, MeldKind.SET, tuple(naturals), 0, None)
    wild = found.named[found.wild_index]
    if RANK[wild.card] == RANK[naturals[0]]:
        problems.add(wild.token, "a 2 is a natural in a set of 2s: no brackets (R4.3)")
        return None
    return make_meld(rules, MeldKind.SET, (*naturals, wild.card), 0, len(naturals))


def _make_run(rules: RuleSet, found: MeldCards, problems: TextProblems) -> Meld | None:
    """Return the run; None, and a problem of each card that does not stand where it must."""
    wild_index = found.wild_index
    run = find_run(found.cards, wild_index)
    if run is None:
        joker = next(name for index, name in enumerate(found.named) if index != wild_index and name.card == JOKER)
        problems.add(joker.token, "a joker acts as a wild: it stands in brackets (R4.4)")
        return None
    suit, low = run
    before = len(problems)
    for index, (card, token) in enumerate(found.named):
        due = natural_at(suit, low + index)
        if not due:
            problems.add(token, "a run has no place here: it goes from the low ace to the high ace (R4.1)")
        elif index == wild_index and card == due:
            problems.add(token, "a 2 at its natural place does not act as a wild: no brackets (R4.4)")
        elif index != wild_index and card != due:
            or_wild = " or a wild in brackets" if wild_index is None else ""
            problems.add_unexpected(token, f"{CARD_TEXT[due]}{or_wild} at this place of the run")
    return make_meld(rules, MeldKind.RUN, found.cards, low, wild_index) if len(problems) == before else None
