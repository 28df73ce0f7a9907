import pytest

from buraco_rules import MAX_PROBLEMS, Path, Problem, Problems, ValidationError, join_path


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        ("seats", "seats"),
        (("deal", "hands", 1, "cards", 3), "deal.hands[1].cards[3]"),
        ((("deal.hands", 1), ("cards", 3)), "deal.hands[1].cards[3]"),
        (("moves", 0, ""), "moves[0]"),
        (("", "seat"), "seat"),
        (("moves", 2, "[0].card"), "moves[2][0].card"),
    ],
)
def test_paths(path: Path, text: str) -> None:
    """A path reads as the fields would be written in code; empty names leave no trace."""
    assert join_path(path) == text


def test_problems_are_reported_together() -> None:
    """All problems are in one error, in order, with what is wrong; without any nothing is raised."""
    problems = Problems()
    problems.raise_if_any()
    assert not problems
    problems.add(("a", 1), "wrong")
    problems.add_all("b", [Problem("", "missing"), Problem("c", "too long")])
    assert problems
    with pytest.raises(ValidationError) as caught:
        problems.raise_if_any()
    assert caught.value.problems == (("a[1]", "wrong"), ("b", "missing"), ("b.c", "too long"))
    assert str(caught.value) == "a[1]: wrong; b: missing; b.c: too long"


def test_problems_of_parts_are_collected() -> None:
    """What is wrong with a part is added under its path, and the part replaced; a sound part comes as it is."""

    def unsound() -> int:
        raise ValidationError([Problem("suit", "is no suit")])

    problems = Problems()
    assert problems.collect(lambda: 7, None, "good") == 7
    assert not problems
    assert problems.collect(unsound, 0, ("cards", 2)) == 0
    assert str(problems.error()) == "cards[2].suit: is no suit"


def test_problems_are_bounded() -> None:
    """A value that is all wrong does not make an endless error."""
    problems = Problems()
    for number in range(MAX_PROBLEMS + 10):
        problems.add(("cards", number), "no card")
    with pytest.raises(ValidationError) as caught:
        problems.raise_if_any()
    assert len(caught.value.problems) == MAX_PROBLEMS
    assert caught.value.problems[0].path == "cards[0]"
