"""What many values files cost: `lockstep check` of all, held against `helm template | kubeconform` of each.

``python benchmarks/many.py [--files N] [--sample N]``. The files are the right releases of tests/dataset over and over.
Helm is the costly part and its cost is the same for every file, so it runs on a sample and its cost is scaled up; the
check runs on all. kubeconform is built by ci/kubeconform and reads schemas from the disk, one whole file for each kind
as it is used to; a kind without one fails, so that no object is passed over. CPU time (user and system) is compared,
because a busy machine distorts it least. The second ratio adds a rendering of every file to the check: then both sides
run the same Helm, which is nearly all of either cost.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import kubernetes_validate
from benchmarks.check import Cost, measure

from lockstep import helm, share
from lockstep.values import stack
from lockstep.yamlfile import parse, read

REPOSITORY = Path(__file__).parents[1]
CHART = share.folder("charts") / "serving"
GOAL = 10.0
FLAGS = ("-strict", "-schema-location")
REFERENCE = "#/$defs/"


def releases(folder: Path, count: int) -> list[Path]:
    """Write so many values files, presets and values in one."""
    table: Any = parse("rows:\n" + (REPOSITORY / "tests/dataset/right.yaml").read_text(encoding="utf-8"))
    files = []
    for number in range(count):
        row = table["rows"][number % len(table["rows"])]
        layers = [read(share.folder("values") / f"{preset}.yaml") for preset in row["presets"]]
        files.append(folder / f"release-{number}.yaml")
        files[-1].write_text(json.dumps(stack([*layers, row["values"]])), encoding="utf-8")
    return files


def schemas(folder: Path) -> str:
    """Write the schema of each kind as kubeconform looks for it; returns its pattern."""
    folder.mkdir()
    theirs = Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema"
    newest = max(theirs.glob("v1.*-local-strict"), key=lambda path: int(path.name.split(".")[1]))
    shared: Any = json.loads((newest / "_definitions.json").read_text(encoding="utf-8"))
    definitions = {name: json.dumps(definition) for name, definition in shared["$defs"].items()}
    for file in newest.glob("[!_]*.json"):
        text = file.read_text(encoding="utf-8").replace(f"/api/_definitions.json{REFERENCE}", REFERENCE)
        if '"x-kubernetes-group-version-kind"' in text:
            (folder / file.name).write_text(whole(json.loads(text), definitions), encoding="utf-8")
    for file in (REPOSITORY / "tests/chart/schemas").glob("*.json"):
        schema: Any = json.loads(file.read_text(encoding="utf-8"))
        its = schema["x-kubernetes-group-version-kind"]
        if its["kind"] == "LeaderWorkerSet":
            templates = schema["properties"]["spec"]["properties"]["leaderWorkerTemplate"]["properties"]
            for role in ("leaderTemplate", "workerTemplate"):
                templates[role] = {"$ref": f"{REFERENCE}io.k8s.api.core.v1.PodTemplateSpec"}
        name = f"{its['kind']}-{its['group'].split('.')[0]}-{its['version']}.json".lower()
        (folder / name).write_text(whole(schema, definitions), encoding="utf-8")
    return f"{folder}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"


def whole(schema: dict[str, Any], definitions: dict[str, str]) -> str:
    """Put the definitions that a schema leans on, and those they lean on, into it."""
    found: dict[str, str] = {}
    texts = [json.dumps(schema)]
    while texts:
        for name in re.findall(re.escape(REFERENCE) + r'([^"]+)', texts.pop()):
            if name not in found:
                found[name] = definitions[name]
                texts.append(definitions[name])
    return json.dumps(schema | {"$defs": {name: json.loads(text) for name, text in found.items()}})


def validate(file: Path, kubeconform: str, pattern: str) -> list[str | Path]:
    """Give the pipe that renders a file and holds its objects against schemas."""
    render = shlex.join(map(str, [helm.find(), "template", "demo", CHART, "--values", file]))
    return [
        "sh",
        "-c",
        f"{render} | {shlex.join([kubeconform, *FLAGS, pattern, '-'])}",
    ]


def main() -> None:
    """Print what each way costs, the ratios, and whether the cost of a check grows with the number of files alone."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=500, help="values files (default: %(default)s)")
    parser.add_argument("--sample", type=int, default=50, help="of them for Helm (default: %(default)s)")
    args = parser.parse_args()
    kubeconform = subprocess.run(
        ["bash", REPOSITORY / "ci" / "kubeconform"], check=True, capture_output=True, text=True
    ).stdout.strip()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pattern, bytecode = schemas(folder / "schemas"), folder / "bytecode"
        files = releases(folder, 10 * args.files)
        lockstep: list[str | Path] = [sys.executable, "-m", "lockstep", "check"]
        measure([[*lockstep, files[0]]], bytecode)
        check, many = measure([[*lockstep, *files[: args.files]]], bytecode), measure([[*lockstep, *files]], bytecode)
        sample = files[: args.sample]
        pipe = scaled(measure([validate(file, kubeconform, pattern) for file in sample], bytecode), args)
        renders: list[list[str | Path]] = [[helm.find(), "template", "demo", CHART, "--values", f] for f in sample]
        plain = scaled(measure(renders, bytecode), args)
        render = scaled(measure(renders, bytecode, **helm.ENVIRONMENT), args)
    both = check.cpu + render.cpu
    print(f"{args.files} files, CPU seconds (wall)")
    print(f"  lockstep check                 {check.cpu:8.1f} ({check.wall:.1f})")
    print(f"  helm template                  {plain.cpu:8.1f} ({plain.wall:.1f}), from {args.sample} files")
    print(f"  helm as lockstep runs it       {render.cpu:8.1f} ({render.wall:.1f}), from {args.sample} files")
    print(f"  helm template | kubeconform    {pipe.cpu:8.1f} ({pipe.wall:.1f}), from {args.sample} files")
    print(f"check against the pipe: {pipe.cpu / check.cpu:.1f} times; check and render: {pipe.cpu / both:.2f} times")
    print(f"{10 * args.files} files: {many.cpu:.1f} s, {many.cpu / check.cpu:.1f} times as long for 10 times as many")
    if pipe.cpu / check.cpu < GOAL:
        sys.exit(f"the goal is {GOAL} times")


def scaled(cost: Cost, args: argparse.Namespace) -> Cost:
    """Scale the cost of the sample up to all files."""
    factor = args.files / args.sample
    return Cost(cost.wall * factor, cost.cpu * factor)


if __name__ == "__main__":
    main()
