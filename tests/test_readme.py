"""The documents are true: tables come from the code, programs run, links have targets."""

import doctest
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import click
import pytest

from buraco_bots.fleet_metrics import FleetMetrics
from buraco_bots.local_server import local_server
from buraco_rules import PRESETS
from buraco_service.commands.cli import main as buraco
from buraco_service.configuration.specs import format_settings_table
from buraco_service.observing.metrics import Metrics
from buraco_service.workers.metrics import SupervisorMetrics
from tests.certificates import Authority
from tests.servers import service
from tests.servers.postgres import PostgresServer
from tests.test_house import tracked
from tests.tools.presets import format_presets_table

ROOT = Path(__file__).resolve().parent.parent
GRPCURL = Path(sys.executable).parent / "grpcurl"
DOCUMENTS = sorted(path.relative_to(ROOT).as_posix() for path in tracked() if path.suffix == ".md")
MAX_README = 7000
"""Bytes. What is longer belongs to the document of one reader."""
OTHER_VARIABLES = {"BURACO_CLIENT_API_KEY"}
"""Of the clients: no settings of the service."""


@cache
def text(document: str) -> str:
    """Return a document by its path."""
    return (ROOT / document).read_text()


def blocks(document: str, language: str) -> list[str]:
    """Return the code blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text(document), re.MULTILINE | re.DOTALL)


def prose(document: str) -> str:
    """Return a document without its code blocks."""
    return re.sub(r"^```.*?^```$", "", text(document), flags=re.MULTILINE | re.DOTALL)


def check_sessions(document: str, examples: int) -> None:
    """Check that what a document types at Python's prompt, so many examples at least, answers as it is printed."""
    session = "\n".join(blocks(document, "pycon"))
    test = doctest.DocTestParser().get_doctest(session, {}, document, None, 0)
    assert len(test.examples) >= examples
    report: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert report == []


@cache
def anchors(document: str) -> set[str]:
    """Return the fragments of a document's headings at GitHub."""
    made: set[str] = set()
    for heading in re.findall(r"^#+ +(.+?) *$", prose(document), re.MULTILINE):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        times = 0
        while (unique := f"{anchor}-{times}" if times else anchor) in made:
            times += 1
        made.add(unique)
    return made


# ---- the documents ---------------------------------------------------------------------------------


BUILT = ("clients/go/gen", "clients/typescript/dist", "clients/web/artefacts", "clients/web/dist")
"""Folders that are made by building or testing."""


def test_readme_is_short() -> None:
    """README.md is at most 7 kB."""
    assert len(text("README.md").encode()) <= MAX_README


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document: str) -> None:
    """Every relative link of a document names a file or folder of the repository, and a heading that it has."""
    files = {path.relative_to(ROOT).as_posix() for path in tracked()}
    folders = {parent.as_posix() for file in files for parent in Path(file).parents}
    broken = []
    for link in re.findall(r"\]\(\s*<?([^)\s>]+)", prose(document)):
        if re.match(r"[a-z][a-z+.-]*:", link):
            continue
        place, _, fragment = unquote(link).partition("#")
        target = os.path.normpath(Path(document).parent / place) if place else document
        there = target in files | folders
        if not there or (fragment and (not target.endswith(".md") or fragment not in anchors(target))):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_paths_exist(document: str) -> None:
    """Every path of the repository that a document names, in prose or code, is there."""
    named = re.findall(r"(?<![\w./-])(?:bots|clients|deploy|protos|service|tests)/[\w./-]*\w", text(document))
    here = (ROOT / document).parent
    missing = [path for path in named if not (ROOT / path).exists() and not (here / path).exists()]
    assert [path for path in missing if not path.startswith(BUILT)] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_commands_exist(document: str) -> None:
    """Every `make` target, and every `buraco` command with its options, that a document names exists."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    shell, inline = "\n".join(blocks(document, "sh")).replace("\\\n", " "), re.findall(r"`([^`]+)`", prose(document))
    lines = [*(line.partition(" #")[0] for line in shell.splitlines()), *(" ".join(code.split()) for code in inline)]
    wrong = []
    for line in lines:
        wrong += [name for name in re.findall(r"(?:^|&& )make ([a-z-]+)", line) if name not in targets]
        for name, arguments in re.findall(r"(?:^|[\s/])buraco ([a-z]+)(?!\S)([^|]*)", line):
            command = buraco.get_command(click.Context(buraco), name)
            known = {option for parameter in command.params for option in parameter.opts} if command else set()
            options = re.findall(r"(?<!\S)(--[a-z-]+)", arguments)
            wrong += [f"{name} {option}".strip() for option in (options if command else [""]) if option not in known]
    assert wrong == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_variables_are_settings(document: str) -> None:
    """Every variable of the service that a document names is a setting."""
    named = set(re.findall(r"\bBURACO_[A-Z_]*[A-Z]\b", text(document)))
    assert named <= set(re.findall(r"^\| `(BURACO_\w+)`", format_settings_table(), re.MULTILINE)) | OTHER_VARIABLES


def test_nothing_is_installed_from_an_index_by_name() -> None:
    """Documents and messages install the distribution by a path: no index has it, or has another of that name."""
    for path in [*(ROOT / document for document in DOCUMENTS), *(ROOT / "service").rglob("*.py")]:
        assert not re.search(r"pip install [\"']?buraco\b", path.read_text()), path


# ---- service/README.md -----------------------------------------------------------------------------


def test_settings_table_is_current() -> None:
    """The table of settings is what the code declares; `make generate` writes it."""
    found = re.search(r"<!-- settings -->\n(.*?)<!-- /settings -->", text("service/README.md"), re.DOTALL)
    assert found is not None
    assert found.group(1).strip() == format_settings_table().strip()


def test_the_production_example_serves(tmp_path: Path, postgres_server: PostgresServer) -> None:
    """The lines that serve with TLS, API keys and PostgreSQL, pasted into a shell, do; those after them play there."""
    serve, match = [
        block.replace(".venv/bin/buraco", f'"{sys.executable}" -m buraco_service')
        for block in blocks("service/README.md", "sh")
        if "api-key" in block
    ]
    example = "postgresql://buraco:secret@db.example/buraco?sslmode=verify-full"
    assert example in serve
    assert "serve --host 0.0.0.0" in serve
    serve = serve.replace(example, postgres_server.url(postgres_server.new_database()))
    # The last command in place of the shell, so that the signal reaches it.
    *before, last = serve.splitlines()
    last = last.replace("0.0.0.0", "127.0.0.1 --port 0 --metrics-port 0 --ready-file ready.json")  # noqa: S104
    authority = Authority()
    certificate, key = authority.pair()
    for name, content in (("ca.crt", authority.pem), ("tls.crt", certificate), ("tls.key", key)):
        (tmp_path / name).write_bytes(content)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BURACO_")}
    with subprocess.Popen(
        ["bash", "-ec", "\n".join([*before, f"exec {last}"])],
        cwd=tmp_path,
        env=kept,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        try:
            address = service.when_ready(server, tmp_path / "ready.json")["address"]
            match = match.replace("buraco.example:50051", f"{address} --target 0 --bots random,random")
            play = ["bash", "-ec", match]
            run = subprocess.run(play, cwd=tmp_path, env=kept, capture_output=True, text=True, timeout=200, check=False)
            server.terminate()
            assert server.wait(service.START) == 0
        finally:
            server.kill()
    assert run.returncode == 0, run.stderr
    assert "Deal 1 over" in run.stdout


@pytest.mark.parametrize(
    ("document", "heading", "families"),
    [
        ("service/README.md", "## Metrics", (Metrics(["open"]), SupervisorMetrics())),
        ("bots/README.md", "## The fleet", (FleetMetrics(),)),
    ],
    ids=["service", "fleet"],
)
def test_every_metric_is_listed(document: str, heading: str, families: tuple[Any, ...]) -> None:
    """The table of metrics lists what is exported of its own, and nothing else."""
    exported = {family.name for own in families for family in own.registry.collect()}
    own = {name.removesuffix("_total") for name in exported if name.startswith(("buraco_", "grpc_"))}
    section = text(document).split(f"\n{heading}\n")[1].split("\n## ")[0]
    table = "\n".join(re.findall(r"^\| `.*$", section, re.MULTILINE))
    listed = {
        name.removesuffix("_total").removesuffix("_info") for name in re.findall(r"`((?:buraco|grpc)_\w+)", table)
    }
    assert listed == {name.removesuffix("_info") for name in own}


# ---- protos/ ---------------------------------------------------------------------------------------


def test_every_rule_set_is_listed() -> None:
    """Every preset has a row in the table of rule sets, and the table names no other."""
    rows = re.findall(r"^\| `([a-z-]+)`(?: \*)? \| 10[48] ", text("protos/README.md"), re.MULTILINE)
    assert rows == [preset.id for preset in PRESETS]


def test_presets_table_is_the_presets() -> None:
    """The table of presets in the rules has the options as the code has them; `make generate` writes it."""
    found = re.search(r"<!-- presets -->\n(.*?)<!-- /presets -->", text("protos/RULES.md"), re.DOTALL)
    assert found is not None
    assert found.group(1).strip() == format_presets_table().strip()


def test_every_rule_that_is_cited_can_be_looked_up() -> None:
    """Each number of a rule in the contract, the code and the tests is one that the rules explain."""
    explained = re.findall(r"^- \*\*(R\d+\.\d+)\*\*", text("protos/RULES.md"), re.MULTILINE)
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


def test_grpcurl_calls_name_methods_that_exist() -> None:
    """Each method called by the grpcurl examples is one of the contract."""
    contract = "".join(path.read_text() for path in (ROOT / "protos/buraco/v1").glob("*_service.proto"))
    called = re.findall(r"buraco\.v1\.(\w+)/(\w+)", "".join(blocks("protos/README.md", "sh")))
    assert len(called) >= 4
    for name, method in called:
        assert re.search(rf"service {name} {{.*?rpc {method}\(", contract, re.DOTALL)


@pytest.mark.skipif(not GRPCURL.exists(), reason="no grpcurl for this platform")
def test_the_grpcurl_calls_seat_two_players() -> None:
    """The grpcurl lines that create and join, pasted into a shell, make a table; the second player gets a seat, too."""
    lines = next(block for block in blocks("protos/README.md", "sh") if "fresh()" in block)
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


# ---- clients/python/README.md ----------------------------------------------------------------------


def test_the_python_client_example_plays_a_deal(tmp_path: Path) -> None:
    """The Python example, copied into a file, plays a whole deal at a served table."""
    (program,) = blocks("clients/python/README.md", "python")
    script = tmp_path / "example.py"
    script.write_text(program)
    with local_server() as server:
        run = subprocess.run(
            [sys.executable, str(script), server.address], capture_output=True, text=True, timeout=60, check=False
        )
    assert run.returncode == 0, run.stderr
    assert re.fullmatch(r"scores \[-?\d+, -?\d+\]\n", run.stdout)


def test_the_session_of_the_python_client_is_true() -> None:
    """What is typed at Python's prompt answers as it is printed."""
    check_sessions("clients/python/README.md", 8)


# ---- bots/README.md --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def my_bots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the bots of the document in my_bots.py."""
    folder = tmp_path_factory.mktemp("bots")
    (folder / "my_bots.py").write_text("\n".join(blocks("bots/README.md", "python")))
    return folder


_VERDICTS = {"greedy", "is", "better", "inconclusive", "equal", "clean", "dirty", "none"}
"""Words of a result that depend on the cards."""


def run_buraco(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command as it is run in a folder."""
    command = [sys.executable, "-m", "buraco_service", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=200, check=False)


def test_the_sessions_of_the_bots_document_are_true() -> None:
    """What is typed at Python's prompt, block after block, answers as it is printed."""
    check_sessions("bots/README.md", 10)


@pytest.mark.parametrize("bot", ["Patient", "Eager", "Watcher", "Watcher?threshold=9", "Watchful"])
def test_the_bots_play_a_match(my_bots: Path, bot: str) -> None:
    """Each bot of the document is one: it plays a deal against a built-in one."""
    command = ("match", "--bots", f"my_bots:{bot},greedy", "--rule-set", "open", "--target", "0", "--seed", "readme")
    run = run_buraco(my_bots, *command, "--json")
    assert run.returncode == 0, run.stderr
    assert len(json.loads(run.stdout)["deals"]) == 1


def test_eager_beats_patient(my_bots: Path) -> None:
    """The second bot wins nearly always against the first, as the document says."""
    command = ("arena", "--bots", "my_bots:Eager,my_bots:Patient", "--pairs", "10", "--workers", "2", "--json")
    run = run_buraco(my_bots, *command)
    assert run.returncode == 0, run.stderr
    (pairing,) = json.loads(run.stdout)["pairings"]
    assert [contender["bot"] for contender in pairing["contenders"]] == ["my_bots:Eager", "my_bots:Patient"]
    assert pairing["win_rate"]["value"] >= 0.9


def test_the_output_of_the_arena_is_current(my_bots: Path) -> None:
    """The arena prints what the document shows: the same lines, but for figures and times."""
    (shown,) = [block for block in blocks("bots/README.md", "text") if "verdict" in block]
    bots = ("--bots", "greedy,my_bots:Eager,my_bots:Patient", "--rule-set", "burraco")
    run = run_buraco(my_bots, "arena", *bots, "--pairs", "1", "--workers", "2")
    assert run.returncode == 0, run.stderr

    def words(text: str) -> list[set[str]]:
        return [{word for word in line.split() if word.isalpha()} - _VERDICTS for line in text.splitlines()]

    assert words(run.stdout) == words(shown)


def test_a_game_is_explained_and_replayed(tmp_path: Path) -> None:
    """The lines that look at a game, pasted into a shell one after the other, print what their comments promise."""
    (lines,) = [block for block in blocks("bots/README.md", "sh") if "explain" in block]
    program = f'"{sys.executable}" -m buraco_service'
    legal, illegal, _, replayed, turn = [
        subprocess.run(
            ["bash", "-o", "pipefail", "-c", line.replace(".venv/bin/buraco", program)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        for line in lines.splitlines()
    ]
    assert [run.returncode for run in (legal, illegal, replayed, turn)] == [0, 1, 0, 0], turn.stderr
    assert "=3h 4h [Jo] is legal:" in legal.stdout
    assert "NO_MELD" in illegal.stdout
    assert "Deal 1" in replayed.stdout
    assert re.search(r"^Turn 3, seat \d is to move: it may meld", turn.stdout, re.MULTILINE)
