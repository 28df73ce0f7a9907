import pytest
from hypothesis import given
from hypothesis import strategies as st

from buraco_notation import NotationError, format_cards, parse_cards

ORDER = """
As 2s 3s 4s 5s 6s 7s 8s 9s Ts Js Qs Ks
Ah 2h 3h 4h 5h 6h 7h 8h 9h Th Jh Qh Kh
Ad 2d 3d 4d 5d 6d 7d 8d 9d Td Jd Qd Kd
Ac 2c 3c 4c 5c 6c 7c 8c 9c Tc Jc Qc Kc
Jo
"""


def test_faces() -> None:
    """R1.1: faces are numbered 1 to 53: spades, hearts, diamonds, clubs, each from ace to king, then the joker."""
    assert parse_cards(ORDER) == tuple(range(1, 54))
    assert format_cards(range(1, 54)) == " ".join(ORDER.split())


@given(st.lists(st.integers(1, 53)))
def test_round_trip(cards: list[int]) -> None:
    """Cards come back from their text as they were, in their order."""
    assert list(parse_cards(format_cards(cards))) == cards


def test_spaces_do_not_matter() -> None:
    """Any white space parts cards; no text is no cards."""
    assert parse_cards("  As\t Td\n2c   Jo ") == (1, 36, 41, 53)
    assert parse_cards("") == parse_cards("  ") == ()


@pytest.mark.parametrize(
    ("text", "word", "column"),
    [
        ("1s", "1s", 1),
        ("as", "as", 1),
        ("AS", "AS", 1),
        ("10s", "10s", 1),
        ("Tx", "Tx", 1),
        ("jo", "jo", 1),
        ("Joker", "Joker", 1),
        ("As,Ks", "As,Ks", 1),
        ("As s", "s", 4),
        ("As  Kd  Zd Zd", "Zd", 9),
        ("Jo J", "J", 4),
        ("s As", "s", 1),
    ],
)
def test_no_card(text: str, word: str, column: int) -> None:
    """Text that is no card is refused, with the word and the column at which it stands."""
    with pytest.raises(NotationError) as refusal:
        parse_cards(text)
    first = refusal.value.problems[0]
    assert (first.line, first.column, first.width) == (1, column, len(word))
    assert first.problem == f"expected a card, not {word!r}"


@pytest.mark.parametrize("card", [54, 100, 0, -1])
def test_no_number_of_a_card(card: int) -> None:
    """A number that is no card has no text."""
    with pytest.raises(IndexError):
        format_cards([card])
