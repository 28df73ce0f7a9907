from collections import Counter
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buraco_notation import format_cards
from buraco_rules import commitment, deal_first
from buraco_rules.cards import deck
from buraco_rules.shuffle import SeedStream
from tests.rules.positions import CLASSIC, OPEN
from tests.rules.reference_shuffle import below, first_starter, shuffled, words

ZERO = bytes(32)
COUNTING = bytes(range(32))
KNOWN_CLASSIC = [
    "As 2s 5s 7s Ah Ah 7h 3d 4d 4c Jc",
    "3s 6s 7s 5h 9h Th 2d 8c 8c Qc Jo",
    "Td Jo 3c Ks 6h 7c 4s Jo 3h Qh 5c",
    "Kd Qc 5c 2c 5s Qs 9c 6c Qd Qs 4c",
    "4h",
]
KNOWN_OPEN = [
    "As 2s 2s 5s 9s Ks 7h Jd 9c 9c Jc",
    "5h 6h Th Qh Kh 3d 7d Ac 3c 6c Tc",
    "7s 7s 8s 8s 4h Qh Kh 6d Kd 7c 7c",
    "2h 2h Jh Ad 8d 9d Td 2c 8c Jc Qc",
    "Ks 6h Kd 9s Js Qs Js 6s Qd 3s Ts",
    "6c Qc Jd 4d 2d 5d 9h Tc Ac 3h 4c",
    "5s 2d Qd",
]
seeds = st.binary(min_size=32, max_size=32)


@given(seeds)
def test_shuffle_as_published(seed: bytes) -> None:
    """R2: the shuffle is the published algorithm, and the top of the deck is its last card."""
    cards = deck(4)
    SeedStream(seed).shuffle(cards)
    assert cards == shuffled(seed, deck(4))
    assert sorted(cards) == sorted(deck(4))


@given(seeds, st.lists(st.integers(1, 2**32), min_size=1, max_size=20))
def test_choices_as_published(seed: bytes, limits: list[int]) -> None:
    """R2.3: choices of any size follow the stream word by word, words beyond the largest multiple being passed over."""
    stream, reference = SeedStream(seed), words(seed)
    assert [stream.choice(limit) for limit in limits] == [below(reference, limit) for limit in limits]


def test_rejection_happens() -> None:
    """R2.3: a choice just above half of all words passes over about half of them, and stays below its limit."""
    limit = 2**31 + 1
    stream = SeedStream(ZERO)
    chosen = [stream.choice(limit) for _ in range(200)]
    passed_over = [word for word, _ in zip(words(ZERO), range(600), strict=False) if word >= limit]
    assert len(passed_over) > 200
    assert max(chosen) < limit
    assert not set(chosen) & set(passed_over)


@given(seeds, st.sampled_from([2, 4]))
def test_starter_as_published(seed: bytes, seats: int) -> None:
    """R2.3: the first starter is the choice after the shuffle; a given starter leaves the cards where they are."""
    deal, _ = deal_first(CLASSIC, seats, seed)
    assert deal.starter == first_starter(seed, 108, seats)
    given_starter, _ = deal_first(CLASSIC, seats, seed, starter=deal.starter)
    assert given_starter == deal


def test_known_deals() -> None:
    """R2: deals of known seeds, written down so that no later change and no other language can deal otherwise."""
    classic, _ = deal_first(CLASSIC, 2, ZERO)
    opened, _ = deal_first(OPEN, 4, COUNTING)
    assert (classic.starter, opened.starter) == (0, 0)
    assert [format_cards(hand) for hand in (*classic.hands, *classic.pots, classic.pile)] == KNOWN_CLASSIC
    assert [format_cards(hand) for hand in (*opened.hands, *opened.pots, opened.stock[-3:])] == KNOWN_OPEN


def test_every_place_is_as_likely() -> None:
    """R2: over many seeds a card comes to every place about as often (chi-square within its 0.001 bound)."""
    rounds, places = 2000, Counter[int]()
    for number in range(rounds):
        cards = list(range(20))
        SeedStream(number.to_bytes(32, "big")).shuffle(cards)
        places[cards.index(0)] += 1
    expected = rounds / 20
    assert sum((places[place] - expected) ** 2 / expected for place in range(20)) < 43.8


def test_commitment() -> None:
    """R2: the commitment is SHA-256 of the seed."""
    assert commitment(COUNTING) == sha256(COUNTING).digest()
    assert commitment(COUNTING).hex() == "630dcd2966c4336691125448bbb25b4ff412a49c732db2c8abc1b8581bd710dd"


@pytest.mark.parametrize("size", [0, 31, 33, 64])
def test_seed_of_another_size(size: int) -> None:
    """R2: a seed that is not 32 bytes long is refused."""
    with pytest.raises(ValueError, match="32 bytes"):
        SeedStream(bytes(size))
    with pytest.raises(ValueError, match="32 bytes"):
        deal_first(CLASSIC, 2, bytes(size))
