"""Every example is taken by the API server with strict validation and the controllers' real webhooks."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.cluster.release import CHART, EXAMPLES

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.release import Release

FILES = [*EXAMPLES, *sorted((CHART / "ci").glob("*-values.yaml"))]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_api_server_takes_every_object_as_it_is(release: Release, file: Path, api_groups: set[str]) -> None:
    """No unknown field, no refusal of a webhook, no warning."""
    text = release.helm("template", "model", str(release.chart), "--values", str(file)).stdout
    missing = {version for item in yaml.safe_load_all(text) if item and (version := group(item)) not in api_groups}
    if missing:
        pytest.skip(f"the cluster does not serve {', '.join(sorted(missing))}")

    command = ["kubectl", "--kubeconfig", str(release.cluster.kube_config_path), "--namespace", release.namespace]
    command += ["apply", "--dry-run=server", "--validate=strict", "--filename", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)

    assert (0, "") == (done.returncode, done.stderr)


def group(item: dict[str, str]) -> str:
    """Name the API group of an object as ``kubectl api-versions`` begins it: the core group is its version."""
    return item["apiVersion"].partition("/")[0]
