"""Pooling of layer outputs to one row per sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from upto.core import InputError

Pool = Callable[[Any], Any]
"""Function from the output tensor of a layer to one row per sample."""


class NotPooled(Exception):
    """Raised if a rule cannot pool an output; the message has the reason and the remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFacts:
    """Properties of a batch that pooling needs.

    Parameters
    ----------
    n_rows
        Number of samples.
    dtype
        dtype in which rows are pooled.
    mask
        Attention mask of shape rows × tokens, true for tokens that count; None if there is none.
    n_prefix
        Number of tokens before the patch tokens.
    """

    n_rows: int
    dtype: Any
    mask: Any = None
    n_prefix: int = 1


def pooled(output: Any, rule: str | Pool, batch: BatchFacts) -> Any:
    """Return one row per sample of a batch, on the device of the output.

    Parameters
    ----------
    output
        Output tensor of a layer.
    rule
        Name of a rule, or a function of the tensor.
    batch
        Properties of the batch.

    Raises
    ------
    NotPooled
        If the output does not have one entry per sample, or the rule does not apply to its shape.
    """
    if output.is_complex():
        message = "its output is complex: record another layer"
        raise NotPooled(message)
    if callable(rule):
        rows = rule(output)
        if getattr(rows, "ndim", None) != 2 or rows.shape[0] != batch.n_rows:
            shape = tuple(getattr(rows, "shape", ()))
            message = (
                f"its pooled output has shape {shape} for a batch of {batch.n_rows}: return one "
                "row per sample"
            )
            raise NotPooled(message)
        return rows.to(batch.dtype)
    if output.ndim == 0 or output.shape[0] != batch.n_rows:
        message = (
            f"its output has shape {tuple(output.shape)} for a batch of {batch.n_rows}: the first "
            "axis must be the samples, as with batch_first=True"
        )
        raise NotPooled(message)
    if output.ndim <= 2:
        return output.reshape(batch.n_rows, -1).to(batch.dtype)
    name, _, number = rule.partition(":")
    if name == "mean-patches":
        return _mean_patches(output, batch, int(number) if number else batch.n_prefix)
    return _RULES[name](output, batch)


def checked_rule(rule: str | Pool) -> str | Pool:
    """Return the rule, or raise an error if it does not exist."""
    if callable(rule):
        return rule
    name, colon, number = rule.partition(":") if isinstance(rule, str) else ("", "", "")
    counted = name == "mean-patches" and number.isdecimal()
    if name not in (*_RULES, "mean-patches") or (colon and not counted):
        message = f"there is no pooling rule {rule!r}: choose from {', '.join(POOLS)}."
        raise InputError(message)
    return rule


def _mean(output: Any, batch: BatchFacts) -> Any:
    if output.ndim > 3:
        return _mean_channels_first(output, batch)
    mask = _token_mask(output, batch)
    if mask is None:
        return output.mean(dim=1, dtype=batch.dtype)
    return _masked_mean(output, mask, batch)


def _mean_patches(output: Any, batch: BatchFacts, n_prefix: int) -> Any:
    _check_tokens(output, "mean-patches")
    if n_prefix >= output.shape[1]:
        message = (
            f"its output has {output.shape[1]} tokens, none of them after the first {n_prefix}: "
            "choose mean, or another number as in mean-patches:1"
        )
        raise NotPooled(message)
    mask = _token_mask(output, batch)
    patches = output[:, n_prefix:]
    if mask is None:
        return patches.mean(dim=1, dtype=batch.dtype)
    return _masked_mean(patches, mask[:, n_prefix:], batch)


def _masked_mean(output: Any, mask: Any, batch: BatchFacts) -> Any:
    _check_attended(mask)
    # NaN in tokens that do not count must not propagate.
    kept = output.to(batch.dtype).masked_fill(~mask[:, :, None], 0)
    return kept.sum(dim=1) / mask.sum(dim=1, keepdim=True).to(batch.dtype)


def _first(output: Any, batch: BatchFacts) -> Any:
    _check_tokens(output, "first")
    mask = _token_mask(output, batch)
    if mask is None:
        return output[:, 0].to(batch.dtype)
    _check_attended(mask)
    return _taken(output, mask.int().argmax(dim=1), batch)


def _last(output: Any, batch: BatchFacts) -> Any:
    _check_tokens(output, "last")
    mask = _token_mask(output, batch)
    if mask is None:
        return output[:, -1].to(batch.dtype)
    _check_attended(mask)
    # argmax finds the first maximum, so the mask is reversed.
    return _taken(output, mask.shape[1] - 1 - mask.flip(1).int().argmax(dim=1), batch)


def _taken(output: Any, positions: Any, batch: BatchFacts) -> Any:
    index = positions[:, None, None].expand(-1, 1, output.shape[2])
    return output.gather(1, index)[:, 0].to(batch.dtype)


def _mean_channels_first(output: Any, batch: BatchFacts) -> Any:
    return output.mean(dim=tuple(range(2, output.ndim)), dtype=batch.dtype)


def _mean_channels_last(output: Any, batch: BatchFacts) -> Any:
    return output.mean(dim=tuple(range(1, output.ndim - 1)), dtype=batch.dtype)


def _flatten(output: Any, batch: BatchFacts) -> Any:
    return output.reshape(batch.n_rows, -1).to(batch.dtype)


def _refuse(output: Any, _: BatchFacts) -> Any:
    message = (
        f"its output has shape {tuple(output.shape)} and pool is none: choose mean to average, or "
        "flatten to keep every value"
    )
    raise NotPooled(message)


_RULES: dict[str, Callable[[Any, BatchFacts], Any]] = {
    "mean": _mean,
    "first": _first,
    "cls": _first,
    "last": _last,
    "mean-channels-first": _mean_channels_first,
    "mean-channels-last": _mean_channels_last,
    "flatten": _flatten,
    "none": _refuse,
}
POOLS = (*_RULES, "mean-patches", "mean-patches:COUNT")
"""Names of the rules."""


def _check_tokens(output: Any, rule: str) -> None:
    if output.ndim != 3:
        message = (
            f"its output has shape {tuple(output.shape)}, but {rule} needs rows × tokens × "
            "features: choose mean or flatten"
        )
        raise NotPooled(message)


def _token_mask(output: Any, batch: BatchFacts) -> Any:
    if batch.mask is None:
        return None
    if tuple(batch.mask.shape) != tuple(output.shape[:2]):
        tokens, masked = output.shape[1], tuple(batch.mask.shape)
        message = (
            f"its output has {tokens} tokens but the attention mask has shape {masked}: pass a "
            "function as pool, or remove attention_mask from the batches"
        )
        raise NotPooled(message)
    return batch.mask.to(output.device).bool()


def _check_attended(mask: Any) -> None:
    empty = int((~mask.any(dim=1)).sum())
    if empty:
        message = (
            f"{empty} of {len(mask)} samples of a batch have no token that counts: drop them, or "
            "correct the attention mask"
        )
        raise NotPooled(message)
