"""The image, built and run without a Docker engine: buildah on a base of Debian's packages, podman with runc.

All of it lies in one folder, and needs root: neither a daemon nor a registry of images.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tests.deploy.programs import DEPLOY, ROOT, Missing

NAME: Final = "localhost/buraco:test"
REVISION: Final = "0123456789abcdef"
# Built once, and used by later runs.
_STORAGE: Final = Path(sys.prefix) / "image"
_SUITE: Final = "trixie"
_PACKAGES: Final = ("python3", "python3-venv", "ca-certificates")
_COMPILER: Final = ("gcc", "libc6-dev", "python3-dev")
_PROGRAMS: Final = ("buildah", "podman", "runc", "debootstrap")
# Images of Python to build on where they can be had: e.g. python:3.13-slim, and python:3.13 to compile on.
_OTHER_BASE: Final = "IMAGE_TEST_BASE"
_OTHER_BUILD_BASE: Final = "IMAGE_TEST_BUILD_BASE"
_LONG: Final = 1200.0
_CONFINED: Final = (
    *("--read-only", "--read-only-tmpfs=false", "--cap-drop=all", "--security-opt=no-new-privileges"),
    # What a container inside of a container may use.
    f"--ulimit=nofile={min(1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1])}",
    f"--ulimit=nproc={min(4096, resource.getrlimit(resource.RLIMIT_NPROC)[1])}",
)


def check_tools() -> None:
    """Raise Missing with the names of all tools that are missing."""
    lacking = [name for name in _PROGRAMS if shutil.which(name) is None]
    if lacking:
        raise Missing(f"image-test needs {', '.join(lacking)}: Debian's packages of these names")
    if os.geteuid() != 0:
        raise Missing("image-test needs root: debootstrap and chroot do")


def build() -> None:
    """Build the image of this checkout, and its bases if there are none yet."""
    # Podman records the path of its folder, and would refuse it after the checkout has moved.
    (_STORAGE / "storage" / "libpod" / "bolt_state.db").unlink(missing_ok=True)
    base = os.environ.get(_OTHER_BASE) or _base("run", _PACKAGES)
    build_base = os.environ.get(_OTHER_BUILD_BASE) or _base("build", _PACKAGES + _COMPILER)
    _buildah(
        *("build-using-dockerfile", "--isolation", "chroot", "--format", "oci", "--file", str(DEPLOY / "Dockerfile")),
        *(f"--build-arg=PYTHON_IMAGE={base}", f"--build-arg=BUILD_IMAGE={build_base}"),
        *(f"--build-arg=REVISION={REVISION}", "--tag", NAME),
        *_pip_settings(),
        str(ROOT),
    )
    # Remove the image before this one, and the build stage: each layer is a whole copy here.
    _buildah("rmi", "--prune")


def described() -> Any:
    """Return the configuration of the image."""
    (found,) = json.loads(podman("image", "inspect", NAME))
    return found["Config"]


class Container:
    """A container of the image, confined as the chart confines it, on the network of the machine."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        settings = [f"--env={name}={value}" for name, value in environment.items()]
        self.id = podman("create", "--network=host", "--log-driver=k8s-file", *_CONFINED, *settings, NAME, *arguments)

    def start(self) -> None:
        """Start it."""
        podman("start", self.id)

    def execute(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run another program in it; return its output."""
        return _run([*_podman(), "exec", self.id, *command])

    def signal(self, name: str) -> None:
        """Send its program a signal."""
        podman("kill", "--signal", name, self.id)

    def wait(self, seconds: float) -> int:
        """Return the exit status when its program has ended. Raise subprocess.TimeoutExpired."""
        return int(podman("wait", self.id, timeout=seconds))

    @property
    def log(self) -> str:
        """Return everything that it has written."""
        done = _run([*_podman(), "logs", self.id])
        return done.stdout + done.stderr

    def remove(self) -> None:
        """End it if it runs, and remove it with its volumes."""
        podman("rm", "--force", "--volumes", "--time=0", self.id)


def podman(*arguments: str, timeout: float = _LONG) -> str:
    """Run podman; return its output. Raise RuntimeError with its error message."""
    done = _run([*_podman(), *arguments], timeout)
    if done.returncode:
        raise RuntimeError(f"podman {arguments[0]}: {done.stderr[-2000:]}")
    return done.stdout.strip()


def _base(use: str, packages: Sequence[str]) -> str:
    """Return the name of a base with Debian's Python; build it from packages if there is none yet."""
    name = f"localhost/buraco-{use}:{_SUITE}"
    if _run([*_with_storage("buildah"), "inspect", "--type", "image", name]).returncode == 0:
        return name
    folder = _STORAGE / "base"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    done = _run(["debootstrap", "--variant=minbase", f"--include={','.join(packages)}", _SUITE, str(folder)])
    if done.returncode:
        raise RuntimeError(f"debootstrap: {done.stdout[-2000:]}{done.stderr[-500:]}")
    container = _buildah("from", "scratch")
    _buildah("add", "--quiet", container, str(folder), "/")
    _buildah("commit", "--quiet", container, name)
    _buildah("rm", container)
    shutil.rmtree(folder)
    return name


def _pip_settings() -> list[str]:
    """Return options that let pip in the build use the same index as here. They are mounted, not part of the image."""
    listed = _run([sys.executable, "-m", "pip", "config", "list"]).stdout
    found = dict(re.findall(r"^[\w:]+\.(index-url|cert|proxy|trusted-host)='(.*)'$", listed, re.MULTILINE))
    configuration = _STORAGE / "pip.conf"
    _STORAGE.mkdir(exist_ok=True)
    configuration.write_text("[global]\n" + "".join(f"{name} = {value}\n" for name, value in found.items()))
    mounts = [f"{configuration}:/etc/pip.conf:ro"]
    if certificates := found.get("cert"):
        mounts.append(f"{certificates}:{certificates}:ro")
    return [f"--volume={mount}" for mount in mounts]


def _buildah(*arguments: str) -> str:
    done = _run([*_with_storage("buildah"), *arguments])
    if done.returncode:
        raise RuntimeError(f"buildah {arguments[0]}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout.strip()


def _podman() -> list[str]:
    # No systemd, no daemon, and no cgroups but what the kernel has.
    return [*_with_storage("podman"), "--runtime=runc", "--cgroup-manager=cgroupfs", "--events-backend=file"]


def _with_storage(program: str) -> list[str]:
    run = _STORAGE / "run"
    return [program, f"--root={_STORAGE / 'storage'}", f"--runroot={run}", "--storage-driver=vfs"]


def _run(command: Sequence[str], timeout: float = _LONG) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=timeout, stdin=subprocess.DEVNULL
    )
