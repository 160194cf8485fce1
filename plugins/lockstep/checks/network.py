"""Interfaces, which Gloo and NCCL read differently, and the devices of the fabric."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from lockstep.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.release import Release

_INTERFACE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,14}")  # Linux: 15 bytes


def gloo_interface(release: Release) -> Iterator[Finding]:
    """Refuse NCCL's lists and exclusions where Gloo reads them: it takes the name of one interface."""
    for path, variables in (("engine.env", release.engine.env), ("network.env", release.network.env)):
        name = variables.get("GLOO_SOCKET_IFNAME")
        if isinstance(name, str) and not _INTERFACE.fullmatch(name):
            yield Finding(
                "NET001",
                f"{path}.GLOO_SOCKET_IFNAME",
                f'{path}.GLOO_SOCKET_IFNAME is "{name}", but Gloo takes the name of one interface, no list and no '
                "exclusion",
                "Set network.interface to that name, or leave both out: the interface that holds the pod's address "
                "is found.",
                {f"{path}.GLOO_SOCKET_IFNAME": name},
            )


def rdma_devices(release: Release) -> Iterator[Finding]:
    """Refuse the GPUs' resource for the RDMA devices: a container has one number for each resource."""
    resource = release.group.resource
    if release.network.rdma == resource:
        yield Finding(
            "NET002",
            "network.rdma.resource",
            f"network.rdma.resource is {resource}, which is group.resourceName: its count would stand in place of the "
            "GPUs",
            "Name the resource of the RDMA devices.",
            {"network.rdma.resource": resource, "group.resourceName": resource},
        )
