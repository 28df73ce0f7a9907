"""The house rules of the repository: its folders, locks and packages."""

from __future__ import annotations

import ast
import configparser
import importlib.metadata
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
RUNTIME_LOCK = ROOT / "deploy" / "requirements.lock"
COMPILE_LOCK = ROOT / "deploy" / "compile.lock"
DEVELOPMENT_LOCK = ROOT / "tests" / "requirements.lock"
GRPCURL_LOCK = ROOT / "tests" / "grpcurl.lock"
BENCH_LOCK = ROOT / "tests" / "bench.lock"
MUTATION_LOCK = ROOT / "tests" / "mutation" / "requirements.lock"
AUDIT_LOCK = ROOT / "tests" / "audit.lock"
NODE_LOCK = ROOT / "clients" / "node.lock"
DEPLOY_LOCK, DEPLOY_PROGRAMS_LOCK, DEPLOY_CLUSTER_LOCK, DEPLOY_POLICIES_LOCK = (
    ROOT / "tests" / "deploy" / f"{name}.lock" for name in ("requirements", "programs", "cluster", "policies")
)
LOCKS = (
    RUNTIME_LOCK,
    COMPILE_LOCK,
    DEVELOPMENT_LOCK,
    GRPCURL_LOCK,
    BENCH_LOCK,
    MUTATION_LOCK,
    AUDIT_LOCK,
    NODE_LOCK,
    DEPLOY_LOCK,
    DEPLOY_PROGRAMS_LOCK,
    DEPLOY_CLUSTER_LOCK,
    DEPLOY_POLICIES_LOCK,
)
GENERATED = "clients/python/buraco"
WHEEL: dict[str, Any] = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
DATA: dict[str, str] = WHEEL["sources"]
"""Folders of data, and where the wheel has them."""
PACKAGES: list[str] = [folder for folder in WHEEL["packages"] if folder not in DATA]
OWN_PACKAGES = [package for package in PACKAGES if package != GENERATED]

TOP_LEVEL = {
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "README.md",
    "bots",
    "clients",
    "deploy",
    "protos",
    "pyproject.toml",
    "service",
    "tests",
}

# Spelled in halves, so that this file does not hold what it looks for.
FOREIGN_HOSTS = tuple(
    "".join(halves)
    for halves in (
        ("pypi", ".org"),
        ("python", "hosted.org"),
        ("registry.", "npmjs"),
        ("proxy.", "golang.org"),
        ("crates", ".io"),
        ("deb.", "debian.org"),
    )
)

# A checkout may be right under these, which say nothing about a machine.
COMMON_FOLDERS = {
    Path(name)
    for name in (
        "/",
        "/app",
        "/data",
        "/home",
        "/mnt",
        "/opt",
        "/src",
        "/srv",
        "/tmp",
        "/usr/src",
        "/workspace",
    )
}


class Pin(NamedTuple):
    """One locked package: its exact requirement and the hashes of its files."""

    requirement: Requirement
    hashes: frozenset[str]

    @property
    def version(self) -> Version:
        (specifier,) = self.requirement.specifier
        return Version(specifier.version)


def tracked() -> list[Path]:
    """Return the files of the repository as git knows them, new ones included."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [ROOT / name for name in listing.split("\0") if name and (ROOT / name).is_file()]


def texts() -> list[tuple[str, str]]:
    """Return every tracked text file: its path in the repository and its contents."""
    found = []
    for path in tracked():
        content = path.read_bytes()
        if b"\0" not in content:
            found.append((path.relative_to(ROOT).as_posix(), content.decode("utf-8")))
    return found


def pins(lock: Path) -> dict[NormalizedName, Pin]:
    """Parse a lock by its whole grammar; any other line fails."""
    lines = [line for line in lock.read_text().splitlines() if not line.lstrip().startswith("#")]
    found: dict[NormalizedName, Pin] = {}
    for entry in re.split(r"\n(?=\S)", "\n".join(lines)):
        head, *rest = (line.strip().removesuffix("\\").rstrip() for line in entry.splitlines())
        requirement = Requirement(head)
        assert [specifier.operator for specifier in requirement.specifier] == ["=="], head
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", line) for line in rest), rest
        assert canonicalize_name(requirement.name) not in found, f"{head} is pinned twice"
        found[canonicalize_name(requirement.name)] = Pin(requirement, frozenset(rest))
    return found


def wanted(*extras: str) -> list[Requirement]:
    """Return the direct requirements of the distribution with the given extras."""
    project = PROJECT["project"]
    stated = list(project["dependencies"])
    for extra in extras:
        stated += project["optional-dependencies"][extra]
    return [Requirement(line) for line in stated]


def group(name: str) -> list[Requirement]:
    """Return a dependency group of pyproject.toml."""
    return [Requirement(line) for line in PROJECT["dependency-groups"][name]]


# ---- folders ---------------------------------------------------------------------------------------


def test_top_level() -> None:
    """The top level has these files and folders and no others, except hidden ones."""
    names = {path.relative_to(ROOT).parts[0] for path in tracked()}
    assert {name for name in names if not name.startswith(".")} <= TOP_LEVEL


def test_packages_are_all_shipped() -> None:
    """The packages in the source folders are those in the wheel's list."""
    parents = [ROOT / name for name in PROJECT["tool"]["hatch"]["build"]["dev-mode-dirs"]]
    on_disk = {path.parent.relative_to(ROOT).as_posix() for p in parents for path in p.glob("*/__init__.py")}
    assert on_disk == set(PACKAGES)


def test_packages_are_typed() -> None:
    """Every package of the distribution has a py.typed."""
    assert [package for package in PACKAGES if not (ROOT / package / "py.typed").is_file()] == []


def test_modules_are_small() -> None:
    """A module of ours has one reason to change and so at most 400 lines."""
    too_long = {
        path.relative_to(ROOT).as_posix(): lines
        for package in OWN_PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if (lines := len(path.read_text().splitlines())) > 400
    }
    assert too_long == {}


def test_rules_import_only_the_standard_library() -> None:
    """The rules import the standard library and themselves, at any depth of any function."""
    foreign = set()
    for path in (ROOT / "service" / "buraco_rules").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            tops = {name.partition(".")[0] for name in names}
            foreign |= {(path.name, top) for top in tops - sys.stdlib_module_names - {"buraco_rules"}}
    assert foreign == set()


# ---- texts -----------------------------------------------------------------------------------------


def test_no_registry_host() -> None:
    """No file names the host of a package registry: where packages come from depends on the machine."""
    assert [(name, host) for name, text in texts() for host in FOREIGN_HOSTS if host in text] == []


def test_no_machine_path() -> None:
    """No tracked file names the folder of this checkout, of its neighbours or the home of who works on it."""
    private = {ROOT, ROOT.parent, Path.home()} - COMMON_FOLDERS
    mention = re.compile("|".join(rf"(?<![\w.}}/-]){re.escape(str(path))}(?![\w.-])" for path in private))
    assert [(name, match[0]) for name, text in texts() if (match := mention.search(text))] == []


def test_text_files_are_tidy() -> None:
    """Text files end in one newline and hold neither carriage returns nor spaces at line ends."""
    untidy = {
        name
        for name, text in texts()
        if "\r" in text or re.search(r"[ \t]$", text, re.MULTILINE) or (text and not re.search(r"[^\n]\n\Z", text))
    }
    assert {name for name in untidy if not name.startswith(GENERATED)} == set()


def test_editors_agree_with_the_formatter() -> None:
    """.editorconfig asks for Python's indentation and line length as ruff has them."""
    sections = configparser.ConfigParser()
    sections.read_string("[DEFAULT]\n" + (ROOT / ".editorconfig").read_text())
    ruff = PROJECT["tool"]["ruff"]
    assert sections["*.py"].getint("max_line_length") == ruff["line-length"]
    assert sections["*"].getint("indent_size") == ruff.get("indent-width", 4)


# ---- locks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.relative_to(ROOT).as_posix())
def test_lock_is_hashed(lock: Path) -> None:
    """A lock has exact pins with hashes and nothing else: no address, no option, no path."""
    locked = pins(lock)
    assert locked
    assert {name for name, pin in locked.items() if not pin.hashes} == set()


def test_locks_agree() -> None:
    """The development lock holds the runtime lock, file for file, and what targets add changes nothing of it: all
    fit into one environment.
    """
    runtime, development = pins(RUNTIME_LOCK), pins(DEVELOPMENT_LOCK)
    assert {name: pin for name, pin in runtime.items() if development.get(name) != pin} == {}
    assert len(runtime) < len(development)
    for lock in (GRPCURL_LOCK, NODE_LOCK, DEPLOY_PROGRAMS_LOCK, DEPLOY_CLUSTER_LOCK):
        assert not pins(lock).keys() & development.keys()
    # The same files: on which platforms a lock wants a package is its own affair.
    mutation, deploy = pins(MUTATION_LOCK), pins(DEPLOY_LOCK)
    others = [(other, development) for other in (pins(COMPILE_LOCK), pins(BENCH_LOCK), mutation, deploy)]
    for one, other in (*others, (mutation, deploy)):
        shared = one.keys() & other.keys()
        assert {name for name in shared if one[name].version != other[name].version} == set()
        assert {name for name in shared if one[name].hashes != other[name].hashes} == set()


@pytest.mark.parametrize(
    ("lock", "requirements"),
    [
        (RUNTIME_LOCK, wanted("server", "otel", "bots") + group("build")),
        (DEVELOPMENT_LOCK, wanted("server", "otel", "bots", "dev") + group("build")),
        (COMPILE_LOCK, group("compile")),
        (GRPCURL_LOCK, group("grpcurl")),
        (BENCH_LOCK, group("bench")),
        (MUTATION_LOCK, group("mutation")),
        (AUDIT_LOCK, group("audit")),
        (NODE_LOCK, group("node")),
        (DEPLOY_LOCK, group("deploy")),
        (DEPLOY_PROGRAMS_LOCK, group("deploy-programs")),
        (DEPLOY_CLUSTER_LOCK, group("deploy-cluster")),
        (DEPLOY_POLICIES_LOCK, group("deploy-policies")),
    ],
    ids=lambda value: value.relative_to(ROOT).as_posix() if isinstance(value, Path) else "",
)
def test_lock_is_current(lock: Path, requirements: list[Requirement]) -> None:
    """A lock pins every requirement of pyproject.toml at a version that pyproject.toml allows."""
    locked = pins(lock)
    stale = [
        str(requirement)
        for requirement in requirements
        if (pin := locked.get(canonicalize_name(requirement.name))) is None
        or not requirement.specifier.contains(pin.version)
    ]
    assert stale == []


def test_environment_is_the_locked_one() -> None:
    """The tests run in the environment of the development lock."""
    installed = {canonicalize_name(d.name): Version(d.version) for d in importlib.metadata.distributions()}
    applicable = {
        name: pin.version
        for name, pin in pins(DEVELOPMENT_LOCK).items()
        if pin.requirement.marker is None or pin.requirement.marker.evaluate()
    }
    assert {name: version for name, version in applicable.items() if installed.get(name) != version} == {}


def test_floors_reach_the_generator() -> None:
    """The oldest grpcio and protobuf that pyproject.toml allows still load the generated code."""
    floors: dict[str, Version] = {
        requirement.name: Version(specifier.version)
        for requirement in wanted()
        for specifier in requirement.specifier
        if specifier.operator == ">="
    }
    generated = "".join(path.read_text() for path in (ROOT / GENERATED).rglob("*_pb2*.py"))
    grpc_versions = set(re.findall(r"GRPC_GENERATED_VERSION = '([\d.]+)'", generated))
    protobuf_versions = set(re.findall(r"Protobuf Python Version: ([\d.]+)", generated))
    assert len(grpc_versions) == len(protobuf_versions) == 1
    assert floors["grpcio"] >= Version(grpc_versions.pop())
    assert floors["protobuf"] >= Version(protobuf_versions.pop())


# ---- packages --------------------------------------------------------------------------------------


def test_command_runs() -> None:
    """The installed command lists its subcommands."""
    (script,) = PROJECT["project"]["scripts"]
    command = Path(sysconfig.get_path("scripts")) / script
    answer = subprocess.run([command, "--help"], capture_output=True, text=True, check=False, timeout=60)
    assert (answer.returncode, answer.stderr) == (0, "")
    for subcommand in PROJECT["project"]["entry-points"]["buraco.commands"]:
        assert re.search(rf"^  {subcommand}\b", answer.stdout, re.MULTILINE), answer.stdout


@pytest.mark.parametrize("name", sorted(PROJECT["project"]["entry-points"]["buraco.commands"]))
def test_subcommand_loads(name: str) -> None:
    """Every subcommand is registered as installed metadata and loads as a command of that name."""
    (entry,) = importlib.metadata.entry_points(group="buraco.commands", name=name)
    command = entry.load()
    assert isinstance(command, click.Command)
    assert command.name == name


def test_wheel_holds_the_packages(tmp_path: Path) -> None:
    """A wheel has every package whole, its data and its licence, and nothing else; the client finds its data there."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        check=True,
        timeout=100,
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    shipped = {name for name in names if ".dist-info/" not in name}
    on_disk = {
        path.relative_to((ROOT / package).parent).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    data = {f"{place}/{path.name}" for folder, place in DATA.items() for path in (ROOT / folder).glob("*.json")}
    assert shipped == on_disk | data
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    program = "from buraco_client import languages, texts; print(texts.__file__, *languages())"
    answer = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(tmp_path / "installed")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert answer.stdout.split() == [str(tmp_path / "installed/buraco_client/texts.py"), "en", "es", "it", "pt"]
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
