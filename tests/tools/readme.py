"""Part of `make readme`: writes the table of settings in README.md as the code declares them."""

import re
from pathlib import Path

from buraco_service.configuration.specs import settings_table

README = Path(__file__).resolve().parents[2] / "README.md"


def main() -> None:
    """Replace what stands between the marks."""
    text = README.read_text()
    table = f"<!-- settings -->\n{settings_table().strip()}\n<!-- /settings -->"
    README.write_text(re.sub(r"<!-- settings -->\n.*?<!-- /settings -->", lambda _: table, text, flags=re.DOTALL))


main()
