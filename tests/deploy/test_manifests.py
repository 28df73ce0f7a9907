"""The chart renders to valid manifests, and refuses values that make no sense."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

from tests.deploy import chart
from tests.deploy.chart import NEWEST, OLDEST, OVERLAYS, Manifest, Refused, one, rendered
from tests.deploy.programs import DEPLOY

if (_reason := chart.missing()) is not None:
    pytest.skip(_reason, allow_module_level=True)

CRDS: Final = {
    schema["properties"]["kind"]["const"]: schema
    for path in (Path(__file__).parent / "crds").glob("*.json")
    if (schema := json.loads(path.read_text()))
}
RULES: Final = DEPLOY / "prometheus" / "rules.yml"
# All that an overlay leaves out.
EVERYTHING: Final = (
    "--set=fleet.enabled=true,apiKeys.existingSecret=api-keys,fleet.apiKey.existingSecret=bot-key",
    "--set=tls.mode=mtls,tls.existingSecret=tls,tls.clientCa.existingSecret=ca,fleet.tls.caSecret=ca",
    "--set=fleet.tls.clientSecret=bots,metrics.serviceMonitor.enabled=true,imagePullSecrets[0].name=registry",
    "--set=priorityClassName=high,nodeSelector.disk=fast,commonLabels.team=games,podLabels.tier=game",
    "--set=podAnnotations.note=text,service.annotations.note=text,serviceAccount.annotations.note=text",
    '--set-json=networkPolicy.clients=[{"podSelector":{"matchLabels":{"app":"lobby"}}}]',
    '--set-json=networkPolicy.store=[{"ipBlock":{"cidr":"192.0.2.0/24"}}]',
    '--set-json=networkPolicy.extraEgress=[{"ports":[{"port":4317,"protocol":"TCP"}]}]',
    '--set-json=tolerations=[{"key":"games","operator":"Exists"}]',
    '--set-json=extraEnv=[{"name":"PGPASSWORD","valueFrom":{"secretKeyRef":{"name":"pg","key":"word"}}}]',
    '--set-json=extraVolumes=[{"name":"ca","secret":{"secretName":"store-ca"}}]',
    '--set-json=extraVolumeMounts=[{"name":"ca","mountPath":"/etc/store","readOnly":true}]',
    "--set=playerKeys.existingSecret=player-keys,web.enabled=true,web.root=/page",
    '--set-json=web.origins=["https://a.example"]',
    '--set-json=networkPolicy.webClients=[{"podSelector":{"matchLabels":{"app":"ingress"}}}]',
)
SETS: Final = {name: (name,) for name in OVERLAYS} | {
    "defaults": (None,),
    "everything": (None, *EVERYTHING),
    "everything on PostgreSQL": ("postgresql", *EVERYTHING),
    "SQLite without a claim": ("dev", "--set=store.persistence.enabled=false"),
    "SQLite with a collector": ("dev", EVERYTHING[7]),
    "SQLite on a claim that is there": ("dev", "--set=store.persistence.existingClaim=tables"),
    "no guards": (None, "--set=networkPolicy.enabled=false,serviceAccount.create=false"),
}


def check(manifest: Manifest, version: str) -> None:
    """Raise if the manifest is not valid to the last field, by the schema of Kubernetes or one of ours."""
    import jsonschema
    import kubernetes_validate

    if schema := CRDS.get(manifest["kind"]):
        jsonschema.Draft202012Validator(schema).validate(manifest)
    else:
        kubernetes_validate.validate(manifest, version, strict=True)


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
@pytest.mark.parametrize("arguments", SETS.values(), ids=SETS)
def test_every_manifest_is_valid(arguments: tuple[Any, ...], version: str) -> None:
    """Every rendered manifest is valid and complete, and has a name of its own."""
    manifests = rendered(*arguments, version=version)
    for manifest in manifests:
        check(manifest, version)
    names = [(m["apiVersion"], m["kind"], m["metadata"]["namespace"], m["metadata"]["name"]) for m in manifests]
    assert len(names) == len(set(names))
    assert {namespace for _, _, namespace, _ in names} == {chart.NAMESPACE}


def test_validation_notices() -> None:
    """A misspelt field, a field of the wrong type and a kind without a schema are found."""
    import kubernetes_validate

    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"clusterIp": "None"}}
    with pytest.raises(kubernetes_validate.ValidationError, match="clusterIp"):
        check(service, NEWEST)
    with pytest.raises(kubernetes_validate.ValidationError, match="string"):
        check(service | {"spec": {"clusterIP": 1}}, NEWEST)
    with pytest.raises(kubernetes_validate.SchemaNotFoundError):
        check({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}}, NEWEST)


def test_overlays_are_three() -> None:
    """There is one overlay for each store."""
    assert {name: kind_of_store(name) for name in OVERLAYS} == {
        "dev": "sqlite",
        "postgresql": "postgresql",
        "redis": "redis",
    }


def kind_of_store(overlay: str) -> str:
    """Return the store that an overlay is for."""
    (given,) = chart.parsed(OVERLAYS[overlay].read_text())
    kind: str = given["store"]["kind"]
    return kind


@pytest.mark.parametrize("overlay", [None, *OVERLAYS])
def test_helm_finds_no_fault(overlay: str | None) -> None:
    """`helm lint --strict` passes."""
    values = ["--values", str(OVERLAYS[overlay])] if overlay else []
    assert "0 chart(s) failed" in chart.run("lint", "--strict", str(chart.CHART), *values)


@pytest.mark.parametrize(
    ("overlay", "options", "words"),
    [
        (None, ("--set=replcas=3",), "replcas"),
        (None, ("--set=settings.BURACO_PORT=1",), "BURACO_PORT"),
        (None, ("--set=settings.BURACO_STORE=redis://:secret@store",), "BURACO_STORE"),
        (None, ("--set=settings.BURACO_API_KEYS=a:b",), "BURACO_API_KEYS"),
        (None, ("--set=settings.PATH=1",), "PATH"),
        (None, ("--set=image.digest=latest",), "digest"),
        (None, ("--set=service.port=80",), "/service/port"),
        (None, ("--set=settings.BURACO_WEB_PORT=8080",), "BURACO_WEB_PORT"),
        (None, ('--set-json=web.origins=["game.example/"]',), "/web/origins/0"),
        (None, ("--set=store.kind=mysql",), "redis"),
        (None, ("--set=store.existingSecret=",), "store.existingSecret"),
        (None, ("--set=signingKeys.existingSecret=",), "signingKeys.existingSecret"),
        (None, ("--set=signingKeys.existingSecret=,mode=development",), "several replicas"),
        (None, ("--set=tls.mode=tls",), "tls.existingSecret"),
        (None, ("--set=tls.mode=mtls,tls.existingSecret=tls",), "tls.clientCa.existingSecret"),
        (
            "redis",
            ("--set=tls.mode=mtls,tls.existingSecret=t,tls.clientCa.existingSecret=c",),
            "fleet.tls.clientSecret",
        ),
        (None, ("--set=metrics.prometheusRule.enabled=true",), "deploy/prometheus/rules.yml"),
        (None, ("--set=autoscaling.minReplicas=20",), "maxReplicas"),
        (None, ("--set=fleet.bots=null",), "bots"),
        (None, ("--set-string=fleet.pause=soon",), "/fleet/pause"),
        ("dev", ("--set=replicas=2",), "one replica"),
        ("dev", ("--set=autoscaling.enabled=true",), "one replica"),
        ("dev", ("--set=podDisruptionBudget.enabled=true",), "podDisruptionBudget.enabled"),
        ("dev", ("--set=mode=production",), "signingKeys.existingSecret"),
    ],
)
def test_senseless_values_are_refused(overlay: str | None, options: tuple[str, ...], words: str) -> None:
    """Values that are misspelt, out of range or contradictory are refused; the message names them."""
    with pytest.raises(Refused, match=re.escape(words)):
        rendered(overlay, *options)


def test_old_kubernetes_is_refused() -> None:
    """Helm refuses a Kubernetes that lacks what the chart uses."""
    with pytest.raises(Refused, match=re.escape("1.30")):
        rendered(version="1.29.0")


def test_schema_describes_every_value() -> None:
    """Every value is in the schema, every value in the schema is a default, and all objects of ours are closed."""

    def compare(value: Any, schema: Any, place: str) -> None:
        if "$ref" in schema:
            schema = chart.schema()["definitions"][schema["$ref"].rpartition("/")[2]]
        if not isinstance(value, dict) or "properties" not in schema:
            return
        assert schema["additionalProperties"] is False, place
        optional = {"global", "claims", "initialDelaySeconds"}
        assert schema["properties"].keys() - optional == value.keys() - optional, place
        for name, inner in value.items():
            compare(inner, schema["properties"][name], f"{place}.{name}")

    compare(chart.values(), chart.schema(), "")


def test_no_secret_is_in_the_manifests() -> None:
    """The chart makes no Secret; secrets come from Secrets that it names."""
    for arguments in SETS.values():
        manifests = rendered(*arguments)
        assert "Secret" not in {manifest["kind"] for manifest in manifests}
        assert not re.search(r"BURACO_(SIGNING|API)_KEYS$|BURACO_CLIENT_API_KEY", json.dumps(manifests))


def test_alerts_are_wrapped(tmp_path: Path) -> None:
    """A file of rules for Prometheus becomes a PrometheusRule, word for word."""
    rules = RULES
    if not rules.exists():
        rules = tmp_path / "rules.yml"
        rule = 'alert: A\n        expr: up == 0\n        annotations: {summary: "{{ $labels.pod }} is down"}\n'
        rules.write_text(f"# about\ngroups:\n  - name: buraco\n    rules:\n      - {rule}")
    manifests = rendered(
        None,
        "--set=metrics.prometheusRule.enabled=true,metrics.prometheusRule.labels.release=prometheus",
        f"--set-file=metrics.prometheusRule.rules={rules}",
    )
    wrapped = one(manifests, "PrometheusRule")
    check(wrapped, NEWEST)
    assert [wrapped["spec"]] == chart.parsed(rules.read_text())
    assert wrapped["metadata"]["labels"]["release"] == "prometheus"


def test_names_keep_their_bounds() -> None:
    """A long name of a release leaves room for the suffixes that are added to it."""
    manifests = rendered("dev", f"--set=fullnameOverride={'x' * 63}")
    assert max(len(manifest["metadata"]["name"]) for manifest in manifests) <= 63
    for manifest in manifests:
        check(manifest, NEWEST)
