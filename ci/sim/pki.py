"""Certificates of one cluster: an authority, one server certificate for everything that listens, one administrator."""

from __future__ import annotations

import base64
import shutil
import subprocess
from typing import TYPE_CHECKING

import yaml
from ci.sim.folders import program

if TYPE_CHECKING:
    from pathlib import Path

NAMES = "DNS:localhost,DNS:kubernetes.default,DNS:kubernetes.default.svc,IP:127.0.0.1,IP:10.96.0.1"
DAYS = "30"


def create(folder: Path) -> None:
    """Write all keys and certificates into ``folder``, which must not exist."""
    folder.mkdir(mode=0o700)
    openssl(folder, "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "ca.key")
    authority = ["-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign"]
    openssl(
        folder,
        "req",
        "-x509",
        "-new",
        "-key",
        "ca.key",
        "-subj",
        "/CN=sim",
        "-days",
        DAYS,
        *authority,
        "-out",
        "ca.crt",
    )
    issue(folder, "server", "/CN=sim-server", f"subjectAltName={NAMES}\nextendedKeyUsage=serverAuth\n")
    # This group may do everything without any RBAC object.
    issue(folder, "admin", "/O=system:masters/CN=admin", "extendedKeyUsage=clientAuth\n")
    openssl(folder, "genrsa", "-out", "service-accounts.key", "2048")
    webhook = folder / "webhook"  # controllers look for these two names
    webhook.mkdir()
    shutil.copy(folder / "server.crt", webhook / "tls.crt")
    shutil.copy(folder / "server.key", webhook / "tls.key")


def issue(folder: Path, name: str, subject: str, extensions: str) -> None:
    """Make a key and a certificate for it, signed by the authority."""
    (folder / f"{name}.ext").write_text(extensions)
    openssl(folder, "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{name}.key")
    openssl(folder, "req", "-new", "-key", f"{name}.key", "-subj", subject, "-out", f"{name}.csr")
    signed_by = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", DAYS, "-extfile", f"{name}.ext"]
    openssl(folder, "x509", "-req", "-in", f"{name}.csr", *signed_by, "-out", f"{name}.crt")


def openssl(folder: Path, *arguments: str) -> None:
    """Run one openssl command in ``folder``."""
    subprocess.run([program("openssl"), *arguments], cwd=folder, check=True, capture_output=True)


def authority(folder: Path) -> str:
    """Certificate of the authority as a ``caBundle``."""
    return encoded(folder / "ca.crt")


def kubeconfig(folder: Path, server: str, cluster: str) -> str:
    """Text of an administrator's kubeconfig that needs no other file."""
    user = {"client-certificate-data": encoded(folder / "admin.crt"), "client-key-data": encoded(folder / "admin.key")}
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": cluster, "cluster": {"server": server, "certificate-authority-data": authority(folder)}}
            ],
            "users": [{"name": "admin", "user": user}],
            "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": "admin"}}],
            "current-context": cluster,
        },
        sort_keys=False,
    )


def encoded(file: Path) -> str:
    """Content of a file in base64."""
    return base64.b64encode(file.read_bytes()).decode()
