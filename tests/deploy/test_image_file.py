"""What can be checked of the Dockerfile without building it; `make image-test` builds and runs it."""

from __future__ import annotations

import re
import subprocess
import tomllib

import pytest

from tests.deploy.programs import DEPLOY, ROOT, Missing, hadolint

DOCKERFILE = DEPLOY / "Dockerfile"


def test_linter_finds_no_fault() -> None:
    """The linter finds nothing, and no check is disabled."""
    try:
        linter = hadolint()
    except Missing as reason:
        pytest.skip(str(reason))
    done = subprocess.run(
        [linter, "--no-color", "--disable-ignore-pragma", DOCKERFILE], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_bases_can_be_pinned() -> None:
    """Each stage is on the base that the arguments name, by digest if given: one Python, and no registry."""
    text = DOCKERFILE.read_text()
    stages = ["${BUILD_IMAGE}${BUILD_DIGEST}", "${PYTHON_IMAGE}${PYTHON_DIGEST}"]
    assert re.findall(r"^FROM (\S+)", text, re.MULTILINE) == stages
    bases = re.findall(r"^ARG (?:BUILD|PYTHON)_IMAGE=(\S+)", text, re.MULTILINE)
    assert bases == ["python:3.13-slim", "python:3.13"]


def test_versions_agree() -> None:
    """Image, chart and distribution have one version."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert re.findall(r"^ARG VERSION=(\S+)", DOCKERFILE.read_text(), re.MULTILINE) == [version]
    about = (DEPLOY / "helm" / "buraco" / "Chart.yaml").read_text()
    assert re.findall(r"^appVersion: (\S+)", about, re.MULTILINE) == [version]
