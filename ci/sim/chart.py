"""CRDs and webhooks of a controller, taken from its own chart and pointed at a process on this machine."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import yaml
from ci.sim.component import load
from ci.sim.folders import program

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from ci.sim.component import Component

Manifest = dict[str, Any]
WEBHOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


def render(component: Component) -> list[Manifest]:
    """Render the component's chart and keep its CRDs and webhook configurations, or read its manifests."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # these CRDs are megabytes
    if component.manifests:
        module = component.module_folder()
        files = [file for pattern in component.manifests.files for file in sorted(module.glob(pattern))]
        return [item for file in files for item in yaml.load_all(file.read_text(), Loader=loader) if item]
    chart = component.chart
    if chart is None:
        return []
    helm = [str(program("helm")), "template", component.name, str(component.module_folder() / chart.path)]
    helm += ["--namespace", chart.namespace, "--include-crds", "--kube-version", load("kubernetes").version()]
    text = subprocess.run(helm, check=True, capture_output=True, text=True).stdout
    kinds = ("CustomResourceDefinition", *WEBHOOKS)
    return [document for document in yaml.load_all(text, Loader=loader) if document and document["kind"] in kinds]


def read(folder: Path) -> list[Manifest]:
    """Read back what a build rendered into ``folder``."""
    rendered: list[Manifest] = json.loads((folder / "chart.json").read_text())
    return rendered


def definitions(objects: Iterable[Manifest], address: str, authority: str) -> Iterator[Manifest]:
    """CRDs whose conversion webhooks are reached at ``address`` (``https://host:port``), trusting ``authority``."""
    for crd in objects:
        if crd["kind"] != "CustomResourceDefinition":
            continue
        conversion = crd["spec"].get("conversion", {})
        if sum(version["served"] for version in crd["spec"]["versions"]) == 1:
            crd["spec"]["conversion"] = {"strategy": "None"}  # nothing to convert, so nothing to wait for
        elif conversion.get("strategy") == "Webhook":
            redirect(conversion["webhook"]["clientConfig"], address, authority)
        yield crd


def webhooks(objects: Iterable[Manifest], address: str, authority: str, groups: set[str]) -> Iterator[Manifest]:
    """Webhook configurations reached at ``address``, without webhooks for API groups that the cluster does not have."""
    for configuration in objects:
        if configuration["kind"] not in WEBHOOKS:
            continue
        configuration["metadata"].pop(
            "namespace", None
        )  # a chart's slip that helm forgives and the API server does not
        configuration["webhooks"] = [
            hook
            for hook in configuration["webhooks"]
            if any(group in groups for rule in hook["rules"] for group in rule["apiGroups"])
        ]
        for hook in configuration["webhooks"]:
            redirect(hook["clientConfig"], address, authority)
        yield configuration


def others(objects: Iterable[Manifest]) -> Iterator[Manifest]:
    """Objects that a controller finds in its namespace when it starts."""
    return (item for item in objects if item["kind"] not in ("CustomResourceDefinition", *WEBHOOKS))


def redirect(client: Manifest, address: str, authority: str) -> None:
    """Replace the Service of a webhook by a URL: no traffic reaches a Service here."""
    service = client.pop("service")
    client["url"] = f"{address}{service.get('path', '/')}"
    client["caBundle"] = authority
