from __future__ import annotations

import unicodedata

import pytest

from buraco_service.serving.player_names import MAX_BYTES, MAX_CHARACTERS, normalise_player_name

PEOPLE = {
    "Latin": "Nguyễn Thị Ánh-O’Brien Łukasz",
    "Latin, apostrophe": "d'Artagnan",
    "letter apostrophe": "ʻOkina",
    "Cyrillic": "Ада Лавлейс",
    "Greek": "Ελένη",
    "Armenian": "Արամ",
    "Georgian": "ნინო",
    "Hebrew with points": "מֹשֶׁה",
    "Arabic": "فاطمة",
    "Persian, joiner behind a joining letter": "علی\u200cرضا",
    "Persian, joiner behind a letter that does not join": "محمد\u200cرضا",
    "Persian, joiner behind hamza": "علاء\u200cالدین",
    "Syriac": "ܐܠܦ",
    "Amharic": "ሰላም",
    "Devanagari": "क्षत्रिय",
    "Bengali ya": "র\u200d্যাম",
    "Sinhala": "ශ\u0dca\u200dරී",
    "Malayalam, joiner at the end": "മോഹന്\u200d",
    "Malayalam, joiner inside": "ക്\u200cഷ",
    "Tamil": "தமிழ்ச்செல்வி",
    "Thai": "สมชาย",
    "Khmer": "សុខា",
    "Burmese": "ဒေါ်အောင်ဆန်းစုကြည်",
    "Tibetan": "བསྒྲུབས་",
    "Mongolian with variant": "ᠮᠣᠩᠭᠣ\u180bᠯ",
    "Mongolian with separator": "ᠬᠠᠭᠠ\u180eᠨ",
    "Han": "山田太郎",
    "Han with a registered variant": "辻\U000e0100",
    "Kana": "さくら",
    "Hangul": "김철수",
    "Cherokee": "ᏣᎳᎩ",
    "Tifinagh": "ⵣⵉⵔⵉ",
    "Phoenician": "𐤀𐤁",
    "digits and signs": "x_X-99 §",
    "emoji": "👍",
    "emoji with presentation": "☺\ufe0e❤\ufe0f",
    "emoji with skin tone and joiner": "👩🏽\u200d🚀",
    "family": "👨\u200d👩\u200d👧\u200d👦",
    "longest emoji": "🧑🏻\u200d❤\ufe0f\u200d💋\u200d🧑🏿",
    "flag": "🇧🇷",
    "flag joined": "🏳\ufe0f\u200d🌈",
    "flag in tags": "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "keycap": "1\ufe0f\u20e3",
}
UNFIT = {
    "right-to-left override": "\u202eadA",
    "right-to-left mark": "A\u200f",
    "isolate": "\u2066A\u2069",
    "Arabic letter mark": "A\u061c",
    "line feed": "a\nb",
    "tab around": "\tAda",
    "escape": "\x1b[31mred",
    "NUL": "a\x00b",
    "delete": "a\x7fb",
    "next line": "a\u0085b",
    "line separator": "a\u2028b",
    "paragraph separator": "a\u2029b",
    "zero width space": "A\u200bda",
    "word joiner": "A\u2060da",
    "byte order mark": "\ufeffAda",
    "soft hyphen": "a\u00adb",
    "grapheme joiner": "a\u034fb",
    "invisible times": "a\u2062b",
    "Hangul filler": "\u3164",
    "Hangul filler inside": "A\u3164",
    "halfwidth filler": "\uffa0",
    "choseong filler": "\u115f",
    "inherent vowel": "ក\u17b4",
    "empty note": "\U0001d159",
    "object replacement": "\ufffc",
    "replacement": "\ufffd",
    "marks alone": "\u0301\u0301",
    "mark on a space": "a \u0301",
    "seven marks": "a" + "\u0301" * 8,
    "joiner alone": "\u200d",
    "joiner between Latin letters": "A\u200dda",
    "non-joiner between Latin letters": "A\u200cda",
    "joiner first": "\u200dعلی",
    "joiner last": "علی\u200c",
    "joiners in a row": "علی\u200c\u200cرضا",
    "joiner behind emoji": "👩\u200d",
    "joiner from emoji to letter": "👩\u200dA",
    "variation selector alone": "\ufe0f",
    "variation selector on a letter": "A\ufe0f",
    "variation selector on a digit": "1\ufe0f",
    "two variation selectors": "❤\ufe0f\ufe0f",
    "Han variant on a letter": "A\U000e0100",
    "Mongolian separator on a letter": "A\u180e",
    "tags on a letter": "A\U000e0067\U000e0062\U000e007f",
    "flag that does not end": "🏴\U000e0067\U000e0062\U000e0065",
    "language tag": "\U000e0001",
    "private use": "\ue000",
    "unassigned": "\u0378",
    "reserved for emoji": "\U0001f8ff",
    "no character": "\uffff",
}


@pytest.mark.parametrize("name", PEOPLE.values(), ids=PEOPLE.keys())
def test_what_people_are_called(name: str) -> None:
    """Names are kept as they are written, in every script, with joiners where a script or an emoji needs them."""
    kept = normalise_player_name(name)
    assert kept == unicodedata.normalize("NFC", name)
    assert normalise_player_name(kept) == kept
    assert normalise_player_name(f"{name} {name}") == f"{kept} {kept}"


@pytest.mark.parametrize("name", UNFIT.values(), ids=UNFIT.keys())
def test_what_cannot_be_shown(name: str) -> None:
    """What is invisible, or would change what stands around it, is refused, and the character is named."""
    with pytest.raises(
        ValueError, match=r"^U\+[0-9A-F]{4,5}.* is not allowed in a name, or not in this place$"
    ) as caught:
        normalise_player_name(name)
    named = str(caught.value).split()[0].removeprefix("U+")
    assert named in [f"{ord(character):04X}" for character in unicodedata.normalize("NFC", name)]


@pytest.mark.parametrize("name", ["", " ", "\u00a0\u3000", "\u2800", "\u2003 \u2800"])
def test_blanks_are_no_name(name: str) -> None:
    """A name has a visible character."""
    with pytest.raises(ValueError, match="has no visible character"):
        normalise_player_name(name)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("  Ada ", "Ada"),
        ("Ada \u00a0 Lovelace", "Ada Lovelace"),
        ("山田\u3000太郎", "山田 太郎"),
        ("⠁⠙⠁\u2800⠇", "⠁⠙⠁ ⠇"),
        ("Zoe\u0308", "Zoë"),
        ("김", "김"),
    ],
)
def test_one_form(sent: str, kept: str) -> None:
    """Names are composed, and their spaces single: what looks the same is the same."""
    assert normalise_player_name(sent) == kept


def test_characters_are_counted_as_people_do() -> None:
    """64 characters are allowed however many code points they take, if all is within 2048 bytes."""
    clusters = ("x", "ж", "字", "ශ\u0dca\u200dරී"[:2], "🇧🇷", "q\u0303")
    for cluster in clusters:
        assert normalise_player_name(cluster * MAX_CHARACTERS) == cluster * MAX_CHARACTERS
        with pytest.raises(ValueError, match="at most 64 characters"):
            normalise_player_name(cluster * (MAX_CHARACTERS + 1))


def test_bytes_are_bounded() -> None:
    """However few characters they make, a name is no longer than 2048 bytes, as sent and as kept."""
    family = PEOPLE["family"]
    assert normalise_player_name(family * MAX_CHARACTERS)
    # One character, as long as one likes.
    joined = "\U0001f469" + "\u200d\U0001f469" * (MAX_BYTES // 7 - 1)
    assert normalise_player_name(joined)
    # Composed, each of these is two: three bytes become six.
    for long in (joined + joined, "a" + "\u0301" * 1024, " " * 2048 + "Ada", "\u0958" * 342, "x" * 10**6):
        with pytest.raises(ValueError, match="2048 bytes"):
            normalise_player_name(long)
