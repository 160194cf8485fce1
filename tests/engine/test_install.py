"""The installer pins everything, is quick when called again, tells a wrong machine why; the models repeat."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from lockstep.rehearse.real_engine import RealEngine

FOLDER = Path(__file__).parents[2] / "ci" / "engine-cpu"
LOCK = (FOLDER / "requirements.lock").read_text()


def install(folder: Path, before: str = "") -> subprocess.CompletedProcess[str]:
    """Run the installer for a folder, after a line of Python that changes what it sees of the machine."""
    script = FOLDER / "install"
    program = f"import runpy, sys; sys.argv = {[str(script), str(folder)]!r}; {before}\n"
    program += f"runpy.run_path({str(script)!r}, run_name='__main__')"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


def test_every_package_is_pinned_by_version_and_hash() -> None:
    """Each requirement has an exact version and at least one sha256, and no address stands in the list."""
    entries = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", LOCK, flags=re.MULTILINE)).splitlines()
    pinned = re.compile(r"[a-z0-9-]+==[\w.+!]+( *--hash=sha256:[0-9a-f]{64})+")

    assert [] == [entry for entry in entries if not pinned.fullmatch(entry)]
    assert "://" not in LOCK


def test_second_call_returns_at_once(tmp_path: Path) -> None:
    """A folder with the stamp and the models is left as it is."""
    generator = hashlib.sha256((FOLDER / "make_model.py").read_bytes()).hexdigest()
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "generator.sha256").write_text(generator)
    (tmp_path / "engine.json").write_text(json.dumps({"version": "0.32.0", "python": "3.11", "gib": 5.1}))
    began = time.monotonic()
    done = install(tmp_path)

    assert (0, f"engine-cpu: vLLM 0.32.0 for CPU is in {tmp_path} (5.1 GiB)\n") == (done.returncode, done.stdout)
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    ("before", "says"),
    [
        pytest.param("import platform; platform.machine = lambda: 'aarch64'", "this is Linux aarch64", id="machine"),
        pytest.param(
            "import shutil; shutil.disk_usage = lambda _: shutil._ntuple_diskusage(9, 8, 3 << 30)",
            "3.0 GiB free, 7 are needed",
            id="disk",
        ),
    ],
)
def test_machine_that_cannot_is_told_why(before: str, says: str, tmp_path: Path) -> None:
    """Nothing is downloaded or written where it could not work; one line says why."""
    folder = tmp_path / "venv"
    done = install(folder, before)

    assert 1 == done.returncode
    assert says in done.stderr
    assert 1 == len(done.stderr.splitlines())
    assert not folder.exists()


@pytest.mark.engine
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_model_is_the_same_twice(dtype: str, real_engine: RealEngine, tmp_path: Path) -> None:
    """Making the model again gives the same bytes, file by file, as those beside the venv."""
    made = real_engine.model("tiny" if dtype == "bfloat16" else "tiny-float32")
    command = [real_engine.bin / "python", FOLDER / "make_model.py", tmp_path, "--dtype", dtype]
    subprocess.run(command, check=True, capture_output=True)

    assert {path.name: path.read_bytes() for path in made.iterdir()} == {
        path.name: path.read_bytes() for path in tmp_path.iterdir()
    }
