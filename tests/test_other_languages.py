"""What protos/README.md shows authors of clients in other languages: the exported contract, and code of it."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import yaml

from buraco_bots.local_server import local_server

ROOT = Path(__file__).resolve().parent.parent
CONFIGURATION = ROOT / "protos/buf.gen.yaml"
GO_GRPC = "google.golang.org/grpc/cmd/protoc-gen-go-grpc"

CLIENT = """
import sys
import grpc
from google.rpc import error_details_pb2, status_pb2
from buraco.v1 import table_service_pb2, table_service_pb2_grpc

for module in (error_details_pb2, status_pb2, table_service_pb2, table_service_pb2_grpc):
    assert module.__file__.startswith(sys.argv[1]), module.__file__
with grpc.insecure_channel(sys.argv[2]) as channel:
    stub = table_service_pb2_grpc.TableServiceStub(channel)
    try:
        stub.GetTable(table_service_pb2.GetTableRequest(table_id="0" * 32), timeout=30)
    except grpc.RpcError as error:
        (details,) = [value for key, value in error.trailing_metadata() if key == "grpc-status-details-bin"]
        status, info = status_pb2.Status.FromString(details), error_details_pb2.ErrorInfo()
        assert status.details[0].Unpack(info)
        print(status.code, info.domain, info.reason, info.metadata["tableId"])
"""


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python code that the commands of protos/README.md make."""
    folder = tmp_path_factory.mktemp("exported")
    environment = os.environ | {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "BUF_CACHE_DIR": str(tmp_path_factory.mktemp("buf")),
    }
    for command, place in ((["make", "protos-export", f"TO={folder}"], ROOT), (["buf", "generate"], folder)):
        run = subprocess.run(
            command, cwd=place, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert run.returncode == 0, run.stderr
    return folder / "gen/python"


def test_errors_can_be_read_with_what_is_exported(generated: Path) -> None:
    """Code made of the exported files alone calls a real server, and reads the ErrorInfo of its refusal."""
    with local_server() as server:
        run = subprocess.run(
            # Without what site.py adds: this checkout, which is installed, has modules of the same names.
            [sys.executable, "-S", "-c", CLIENT, str(generated), server.address],
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(generated), sysconfig.get_path("purelib")])},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert run.returncode == 0, run.stderr
    assert run.stdout == f"5 buraco TABLE_UNKNOWN {'0' * 32}\n"


def test_generated_code_is_whole(generated: Path) -> None:
    """There is a module for every file of the contract, and one more for each file with a service."""
    made = {path.relative_to(generated / "buraco/v1").as_posix() for path in (generated / "buraco/v1").rglob("*.py")}
    wanted = set()
    for path in (ROOT / "protos/buraco/v1").glob("*.proto"):
        wanted.add(f"{path.stem}_pb2.py")
        if re.search(r"^service ", path.read_text(), re.MULTILINE):
            wanted.add(f"{path.stem}_pb2_grpc.py")
    assert made == wanted


def test_other_languages_are_a_comment_away() -> None:
    """With the # taken from its lines, the configuration names a plugin and a folder for each language."""
    enabled = re.sub(r"^  # (?=- \{)", "  ", CONFIGURATION.read_text(), flags=re.MULTILINE)
    plugins = yaml.safe_load(enabled)["plugins"]
    assert {plugin["out"] for plugin in plugins} == {
        f"gen/{name}" for name in ["python", "typescript", "go", "java", "csharp", "rust"]
    }
    assert all(("local" in plugin) != ("protoc_builtin" in plugin) for plugin in plugins)


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PATH with the plugins for other languages that this machine has; those of Go are built where Go is."""
    folder = tmp_path_factory.mktemp("plugins")
    if shutil.which("go") is not None:
        subprocess.run(
            ["go", "install", "google.golang.org/protobuf/cmd/protoc-gen-go", GO_GRPC],
            cwd=ROOT / "clients/go",
            env=os.environ | {"GOBIN": str(folder)},
            check=True,
            timeout=300,
        )
    places = (folder, ROOT / "clients/node_modules/.bin", ROOT / ".venv/bin", Path(sys.executable).parent)
    return os.pathsep.join([*map(str, places), os.environ["PATH"]])


@pytest.mark.parametrize("language", ["typescript", "go", "java", "csharp", "rust"])
def test_code_for_other_languages(language: str, generated: Path, plugins: str, tmp_path: Path) -> None:
    """The lines of a language make code with every message and service, where their plugins are installed."""
    lines = re.findall(rf"^  # (- \{{.*out: gen/{language}\}})$", CONFIGURATION.read_text(), flags=re.MULTILINE)
    chosen = yaml.safe_load("\n".join(lines))
    for plugin in chosen:
        program = plugin.get("local", "protoc")
        if shutil.which(program, path=plugins) is None:
            pytest.skip(f"{program} is not installed")
    template = yaml.safe_load(CONFIGURATION.read_text()) | {"plugins": chosen}
    run = subprocess.run(
        ["buf", "generate", "--template", yaml.safe_dump(template), "--output", tmp_path],
        cwd=generated.parent.parent,
        env=os.environ | {"PATH": plugins, "BUF_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    code = "\n".join(path.read_text() for path in (tmp_path / "gen").rglob("*.*") if path.is_file())
    contract = "\n".join(path.read_text() for path in (ROOT / "protos/buraco/v1").glob("*.proto"))
    declared = re.findall(r"^(?:message|service) (\w+)", contract, flags=re.MULTILINE)
    assert [name for name in declared if not re.search(rf"\b{name}", code)] == []
