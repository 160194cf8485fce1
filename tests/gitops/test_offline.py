"""What ``lockstep check argocd/`` reads in the files offline is what Argo CD makes of them."""

from __future__ import annotations

import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

import pytest
import yaml
from ci.sim.api import NotFoundError

from lockstep.gitops import fleet as offline
from tests.cluster.release import two_nodes
from tests.cluster.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ci.gitops.fleet import Fleet

    from lockstep.gitops.applications import Application
    from tests.cluster.release import Manifest

# A cluster that nobody answers for: it has Applications all the same.
GHOST = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {
        "name": "cluster-ghost",
        "labels": {
            "argocd.argoproj.io/secret-type": "cluster",
            "lockstep/ring": "fleet",
            **{f"lockstep/{addon}": "true" for addon in ("lws", "kueue", "grove", "kai")},
        },
    },
    "stringData": {"name": "ghost", "server": "https://127.0.0.1:9", "config": "{}"},
}
CONFIG = {"chart": "HEAD", "namespace": "serving-ghost", "presets": ["accelerators/h200-8", "fabrics/infiniband"]}
NOBODY = two_nodes(replicas=0)  # its Applications are looked at, not its pods
ROWS = """
- {name: a, count: 1, deep: {on: true, big: 1000000, half: 0.5}, none: null, list: [1, x]}
- {name: b, count: 2}
"""
FILES = {"git": {"repoURL": "$REPOSITORY", "revision": "$REVISION", "files": [{"path": "every/*/rows.yaml"}]}}
CANARY = {"clusters": {"selector": {"matchLabels": {"lockstep/ring": "canary"}}}}
# What an ApplicationSet of each generator yields, whole: all parameters stand in the Application, but what Argo CD
# itself wrote on the cluster's Secret.
EVERY: dict[str, Any] = {
    "list": {"list": {"elements": [{"name": "a"}], "elementsYaml": "[{name: b, n: 1.5}]"}},
    "list-selector": {
        "list": {"elements": [{"name": "a", "deep": {"on": True}}, {"name": "b"}]},
        "selector": {"matchLabels": {"deep.on": "true"}},
    },
    "clusters": {"clusters": {"values": {"upper": "{{ upper .name }}"}}},
    "clusters-selector": {"clusters": {}, "selector": {"matchLabels": {"name": "ghost"}}},
    "flat": {"clusters": {"flatList": True, "selector": {"matchLabels": {"lockstep/ring": "nobody"}}}},
    "directories": {
        "git": {
            "repoURL": "$REPOSITORY",
            "revision": "$REVISION",
            "directories": [{"path": "every/*"}, {"path": "every/b", "exclude": True}],
        }
    },
    "files": FILES,
    "files-prefix": {
        "git": {**FILES["git"], "pathParamPrefix": "from", "values": {"both": "{{ .name }}-{{ .count }}"}}
    },
    "files-selector": {
        **FILES,
        "selector": {"matchExpressions": [{"key": "count", "operator": "NotIn", "values": ["2"]}]},
    },
    "matrix": {"matrix": {"generators": [CANARY, {"list": {"elements": [{"name": "x"}, {"and": "{{ .server }}"}]}}]}},
    "matrix-selector": {
        "matrix": {
            "generators": [
                FILES,
                {"list": {"elements": [{"m": "{{ .count }}"}]}, "selector": {"matchLabels": {"m": "2"}}},
            ]
        }
    },
    "merge": {
        "merge": {
            "mergeKeys": ["name"],
            "generators": [FILES, {"list": {"elements": [{"name": "aa", "count": 7, "empty": ""}, {"name": "c"}]}}],
        }
    },
}


@pytest.fixture
def committed(fleet: Fleet) -> Iterator[Fleet]:
    """Commit a second cluster with everything, a release that goes with its folder, and a set of each generator."""
    name = f"offline-{secrets.token_hex(2)}"
    write = fleet.repository.write
    write("argocd/clusters/ghost.yaml", yaml.safe_dump(GHOST))
    write("argocd/queues/ghost/config.yaml", yaml.safe_dump({"chart": "HEAD", "namespace": "queues"}))
    write("argocd/queues/ghost/values.yaml", "{}\n")
    fleet.deploy("ghost", "kept", CONFIG, NOBODY)
    fleet.deploy("local", name, {**CONFIG, "onRemoval": "delete"}, NOBODY)
    for folder in ("a", "b"):
        write(f"every/{folder}/rows.yaml", ROWS.replace("name: ", f"name: {folder}"))
    for kind, generator in EVERY.items():
        write(f"argocd/appsets/every-{kind}.yaml", yaml.safe_dump(every(kind, generator)))
    fleet.push("Commit everything")
    yield fleet
    for kind in EVERY:
        fleet.repository.remove(f"argocd/appsets/every-{kind}.yaml")
    for path in ("every", "argocd/queues", "argocd/clusters/ghost.yaml", "argocd/deployments/ghost"):
        fleet.repository.remove(path)
    fleet.repository.remove(f"argocd/deployments/local/{name}")
    fleet.push("Take it back")
    with fleet.argocd.hub.api() as api, suppress(NotFoundError):
        api.call("DELETE", f"/api/v1/namespaces/{CONFIG['namespace']}")


def every(kind: str, generator: Manifest) -> Manifest:
    """Give an ApplicationSet whose Applications hold all of their parameters, and deploy nothing."""
    # A list without a cluster is null as JSON in Argo CD and [] in Helm; both have its length.
    parameters = '(omit . "metadata")' if kind != "flat" else "(len .clusters)"
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "ApplicationSet",
        "metadata": {"name": f"every-{kind}"},
        "spec": {
            "goTemplate": True,
            "goTemplateOptions": ["missingkey=error"],
            "generators": [generator],
            "template": {
                "metadata": {"name": f"every-{kind}-{{{{ toJson {parameters} | sha256sum | trunc 8 }}}}"},
                "spec": {
                    "project": "default",
                    "destination": {"server": "https://kubernetes.default.svc", "namespace": "nowhere"},
                    "source": {"repoURL": "$REPOSITORY", "path": "nowhere"},
                    "info": [{"name": "parameters", "value": f"{{{{ toJson {parameters} }}}}"}],
                },
            },
        },
    }


def live(fleet: Fleet) -> dict[str, Manifest]:
    """Give what Argo CD's own controller made, by name."""
    items = fleet.argocd.applications()
    return {
        name: {
            "labels": item["metadata"].get("labels") or {},
            "deletes": bool(item["metadata"].get("finalizers")),
            "spec": item["spec"],
        }
        for name, item in items.items()
        if item["metadata"].get("ownerReferences")
    }


def told(application: Application, rolling: set[str]) -> Manifest:
    """Give the same of what was read offline; a rolling sync starts the syncs itself and takes ``automated`` away."""
    spec: Manifest = dict(application.spec)
    if application.set in rolling:
        spec["syncPolicy"] = {key: value for key, value in spec["syncPolicy"].items() if key != "automated"}
    return {"labels": dict(application.labels), "deletes": application.deletes, "spec": spec}


def test_every_application_is_the_one_that_was_told(committed: Fleet) -> None:
    """Names, labels, finalizers and whole specs, of the fleet's own sets and of a set of each kind of generator."""
    folder = committed.repository.folder
    read = offline.load(folder / "argocd", folder)
    rolling = {each.name for each in read.sets if "strategy" in cast("Manifest", each.item["spec"])}
    expected = {each.name: told(each, rolling) for each in read.applications}

    eventually("the Applications", lambda: sorted(expected) == sorted(live(committed)))

    assert () == read.broken
    assert expected == live(committed)
