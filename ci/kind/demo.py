"""What `make demo-kind` shows: real pods form a group, answer, lose a rank, and answer again."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ci.kind.client import KILL_ENGINE, Client, outage

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
CHART = str(HERE.parents[1] / "charts" / "serving")
VALUES = str(HERE / "values.yaml")
MODEL = "deepseek-ai/DeepSeek-R1"
NAME = "demo"
KUBECTL = ("kubectl", "--namespace", NAME)
CLIENT = Client(KUBECTL, ("helm", "--namespace", NAME))
LIMIT = 180.0  # seconds for each wait


def say(text: str) -> None:
    """Print a heading of the demo."""
    print(f"\n\033[1m== {text}\033[0m" if sys.stdout.isatty() else f"\n== {text}", flush=True)


def show(*command: str, script: Path | None = None) -> None:
    """Show a command as a person would type it, run it, and stop the demo when it fails."""
    text = " ".join([*command, *(["<", str(script)] if script else [])])
    print(f"$ {text}", flush=True)
    if code := subprocess.run(command, input=script.read_bytes() if script else None, check=False).returncode:
        sys.exit(f"demo: `{text}` ended with {code}")


def answer() -> bool:
    """Whether the group gives a completion."""
    return CLIENT.ask(MODEL, tokens=8, patience=5) is not None


def ready() -> bool:
    """Whether both pods are Ready, and none is leaving."""
    command = [*KUBECTL, "get", "pods", "--selector", f"lockstep/release={NAME}", "--output", "json"]
    listed = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    pods = [pod for pod in listed["items"] if "deletionTimestamp" not in pod["metadata"]]
    conditions = [{c["type"]: c["status"] for c in pod["status"].get("conditions", [])} for pod in pods]
    return [condition.get("Ready") for condition in conditions] == ["True", "True"]


def until(look: Callable[[], object], what: str) -> None:
    """Wait for something, and stop the demo when it does not come."""
    deadline = time.monotonic() + LIMIT
    while not look():
        if time.monotonic() > deadline:
            sys.exit(f"demo: waited {LIMIT:.0f} s for {what}; kubectl -n {NAME} get pods")
        time.sleep(0.1)


def lose(*command: str, script: Path | None = None) -> None:
    """Do harm, and say when answers ended and came again."""
    with CLIENT.asking(MODEL, LIMIT) as answers:
        next(answers)
        started = time.monotonic()
        show(*command, script=script)
        try:
            lost, back = outage(answers, started)
        except TimeoutError as error:
            sys.exit(f"demo: asked for {LIMIT:.0f} s, {error}; kubectl -n {NAME} get pods")
    print(f"answers ended after {lost:.1f} s and came again after {back:.1f} s", flush=True)
    until(ready, "all pods to be Ready")
    show(*KUBECTL, "get", "pods", "--output", "wide")


def main() -> None:
    """Run the demo on the cluster of KUBECONFIG."""
    say("One release: a group of two pods, each with the 8 GPUs of its node. No model: the engine is a STAND-IN")
    started = time.monotonic()
    install = ["helm", "upgrade", "--install", NAME, CHART, "--values", VALUES, "--namespace", NAME]
    show(*install, "--create-namespace", "--hide-notes")
    until(ready, "both pods to be Ready")
    print(f"both pods are Ready {time.monotonic() - started:.1f} s after helm install", flush=True)
    show(*KUBECTL, "get", "leaderworkersets,pods,services", "--output", "wide")

    say("It answers, and helm test asks each rank")
    CLIENT.start(NAME)
    until(answer, "an answer")
    show("helm", "test", NAME, "--namespace", NAME, "--logs")

    say("The engine of the worker is killed: the supervisor restarts the group in place, no pod is replaced")
    lose(*KUBECTL, "exec", "-i", f"{NAME}-0-1", "-c", "engine", "--", "python3", "-", script=KILL_ENGINE)
    show(*KUBECTL, "logs", f"{NAME}-0", "-c", "engine", "--tail", "12")

    say("The worker's pod is deleted: LeaderWorkerSet recreates the group")
    lose(*KUBECTL, "delete", "pod", f"{NAME}-0-1", "--wait=false")

    say("Done")
    show("helm", "uninstall", NAME, "--namespace", NAME)
    show("kubectl", "delete", "namespace", NAME)


if __name__ == "__main__":
    main()
