"""Renders the chart with Helm and reads the manifests."""

from __future__ import annotations

import functools
import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tests.deploy.programs import DEPLOY, Missing, helm, validator_missing

CHART: Final = DEPLOY / "helm" / "buraco"
OVERLAYS: Final = {path.stem: path for path in sorted((DEPLOY / "helm" / "overlays").glob("*.yaml"))}
OLDEST, NEWEST = "1.30.0", "1.37.0"
NAMESPACE: Final = "games"

Manifest = Mapping[str, Any]


class Refused(Exception):
    """Helm does not render the values; the message is Helm's."""


def missing() -> str | None:
    """Return why nothing can be rendered and validated here; None if it can."""
    try:
        helm()
    except Missing as reason:
        return str(reason)
    return validator_missing()


@functools.cache
def rendered(overlay: str | None = None, *options: str, version: str = NEWEST) -> Sequence[Manifest]:
    """Return all manifests of the chart with an overlay and further options of Helm, in Helm's order. Raise Refused."""
    return tuple(parsed(text(overlay, *options, version=version)))


def text(overlay: str | None = None, *options: str, version: str = NEWEST) -> str:
    """Return the manifests as text."""
    values = ["--values", str(OVERLAYS[overlay])] if overlay else []
    return run("template", "buraco", str(CHART), "--namespace", NAMESPACE, "--kube-version", version, *values, *options)


def parsed(manifests: str) -> list[Manifest]:
    """Return manifests as Kubernetes reads them; a repeated key is an error."""
    import yaml

    class Strict(yaml.SafeLoader):
        """A loader that refuses the same key twice in a mapping, which PyYAML accepts."""

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            keys = [key.value for key, _ in node.value]
            assert len(keys) == len(set(keys)), f"a key stands twice: {keys}"
            return super().construct_mapping(node, deep=deep)

    return [manifest for manifest in yaml.load_all(manifests, Strict) if manifest]


def values() -> Mapping[str, Any]:
    """Return the default values."""
    (found,) = parsed((CHART / "values.yaml").read_text())
    return found


def schema() -> Mapping[str, Any]:
    """Return the schema of the values."""
    found: Mapping[str, Any] = json.loads((CHART / "values.schema.json").read_text())
    return found


def one(manifests: Sequence[Manifest], kind: str, name: str = "buraco") -> Any:
    """Return the manifest of that kind and name."""
    (found,) = [m for m in manifests if m["kind"] == kind and m["metadata"]["name"] == name]
    return found


def container(manifests: Sequence[Manifest], deployment: str = "buraco") -> Any:
    """Return the one container of a Deployment's pods."""
    (found,) = one(manifests, "Deployment", deployment)["spec"]["template"]["spec"]["containers"]
    return found


def plain_environment(described: Mapping[str, Any], secrets: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a container as the kubelet makes it, with the values of Secrets by `name/key`."""
    found = {}
    for variable in described.get("env", ()):
        value = variable.get("value")
        if value is None:
            reference = variable["valueFrom"]["secretKeyRef"]
            value = secrets[f"{reference['name']}/{reference['key']}"]
        assert isinstance(value, str), variable
        found[variable["name"]] = value
    assert len(found) == len(described.get("env", ())), "a variable stands twice"
    return found


def run(*arguments: str) -> str:
    """Run Helm; return its output. Raise Refused."""
    done = subprocess.run([helm(), *arguments], capture_output=True, text=True, check=False, timeout=60)
    if done.returncode:
        raise Refused(done.stderr + done.stdout)
    return done.stdout
