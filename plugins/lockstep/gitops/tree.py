"""The files of a repository, as Argo CD's Git generators look for them."""

from __future__ import annotations

import fnmatch
import re
import subprocess
import tarfile
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from lockstep.errors import UsageError, ValuesError

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Tree:
    """A checked out repository.

    Parameters
    ----------
    root : Path
        Its top folder.
    """

    root: Path

    def files(self, pattern: str) -> list[str]:
        """Find the files that a Git files generator finds.

        Parameters
        ----------
        pattern : str
            As in the generator, relative to the top folder.

        Returns
        -------
        list of str
            Paths, sorted.

        Raises
        ------
        ValuesError
            If it depends on a setting of the ApplicationSet controller which files these are.
        """
        below = [str(path) for path in self._below(pattern) if (self.root / path).is_file()]
        # By default `*` also matches `/`, as in a Git pathspec; with the controller's new globbing it does not.
        greedy = sorted(path for path in below if fnmatch.fnmatchcase(path, pattern))
        strict = {path for path in below if _segments(pattern).fullmatch(path)}
        if more := [path for path in greedy if path not in strict]:
            raise ValuesError(
                f"{pattern} also matches {more[0]}: `*` goes over `/` unless the ApplicationSet controller runs with "
                "--enable-new-git-file-globbing; move the file to where one level is right"
            )
        return greedy

    def folders(self, pattern: str) -> list[str]:
        """Find the folders that a Git directories generator finds; those whose name begins with a dot are not seen."""
        return sorted(
            str(path)
            for path in self._below(pattern)
            if (self.root / path).is_dir()
            and not any(part.startswith(".") for part in path.parts)
            and _segments(pattern.replace("**", "*")).fullmatch(str(path))
            and any(each.is_file() for each in (self.root / path).rglob("*"))
        )

    def _below(self, pattern: str) -> Iterator[PurePosixPath]:
        """Give everything under the folder that stands before the first wildcard."""
        fixed = re.split(r"[*?\[]", pattern, maxsplit=1)[0]
        start = fixed if fixed == pattern else fixed.rpartition("/")[0]
        above = self.root / start
        for path in (above, *(above.rglob("*") if above.is_dir() else ())):
            relative = PurePosixPath(path.relative_to(self.root).as_posix())
            if ".git" not in relative.parts[:1]:
                yield relative


def _segments(pattern: str) -> re.Pattern[str]:
    """Read a pattern whose ``*`` stays inside of one folder."""
    parts = [
        "(?:.*/)?" if part == "**" else fnmatch.translate(part).removesuffix(r"\Z").replace(".*", "[^/]*") + "/"
        for part in pattern.split("/")
    ]
    return re.compile("".join(parts).removesuffix("/"))


def top(folder: Path) -> Path | None:
    """Find the top folder of the Git repository that a folder lies in; None if it lies in none."""
    resolved = folder.resolve()
    return next((path for path in (resolved, *resolved.parents) if (path / ".git").exists()), None)


@contextmanager
def at(root: Path, revision: str) -> Iterator[Tree]:
    """Give the files of another commit, for as long as the context is open.

    Parameters
    ----------
    root : Path
        Top folder of the repository.
    revision : str
        A commit, tag or branch of it.

    Yields
    ------
    Tree
        A copy of the files.

    Raises
    ------
    UsageError
        If Git does not know the revision.
    """
    done = subprocess.run(["git", "-C", root, "archive", "--format=tar", revision], capture_output=True, check=False)
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().removeprefix("fatal: ")
        raise UsageError(f"{revision}: not a revision of the repository {root} ({reason})")
    with TemporaryDirectory(prefix="lockstep-") as folder, tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data") if hasattr(tarfile, "data_filter") else archive.extractall(folder)  # noqa: S202
        yield Tree(Path(folder))
