from collections import Counter

import pytest

from buraco_notation import parse_cards
from buraco_rules import RuleSet, ScoreLineKind, ValidationError, card_points, deal_first, score_deal
from buraco_rules.cards import JOKER, deck
from buraco_rules.presets import FROM_SOURCES
from tests.rules.positions import CLASSIC, OPEN, all_cards, house, position

WILD_VALUES = {
    "buraco-plus-classic": (20, 30),
    "professional-indirect": (10, 0),
    "professional-direct": (10, 0),
    "open": (10, 0),
    "dirty-open": (20, 30),
    "closed": (10, 20),
    "closed-wtcc": (10, 20),
    "closed-dirty": (10, 20),
    "burraco": (20, 30),
}


@pytest.mark.parametrize("rules", FROM_SOURCES, ids=lambda rules: rules.id)
def test_two_decks(rules: RuleSet) -> None:
    """R1.1: a deal holds two French decks, and four jokers where the rule set uses jokers."""
    deal, _ = deal_first(rules, 4, bytes(32))
    count = Counter(all_cards(deal))
    assert [count[card] for card in range(1, 53)] == [2] * 52
    assert count[JOKER] == rules.jokers
    assert count.total() == (108 if rules in (*FROM_SOURCES[:1], *FROM_SOURCES[4:]) else 104)
    assert deck(rules.jokers) == sorted(deck(rules.jokers), key=lambda card: card == JOKER)


@pytest.mark.parametrize("jokers", [-1, 1, 2, 3, 5, 8])
def test_other_numbers_of_jokers(jokers: int) -> None:
    """R1.1: a rule set with other than no or four jokers is refused."""
    with pytest.raises(ValidationError) as refusal:
        house(CLASSIC, jokers=jokers)
    assert "jokers" in {problem.path for problem in refusal.value.problems}


@pytest.mark.parametrize("rules", FROM_SOURCES, ids=lambda rules: rules.id)
def test_values(rules: RuleSet) -> None:
    """R1.2: 3 to 7 count 5, 8 to K 10, an ace 15, in every suit; 2 and joker what the table says."""
    two, joker = WILD_VALUES[rules.id]
    for suit in "shdc":
        values = [card_points(rules, parse_cards(rank + suit)) for rank in "A23456789TJQK"]
        assert values == [15, two, 5, 5, 5, 5, 5, 10, 10, 10, 10, 10, 10]
    assert card_points(rules, (JOKER,)) == joker
    assert card_points(rules, parse_cards("As As Kd 3c")) == 45


def test_every_preset_has_a_value_here() -> None:
    """R1.2: the table of values names every preset and no other rule set."""
    assert set(WILD_VALUES) == {rules.id for rules in FROM_SOURCES}


@pytest.mark.parametrize(("rules", "two"), [(CLASSIC, 20), (OPEN, 10)], ids=["classic", "open"])
def test_a_two_keeps_its_value(rules: RuleSet, two: int) -> None:
    """R1.2: a 2 counts its own value as a natural, as a wild in the place of any card, and in the hand."""
    melds = ["Ah 2h 3h", "Ts Js 2s@12"]
    lines = score_deal(position(rules, hand="2d 2c", melds=melds)).sides[0].lines
    points = [line.points for line in lines if line.kind in (ScoreLineKind.MELD_CARDS, ScoreLineKind.HAND)]
    assert points == [15 + two + 5, 10 + 10 + two, -2 * two]
