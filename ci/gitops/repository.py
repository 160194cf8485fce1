"""A Git repository that a cluster serves, with a clone to commit from: what a team's Git host is to Argo CD."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from ci.gitops.hub import Hub

# Whatever the person's own configuration says. A push may go through a program.
OPTIONS = ("user.name=sim", "user.email=sim@lockstep.invalid", "commit.gpgsign=false", "protocol.ext.allow=always")


class Repository:
    """An empty repository of a cluster with Argo CD, and a clone of it in ``folder``."""

    def __init__(self, hub: Hub, name: str, folder: Path) -> None:
        self.folder = folder
        remote, self.url = hub.serve(name)
        subprocess.run(["git", "init", "--quiet", "--initial-branch=main", folder], check=True)
        self.git("remote", "add", "origin", remote)

    def git(self, *words: str) -> str:
        """Run git in the clone and return what it prints."""
        command = ["git", *(word for option in OPTIONS for word in ("-c", option)), *words]
        return subprocess.run(command, cwd=self.folder, check=True, capture_output=True, text=True).stdout.strip()

    def write(self, path: str, text: str) -> None:
        """Write a file of the clone."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def remove(self, path: str) -> None:
        """Remove a file or a folder of the clone."""
        target = self.folder / path
        shutil.rmtree(target) if target.is_dir() else target.unlink()

    def push(self, subject: str) -> str:
        """Commit everything in the clone, push it with what was committed before, and return the revision."""
        self.git("add", "--all")
        if self.git("status", "--porcelain"):
            self.git("commit", "--quiet", "--message", subject)
        self.git("push", "--quiet", "origin", "main")
        return self.git("rev-parse", "HEAD")
