"""Compute the family ANI-1x of the study `model-pairs`: states of eight networks at carbon atoms.

Needs ``pip install torchani==2.2.4 ase "setuptools<81"`` (MIT, LGPL) beside torch::

    python -m checks.ani1x_states FOLDER/reps/ani1x.npz

Inputs are the molecules of ASE's G2 set that have carbon, and no elements but H, C, N and O, each
in several geometries near the one of the set: the networks were trained on displaced atoms. A state
is the layer of 96 units before the energy of an atom. ``groups`` numbers the molecules, which are
held out whole.
"""

import sys
import warnings
from pathlib import Path

import numpy as np

MEMBERS = 8
ELEMENTS = "HCNO"
GEOMETRIES = 24
DISPLACED = 0.05
"""Standard deviation of a coordinate, in Å."""
SEED = 0
MOST_APART = 0.005
"""Standard deviation of the members' energies in hartree, above which something was misread."""
METHANE = -40.50
"""Energy of methane in hartree, by the density functional that the networks were trained on."""


def molecules():
    """Return the names and atoms of the molecules."""
    from ase.build import molecule
    from ase.collections import g2

    found = {name: molecule(name) for name in g2.names}
    return {
        name: atoms
        for name, atoms in found.items()
        if "C" in (symbols := atoms.get_chemical_symbols())
        and set(symbols) <= set(ELEMENTS)
        and len(symbols) > 1
        and not atoms.get_initial_magnetic_moments().any()
    }


def load():
    """Return what turns coordinates into features of atoms, the members, and energies of atoms."""
    with warnings.catch_warnings():
        # Parts for CUDA and for training, which are not installed, are not needed.
        warnings.simplefilter("ignore")
        import torchani
        from torchani import neurochem
    folder = Path(torchani.__file__).parent / "resources" / "ani-1x_8x"
    constants = neurochem.Constants(str(folder / "rHCNO-5.2R_16-3.5A_a4-8.params"))
    shifts = neurochem.load_sae(str(folder / "sae_linfit.dat"))
    members = neurochem.load_model_ensemble(constants.species, str(folder / "train"), MEMBERS)
    return constants.species_to_tensor, torchani.AEVComputer(**constants), list(members), shifts


def last_hidden(network, inputs):
    """Return the values of the layer before the last."""
    for layer in list(network)[:-1]:
        inputs = layer(inputs)
    return inputs


def main(out):
    """Write the states of all carbon atoms, after a look at the energies."""
    import torch

    convert, features_of, members, shifts = load()
    rng = np.random.default_rng(SEED)
    states, groups, apart = [[] for _ in members], [], []
    for number, (name, atoms) in enumerate(molecules().items()):
        symbols = atoms.get_chemical_symbols()
        moved = rng.normal(scale=DISPLACED, size=(GEOMETRIES, len(atoms), 3))
        places = torch.tensor(atoms.positions + moved, dtype=torch.float32)
        species = convert(symbols).expand(GEOMETRIES, -1)
        with torch.no_grad():
            features = features_of((species, places))
            inputs = features.aevs[species == convert(["C"])]
            for member, own in zip(members, states, strict=True):
                own.append(last_hidden(member["C"], inputs).numpy())
            energies = np.array([shifts(member(features)).energies.numpy() for member in members])
        apart.append(float(energies.std(axis=0).mean()))
        groups += [number] * len(inputs)
        if name == "CH4" and abs(energies.mean() - METHANE) > 0.1:
            message = f"methane has an energy of {energies.mean():.2f}, not {METHANE} hartree."
            raise ValueError(message)
    if not np.median(apart) < MOST_APART:
        message = f"the members' energies are {np.median(apart):.4f} hartree apart."
        raise ValueError(message)
    rows = [np.concatenate(own) for own in states]
    print(
        f"{len(apart)} molecules, {len(groups)} carbon atoms; energies of the members of a "
        f"molecule are {np.median(apart):.4f} hartree apart (median standard deviation)"
    )
    np.savez_compressed(
        out,
        groups=np.array(groups, dtype=np.int32),
        **{f"member{n}": own.astype(np.float16) for n, own in enumerate(rows)},
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
