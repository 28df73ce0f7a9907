"""The manifests fit each other, and the programs that they start."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Final

import click
import pytest

from buraco_bots.fleet_command import fleet
from buraco_bots.pauses import NO_PAUSE, PauseRange
from buraco_service.configuration import checks, loading, specs
from buraco_service.configuration.settings import Settings
from buraco_service.workers.link import KILL_MARGIN
from tests.deploy import chart
from tests.deploy.chart import OVERLAYS, container, one, plain_environment, rendered

if (_reason := chart.missing()) is not None:
    pytest.skip(_reason, allow_module_level=True)

SECRETS: Final = {
    "buraco-store/url": "sqlite:////var/lib/buraco/tables.db",
    "buraco-store-owner/url": "sqlite:////var/lib/buraco/tables.db",
}
MTLS: Final = (
    "--set=tls.mode=mtls,tls.existingSecret=tls,tls.clientCa.existingSecret=ca,fleet.enabled=true",
    "--set=fleet.tls.caSecret=ca,fleet.tls.clientSecret=bots,fleet.apiKey.existingSecret=bot-key",
)
LEVELS: Final = (
    "--set=fleet.bots={greedy,mine?depth=2&style=bold},fleet.freeSeats={greedy}",
    "--set-string=fleet.pause=0.5-2",
)
WEB: Final = ("--set=web.enabled=true,web.root=/page", '--set-json=web.origins=["https://a.example","http://b:81"]')
WAYS: Final = [(None,), *((name,) for name in OVERLAYS), (None, *MTLS), ("redis", *WEB), ("redis", *LEVELS)]
PODS: Final = [
    (arguments, name)
    for arguments in WAYS
    for name in ("buraco", "buraco-fleet")
    if name == "buraco" or arguments != (None,)
]
pods = pytest.mark.parametrize(("arguments", "name"), PODS, ids=lambda value: str(value)[:60])
ways = pytest.mark.parametrize("arguments", WAYS, ids=lambda value: str(value)[:60])


def pod_of(arguments: tuple[Any, ...], name: str = "buraco") -> Any:
    """Return the specification of a Deployment's pods."""
    return one(rendered(*arguments), "Deployment", name)["spec"]["template"]["spec"]


@ways
def test_settings_are_those_of_the_service(arguments: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """The service accepts every variable of its container, with the meaning of the manifest."""
    environment = plain_environment(container(rendered(*arguments)), SECRETS)
    assert loading.find_unknown_variables(environment) == ()
    # Files of a Secret are not here; the assertions below check that they are set.
    monkeypatch.setattr(checks, "complete", lambda settings, **_: (settings, ()))
    settings = loading.load(environment, {})
    ports = {port["name"]: port["containerPort"] for port in container(rendered(*arguments))["ports"]}
    web = {"web": settings.web_port} if settings.web_port >= 0 else {}
    assert ports == {"grpc": settings.port, "metrics": settings.metrics_port, **web}
    assert settings.mode == ("development" if arguments == ("dev",) else "production")
    assert (settings.signing_keys_file is None) is (settings.mode == "development")
    assert (settings.tls_cert_file is None) is (settings.tls == "off")
    assert (settings.tls_client_ca_file is None) is (settings.tls != "mtls")


def test_web_port() -> None:
    """The web port is closed unless it is wanted; then its settings, the Service and the network policy have it."""
    assert "BURACO_WEB_PORT" not in plain_environment(container(rendered(None)), SECRETS)
    peers = [{"namespaceSelector": {"matchLabels": {"name": "ingress"}}}]
    manifests = rendered(None, *WEB, f"--set-json=networkPolicy.webClients={json.dumps(peers)}")
    settings = loading.load(plain_environment(container(rendered("dev", *WEB)), SECRETS), {})
    assert (settings.web_port, str(settings.web_root)) == (8080, "/page")
    assert settings.web_origins == ("https://a.example", "http://b:81")
    (port,) = [port for port in one(manifests, "Service", "buraco")["spec"]["ports"] if port["name"] == "web"]
    assert port == {"name": "web", "port": 8080, "targetPort": "web", "appProtocol": "http"}
    rules = one(manifests, "NetworkPolicy", "buraco")["spec"]["ingress"]
    assert {"ports": [{"protocol": "TCP", "port": "web"}], "from": peers} in rules


def test_chart_sets_no_setting_twice() -> None:
    """A variable that the chart sets is a setting, and `settings` cannot set it again."""
    names = set(plain_environment(container(rendered("postgresql")), SECRETS))
    names |= set(plain_environment(container(rendered(None, *MTLS)), SECRETS))
    names |= set(plain_environment(container(rendered(None, *WEB)), SECRETS))
    own = names - chart.values()["settings"].keys()
    assert own <= {spec.variable for spec in specs.SPECS}
    for name in own:
        with pytest.raises(chart.Refused, match=name):
            rendered(None, f"--set-string=settings.{name}=1")


@pods
def test_files_are_mounted(arguments: tuple[Any, ...], name: str) -> None:
    """Every file that a program is given is in a folder that is mounted from a Secret, under the key it names."""
    pod = pod_of(arguments, name)
    (described,) = pod["containers"]
    told = [v["value"] for v in described.get("env", ()) if v["name"].endswith("_FILE")]
    told += [argument.partition("=")[2] for argument in described["args"] if "-file=" in argument]
    mounts = {mount["mountPath"]: mount["name"] for mount in described["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert sorted(mounts.values()) == sorted(volumes), "each volume is mounted once"
    for path in told:
        folder, _, key = path.rpartition("/")
        volume = volumes[mounts[folder]]
        if folder == "/run/buraco":
            continue
        assert volume["secret"]["defaultMode"] == 0o440
        items = volume["secret"].get("items")
        assert items is None or items == [{"key": key, "path": key}]


@pods
def test_pods_are_locked_down(arguments: tuple[Any, ...], name: str) -> None:
    """No container is root, writes where nothing is mounted, gains rights or uses the Kubernetes API."""
    pod = pod_of(arguments, name)
    assert pod["enableServiceLinks"] is False
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert (pod["securityContext"]["runAsUser"], pod["securityContext"]["fsGroup"]) == (65532, 65532)
    for described in (*pod.get("initContainers", ()), *pod["containers"]):
        assert described["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert described["resources"]["limits"]["memory"]


@pods
def test_there_is_time_to_stop(arguments: tuple[Any, ...], name: str) -> None:
    """A pod is killed only after the time that a graceful stop may take."""
    pod = pod_of(arguments, name)
    (described,) = pod["containers"]
    if name == "buraco":
        grace = float(plain_environment(described, SECRETS)["BURACO_DRAIN_GRACE"])
        needed = described["lifecycle"]["preStop"]["sleep"]["seconds"] + grace + KILL_MARGIN
    else:
        (grace,) = (float(a.partition("=")[2]) for a in described["args"] if a.startswith("--grace="))
        needed = grace + KILL_MARGIN
    assert pod["terminationGracePeriodSeconds"] > needed


def test_probes_speak_the_health_protocol() -> None:
    """In plain text the probes use gRPC: of the table service for readiness, of the server for liveness."""
    described = container(rendered("redis"))
    table_service = {"port": 50051, "service": "buraco.v1.TableService"}
    assert described["startupProbe"]["grpc"] == described["readinessProbe"]["grpc"] == table_service
    assert described["livenessProbe"]["grpc"] == {"port": 50051}


def test_probes_do_without_grpc_over_tls() -> None:
    """Over TLS, which the gRPC probes of the kubelet lack, the probes are the ready file and the port."""
    described = container(rendered("postgresql"))
    environment = plain_environment(described, SECRETS)
    assert described["readinessProbe"]["exec"]["command"] == ["test", "-f", environment["BURACO_READY_FILE"]]
    assert described["livenessProbe"]["tcpSocket"] == {"port": "grpc"}
    assert "grpc" not in described["startupProbe"]


def test_probes_of_the_fleet() -> None:
    """The fleet is live while it runs, and ready while it searches, by its own port."""
    described = container(rendered("redis"), "buraco-fleet")
    live, ready = ({"path": path, "port": "metrics"} for path in ("/livez", "/readyz"))
    assert described["startupProbe"]["httpGet"] == described["livenessProbe"]["httpGet"] == live
    assert described["readinessProbe"]["httpGet"] == ready
    (port,) = described["ports"]
    assert port == {"name": "metrics", "containerPort": 9465}


@pods
def test_arguments_are_those_of_the_command(arguments: tuple[Any, ...], name: str) -> None:
    """A container starts a subcommand of `buraco`; the fleet's options are those of `buraco fleet`."""
    (described,) = pod_of(arguments, name)["containers"]
    command, *options = described["args"]
    if command == "serve":
        assert options == []
        return
    assert command == fleet.name
    offered = {opt for parameter in fleet.params if isinstance(parameter, click.Option) for opt in parameter.opts}
    assert {option.partition("=")[0] for option in options} <= offered
    given = fleet.make_context(command, [option for option in options if "-file=" not in option]).params
    assert given["free_seats"] == ("greedy" if LEVELS[0] in arguments else None)
    assert given["pause"] == (PauseRange(0.5, 2.0) if LEVELS[0] in arguments else NO_PAUSE)
    manifests = rendered(*arguments)
    host, _, port = options[0].removeprefix("--server=dns:///").partition(":")
    headless = one(manifests, "Service", host)
    assert headless["spec"]["clusterIP"] == "None"
    assert int(port) in [p["port"] for p in headless["spec"]["ports"]]


@ways
def test_selectors_find_their_pods(arguments: tuple[Any, ...]) -> None:
    """Services, budget, policies, spread and monitor select the right pods: the server's or the fleet's."""
    manifests = rendered(*arguments)
    labels = {
        m["metadata"]["name"]: m["spec"]["template"]["metadata"]["labels"]
        for m in manifests
        if m["kind"] == "Deployment"
    }

    def selected(selector: dict[str, str]) -> list[str]:
        return sorted(name for name, of_pod in labels.items() if selector.items() <= of_pod.items())

    for manifest in manifests:
        kind, spec = manifest["kind"], manifest.get("spec", {})
        if kind == "Service":
            assert selected(spec["selector"]) == [manifest["metadata"]["name"].removesuffix("-headless")]
        elif kind == "PodDisruptionBudget":
            assert selected(spec["selector"]["matchLabels"]) == ["buraco"]
        elif kind == "Deployment":
            assert selected(spec["selector"]["matchLabels"]) == [manifest["metadata"]["name"]]
        elif kind == "NetworkPolicy":
            assert selected(spec["podSelector"]["matchLabels"]) == [manifest["metadata"]["name"]]
        elif kind == "HorizontalPodAutoscaler":
            assert one(manifests, spec["scaleTargetRef"]["kind"], spec["scaleTargetRef"]["name"])
        elif kind == "ServiceMonitor":
            (scraped,) = spec["selector"]["matchExpressions"]
            assert scraped == {"key": spec["jobLabel"], "operator": "Exists"}
            wanted = spec["selector"]["matchLabels"].items()
            services = [m for m in manifests if m["kind"] == "Service" and wanted <= m["metadata"]["labels"].items()]
            found = [m for m in services if scraped["key"] in m["metadata"]["labels"]]
            jobs = {m["metadata"]["labels"][spec["jobLabel"]]: selected(m["spec"]["selector"]) for m in found}
            assert jobs == {name: [name] for name in labels}
            for service in found:
                assert {e["port"] for e in spec["endpoints"]} <= {p["name"] for p in service["spec"]["ports"]}
    for constraint in pod_of(arguments)["topologySpreadConstraints"]:
        assert selected(constraint["labelSelector"]["matchLabels"]) == ["buraco"]


def test_store_decides_how_replicas_change() -> None:
    """SQLite has one replica that ends before the next starts; other stores have several, never fewer."""
    sqlite = one(rendered("dev"), "Deployment")["spec"]
    assert (sqlite["replicas"], sqlite["strategy"]) == (1, {"type": "Recreate"})
    for overlay in ("redis", "postgresql"):
        spec = one(rendered(overlay), "Deployment")["spec"]
        assert "replicas" not in spec, "the autoscaler's affair"
        assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
        assert one(rendered(overlay), "HorizontalPodAutoscaler")["spec"]["minReplicas"] >= 2


def test_schema_is_migrated_before_the_start() -> None:
    """An init container migrates PostgreSQL's schema; no other container has its role."""
    pod = pod_of(("postgresql",))
    (migrate,) = pod["initContainers"]
    assert migrate["args"] == ["migrate"]
    assert migrate["image"] == pod["containers"][0]["image"]
    (variable,) = migrate["env"]
    assert variable == {
        "name": "BURACO_STORE",
        "valueFrom": {"secretKeyRef": {"name": "buraco-store-owner", "key": "url"}},
    }
    assert "buraco-store-owner" not in str(pod["containers"])
    for arguments in (("dev",), ("redis",), ("postgresql", "--set=store.migrate.enabled=false")):
        assert "initContainers" not in pod_of(arguments)


def test_policies_open_what_is_needed() -> None:
    """Callers reach gRPC, Prometheus metrics, replicas their store and DNS; bots reach replicas, no caller bots."""
    for overlay, store in (("redis", 6379), ("postgresql", 5432)):
        spec = one(rendered(overlay), "NetworkPolicy")["spec"]
        assert [rule["ports"][0]["port"] for rule in spec["ingress"]] == ["grpc", "metrics"]
        assert [port["port"] for rule in spec["egress"] for port in rule["ports"]] == [53, 53, store]
        bots = one(rendered(overlay), "NetworkPolicy", "buraco-fleet")["spec"]
        assert [rule["ports"][0]["port"] for rule in bots["ingress"]] == ["metrics"]
        assert [port["port"] for rule in bots["egress"] for port in rule["ports"]] == [53, 53, "grpc"]
    assert one(rendered("dev"), "NetworkPolicy")["spec"]["egress"] == []


def test_bots_may_call_where_callers_are_named() -> None:
    """If callers are named, others are shut out, but not the chart's own bots."""
    clients = '--set-json=networkPolicy.clients=[{"podSelector":{"matchLabels":{"app":"lobby"}}}]'
    spec = one(rendered("redis", clients), "NetworkPolicy")["spec"]
    lobby, bots = spec["ingress"][0]["from"]
    assert lobby == {"podSelector": {"matchLabels": {"app": "lobby"}}}
    labels = one(rendered("redis"), "Deployment", "buraco-fleet")["spec"]["template"]["metadata"]["labels"]
    assert bots["podSelector"]["matchLabels"].items() <= labels.items()


def test_defaults_of_the_chart_are_those_of_the_service() -> None:
    """A default that chart and service both have is the same."""
    defaults = {field.name: field.default for field in dataclasses.fields(Settings)}
    values = chart.values()
    assert values["service"]["port"] == defaults["port"]
    assert values["metrics"]["port"] == defaults["metrics_port"]
    assert values["drain"]["grace"] == defaults["drain_grace"]
