"""A dask scheduler that is there already: its address, its certificates, and whether its workers fit to us."""

from __future__ import annotations

import logging
import re
from typing import Any

from ..errors import InputError, MissingDependencyError, listing, shown
from .visiting import ABSENT, PACKAGES, differences, versions

ADDRESS = re.compile(r"(tls|tcp)://([^\s/:@]+|\[[0-9a-fA-F:.]+\]):(\d{1,5})/?")
TLS_SETTINGS = ("ca-file", "client.cert", "client.key")
"""Of dask, under ``distributed.comm.tls``."""
TIMEOUT = 15.0
"""Seconds after which nobody answers."""
LOGS = ("distributed.client", "distributed.core", "distributed.comm", "distributed.batched")
BESIDE = ("dask", "distributed", "cloudpickle")
"""Packages whose versions have to be the same on both sides, though they are in no bits."""


def checked(address: object) -> str:
    """An address, if it can be one.

    Raises
    ------
    InputError
        It is none.
    """
    match = ADDRESS.fullmatch(address) if isinstance(address, str) else None
    if not match or not 0 < int(match[3]) < 1 << 16:
        raise InputError(
            f"the scheduler's address is tls://HOST:PORT, or tcp://HOST:PORT in a network that you trust, as "
            f"tls://cluster:8786, got {shown(address)}"
        )
    return str(address).rstrip("/")


def warning_of(address: str) -> str:
    """What is to be said before runs go to an address: one line; empty if nothing is."""
    if not address.startswith("tcp:"):
        return ""
    return (
        f"{address} is not encrypted and asks nobody who they are: whoever reaches that port runs code on the "
        "scheduler and on its workers, and sees the runs; tls:// ends that"
    )


def connected(address: str, timeout: float = TIMEOUT) -> Any:
    """A ``distributed.Client`` of the scheduler at `address`, whose workers have the versions of here.

    Raises
    ------
    MissingDependencyError
        dask.distributed is not installed here.
    InputError
        The address is none, certificates are missing, nobody answers, or versions differ.
    """
    address = checked(address)
    distributed = _distributed()
    security = _security(distributed) if address.startswith("tls:") else None
    for log in LOGS:  # what is lost is said by us, in one line
        logging.getLogger(log).setLevel(logging.CRITICAL)
    try:
        client = distributed.Client(
            address, security=security, timeout=timeout, set_as_default=False, name="scalarviz-sweep"
        )
    except (OSError, TimeoutError, ValueError, TypeError, RuntimeError) as error:
        raise InputError(f"no scheduler answers at {address}: {_reason(error)}; `dask scheduler` starts one") from None
    try:
        _check(client, address)
    except BaseException:
        client.close()
        raise
    return client


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise MissingDependencyError(
            f'a sweep on a cluster needs dask.distributed ({error}); install it: pip install "scalarviz[sweep]"'
        ) from None
    return distributed


def _security(distributed: Any) -> Any:
    """The certificates that dask's own settings name."""
    import dask

    missing = [name for name in TLS_SETTINGS if not dask.config.get(f"distributed.comm.tls.{name}", None)]
    if missing:
        variable = f"DASK_DISTRIBUTED__COMM__TLS__{missing[0].upper().replace('.', '__').replace('-', '_')}"
        raise InputError(
            f"tls:// needs certificates: dask's settings do not name {listing(missing)} of distributed.comm.tls; "
            f"set them in ~/.config/dask/distributed.yaml, or as environment variables ({variable}=FILE)"
        )
    return distributed.Security(require_encryption=True)


def _reason(error: BaseException) -> str:
    """The innermost cause, in one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    said = " ".join(str(error).split())[:300] or type(error).__name__
    return "nobody is there" if said == "CancelledError" else said  # dask's own, of a connection that was given up


def _check(client: Any, address: str) -> None:
    """Whether versions are the same in all processes of the cluster that there are now; later ones check themselves."""
    found = client.get_versions(packages=list(PACKAGES))
    here = {**versions(), **{name: _version(found["client"], name) for name in BESIDE}}
    of_tasks = {name: here[name] for name in ("python", *BESIDE)}
    sides = [("its scheduler", found["scheduler"], of_tasks)]
    sides += [(f"its worker {name}", worker, here) for name, worker in found["workers"].items()]
    for side, said, wanted in sides:
        if other := differences(wanted, {name: _version(said, name) for name in wanted}):
            raise InputError(f"{address}: {side} has other versions than are here: {other}; install the same on both")


def _version(said: Any, name: str) -> str:
    version = str((said or {}).get("packages", {}).get(name) or ABSENT)
    return ".".join(version.split(".")[:2]) if name == "python" else version
