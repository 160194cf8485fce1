"""What a command reads: values files, what lies beneath them, the chart, and the release they make.

Every command that takes values files has the same options, declared here once.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lockstep import share
from lockstep.errors import UsageError, ValuesError
from lockstep.values import coalesce, stack
from lockstep.yamlfile import kind_of, read

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from lockstep.yamlfile import Values

# Helm's own rule: https://github.com/helm/helm/blob/main/pkg/chart/v2/util/validate_name.go
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_MAX_NAME: Final = 53
NAME_RULE: Final = f"at most {_MAX_NAME} characters of a-z, 0-9, - and ., with a letter or digit at both ends"


@dataclass(frozen=True)
class Input:
    """One release as it is named on a command line.

    Parameters
    ----------
    file : Path
        Its values file.
    bases : tuple of Path
        Values files beneath it, the lowest first.
    chart : Path
        The chart's folder.
    name : str
        Release name.
    namespace : str
        Namespace of the release.
    """

    file: Path
    bases: tuple[Path, ...]
    chart: Path
    name: str
    namespace: str

    @property
    def files(self) -> tuple[Path, ...]:
        """All values files in the order in which Helm gets them."""
        return (*self.bases, self.file)

    def values(self) -> Values:
        """Read and merge the files as Helm does, the chart's defaults included.

        Returns
        -------
        Values
            What the chart's templates and schema see.

        Raises
        ------
        UsageError
            If a file is not there.
        ValuesError
            If a file is not one YAML mapping.
        """
        try:
            return coalesce(_defaults(self.chart), stack([*map(_base_values, self.bases), read(self.file)]))
        except ValuesError as error:
            error.file = self.file
            raise


def _base_values(file: Path) -> Values:
    """Read a file beneath the others; its faults are reported for the file on top."""
    return _named(file, ", which lies beneath it")


def _named(file: Path, role: str = "") -> Values:
    """Read a file whose faults are reported for another, so that they name it."""
    try:
        return read(file)
    except ValuesError as error:
        raise ValuesError(f"{file}{role}: {error}") from None


@cache
def _defaults(chart: Path) -> Values:
    return _base_values(chart / "values.yaml")


def release_name(file: Path) -> str:
    """Name a release after its file, or after its folder when the file is called ``values.yaml``.

    Parameters
    ----------
    file : Path
        A values file.

    Returns
    -------
    str
        The name; whether it is a possible one is for :func:`is_release_name` to say.
    """
    return file.resolve().parent.name if file.stem == "values" else file.stem


def is_release_name(name: str) -> bool:
    """Say whether Helm takes a name for a release.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    bool
        True if Helm takes it.
    """
    return len(name) <= _MAX_NAME and _NAME.fullmatch(name) is not None


def add_arguments(parser: argparse.ArgumentParser, *, several: bool) -> None:
    """Declare the options that name releases.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The command's parser.
    several : bool
        Whether the command takes more than one file.
    """
    if several:
        parser.add_argument("files", metavar="FILE", nargs="*", type=Path, help="values file; each is one release")
    else:
        parser.add_argument("file", metavar="FILE", type=Path, help="values file of the release")
    parser.add_argument(
        "-f",
        "--values",
        metavar="BASE",
        dest="bases",
        action="append",
        default=[],
        type=Path,
        help="values file beneath every FILE (repeatable, lowest first) or a shipped preset, like accelerators/h200-8",
    )
    parser.add_argument("--chart", type=Path, metavar="FOLDER", help="chart to use instead of the shipped one")
    parser.add_argument("--name", help="release name (default: the name of the file, or of its folder for values.yaml)")
    # Helm reads this option itself before it starts a plug-in, and passes it on as a variable.
    namespace = os.environ.get("HELM_NAMESPACE") or "default"
    parser.add_argument("--namespace", "-n", default=namespace, help="namespace of the release (default: %(default)s)")


def from_arguments(args: argparse.Namespace) -> list[Input]:
    """Read back the options of :func:`add_arguments`.

    Parameters
    ----------
    args : argparse.Namespace
        Parsed arguments.

    Returns
    -------
    list of Input
        One for each file, in the order given.

    Raises
    ------
    UsageError
        If a file is missing, the chart is none, or several files were given one name.
    """
    files: list[Path] = args.files if hasattr(args, "files") else [args.file]
    if args.name is not None and len(files) > 1:
        raise UsageError("--name goes with one FILE; several releases cannot share a name")
    chart: Path = args.chart or share.folder("charts") / "serving"
    if not (chart / "Chart.yaml").is_file():
        raise UsageError(f"{chart}: not a chart (no Chart.yaml in it)")
    for file in files:
        _must_be_file(file)
    bases = tuple(_base(path) for path in args.bases)
    return [
        Input(file, bases, chart, release_name(file) if args.name is None else args.name, args.namespace)
        for file in files
    ]


def refuse_options_of_files(args: argparse.Namespace, reason: str) -> None:
    """Refuse the options that go with a values file where none is read.

    Parameters
    ----------
    args : argparse.Namespace
        Parsed arguments.
    reason : str
        Why none is.

    Raises
    ------
    UsageError
        If one of them is given.
    """
    for option, given in (("-f", args.bases), ("--chart", args.chart), ("--name", args.name is not None)):
        if given:
            raise UsageError(f"{option} goes with a values file, {reason}")


def deployed(file: Path, bases: Iterable[str] = ()) -> Input:
    """Take a values file of a repository as its cluster gets it.

    Parameters
    ----------
    file : Path
        The values file. A ``config.yaml`` beside it, as in ``argocd/deployments``, names its ``namespace`` and the
        ``presets`` that lie beneath it.
    bases : iterable of str, optional
        Files or presets beneath those.

    Returns
    -------
    Input
        The release.

    Raises
    ------
    UsageError
        If a file is missing.
    ValuesError
        If ``config.yaml`` is not one YAML mapping, or its ``presets`` are no list.
    """
    config = file.with_name("config.yaml")
    beside = _named(config) if config.is_file() else {}
    presets = beside.get("presets") or []
    if not isinstance(presets, list):
        raise ValuesError(f"{config}: presets is {kind_of(presets)}, not a list of files")
    names = [*bases, *map(str, presets)]
    chart, namespace = share.folder("charts") / "serving", str(beside.get("namespace") or "default")
    return Input(file, tuple(_base(Path(name)) for name in names), chart, release_name(file), namespace)


def _base(path: Path) -> Path:
    """Find a file beneath the others: as named, else among the shipped presets."""
    if not path.exists() and not path.is_absolute():
        presets = share.folder("values")
        for preset in (presets / path, presets / f"{path}.yaml"):
            if preset.is_file():
                return preset
        if not path.suffix:
            known = ", ".join(
                sorted(f"{each.parent.name}/{each.stem}" for each in presets.glob(f"{path.parts[0]}/*.yaml"))
            )
            raise UsageError(f"{path}: no such file, and no preset; {known or 'accelerators/h100-8 is one'}")
    _must_be_file(path)
    return path


def _must_be_file(path: Path) -> None:
    if not path.exists():
        raise UsageError(f"{path}: no such file")
    if path.is_dir():
        raise UsageError(f"{path}: a folder; name the values file in it")
