"""Part of `make generate`: writes the tables of documents that the code declares."""

from pathlib import Path

from buraco_service.configuration.specs import format_settings_table
from tests.tools.presets import format_presets_table

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Replace the tables between the marks."""
    for page, mark, table in (
        ("service/README.md", "settings", format_settings_table()),
        ("protos/RULES.md", "presets", format_presets_table()),
    ):
        before, begin, rest = (ROOT / page).read_text().partition(f"<!-- {mark} -->\n")
        _, end, after = rest.partition(f"<!-- /{mark} -->")
        (ROOT / page).write_text(f"{before}{begin}{table.strip()}\n{end}{after}")


main()
