"""A pod as it is after admission, whatever its stack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockstep.errors import LockstepError
from lockstep.rehearse import tree

if TYPE_CHECKING:
    from lockstep.rehearse.tree import Node


@dataclass(frozen=True)
class Pod:
    """One pod.

    Attributes
    ----------
    rank : int
        0 for the leader.
    hostname, subdomain : str
        Of its DNS name; without a subdomain it has none.
    spec : Node
        The pod spec, with the variables that the controller adds.
    """

    name: str
    namespace: str
    uid: str
    rank: int
    hostname: str
    subdomain: str
    labels: dict[str, str]
    annotations: dict[str, str]
    spec: Node

    @property
    def role(self) -> str:
        """``leader`` or ``worker-1`` and so on."""
        return "leader" if self.rank == 0 else f"worker-{self.rank}"

    @property
    def dns_names(self) -> list[str]:
        """Under which every pod of the cluster finds it, the longest first."""
        short = f"{self.hostname}.{self.subdomain}"
        ends = (f".{self.namespace}.svc.cluster.local", f".{self.namespace}.svc", f".{self.namespace}", "")
        return [short + end for end in ends] if self.subdomain else []

    @property
    def names(self) -> list[str]:
        """All that lead to it here, its own in front."""
        return [self.hostname, *self.dns_names]

    def container(self) -> Node:
        """Return the engine container: the one that carries the contract's variables.

        Raises
        ------
        LockstepError
            When no container does.
        """
        for container in tree.items(self.spec, "containers"):
            if any(tree.text(entry, "name") == "LOCKSTEP_ENGINE" for entry in tree.items(container, "env")):
                return container
        raise LockstepError(
            f"pod {self.name}: no container has LOCKSTEP_ENGINE in its env; was it rendered by Lockstep?"
        )
