import pytest

from buraco_rules import PRESETS, Match, Phase, RuleSet, TakePile, deal_first, deal_match, next_match
from buraco_rules.cards import WILDS, deck
from tests.rules.positions import CLASSIC, CLOSED, OPEN, all_cards, play
from tests.rules.reference_shuffle import shuffled

SEEDS = [bytes([number]) * 32 for number in range(60)]


@pytest.mark.parametrize("seats", [2, 4])
@pytest.mark.parametrize("rules", PRESETS, ids=lambda rules: rules.id)
def test_hands_pots_and_stock(rules: RuleSet, seats: int) -> None:
    """R2.1: eleven cards to each seat, two pots of eleven, the rest is the stock; no card is lost."""
    deal, dealt = deal_first(rules, seats, SEEDS[1])
    assert [len(hand) for hand in deal.hands] == [11] * seats
    assert [len(pot) for pot in deal.pots] == [11, 11]
    assert len(deal.stock) == 104 + rules.jokers - 11 * seats - 22 - rules.upcard
    assert all_cards(deal) == sorted(deck(rules.jokers))
    assert (deal.phase, deal.seat_to_move, dealt.hands, dealt.stock_count) == (
        Phase.DRAW,
        deal.starter,
        deal.hands,
        len(deal.stock),
    )


@pytest.mark.parametrize("seats", [-2, 0, 1, 3, 5, 6, 8])
def test_other_numbers_of_seats(seats: int) -> None:
    """R2.1: a deal for other than two or four seats is refused."""
    with pytest.raises(ValueError, match="seats"):
        deal_first(CLASSIC, seats, SEEDS[0])


@pytest.mark.parametrize("seats", [2, 4])
@pytest.mark.parametrize("starter", [0, 1])
def test_one_card_at_a_time_clockwise(seats: int, starter: int) -> None:
    """R2.1: cards are dealt one at a time from the top, clockwise, first to the seat that starts."""
    deal, _ = deal_first(CLASSIC, seats, SEEDS[2], starter=starter)
    top_first = shuffled(SEEDS[2], deck(4))[::-1]
    for offset in range(seats):
        assert deal.hands[(starter + offset) % seats] == tuple(sorted(top_first[offset : 11 * seats : seats]))


@pytest.mark.parametrize("rules", [CLASSIC, OPEN, CLOSED], ids=lambda rules: rules.id)
def test_upcard(rules: RuleSet) -> None:
    """R2.2: with `upcard` the first discard is turned up from the stock; otherwise the pile starts empty."""
    deal, dealt = deal_first(rules, 2, SEEDS[3])
    top_first = shuffled(SEEDS[3], deck(rules.jokers))[::-1]
    after_pots = top_first[22 + 22 :]
    if rules.upcard:
        assert (deal.pile, dealt.upcard) == ((after_pots[0],), after_pots[0])
        assert deal.stock[::-1] == tuple(after_pots[1:])
    else:
        assert (deal.pile, dealt.upcard) == ((), 0)
        assert deal.stock[::-1] == tuple(after_pots)


def test_any_card_may_be_the_upcard() -> None:
    """R2.2: a wild turned up stays as the first discard, and may be taken."""
    deals = [deal_first(CLASSIC, 2, seed)[0] for seed in SEEDS]
    wild = next(deal for deal in deals if deal.pile[0] in WILDS)
    assert wild.pile[0] in play(wild, TakePile()).hand


@pytest.mark.parametrize("seats", [2, 4])
def test_first_starter_comes_from_the_seed(seats: int) -> None:
    """R2.3: every seat can be the first starter, the same one for the same seed."""
    starters = [deal_first(OPEN, seats, seed)[0].starter for seed in SEEDS]
    assert set(starters) == set(range(seats))
    assert starters == [deal_first(OPEN, seats, seed)[0].starter for seed in SEEDS]


@pytest.mark.parametrize(("seats", "starter"), [(2, 1), (4, 3)])
def test_given_starter_and_rotation(seats: int, starter: int) -> None:
    """R2.3: a given starter starts, and from deal to deal the start passes clockwise."""
    deal, dealt = deal_first(CLASSIC, seats, SEEDS[0], starter=starter, target_score=2005)
    starts = []
    for seed in SEEDS[: seats + 1]:
        starts.append((deal.seat_to_move, dealt.starter, deal.match.starter))
        deal, dealt = deal_match(CLASSIC, seats, seed, next_match(deal._replace(phase=Phase.OVER)))
    assert starts == [((starter + n) % seats, (starter + n) % seats, starter) for n in range(seats + 1)]


@pytest.mark.parametrize(("seats", "starter"), [(2, 2), (4, 4), (4, -2)])
def test_starter_that_is_no_seat(seats: int, starter: int) -> None:
    """R2.3: a starter that is no seat is refused, and the seats are named."""
    told = f"^the starter must be a seat, 0 to {seats - 1}$"
    with pytest.raises(ValueError, match=told):
        deal_first(CLASSIC, seats, SEEDS[0], starter=starter)
    with pytest.raises(ValueError, match=told):
        deal_match(CLASSIC, seats, SEEDS[0], Match(deal_number=2, starter=starter))


def test_same_seed_same_deal() -> None:
    """R2.1: the seed decides the whole deal."""
    assert deal_first(CLOSED, 4, SEEDS[5]) == deal_first(CLOSED, 4, SEEDS[5])
    assert deal_first(CLOSED, 4, SEEDS[5])[0].hands != deal_first(CLOSED, 4, SEEDS[6])[0].hands
