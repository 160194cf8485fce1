"""A pod's volumes as folders, and the paths of its mounts rewritten to them.

A process here sees this machine's own file system, so ``/lockstep/launch.sh`` in a command or a
variable becomes ``<state>/pods/<pod>/volumes/launch/launch.sh``. In an argument it is written as seen from
where the container's processes run, for ranks whose arguments differ are no group. This is the one place
where that happens. A path that a program has built in stays what it is on this machine.
"""

from __future__ import annotations

import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lockstep.errors import LockstepError
from lockstep.rehearse import tree
from lockstep.rehearse.secrets import configured, made_up

if TYPE_CHECKING:
    from collections.abc import Callable

    from lockstep.rehearse.manifest import Group
    from lockstep.rehearse.pod import Pod
    from lockstep.rehearse.tree import Node


@dataclass(frozen=True)
class Mounts:
    """Where a container's mount paths really are.

    Parameters
    ----------
    places : dict of str to Path
        Mount path to folder.
    pod : Path
        The pod's folder. Its containers run in folders of it.
    """

    places: dict[str, Path]
    pod: Path

    def rewrite(self, text: str) -> str:
        """Return the text with every mount path in it replaced, the longest first.

        A path counts where it begins a word (``/models``, ``--x=/models/a``, ``"/models"``) and ends
        at a slash or outside of a name; ``org/models`` and ``/modelsX`` stay.
        """
        return self._replaced(text, str)

    def rewrite_argument(self, text: str) -> str:
        """Return the same for an argument, which has the same text in all pods: what is the pod's own is near by."""
        return self._replaced(text, self._from_a_container)

    def _from_a_container(self, place: Path) -> str:
        own = place.is_relative_to(self.pod)
        return f"/proc/self/cwd/../{place.relative_to(self.pod)}" if own else str(place)

    def _replaced(self, text: str, write: Callable[[Path], str]) -> str:
        if not self.places:
            return text
        longest = sorted(self.places, key=len, reverse=True)
        found = re.compile(r"(?<![\w./~-])(" + "|".join(map(re.escape, longest)) + r")(?![\w.-])")
        return found.sub(lambda match: write(self.places[match[1]]), text)


class Volumes:
    """The volumes of one pod.

    Parameters
    ----------
    pod, group
        Whose they are, with which objects around them.
    folder : Path
        Of this pod's own volumes.
    shared : Path
        Of what all pods of the group see. Its path must be one for all: it stands in the engine's arguments, and
        ranks whose arguments differ are no group.
    note : callable
        Told what is not imitated.
    """

    def __init__(self, pod: Pod, group: Group, folder: Path, shared: Path, note: Callable[[str], None]) -> None:
        self._pod, self._group, self._folder, self._shared = pod, group, folder, shared
        self._places: dict[str, Path] = {}
        for volume in tree.items(pod.spec, "volumes"):
            self._places[tree.text(volume, "name")] = self._make(volume, note)

    def _make(self, volume: Node, note: Callable[[str], None]) -> Path:
        name = tree.text(volume, "name")
        place = self._folder / name
        if "hostPath" in volume:
            real = Path(tree.text(volume, "hostPath", "path"))
            if real.exists():
                return real
            note(f"volume {name}: {real} is not on this machine; all pods get one empty folder")
            place = self._shared / "hostPath" / str(real).lstrip("/")
        elif "persistentVolumeClaim" in volume:
            note(f"volume {name}: claims are not imitated; all pods get one empty folder")
            place = self._shared / "claim" / tree.text(volume, "persistentVolumeClaim", "claimName")
        elif not {"configMap", "secret", "emptyDir"} & volume.keys():
            note(f"volume {name}: {', '.join(volume.keys() - {'name'})} is not imitated; the pod gets an empty folder")
        place.mkdir(parents=True, exist_ok=True)
        place.chmod(0o777)
        for kind, source in (("ConfigMap", "configMap"), ("Secret", "secret")):
            if source in volume:
                write_projection(place, self._files(kind, tree.mapping(volume, source)))
        return place

    def _files(self, kind: str, source: Node) -> dict[str, tuple[str, int]]:
        name = tree.text(source, "name", default=tree.text(source, "secretName"))
        data = configured(self._group, kind, name)
        if not data and self._group.find(kind, name) is None and kind == "ConfigMap" and not source.get("optional"):
            raise LockstepError(f"pod {self._pod.name}: ConfigMap {name} was not rendered; the pod would never start")
        mode = int(tree.number(source, "defaultMode", default=0o644))
        chosen = tree.items(source, "items") or [{"key": key, "path": key} for key in data]
        files: dict[str, tuple[str, int]] = {}
        for item in chosen:
            key = tree.text(item, "key")
            if key not in data:
                if source.get("optional"):
                    continue
                if kind == "Secret" and self._group.find(kind, name) is None:
                    files[tree.text(item, "path")] = (made_up(name, key), int(tree.number(item, "mode", default=mode)))
                    continue
                raise LockstepError(f"pod {self._pod.name}: {kind} {name} has no key {key}; the pod would never start")
            files[tree.text(item, "path")] = (data[key], int(tree.number(item, "mode", default=mode)))
        return files

    def refresh(self, group: Group) -> None:
        """Write the ConfigMaps again, as kubelet does some time after they changed."""
        self._group = group
        for volume in tree.items(self._pod.spec, "volumes"):
            if "configMap" in volume:
                place = self._places[tree.text(volume, "name")]
                write_projection(place, self._files("ConfigMap", tree.mapping(volume, "configMap")))

    def mounts(self, container: Node) -> Mounts:
        """Return the mounts of one container.

        Raises
        ------
        LockstepError
            For a mount of a volume that the pod does not have.
        """
        places: dict[str, Path] = {}
        for mount in tree.items(container, "volumeMounts"):
            name, path = tree.text(mount, "name"), tree.text(mount, "mountPath").rstrip("/")
            if name not in self._places:
                raise LockstepError(f"pod {self._pod.name}: {path} mounts a volume {name} that the pod does not have")
            places[path] = self._places[name] / tree.text(mount, "subPath")
            if "subPath" in mount:
                places[path].mkdir(parents=True, exist_ok=True)
        return Mounts(places, self._folder.parent)


def write_projection(place: Path, files: dict[str, tuple[str, int]]) -> None:
    """Write files as kubelet's atomic writer does: behind one link, ``..data``, that moves.

    Parameters
    ----------
    place : Path
        The volume's folder.
    files : dict
        Path below it to content and mode.
    """
    stamp = place / f"..{time.time_ns()}"
    for path, (content, mode) in files.items():
        target = stamp / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
        target.chmod(mode)
    stamp.mkdir(exist_ok=True)
    link = place / "..data"
    old = link.resolve() if link.is_symlink() else None
    moving = place / "..data_tmp"
    moving.symlink_to(stamp.name)
    moving.rename(link)
    for top in {Path(path).parts[0] for path in files}:
        if not (place / top).is_symlink():
            (place / top).symlink_to(Path("..data") / top)
    if old is not None:
        shutil.rmtree(old)
