"""The engine that `--engine`, `--cluster` and `--workers` ask for, while a command runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from collections.abc import Callable

ENGINES = ("threads", "torch", "dask")
"""The names in `upto.engines.choose`, repeated because importing them would import NumPy."""
MOST_WORKERS = 256
"""The limit of `upto.engines.cluster`, repeated for the same reason."""
_WAYS = {"engine_cluster": "--cluster", "engine_workers": "--workers"}


@dataclass(slots=True)
class EngineChoice:
    """An engine that is found when a command first needs it, and closed when the command ends.

    Parameters
    ----------
    name
        Name of the engine.
    cluster
        Address or file of a scheduler.
    workers
        Number of workers to start on this machine.
    """

    name: str
    cluster: str | None = None
    workers: int | None = None
    _found: Any = field(default=None, init=False)

    def engine(self, say: Callable[[str], None]) -> Any:
        """Return the engine; of a cluster, say which scheduler it uses."""
        if self.name != "dask":
            return self.name
        if self._found is None:
            from upto.engines import DaskEngine

            _silence_logs()
            self._found = DaskEngine(address=self.cluster, workers=self.workers)
            say(f"using dask at {self._found.connect().where}")
        return self._found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._found is not None:
            self._found.close()


def engine_choice(options: dict[str, Any]) -> EngineChoice:
    """Take the options of an engine out of those of the running command; refuse contradictions."""
    source = click.get_current_context().get_parameter_source
    name, cluster, workers = (options.pop(key, None) for key in ("engine_name", *_WAYS))
    given = [flag for key, flag in _WAYS.items() if source(key) is ParameterSource.COMMANDLINE]
    if len(given) == 2:
        message = "--cluster names a cluster and --workers starts one: give one of them."
        raise click.UsageError(message)
    is_named = source("engine_name") is ParameterSource.COMMANDLINE
    if given and is_named and name != "dask":
        message = f"{given[0]} runs on dask, and --engine asks for {name}: give one of them."
        raise click.UsageError(message)
    if given or (cluster is not None and not is_named):
        name = "dask"
    # What the environment says yields to what the command says.
    return EngineChoice(name or "", None if workers is not None else cluster, workers)


engine_options = (
    click.option(
        "--workers",
        "engine_workers",
        metavar="N",
        type=click.IntRange(1, MOST_WORKERS),
        help="Run the passes in N processes on this machine, with dask.",
    ),
    click.option(
        "--cluster",
        "engine_cluster",
        metavar="ADDRESS",
        envvar="DASK_SCHEDULER_ADDRESS",
        show_envvar=True,
        help="Run the passes on the dask cluster at this address, e.g. tcp://host:8786, or in this "
        "scheduler file (.json).",
    ),
    click.option(
        "--engine",
        "engine_name",
        default="threads",
        show_default=True,
        type=click.Choice(ENGINES),
        help="Engine that runs the passes over the rows.",
    ),
)


def _silence_logs() -> None:
    """Keep the logs of dask off the terminal: what matters is raised as an error."""
    import logging

    from upto.engines.schedulers import distributed

    distributed()
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
