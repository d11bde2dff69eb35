"""ResNet-18 with the stem for small images, several members beside each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Sequence


STAGES = (1, 2, 4, 8)
"""Width of each stage, as a multiple of the first; each has two blocks."""


class Block(nn.Module):
    """Two convolutions and a shortcut.

    Parameters
    ----------
    n_in, n_out
        Channels.
    stride
        Stride of the first convolution.
    """

    def __init__(self, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(n_in, n_out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(n_out)
        self.conv2 = nn.Conv2d(n_out, n_out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(n_out)
        self.downsample: nn.Module = nn.Identity()
        if stride != 1 or n_in != n_out:
            self.downsample = nn.Sequential(
                nn.Conv2d(n_in, n_out, 1, stride, bias=False), nn.BatchNorm2d(n_out)
            )

    def forward(self, maps: Any) -> Any:
        """Return the maps of the block."""
        hidden = functional.relu(self.bn1(self.conv1(maps)))
        return functional.relu(self.bn2(self.conv2(hidden)) + self.downsample(maps))


class ResNet(nn.Module):
    """A single ResNet-18, with the module names of torchvision.

    Parameters
    ----------
    width
        Channels of the first stage.
    n_classes
        Number of classes.
    small_images
        Whether the stem is one 3 × 3 convolution, for images of 32 pixels or so, instead of
        torchvision's 7 × 7 with pooling.
    """

    def __init__(self, *, width: int, n_classes: int, small_images: bool = True) -> None:
        super().__init__()
        self.conv1 = (
            nn.Conv2d(3, width, 3, 1, 1, bias=False)
            if small_images
            else nn.Conv2d(3, width, 7, 2, 3, bias=False)
        )
        self.bn1 = nn.BatchNorm2d(width)
        self.maxpool = nn.Identity() if small_images else nn.MaxPool2d(3, 2, 1)
        n_in = width
        for number, multiple in enumerate(STAGES, start=1):
            n_out = multiple * width
            stride = 1 if number == 1 else 2
            stage = nn.Sequential(Block(n_in, n_out, stride), Block(n_out, n_out, 1))
            self.add_module(f"layer{number}", stage)
            n_in = n_out
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(n_in, n_classes)

    def features(self, images: Any) -> Any:
        """Return the values before the last layer; images × 3 × side × side."""
        maps = self.maxpool(functional.relu(self.bn1(self.conv1(images))))
        for number in range(1, len(STAGES) + 1):
            maps = self.get_submodule(f"layer{number}")(maps)
        return self.avgpool(maps).flatten(1)

    def forward(self, images: Any) -> Any:
        """Return the logits."""
        return self.fc(self.features(images))


class Features(ResNet):
    """A ResNet whose output are its features.

    Parameters
    ----------
    trained
        The network, whose modules are used.
    """

    def __init__(self, trained: ResNet) -> None:
        nn.Module.__init__(self)
        for name, module in trained.named_children():
            self.add_module(name, module)

    def forward(self, images: Any) -> Any:
        """Return the values before the last layer."""
        return self.features(images)


class ResNets(nn.Module):
    """Members with their own weights, shown their own batches.

    Parameters
    ----------
    seeds
        Seed of each member.
    width, n_classes
        As in `ResNet`.
    """

    def __init__(self, seeds: Sequence[int], *, width: int, n_classes: int) -> None:
        super().__init__()
        self.members: Any = nn.ModuleList()
        for seed in seeds:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                self.members.append(ResNet(width=width, n_classes=n_classes))
        self.to(memory_format=torch.channels_last)

    def losses(self, images: Any, labels: Any, _generators: Sequence[torch.Generator]) -> Any:
        """Return the cross-entropy of each member; members × images × side × side × channels."""
        found = []
        for member, own, wanted in zip(self.members, images, labels, strict=True):
            logits = member(own.permute(0, 3, 1, 2))
            found.append(functional.cross_entropy(logits.float(), wanted))
        return torch.stack(found)

    def features(self, images: Any) -> Any:
        """Return members × images × features for images seen by all members."""
        maps = images.permute(0, 3, 1, 2)
        return torch.stack([member.features(maps) for member in self.members])

    def logits(self, images: Any) -> Any:
        """Return members × images × classes."""
        maps = images.permute(0, 3, 1, 2)
        return torch.stack([member(maps) for member in self.members])
