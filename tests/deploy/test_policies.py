"""Every finding of checkov in manifests and Dockerfile has an answer here."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from tests.deploy import chart
from tests.deploy.chart import NAMESPACE, OVERLAYS
from tests.deploy.programs import DEPLOY, Missing, checkov

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

DIGEST: Final = f"--set=image.digest=sha256:{'0' * 64}"
SERVER: Final = f"Deployment.{NAMESPACE}.buraco"
# The findings, and why they stay.
ANSWERED: Final = {
    ("CKV_K8S_11", SERVER): "no limit of CPU: it would throttle a replica that has its core in the midst of a move",
    ("CKV_K8S_35", SERVER): "the store's URL is a setting, and settings are variables; keys and certificates are files",
}
ANSWERED_OF_IMAGE: Final = {
    ("CKV_DOCKER_2", "."): "Kubernetes asks by gRPC, and looks at no HEALTHCHECK",
    ("CKV_DOCKER_7", "FROM"): "the tag of the base stands in an argument, where it is not looked for",
}
# The store is a file, and its URL is not secret.
ABSENT: Final = {"dev": {("CKV_K8S_35", SERVER)}}


def complaints(framework: str, file: Path) -> set[tuple[str, str]]:
    """Return the failed checks of a file, with what they are about. No network is used."""
    try:
        program = checkov()
    except Missing as reason:
        pytest.fail(str(reason))
    done = subprocess.run(
        [program, "--file", file, "--framework", framework, "--skip-download", "--output", "json", "--compact"],
        capture_output=True,
        text=True,
        check=False,
        cwd=file.parent,
        env={**os.environ, "CHECKOV_RUN_SCA_PACKAGE_SCAN_V2": "false"},
        timeout=200,
    )
    report: Any = json.loads(done.stdout)
    assert report["summary"]["passed"] > 0, done.stderr
    assert report["summary"]["parsing_errors"] == 0
    return {(check["check_id"], check["resource"]) for check in report["results"]["failed_checks"]}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_complaints_about_manifests_are_answered(overlay: str, tmp_path: Path) -> None:
    """Every finding in an overlay has an answer, and no answer is out of date."""
    if (reason := chart.missing()) is not None:
        pytest.fail(reason)
    file = tmp_path / "manifests.yaml"
    file.write_text(chart.text(overlay, DIGEST))
    assert complaints("kubernetes", file) == ANSWERED.keys() - ABSENT.get(overlay, set())


def test_complaints_about_the_image_are_answered() -> None:
    """Every finding in the Dockerfile has an answer, and no answer is out of date."""
    found = complaints("dockerfile", DEPLOY / "Dockerfile")
    assert {(check, place.rpartition("Dockerfile.")[2] or ".") for check, place in found} == ANSWERED_OF_IMAGE.keys()
