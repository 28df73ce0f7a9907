"""Breaking what is valid: Hypothesis chooses the edits, so that what fails is made small and can be repeated."""

from collections.abc import Sequence

from hypothesis import strategies as st


@st.composite
def broken_bytes(draw: st.DrawFn, examples: Sequence[bytes]) -> bytes:
    """Bytes near to an example: some are changed, left out, doubled or put in; or no example at all."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=64))
    data = bytearray(draw(st.sampled_from(examples)))
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(data)))
        match draw(st.integers(0, 3)):
            case 0 if at < len(data):
                data[at] = draw(st.integers(0, 255))
            case 1:
                del data[at : at + draw(st.integers(1, 12))]
            case 2:
                data[at:at] = data[at : at + draw(st.integers(1, 40))]
            case _:
                data[at:at] = draw(st.binary(min_size=1, max_size=5))
    return bytes(data)


@st.composite
def broken_text(draw: st.DrawFn, examples: Sequence[str]) -> str:
    """The same for texts; what is put in is often a piece of another example."""
    text = draw(st.sampled_from(examples))
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(text)))
        until = min(len(text), at + draw(st.integers(0, 20)))
        other = draw(st.sampled_from(examples))
        start = draw(st.integers(0, len(other)))
        put = draw(st.one_of(st.text(max_size=6), st.just(other[start : start + 12]), st.just("")))
        text = text[:at] + put + text[until:]
    return text
