"""Find the scheduler of a cluster, and check that its workers can do the work."""

from __future__ import annotations

import atexit
import json
import time
import weakref
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from upto.core import InputError, MissingExtraError, UptoError
from upto.core.errors import reason
from upto.core.provenance import library_versions
from upto.engines.local_cluster import WorkerProcesses

if TYPE_CHECKING:
    from collections.abc import Mapping

PATIENCE = 10.0
"""Seconds in which a scheduler must answer, and then have a worker, unless dask is told others."""
_HOW = (
    "give its address (--cluster, DaskEngine(address=...) or the variable DASK_SCHEDULER_ADDRESS), "
    "start workers on this machine (--workers, DaskEngine(workers=...)), or create a "
    "dask.distributed.Client"
)
_SAME = {"upto": None, "python": 2, "numpy": 1}
"""How many numbers of a version must be those of this process, for a task to mean the same."""


def distributed() -> Any:
    """Import `distributed`, or raise an error with the way to install it."""
    try:
        import distributed
    except ImportError:
        what = "the dask engine"
        raise MissingExtraError(what, package="distributed", extra="dask") from None
    return distributed


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which scheduler is wanted: one at an address, one with local workers, or any."""

    address: str | None = None
    workers: int | None = None

    def current(self) -> Any:
        """Return the client of this scheduler if there is one in this process."""
        made = _made.get(self)
        if made is not None:
            return made.client
        if self == Wanted():
            with suppress(ValueError):
                return distributed().get_client()
        return None

    def connect(self) -> Any:
        """Return a client of this scheduler, which is made if there is none."""
        found = self.current()
        if found is not None and found.status not in ("closing", "closed"):
            return found
        self.close()
        if self.workers is not None:
            _made[self] = WorkerProcesses(distributed(), self.workers)
        else:
            _made[self] = _Connection(_connected(self.address or _configured()))
        return _made[self].client

    def close(self) -> None:
        """Close the client that was made here, if any, and end the local workers."""
        made = _made.pop(self, None)
        if made is not None:
            made.close()


class _Connection:
    """A client of somebody else's scheduler."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def close(self) -> None:
        with suppress(OSError):
            self.client.close(timeout=1)


_made: dict[Wanted, _Connection | WorkerProcesses] = {}
"""What this module connected to, for as long as it is used: engines are values and hold nothing."""


@atexit.register
def _close_all() -> None:
    for wanted in list(_made):
        wanted.close()


def _configured() -> str:
    import dask

    address = dask.config.get("scheduler-address", None)
    if address is None:
        message = f"the dask engine found no scheduler: {_HOW}."
        raise InputError(message)
    return str(address)


def _connected(given: str) -> Any:
    seconds = patience()
    end = time.monotonic() + seconds
    address = _in_file(given, end) if given.endswith(".json") else given
    at = given if address == given else f"{address}, the address in {given}"
    package = distributed()
    _check_address(package, address, at)
    try:
        return package.Client(address, timeout=seconds, set_as_default=False)
    except (OSError, ValueError, RuntimeError) as error:
        message = (
            f"no dask scheduler answered at {at} within {seconds:g} s ({reason(error)}): start it "
            "or correct the address."
        )
        raise InputError(message) from None


def _check_address(package: Any, address: str, at: str) -> None:
    """Refuse an address that cannot be: a client of it would fail, and once more at exit."""
    try:
        package.comm.resolve_address(address)
        security = package.Security().get_connection_args("client")
    except (OSError, ValueError) as error:
        message = (
            f"{at} is no address of a dask scheduler ({reason(error)}): give one such as "
            "tcp://host:8786, or a scheduler file."
        )
        raise InputError(message) from None
    if address.startswith(("tls://", "wss://")) and security.get("ssl_context") is None:
        message = (
            f"{at} needs certificates: set DASK_DISTRIBUTED__COMM__TLS__CA_FILE, …__CLIENT__CERT "
            "and …__CLIENT__KEY to their files."
        )
        raise InputError(message)


def patience() -> float:
    """Return the seconds to wait: those set for dask's connections, or fewer than its default."""
    import dask

    distributed()
    key = "distributed.comm.timeouts.connect"
    told = dask.config.get(key)
    if told in [dask.config.get(key, None, config=each) for each in dask.config.defaults]:
        return PATIENCE
    return float(dask.utils.parse_timedelta(told, default="seconds"))


def _in_file(path: str, end: float) -> str:
    """Return the address in a scheduler file, which may be about to be written."""
    while True:
        try:
            found = json.loads(Path(path).read_bytes())
            return str(found["address"])
        except (OSError, ValueError, TypeError, KeyError) as error:
            if time.monotonic() > end:
                why = "is not there" if isinstance(error, OSError) else "has no address in it"
                message = (
                    f"the scheduler file {path} {why}: give the file that `dask scheduler "
                    "--scheduler-file` writes."
                )
                raise InputError(message) from None
        time.sleep(0.1)


def describe(client: Any) -> str:
    """Return the address of a scheduler and what its workers have."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    limits = [worker["memory_limit"] for worker in workers]
    memory = f"{sum(limits) / 1e9:.3g} GB" if all(limits) else "no limit of memory"
    n_threads = sum(worker["nthreads"] for worker in workers)
    counts = f"{_counted(len(limits), 'worker')}, {_counted(n_threads, 'thread')}"
    return f"{client.scheduler.address}: {counts}, {memory}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def n_threads(client: Any) -> int:
    """Return the number of threads of all workers, or raise an error if the client is closed."""
    if client.status in ("closing", "closed"):
        message = (
            f"the dask client is {client.status}, by its user or because its scheduler is gone: "
            "create another client and start again."
        )
        raise UptoError(message)
    with suppress(OSError):
        return int(sum(client.nthreads().values()))
    return 0


def await_workers(client: Any, seconds: float) -> None:
    """Wait until there is a worker."""
    end = time.monotonic() + seconds
    while not n_threads(client):
        if time.monotonic() > end:
            raise no_workers(client, seconds)
        time.sleep(0.1)


def no_workers(client: Any, seconds: float) -> UptoError:
    """Return the error of a cluster without workers."""
    address = client.scheduler.address if client.scheduler else client
    return UptoError(
        f"the cluster {address} has had no worker for {seconds:g} s: start some with `dask "
        "worker`, or check the logs of those that stopped, and run this again."
    )


_checked: weakref.WeakKeyDictionary[Any, set[str]] = weakref.WeakKeyDictionary()


def check_workers(client: Any) -> None:
    """Wait for a worker, and raise an error if one cannot run the tasks of this process."""
    await_workers(client, patience())
    known = _checked.setdefault(client, set())
    new = set(client.nthreads()) - known
    if new:
        _compare(client.run(library_versions, workers=sorted(new), on_error="return"))
        known |= new


def _compare(found: Mapping[str, Any]) -> None:
    here = library_versions()
    for worker, there in found.items():
        if isinstance(there, OSError):
            # It is gone, and others do its work.
            continue
        if isinstance(there, Exception):
            message = (
                f"the worker {worker} cannot import upto ({reason(there)}): install upto "
                f"{here['upto']} where the workers run."
            )
            raise InputError(message)
        for name, length in _SAME.items():
            if there[name].split(".")[:length] != here[name].split(".")[:length]:
                message = (
                    f"the worker {worker} has {name} {there[name]} and this process {here[name]}: "
                    "install the same version where the workers run."
                )
                raise InputError(message)
