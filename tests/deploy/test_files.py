"""Every file of `deploy/` is read by the tool that it is for; none was merely written down."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest
import yaml

from driftline.serving.alerts.file import read
from driftline.serving.commands.serve import serve

ROOT = Path(__file__).resolve().parents[2]
KUBERNETES = sorted((ROOT / "deploy" / "kubernetes").glob("*.yaml"))
OBJECTS = [each for each in KUBERNETES if each.name != "kustomization.yaml"]
_METRIC = re.compile(r"\bdriftline_[a-z0-9_]+")
# What is exposed only where there is something to expose.
_SOMETIMES = {"driftline_estimated_accuracy", "driftline_estimated_accuracy_high"}


def test_promtool_finds_the_rules_right_and_their_tests_pass(deploy, ran):
    assert "SUCCESS" in ran("promtool", "check", "rules", deploy / "prometheus/rules.yml")
    ran("promtool", "test", "rules", deploy / "prometheus/rules.test.yml")


def test_every_alert_has_a_unit_test(deploy):
    rules = yaml.safe_load((deploy / "prometheus/rules.yml").read_text())
    alerts = {rule["alert"] for group in rules["groups"] for rule in group["rules"]
              if "alert" in rule}  # fmt: skip
    tests = yaml.safe_load((deploy / "prometheus/rules.test.yml").read_text())
    tested = {
        each["alertname"]
        for test in tests["tests"]
        for each in test["alert_rule_test"]
        if each["exp_alerts"]
    }
    assert alerts == tested


def test_promtool_finds_the_configuration_right(deploy, ran, tmp_path):
    """With the token's file in place, which promtool wants to see."""
    shutil.copy(deploy / "prometheus/rules.yml", tmp_path)
    token = tmp_path / "token"
    token.write_text("x")
    text = (deploy / "prometheus/prometheus.yml").read_text()
    assert "/run/secrets/driftline_token" in text
    path = tmp_path / "prometheus.yml"
    path.write_text(text.replace("/run/secrets/driftline_token", str(token)))
    assert "SUCCESS" in ran("promtool", "check", "config", path)


def test_amtool_finds_the_configuration_right(deploy, ran):
    path = deploy / "alertmanager/alertmanager.yml"
    assert "SUCCESS" in ran("amtool", "check-config", path)


@pytest.mark.parametrize(
    ("labels", "receiver"),
    [
        ("alertname=DriftlineModelDrift severity=critical", "on-call"),
        ("alertname=DriftlineDrift severity=warning", "on-call"),
        ("alertname=DriftlineLatencyHigh severity=info", "nobody"),
    ],
)
def test_alertmanager_sends_alerts_where_they_belong(deploy, ran, labels, receiver):
    path = deploy / "alertmanager/alertmanager.yml"
    words = ["config", "routes", "test", f"--config.file={path}", *labels.split()]
    assert ran("amtool", *words).splitlines()[0].strip() == receiver


def test_compose_reads_its_file(deploy, ran, tmp_path):
    text = ran(
        "docker-compose", "-f", deploy / "compose.yaml", "config",
        env={**os.environ, "PACKAGE": str(tmp_path)},
    )  # fmt: skip
    for name in ("driftline", "redis", "prometheus", "alertmanager", "grafana"):
        assert f"\n  {name}:" in text
    assert "${" not in text


def test_compose_starts_the_service_with_options_that_it_has(deploy):
    services = yaml.safe_load((deploy / "compose.yaml").read_text())["services"]
    _known(services["driftline"]["command"])
    for each in services.values():
        # Ports are open to this machine only; images say which one they are.
        assert all(port.startswith("127.0.0.1:") for port in each.get("ports", ()))
        assert not each["image"].endswith(":latest")
        assert ":" in each["image"]


def test_what_compose_mounts_is_there(deploy):
    services = yaml.safe_load((deploy / "compose.yaml").read_text())["services"]
    own = ("./secrets", "./alerts.toml")  # put there by whoever starts it
    for each in services.values():
        for volume in each.get("volumes", ()):
            source = volume.split(":")[0]
            if source.startswith("./") and not source.startswith(own):
                assert (deploy / source).exists(), source


@pytest.mark.parametrize("path", OBJECTS, ids=lambda path: path.stem)
def test_kubernetes_validate_finds_every_object_right(path, ran):
    assert "passed" in ran("kubernetes-validate", "--strict", path)


def test_pods_are_not_told_of_services_in_variables_that_look_like_settings():
    deployment = ROOT / "deploy" / "kubernetes" / "deployment.yaml"
    pod = yaml.safe_load(deployment.read_text())["spec"]["template"]["spec"]
    assert pod["enableServiceLinks"] is False


def test_kubernetes_objects_fit_each_other():
    found = {}
    for path in OBJECTS:
        for each in yaml.safe_load_all(path.read_text()):
            found[each["kind"], each["metadata"]["name"]] = each
    pod = found["Deployment", "driftline"]["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    _known(container["args"])
    labels = pod["metadata"]["labels"].items()
    for kind in ("Service", "PodDisruptionBudget"):
        selector = found[kind, "driftline"]["spec"]["selector"]
        assert selector.get("matchLabels", selector).items() <= labels
    ports = {each["name"] for each in container["ports"]}
    assert found["Service", "driftline"]["spec"]["ports"][0]["targetPort"] in ports
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"]["port"] in ports
    volumes = {each["name"]: each for each in pod["spec"]["volumes"]}
    assert {each["name"] for each in container["volumeMounts"]} == volumes.keys()
    secret = volumes["token"]["secret"]
    assert secret["items"][0]["key"] in found["Secret", secret["secretName"]]["stringData"]
    assert ("ConfigMap", volumes["settings"]["configMap"]["name"]) in found
    claim = volumes["package"]["persistentVolumeClaim"]["claimName"]
    assert ("PersistentVolumeClaim", claim) in found
    target = found["HorizontalPodAutoscaler", "driftline"]["spec"]["scaleTargetRef"]
    assert (target["kind"], target["name"]) in found
    host = next(each for each in container["args"] if each.startswith("--state")).split("//")[1]
    assert ("Service", host.split(":")[0]) in found


def test_the_kustomization_names_every_object_but_the_secret():
    folder = ROOT / "deploy" / "kubernetes"
    named = yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
    assert sorted(named) == sorted(
        each.name for each in OBJECTS if not each.name.startswith("secret")
    )


def test_alert_settings_in_the_examples_are_ones_that_driftline_reads(deploy, tmp_path):
    assert read(str(deploy / "alerts.example.toml"), {}).sinks[0].kind == "alertmanager"
    settings = yaml.safe_load((deploy / "kubernetes/configmap.yaml").read_text())
    path = tmp_path / "alerts.toml"
    path.write_text(settings["data"]["alerts.toml"])
    assert read(str(path), {}).quiet_seconds == 300


def test_hadolint_finds_nothing_wrong_with_the_dockerfile(ran):
    ran("hadolint", "--failure-threshold", "info", ROOT / "Dockerfile")


# Grafana ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dashboard(deploy) -> dict:
    return json.loads((deploy / "grafana/driftline.json").read_text())


def expressions(dashboard: dict) -> list[str]:
    found = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    found += [each["expr"] for each in dashboard["annotations"]["list"]]
    return [expr.replace("$__rate_interval", "1m").replace("$__range", "6h") for expr in found]


def test_prometheus_understands_every_query_of_the_dashboard(dashboard, ran, tmp_path):
    rules = [
        {"record": f"panel:{n}", "expr": expr} for n, expr in enumerate(expressions(dashboard))
    ]
    assert len(rules) > 25
    path = tmp_path / "rules.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    ran("promtool", "check", "rules", path)


def test_the_dashboard_is_laid_out_without_gaps_and_overlaps(dashboard):
    taken: set[tuple[int, int]] = set()
    for panel in dashboard["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells
    height = 1 + max(y for _, y in taken)
    assert len(taken) == 24 * height
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    assert dashboard["uid"] == "driftline"


def test_the_dashboard_asks_the_source_that_is_provisioned(deploy, dashboard):
    folder = deploy / "grafana/provisioning"
    (source,) = yaml.safe_load((folder / "datasources/prometheus.yaml").read_text())["datasources"]
    chosen = dashboard["templating"]["list"][0]
    assert (chosen["type"], chosen["query"]) == ("datasource", source["type"])
    assert chosen["current"]["value"] == source["uid"]
    (provider,) = yaml.safe_load((folder / "dashboards/driftline.yaml").read_text())["providers"]
    services = yaml.safe_load((deploy / "compose.yaml").read_text())["services"]
    assert any(provider["options"]["path"] in each for each in services["grafana"]["volumes"])


def test_rules_and_dashboard_name_only_metrics_that_are_exposed(deploy, dashboard, exposed_names):
    text = (deploy / "prometheus/rules.yml").read_text() + "\n".join(expressions(dashboard))
    named = set(_METRIC.findall(text))
    assert named - exposed_names - _SOMETIMES == set()


def _known(words: list[str]) -> None:
    """Passes if `driftline serve` has every option among `words`."""
    options = {name for parameter in serve.params for name in parameter.opts}
    given = {word.partition("=")[0] for word in words if word.startswith("--")}
    assert given <= options
