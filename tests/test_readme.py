"""The README says what is true: its tables are made from the code, its programs run."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from buraco_bots.fleet_metrics import FleetMetrics
from buraco_bots.local_server import local_server
from buraco_rules.presets import PRESETS
from buraco_service.configuration.specs import settings_table
from buraco_service.observing.metrics import Metrics
from buraco_service.workers.metrics import SupervisorMetrics
from tests.tools.presets import presets_table

ROOT = Path(__file__).resolve().parent.parent
GRPCURL = Path(sys.executable).parent / "grpcurl"
README = (ROOT / "README.md").read_text()
RULES = (ROOT / "protos/RULES.md").read_text()


def blocks(language: str) -> list[str]:
    """The code blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_settings_table_is_the_settings() -> None:
    """The table of settings is what the code declares; `make readme` writes it."""
    found = re.search(r"<!-- settings -->\n(.*?)<!-- /settings -->", README, re.DOTALL)
    assert found is not None
    assert found.group(1).strip() == settings_table().strip()


def test_every_rule_set_is_listed() -> None:
    """Every preset has a row in the table of rule sets, and the table names no other."""
    assert re.findall(r"^\| `([a-z-]+)`(?: \*)? \| 10[48] ", README, re.MULTILINE) == [preset.id for preset in PRESETS]


def test_presets_table_is_the_presets() -> None:
    """The table of presets in the rules has the options as the code has them; `make readme` writes it."""
    found = re.search(r"<!-- presets -->\n(.*?)<!-- /presets -->", RULES, re.DOTALL)
    assert found is not None
    assert found.group(1).strip() == presets_table().strip()


def test_every_rule_that_is_cited_can_be_looked_up() -> None:
    """Each number of a rule in the contract, the code and the tests is one that the rules explain."""
    explained = re.findall(r"^- \*\*(R\d+\.\d+)\*\*", RULES, re.MULTILINE)
    assert len(set(explained)) == len(explained)
    cited = {
        number
        for folder, endings in (
            ("protos", "proto"),
            ("service", "py"),
            ("clients", "py"),
            ("bots", "py"),
            ("tests", "py"),
        )
        for path in (ROOT / folder).rglob(f"*.{endings}")
        for number in re.findall(r"\bR\d+\.\d+\b", path.read_text())
    }
    assert cited <= set(explained)


def test_every_metric_is_listed() -> None:
    """The table of metrics lists what the service exports of its own, and nothing else."""
    exported = {
        family.name
        for own in (Metrics(["open"]), SupervisorMetrics(), FleetMetrics())
        for family in own.registry.collect()
    }
    own = {name.removesuffix("_total") for name in exported if name.startswith(("buraco_", "grpc_"))}
    table = README.split("### Metrics")[1].split("## Play a match")[0]
    listed = {
        name.removesuffix("_total").removesuffix("_info") for name in re.findall(r"`((?:buraco|grpc)_\w+)", table)
    }
    assert listed == {name.removesuffix("_info") for name in own}


def test_nothing_is_installed_from_an_index_by_name() -> None:
    """Documents and messages install the distribution by a path: no index has it, or has another of that name."""
    for path in [*ROOT.glob("*.md"), *(ROOT / "deploy").rglob("*.md"), *(ROOT / "service").rglob("*.py")]:
        assert not re.search(r"pip install [\"']?buraco\b", path.read_text()), path


def test_grpcurl_calls_name_methods_that_exist() -> None:
    """Each method called by the grpcurl examples is one of the contract."""
    contract = "".join(path.read_text() for path in (ROOT / "protos/buraco/v1").glob("*_service.proto"))
    called = re.findall(r"buraco\.v1\.(\w+)/(\w+)", "".join(blocks("sh")))
    assert len(called) >= 4
    for service, method in called:
        assert re.search(rf"service {service} {{.*?rpc {method}\(", contract, re.DOTALL)


def test_the_python_client_example_plays_a_deal(tmp_path: Path) -> None:
    """The Python example, copied into a file, plays a whole deal at a served table."""
    program = next(block for block in blocks("python") if "BuracoClient" in block)
    script = tmp_path / "example.py"
    script.write_text(program)
    with local_server() as server:
        run = subprocess.run(
            [sys.executable, str(script), server.address], capture_output=True, text=True, timeout=60, check=False
        )
    assert run.returncode == 0, run.stderr
    assert re.fullmatch(r"scores \[-?\d+, -?\d+\]\n", run.stdout)


def test_the_bot_example_plays_a_match(tmp_path: Path) -> None:
    """The example of a bot is a bot: it plays a deal against a built-in one."""
    (tmp_path / "my_bots.py").write_text(next(block for block in blocks("python") if "class Patient" in block))
    command = [*(sys.executable, "-m", "buraco_service", "match", "--bots", "my_bots:Patient,greedy")]
    run = subprocess.run(
        [*command, "--rule-set", "open", "--target", "0", "--seed", "readme", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert len(json.loads(run.stdout)["deals"]) == 1


@pytest.mark.skipif(not GRPCURL.exists(), reason="no grpcurl for this platform")
def test_the_grpcurl_calls_seat_two_players() -> None:
    """The grpcurl lines that create and join, pasted into a shell, make a table; the second player gets a seat, too."""
    lines = next(block for block in blocks("sh") if "fresh()" in block)
    with local_server() as server:

        def paste(first: str, method: str, *changes: tuple[str, str]) -> Any:
            define = re.search(r"^fresh\(\).*$", lines, re.MULTILINE)
            found = re.search(rf"^grpcurl [^\n]*{first}[^\n]*\\\n[^\n]*{method}$", lines, re.MULTILINE)
            assert define is not None
            assert found is not None
            call = found[0].replace("localhost:50051", server.address)
            for name, value in changes:
                call = call.replace(name, value)
            run = subprocess.run(
                ["bash", "-ec", f"{define[0]}\n{call}"],
                env=os.environ | {"PATH": f"{GRPCURL.parent}:{os.environ['PATH']}"},
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert run.returncode == 0, run.stderr
            return json.loads(run.stdout)

        tables = [paste("rule_set_id", "CreateTable")["table"]["id"] for _ in range(2)]
        assert len(set(tables)) == 2
        joined = [paste("player_name", "JoinTable", ("<id>", tables[0]), ("Ada", name)) for name in ("Ada", "Blaise")]
    assert [answer.get("seat", 0) for answer in joined] == [0, 1]
    assert joined[0]["token"] != joined[1]["token"]
