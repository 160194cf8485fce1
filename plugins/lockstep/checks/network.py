"""Interfaces, which Gloo and NCCL read differently, and the devices of the fabric."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from lockstep.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockstep.release import Release

_INTERFACE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,14}")  # Linux: 15 bytes
# A list as NCCL reads it: src/misc/utils.cc (parseStringList) trims nothing and knows no wildcard, and only the first
# one or two characters of the whole list are marks. An entry may have :port, and since 2.28 :rail and :plane.
_NCCL: Final = re.compile(r"\^?=?[\w.-]+(:[\d:-]*)?(,[\w.-]+(:[\d:-]*)?)*,?")
_MARKS: Final = "commas without spaces between the names, and one mark at most before all of them"
_LISTS: Final = {
    "NCCL_IB_HCA": (_NCCL, "NCCL", f"{_MARKS} (^ to exclude, = to match whole names), as in =mlx5_0:1,mlx5_1:1"),
    "NCCL_SOCKET_IFNAME": (_NCCL, "NCCL", f"{_MARKS} (^ to exclude, = to match whole names), as in =eth0,eth1"),
    # src/ucp/core/ucp_context.c compares whole names.
    "UCX_NET_DEVICES": (re.compile(r"[^\s=,]+(,[^\s=,]+)*,?"), "UCX", "whole names without =, as in mlx5_0:1,eth0"),
}


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


def device_lists(release: Release) -> Iterator[Finding]:
    """Refuse an entry that no device can be called: the library passes it over, and other devices or none are used."""
    for path, variables in (("engine.env", release.engine.env), ("network.env", release.network.env)):
        for name, (syntax, library, form) in _LISTS.items():
            given = variables.get(name)
            if isinstance(given, str) and given and "$(" not in given and not syntax.fullmatch(given):
                yield Finding(
                    "NET006",
                    f"{path}.{name}",
                    f'{path}.{name} is "{given}", in which {library} finds a name that no device has',
                    f"Write {form}.",
                    {f"{path}.{name}": given},
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
