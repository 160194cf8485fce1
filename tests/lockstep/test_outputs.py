"""A file that cannot be written is wrong use, said before the work whose result goes there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lockstep import outputs
from lockstep.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """The message names it."""
    with pytest.raises(UsageError, match=r"no/a\.svg: cannot be written \(there is no folder .*/no\)"):
        outputs.require_writable(tmp_path / "no" / "a.svg")


def test_a_folder_in_its_place(tmp_path: Path) -> None:
    """A folder is no file."""
    with pytest.raises(UsageError, match=r"cannot be written \(it is a folder\)"):
        outputs.require_writable(tmp_path)


@pytest.mark.parametrize("there", [pytest.param(True, id="file"), pytest.param(False, id="folder")])
def test_permissions(there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the file if it is there, else of its folder; nothing is created by looking."""
    file = tmp_path / "a.svg"
    if there:
        file.touch()
    asked: list[Path] = []
    monkeypatch.setattr("os.access", lambda path, _mode: asked.append(path))  # None: refused, for root as well
    with pytest.raises(UsageError, match=r"cannot be written \(no permission\)"):
        outputs.require_writable(file)

    assert asked == [file if there else tmp_path]
    assert there == file.exists()


def test_a_write_that_fails(tmp_path: Path) -> None:
    """What was right a minute ago may not be so now."""
    with pytest.raises(UsageError, match=r"a\.svg: cannot be written \(No such file or directory\)"):
        outputs.write(tmp_path / "no" / "a.svg", "")


def test_a_write(tmp_path: Path) -> None:
    """UTF-8, whatever the locale says."""
    outputs.write(tmp_path / "a.svg", "é")

    assert (tmp_path / "a.svg").read_bytes() == "é".encode()
