"""Record the layers of a torch module to disk, batch by batch."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from operator import length_hint
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from upto.activations.choose_modules import chosen_modules, pooling_rules
from upto.activations.fingerprint import batch_fingerprint, model_fingerprint
from upto.activations.inputs import (
    ModuleCall,
    count_rows,
    entry_of,
    first_tensor,
    import_torch,
    input_of,
    may_shuffle,
    on_device,
)
from upto.activations.pooling import BatchFacts, NotPooled, Pool, pooled
from upto.activations.recorded import check_folder, check_listing, write_listing
from upto.activations.unfinished import Unfinished
from upto.core import InputError, choose_progress
from upto.core.read_file import expanded
from upto.files.manifest import MANIFEST
from upto.files.request import listed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from upto.activations.choose_modules import Chosen
    from upto.core import Progress


def record_activations(
    model: Any,
    batches: Iterable[Any],
    output: str | Path,
    *,
    layers: str | Sequence[str] = "*",
    pool: str | Pool | Mapping[str, str | Pool] = "mean",
    ids: str | int | ArrayLike | None = None,
    name: str | None = None,
    seed: int | None = None,
    forward: Callable[[Any, Any], Any] | None = None,
    dtype: Literal["float32", "float64"] = "float32",
    resume: bool = True,
    progress: Progress | bool | None = None,
) -> Path:
    """Record layers of a torch module over batches, one file per layer.

    The module is put in evaluation mode and restored afterwards; gradients are off. Each layer
    becomes an ``.npy`` file, or an ``.npz`` file with `ids`; a manifest ``runs.toml`` in the same
    folder lists the layers in the order of the forward pass. The folder appears once everything is
    written, and an interrupted recording does not change an older one. What was interrupted after
    more than ten seconds, by Ctrl-C, an error or the end of the machine, is kept in a hidden folder
    beside it: the same call continues after the last batch written there.

    Parameters
    ----------
    model
        The module. Batches are moved to the device of its parameters.
    batches
        A data loader, or any iterable of batches: tensors, tuples whose first entry is the input,
        or dictionaries of inputs by name. Samples are on the first axis.
    output
        Output folder.
    layers
        Names of modules, as in ``named_modules``, or patterns: ``*`` matches anything up to the
        next dot, ``**`` anything, ``?`` one character and ``[0-9]`` one of several. ``""`` is the
        model itself. A layer that matches a pattern but cannot be recorded is skipped with a
        warning; a layer given by name raises an error.
    pool
        Reduction of an output to one row per sample: ``mean`` (over tokens, or over space if the
        output has four or five axes), ``first`` or ``cls``, ``last``, ``mean-patches`` (without
        the class token and other tokens before the patches; ``mean-patches:5`` without the first
        five), ``mean-channels-first``, ``mean-channels-last``, ``flatten``, or ``none``, which
        raises an error if pooling is needed. Also a function from the tensor to the rows, or a
        mapping from layer patterns to rules, of which the first match applies. Tokens masked by
        the `attention_mask` of a batch do not count.
    ids
        One id per row, or the name or position of the batch entry that contains them.
    name
        Name of the run; by default the name of the folder.
    seed
        Training seed, for the manifest.
    forward
        Function ``forward(model, batch)`` that calls the model; by default the model is called on
        the input, or on the dictionary entries that its `forward` names.
    dtype
        dtype of the files.
    resume
        Whether to continue an interrupted recording; False deletes it. The model, layers, pooling,
        dtype and ids must be the same, and so must the batches, which are read again from the
        first but not passed through the model. With a data loader that shuffles, nothing is kept.
    progress
        True for bars, or a line every minute in a log; False for nothing. By default, bars in a
        notebook or at a prompt after two seconds. An object with ``task(label, total)`` is called.

    Returns
    -------
    Path
        The manifest, for `layers` or ``upto layers``.

    Raises
    ------
    InputError
        If a pattern matches no layer, a layer cannot be recorded, there are no batches, or an
        interrupted recording is of something else.

    See Also
    --------
    upto.layers : Compare the layers of two recordings.
    upto.load_model : A pretrained model.
    upto.read_manifest : Read what was recorded.

    Examples
    --------
    >>> import tempfile
    >>> import torch
    >>> import upto
    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    >>> manifest = upto.record_activations(model, torch.ones(3, 5, 4), f"{tempfile.mkdtemp()}/run")
    >>> [(run.layer, run.rows.shape) for run in upto.read_manifest(manifest)]
    [('0', (15, 8)), ('1', (15, 8)), ('2', (15, 2))]
    """
    torch = import_torch()
    folder = expanded(output)
    check_folder(folder)
    if dtype not in ("float32", "float64"):
        message = f"layers are recorded in float32 or float64, not in {dtype!r}."
        raise InputError(message)
    shuffles = may_shuffle(batches)
    if ids is None and shuffles:
        message = (
            "the data loader shuffles its rows, or may through a custom sampler, so another "
            "recording would have them in another order: pass shuffle=False, or ids to match rows."
        )
        raise InputError(message)
    chosen = chosen_modules(model, (layers,) if isinstance(layers, str) else tuple(layers))
    called = folder.absolute().name if name is None else name
    check_listing(called, seed, chosen)
    rules = pooling_rules(pool, chosen)
    tape = _Tape(model, chosen, rules, getattr(torch, dtype))
    known = ids if ids is None or isinstance(ids, str | int) else np.asarray(ids)
    call = forward or ModuleCall(model)

    def facts() -> dict[str, str]:
        return {
            "model": model_fingerprint(model),
            "choice of layers": json.dumps([*chosen]),
            "pooling": json.dumps([*map(_shown, rules.values())]),
            "dtype": dtype,
            "choice of ids": str(batch_fingerprint(known)),
            "function forward": _shown(forward),
        }

    unfinished = Unfinished(folder, facts, np.dtype(dtype), resume=resume, keep=not shuffles)
    task = choose_progress(progress).task("record", length_hint(batches, 0))
    with unfinished, _evaluating(model), tape.hooked(), torch.no_grad(), task as advance:
        store, number = unfinished.layers, -1
        if unfinished.found is not None:
            tape.restore([*unfinished.found.widths], unfinished.found.left_out)
        unfinished.left_out = tape.left_out
        for number, batch in enumerate(batches):
            fingerprint = batch_fingerprint(batch)
            is_recorded = unfinished.is_recorded(number, fingerprint)
            inputs = on_device(input_of(batch), tape.device)
            facts_of_batch = _facts(inputs, tape)
            if not is_recorded:
                tape.start(facts_of_batch)
                call(model, inputs if forward is None else on_device(batch, tape.device))
                store.append(tape.rows())
            if isinstance(known, str | int):
                store.add_ids(entry_of(batch, known), facts_of_batch.n_rows)
            if not is_recorded:
                unfinished.count(fingerprint, facts_of_batch.n_rows)
            advance(1)
        unfinished.check_end(number + 1)
        found = store.finish(known if isinstance(known, np.ndarray) else None)
        write_listing(
            unfinished.folder / MANIFEST, found, name=called, seed=seed, left_out=tape.left_out
        )
        unfinished.publish([*found.values(), MANIFEST])
    if tape.left_out:
        reasons = listed(
            [f"{layer} ({why})" for layer, why in tape.left_out.items()], 6, longest=200
        )
        total = len(found) + len(tape.left_out)
        message = f"{len(tape.left_out)} of {total} layers were skipped: {reasons}."
        warnings.warn(message, UserWarning, stacklevel=2)
    return folder / MANIFEST


class _Tape:
    """Outputs collected by the hooks during one forward pass."""

    def __init__(
        self,
        model: Any,
        chosen: dict[str, Chosen],
        rules: dict[str, str | Pool],
        dtype: Any,
    ) -> None:
        self.device = _device_of(model)
        self.dtype = dtype
        self.n_prefix = _prefix_of(model)
        self.left_out: dict[str, str] = {}
        self.facts = BatchFacts(n_rows=0, dtype=dtype)
        self._chosen = chosen
        self._rules = rules
        self._handles: dict[str, Any] = {}
        self._calls: dict[str, int] = {}
        self._rows: dict[str, Any] = {}
        self._problems: dict[str, str] = {}
        self._order: tuple[str, ...] = ()

    def restore(self, order: list[str], left_out: Mapping[str, str]) -> None:
        """Continue with the layers that an earlier forward pass could record."""
        for layer, why in left_out.items():
            self.left_out[layer] = why
            self._handles.pop(layer).remove()
        self._order = tuple(order)

    @contextmanager
    def hooked(self) -> Iterator[None]:
        """Register hooks on the layers and always remove them."""
        try:
            for layer, each in self._chosen.items():
                self._handles[layer] = each.module.register_forward_hook(self._hook(layer))
            yield
        finally:
            for handle in self._handles.values():
                handle.remove()

    def start(self, facts: BatchFacts) -> None:
        """Reset for a new batch."""
        self.facts = facts
        self._calls = dict.fromkeys(self._handles, 0)
        self._rows, self._problems = {}, {}

    def rows(self) -> dict[str, NDArray[Any]]:
        """Return the rows of every layer, in the order of the forward pass."""
        reasons = {layer: why for layer in self._handles if (why := self._reason(layer))}
        for layer, why in reasons.items():
            if self._order or self._chosen[layer].by_name:
                message = f"the layer {layer} cannot be recorded: {why}."
                raise InputError(message)
            self.left_out[layer] = why
            self._handles.pop(layer).remove()
        if not self._order:
            self._order = tuple(layer for layer in self._rows if layer in self._handles)
        if not self._order:
            reasons = {f"{layer}: {why}": why for layer, why in self.left_out.items()}
            message = f"no layer can be recorded: {listed([*reasons], 6, longest=200)}."
            raise InputError(message)
        return {layer: self._rows[layer].cpu().numpy() for layer in self._order}

    def _reason(self, layer: str) -> str | None:
        calls = self._calls[layer]
        if calls > 1:
            return (
                f"it is called {calls} times in one forward pass, but a layer has one row per "
                "sample"
            )
        return self._problems.get(layer) if calls else "it is not called in a forward pass"

    def _hook(self, layer: str) -> Callable[[Any, Any, Any], None]:
        def hook(_module: Any, _inputs: Any, output: Any) -> None:
            self._calls[layer] += 1
            if self._calls[layer] > 1:
                return
            tensor = first_tensor(output)
            if tensor is None:
                kind = type(output).__name__
                self._problems[layer] = f"its output is {kind}, which contains no tensor"
                return
            try:
                rows = pooled(tensor, self._rules[layer], self.facts)
            except NotPooled as why:
                self._problems[layer] = str(why)
                return
            # Later layers may modify it in place.
            self._rows[layer] = rows.detach().clone()

        return hook


@contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    """Put every module in evaluation mode, and restore each mode afterwards."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        model.eval()
        yield
    finally:
        for module, mode in modes:
            module.training = mode


def _device_of(model: Any) -> Any:
    tensors = (*model.parameters(), *model.buffers())
    return tensors[0].device if tensors else import_torch().device("cpu")


def _prefix_of(model: Any) -> int:
    """Return the number of tokens of a vision transformer before its patches."""
    counted = getattr(model, "num_prefix_tokens", None)
    if isinstance(counted, int):
        return counted
    registers = getattr(getattr(model, "config", None), "num_register_tokens", 0)
    return 1 + registers if isinstance(registers, int) else 1


def _shown(rule: Any) -> str:
    """Return the name of a pooling rule, or of a function."""
    if rule is None or isinstance(rule, str):
        return str(rule)
    return f"{getattr(rule, '__module__', '')}.{getattr(rule, '__qualname__', type(rule).__name__)}"


def _facts(inputs: Any, tape: _Tape) -> BatchFacts:
    mask = inputs.get("attention_mask") if isinstance(inputs, Mapping) else None
    return BatchFacts(
        n_rows=count_rows(inputs), dtype=tape.dtype, mask=mask, n_prefix=tape.n_prefix
    )
