"""Argo CD's own Lua says of every recorded object what the fast tier's says."""

from __future__ import annotations

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import pytest
import yaml
from ci.sim.build import built
from ci.sim.component import load
from ci.sim.folders import REPOSITORY, program

from tests.argocd.states import SCRIPTS, STATES

if TYPE_CHECKING:
    from tests.argocd.states import State

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
SETTINGS = ["template", "fleet", "argocd", "--namespace", "argocd", "--set", "repository=x"]


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Ask Argo CD of each object once: one run takes most of a second, and nearly all of that is waiting."""
    binaries = built(load("argocd"))
    if binaries is None:
        pytest.skip("needs Argo CD's binary: python -m ci.sim build argocd")
    folder = tmp_path_factory.mktemp("lua")
    helm = [str(program("helm")), *SETTINGS, "--show-only", "templates/argocd-cm.yaml"]
    settings = folder / "argocd-cm.yaml"
    settings.write_bytes(subprocess.run(helm, cwd=REPOSITORY, check=True, capture_output=True).stdout)

    def ask(place: int) -> str:
        file = folder / f"{place}.yaml"
        file.write_text(now(STATES[place], as_text(STATES[place])))
        command = [binaries / "argocd", "admin", "settings", "resource-overrides", "health", file]
        command += ["--argocd-cm-path", settings]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        return done.stdout or done.stderr

    with ThreadPoolExecutor(8) as pool:
        return dict(zip((state.name for state in STATES), pool.map(ask, range(len(STATES))), strict=True))


def as_text(state: State) -> str:
    """Write an object with the API group that its script is for."""
    group = SCRIPTS[state.kind].stem.partition("_")[0]
    return yaml.safe_dump({"apiVersion": f"{group}/v1", **state.item})


def now(state: State, text: str) -> str:
    """Move the moments in a text as if the object were looked at now."""
    later = datetime.now(timezone.utc) - moment(state.now)
    return MOMENT.sub(lambda match: f"{moment(match[0]) + later:%Y-%m-%dT%H:%M:%SZ}", text)


def moment(text: str) -> datetime:
    """Read a moment as Kubernetes writes it."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.name)
def test_argo_cd_says_the_same(state: State, verdicts: dict[str, str]) -> None:
    """Status and message, whatever moment stands in it."""
    said = MOMENT.sub("MOMENT", verdicts[state.name])

    assert f"STATUS: {state.status}\nMESSAGE: {MOMENT.sub('MOMENT', state.message)}\n" == said
