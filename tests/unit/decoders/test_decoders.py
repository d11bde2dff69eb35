"""What can be a decoder, what is refused, and that a module is left as it was."""

import os
import sys
import zipfile

import numpy as np
import pytest
from decoders import orthogonal_decoder, smooth_decoder

import upto
from upto import InputError
from upto.core import MissingExtraError
from upto.decoders.chains import ChainLayer, layer_chain
from upto.decoders.decoder import find_decoder
from upto.decoders.exported import is_size

torch = pytest.importorskip("torch", reason="torch is not installed")
nn = torch.nn


@pytest.fixture
def latents(rng):
    return rng.normal(size=(30, 5))


def constants(found):
    return [point.lipschitz for point in found.points]


class Squares:
    """A decoder without torch: z → (z², z), with its own derivatives."""

    def __call__(self, points):
        return np.stack([points**2, points], axis=1)

    def jvp(self, points, directions):
        return np.stack([2 * points * directions, directions], axis=1)

    def vjp(self, points, cotangents):
        return 2 * points * cotangents[:, 0] + cotangents[:, 1]


class OnlyPushes:
    def jvp(self, points, directions):
        return 3.0 * directions


def exported(decoder, latents, path, **options):
    shapes = ({0: torch.export.Dim.DYNAMIC},)
    example = torch.tensor(latents, dtype=torch.float32)
    program = torch.export.export(decoder, (example,), **{"dynamic_shapes": shapes} | options)
    torch.export.save(program, path)
    return path


def scripted(decoder, path):
    with pytest.warns():
        torch.jit.script(decoder).save(path)
    return path


def test_a_module_its_files_and_a_function_of_it_agree(latents, tmp_path):
    decoder = smooth_decoder()
    double = smooth_decoder().double()
    expected = constants(upto.lipschitz(latents, decoder=decoder))
    for form in (
        exported(decoder, latents, tmp_path / "decoder.pt2"),
        scripted(decoder, tmp_path / "decoder.pt"),
        str(tmp_path / "decoder.pt"),
        lambda z: double(z),
        lambda z: (double(z), "something else"),
    ):
        found = upto.lipschitz(latents, decoder=form)
        np.testing.assert_allclose(constants(found), expected, rtol=1e-9)
        assert "UP056" not in codes(found)


def codes(found):
    return [finding.code for finding in found.findings]


class Autoencoder(nn.Module):
    """One whose decoder is a method."""

    def __init__(self):
        super().__init__()
        self.layers, self.norm = smooth_decoder(), nn.BatchNorm1d(12)

    def decode(self, z):
        return self.norm(self.layers(z))


def test_a_method_of_a_module_is_copied_with_it(latents):
    model = Autoencoder().eval()
    found = upto.lipschitz(latents, decoder=model.decode)
    assert found.decoder == "decode"
    assert "UP056" not in codes(found)
    double = Autoencoder().eval().double()
    expected = upto.lipschitz(latents, decoder=lambda z: double.decode(z))
    np.testing.assert_allclose(constants(found), constants(expected), rtol=1e-9)
    assert {each.dtype for each in model.parameters()} == {torch.float32}


def test_a_method_of_a_module_in_train_mode_is_refused_before_it_is_run(latents):
    model = Autoencoder()
    with pytest.raises(InputError, match=r"1 BatchNorm1d\): call its eval\(\) first"):
        upto.lipschitz(latents, decoder=model.decode)
    assert model.norm.num_batches_tracked == 0
    assert not model.norm.running_mean.any()


class Keeping(nn.Module):
    """It counts its calls and keeps what it computed."""

    def __init__(self):
        super().__init__()
        self.layer, self.calls, self.kept = nn.Linear(5, 9), 0, {}

    def forward(self, z):
        self.calls += 1
        self.kept["hidden"] = self.layer(z)
        return self.kept["hidden"]


def test_a_module_that_keeps_tensors_is_copied_and_not_called(latents):
    decoder = Keeping().eval()
    decoder(torch.zeros(1, 5))
    kept = decoder.kept["hidden"]
    found = upto.lipschitz(latents, decoder=decoder)
    assert "UP056" not in codes(found)
    assert decoder.calls == 1
    assert decoder.kept["hidden"] is kept
    assert found.certified is not None


def test_a_decoder_that_draws_numbers_takes_none_of_ours(latents):
    torch.manual_seed(3)
    state = torch.get_rng_state()
    with pytest.raises(InputError, match="outputs for the same latents differ"):
        upto.lipschitz(latents, decoder=lambda z: nn.functional.dropout(z))
    assert torch.equal(torch.get_rng_state(), state)


class Several(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.layer, self.kind = nn.Linear(5, 9), kind

    def forward(self, z):
        y = self.layer(z)
        return {"dict": {"scale": y.exp(), "mean": y}, "tuple": (y, [y.exp()])}[self.kind]


@pytest.mark.parametrize(("kind", "words"), [("dict", "scale, mean"), ("tuple", "0, 1.0")])
def test_a_decoder_with_several_outputs_is_refused_with_their_names(latents, kind, words):
    with pytest.raises(InputError, match=rf"Several returns 2 tensors \({words}\): wrap it in a"):
        upto.lipschitz(latents, decoder=Several(kind).eval())


class SinglePushes:
    """It computes in single precision, and two of its directions are one."""

    matrix = np.random.default_rng(0).normal(size=(5, 400)).astype(np.float32)
    matrix[4] = (matrix[0] + matrix[1]) / 3

    def jvp(self, points, directions):
        return directions.astype(np.float32) @ self.matrix


def test_single_precision_cannot_tell_a_lost_direction_from_zero(latents):
    found = upto.lipschitz(latents, decoder=SinglePushes())
    assert "UP056" in codes(found)
    assert "is zero within single precision at 30 of 30 points" in found.verdict
    assert "injective" not in found.verdict
    assert "UP050" not in codes(found)
    assert "at 30 of 30 points the smallest stretch rounds to zero" in str(found.findings)


def test_many_outputs_do_not_hide_a_direction_in_single_precision(latents):
    """An image has thousands of outputs: rounding grows with their root, not with their number."""
    matrix = torch.linalg.qr(torch.randn(12288, 5))[0].T * torch.logspace(0, -3, 5)[:, None]
    found = upto.lipschitz(latents, decoder=lambda z: z.float() @ matrix)
    assert found.spread("lipschitz").worst == pytest.approx(1e3, rel=1e-3)


@pytest.mark.parametrize("method", ["dense", "lanczos"])
def test_an_object_with_its_own_derivatives_needs_no_torch(latents, method):
    found = upto.lipschitz(latents, decoder=Squares(), method=method)
    for point in found.points:
        values = np.sqrt(4 * latents[point.row] ** 2 + 1)
        assert point.largest == pytest.approx(values.max(), rel=1e-9)
        assert point.smallest == pytest.approx(values.min(), rel=1e-9)


def test_an_object_may_know_nothing_but_how_directions_are_pushed(latents):
    found = upto.lipschitz(latents, decoder=OnlyPushes(), method="lanczos")
    assert found.method == "dense"
    assert found.secants is None
    assert found.spread("lipschitz").worst == pytest.approx(3.0)


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "my_decoders.py").write_text(
        "import torch\n"
        "class Double(torch.nn.Module):\n"
        "    def forward(self, z):\n        return 2 * z\n"
        "instance = Double()\n"
        "def make():\n    return Double()\n"
        "def double(z):\n    return 2 * z\n"
        "def nothing():\n    pass\n"
        "def fails():\n    raise OSError('weights.pt is missing')\n"
        "def breaks(z):\n    raise OSError('a disk is gone')\n"
        "def late():\n    from my_helper import double\n    return double\n"
        "def later(z):\n    from my_helper import double\n    return double(z)\n"
        "number = 3\n"
    )
    (tmp_path / "my_helper.py").write_text("def double(z):\n    return 2 * z\n")
    (tmp_path / "broken_decoders.py").write_text("1 / 0\n")
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    yield tmp_path
    assert sys.path == before
    for name in ("my_decoders", "my_helper", "broken_decoders"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("name", ["instance", "make", "double", "late", "later"])
def test_a_name_stands_for_a_module_a_maker_or_a_function(project, latents, name):
    found = upto.lipschitz(latents, decoder=f"my_decoders:{name}")
    assert found.decoder == name
    assert found.spread("lipschitz").worst == pytest.approx(2.0)


def test_only_a_name_is_looked_for_in_the_current_folder(project, latents):
    seen = []

    def decoder(z):
        seen.append(str(project) in sys.path)
        return z

    upto.lipschitz(latents, decoder=decoder)
    assert not any(seen)


def test_without_torch_it_is_said_what_needs_it(latents, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match="decoders that are torch modules or functions"):
        upto.lipschitz(latents, decoder=abs)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("my_decoders:mak", "my_decoders has no 'mak'; did you mean 'make'?"),
        ("my_decoders:zzzzzz", "has no 'zzzzzz'; check the name after the colon"),
        ("my_decoders:nothing", "my_decoders:nothing returned nothing"),
        ("my_decoders:fails", "fails when called (OSError: weights.pt is missing): check"),
        ("my_decoders:breaks", "breaks cannot take a batch of latents of shape (5,) (a disk is"),
        ("my_decoders:number", "int is not a decoder"),
        ("my_decoders:Double", "the class Double is not a decoder"),
        ("no_such_module:x", "the module no_such_module cannot be imported (ModuleNotFoundError"),
        ("broken_decoders:x", "the module broken_decoders cannot be imported (ZeroDivisionError"),
        ("no-such-file.pt2", "there is no file no-such-file.pt2, and it is not a name"),
    ],
)
def test_a_name_that_leads_nowhere_is_refused(project, latents, name, words):
    with pytest.raises(InputError) as refused:
        upto.lipschitz(latents, decoder=name)
    assert words in str(refused.value)


class Harmful:
    def __reduce__(self):
        return os.mkdir, ("harmed",)


def test_pickles_are_never_loaded(latents, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    decoder = smooth_decoder()
    torch.save(decoder, "whole.pt")
    torch.save(decoder.state_dict(), "state.pt")
    torch.save(Harmful(), "harmful.pt")
    torch.save(Harmful(), "harmful.pt2")
    torch.save(Harmful(), "legacy.pt", _use_new_zipfile_serialization=False)
    for name in ("whole.pt", "state.pt", "harmful.pt", "harmful.pt2"):
        with pytest.raises(
            InputError, match=r"contains Python objects \(a pickle\), which upto never"
        ):
            find_decoder(name)
    with pytest.raises(InputError, match="neither TorchScript nor an exported program"):
        find_decoder("legacy.pt")
    assert not (tmp_path / "harmed").exists()


@pytest.mark.parametrize(
    "hidden", ["data/sample_inputs/model.pt", "data/weights/model.pt", "weights", "constants"]
)
@pytest.mark.slow
def test_a_pickle_inside_an_exported_program_is_never_loaded(
    latents, tmp_path, monkeypatch, hidden
):
    """Torch itself unpickles these entries."""
    monkeypatch.chdir(tmp_path)
    exported(smooth_decoder(), latents, "good.pt2")
    torch.save(Harmful(), "harmful.pt")
    harmful = (tmp_path / "harmful.pt").read_bytes()
    lists = {
        "weights": ("data/weights/model_weights_config.json", "data/weights/weight_0"),
        "constants": ("data/constants/model_constants_config.json", "data/constants/opaque_obj_0"),
    }
    listing = (
        '{"config": {"0.weight": {"path_name": "%s", "is_param": true, "use_pickle": %s, '
        '"tensor_meta": null}}}'
    )
    with zipfile.ZipFile("good.pt2") as good, zipfile.ZipFile("bad.pt2", "w") as bad:
        replaced = {hidden: harmful}
        if hidden in lists:
            config, entry = lists[hidden]
            name = entry.rpartition("/")[2]
            flag = "true" if hidden == "weights" else "false"
            replaced = {config: (listing % (name, flag)).encode(), entry: harmful}
        for entry in good.namelist():
            folder, _, rest = entry.partition("/")
            bad.writestr(entry, replaced.pop(rest, good.read(entry)))
        for rest, content in replaced.items():
            bad.writestr(f"{folder}/{rest}", content)
    assert constants(upto.lipschitz(latents, decoder="good.pt2"))
    with pytest.raises(InputError, match="a pickle"):
        find_decoder("bad.pt2")
    assert not (tmp_path / "harmed").exists()


def rewritten(path, entry, change, target):
    """Write an archive again with one of its entries changed."""
    with zipfile.ZipFile(path) as good, zipfile.ZipFile(target, "w") as bad:
        for name in good.namelist():
            content = good.read(name)
            bad.writestr(name, change(content) if name.endswith(entry) else content)
    return target


def in_program(old, new):
    def change(content):
        changed = content.replace(old.encode(), new.encode())
        assert changed != content
        return changed

    return change


HARM = "__import__('os').mkdir('harmed')"
PROGRAMS = {
    "a size": in_program("Symbol(", f"{HARM} or Symbol("),
    "a size in a string": in_program("Symbol(", f'Max(\\"{HARM}\\", 2) + Symbol('),
    "the name of an input": in_program('"input"', f'"input={HARM}"'),
    "a step": in_program("torch.ops.aten.tanh.default", "torch.os.mkdir"),
    "a container": in_program("builtins.tuple", "collections.defaultdict"),
    "no program": lambda content: b"{}",
    "no JSON": lambda content: b"{",
}


@pytest.mark.parametrize("change", PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_that_does_more_than_compute_is_never_loaded(
    latents, tmp_path, monkeypatch, change
):
    """Torch evaluates sizes, runs code made of names and calls whatever a step names."""
    monkeypatch.chdir(tmp_path)
    good = exported(smooth_decoder(), latents, "good.pt2")
    bad = rewritten(good, "models/model.json", change, "bad.pt2")
    with pytest.raises(InputError, match="more than tensor computations"):
        find_decoder(bad)
    assert not (tmp_path / "harmed").exists()


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_program_of_an_older_format_inside_is_never_loaded(
    latents, tmp_path, monkeypatch, is_kept
):
    """Torch falls back on one, and unpickles its weights."""
    monkeypatch.chdir(tmp_path)
    good = exported(smooth_decoder(), latents, "good.pt2")
    torch.save(Harmful(), "harmful.pt")
    with zipfile.ZipFile(good) as archive, zipfile.ZipFile("bad.pt2", "w") as bad:
        for name in archive.namelist():
            if is_kept or not name.endswith("models/model.json"):
                bad.writestr(name, archive.read(name))
        bad.writestr("version", "8.15")
        bad.writestr("serialized_exported_program.json", b"{}")
        for part in ("state_dict", "constants", "example_inputs"):
            bad.write("harmful.pt", f"serialized_{part}.pt")
    with pytest.raises(InputError, match="neither TorchScript nor an exported program"):
        find_decoder("bad.pt2")
    assert not (tmp_path / "harmed").exists()


def test_guards_that_a_program_writes_as_code_are_not_run(latents, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    good = exported(smooth_decoder(), latents, "good.pt2")
    guards = in_program('"guards_code": []', f'"guards_code": ["{HARM} is None"]')
    bad = rewritten(good, "models/model.json", guards, "bad.pt2")
    assert upto.lipschitz(latents, decoder=bad).points
    assert not (tmp_path / "harmed").exists()


@pytest.mark.parametrize("listing", [b"", b"[]", b'{"config": [3]}', b'{"config": {"a": 3}}'])
def test_a_list_of_weights_that_cannot_be_read_is_refused(latents, tmp_path, listing):
    good = exported(smooth_decoder(), latents, tmp_path / "good.pt2")
    bad = rewritten(good, "weights_config.json", lambda content: listing, tmp_path / "bad.pt2")
    with pytest.raises(InputError):
        find_decoder(bad)


def test_programs_of_many_kinds_of_layers_are_loaded(latents, tmp_path):
    torch.manual_seed(0)
    decoder = nn.Sequential(
        nn.Linear(5, 24),
        nn.GELU(approximate="tanh"),
        nn.Unflatten(1, (3, 8)),
        nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0),
        nn.Unflatten(2, (4, 2)),
        nn.Upsample(scale_factor=2, mode="bilinear"),
        nn.Conv2d(3, 4, 3),
        nn.GroupNorm(2, 4),
        nn.Flatten(),
    ).eval()
    found = upto.lipschitz(latents, decoder=exported(decoder, latents, tmp_path / "deep.pt2"))
    expected = constants(upto.lipschitz(latents, decoder=decoder))
    np.testing.assert_allclose(constants(found), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("Symbol('s77', positive=True, integer=True)", True),
        ("Add(Mul(Integer(2), Symbol('s0', integer=True)), Integer(-1))", True),
        ("FloorDiv(s0, 2) + Max(1, Mod(s0, 3)) // 4", True),
        ("Float('1.5', precision=53)", True),
        (HARM, False),
        ("Symbol('s0').__class__", False),
        ("Max('exit()', 1)", False),
        ("lambda: 1", False),
        ("[s0 for s0 in (1, 2)]", False),
        ("lambdify(s0, s0)", False),
        ("s0 if s0 else 1", False),
        ("s0; s1", False),
        ("(" * 300 + "s0" + ")" * 300, False),
        ("1 +" * 5000 + "1", False),
    ],
)
def test_sizes_are_made_of_symbols_numbers_and_known_functions(text, is_one):
    assert is_size(text) is is_one


def test_compiled_code_weights_alone_and_other_files_are_refused(latents, tmp_path):
    exported(smooth_decoder(), latents, tmp_path / "good.pt2")
    with zipfile.ZipFile(tmp_path / "good.pt2", "a") as archive:
        archive.writestr("good/data/aotinductor/model/model.so", b"")
    with pytest.raises(InputError, match="contains compiled code"):
        find_decoder(tmp_path / "good.pt2")
    (tmp_path / "weights.safetensors").write_bytes(b"")
    with pytest.raises(InputError, match="contains only weights"):
        find_decoder(tmp_path / "weights.safetensors")
    (tmp_path / "table.pt").write_text("1,2,3")
    with pytest.raises(InputError, match="neither TorchScript nor an exported program"):
        find_decoder(tmp_path / "table.pt")


def test_the_module_is_left_as_it_was(latents):
    decoder = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.BatchNorm1d(7), nn.Dropout())
    decoder.eval()
    decoder[1].train()
    decoder[0].weight.grad = torch.ones_like(decoder[0].weight)
    before = {name: value.clone() for name, value in decoder.state_dict().items()}
    modes = [each.training for each in decoder.modules()]
    torch.manual_seed(3)
    state = torch.get_rng_state()
    upto.lipschitz(latents, decoder=decoder)
    assert torch.equal(torch.get_rng_state(), state)
    assert [each.training for each in decoder.modules()] == modes
    assert all(torch.equal(before[name], value) for name, value in decoder.state_dict().items())
    assert {value.dtype for value in decoder.parameters()} == {torch.float32}
    assert all(value.requires_grad for value in decoder.parameters())
    assert torch.equal(decoder[0].weight.grad, torch.ones_like(decoder[0].weight))


def test_a_module_that_cannot_be_copied_is_used_as_it_is(latents):
    class Uncopied(nn.Linear):
        def __deepcopy__(self, memo):
            message = "no copies"
            raise RuntimeError(message)

    torch.manual_seed(0)
    decoder = Uncopied(5, 9)
    found = upto.lipschitz(latents, decoder=decoder)
    values = np.linalg.svd(decoder.weight.detach().numpy().astype(float), compute_uv=False)
    assert found.spread("lipschitz").worst == pytest.approx(
        max(values[0], 1 / values[-1]), rel=1e-4
    )
    assert [each.code for each in found.findings if each.code == "UP056"] == ["UP056"]
    assert decoder.weight.grad is None


def test_a_decoder_of_buffers_is_measured_where_gradients_are_off(latents):
    class Fixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("weight", 3.0 * torch.eye(5))

        def forward(self, z):
            return z @ self.weight

    decoder = Fixed()
    for context in (torch.no_grad, torch.inference_mode):
        with context():
            found = upto.lipschitz(latents, decoder=decoder)
        assert found.spread("lipschitz").worst == pytest.approx(3.0)
        assert "UP056" not in [finding.code for finding in found.findings]


def test_latents_with_more_axes_reach_the_decoder_in_their_shape(rng):
    torch.manual_seed(0)
    decoder = nn.Conv2d(2, 3, 3, padding=1).eval()
    points = rng.normal(size=(4, 2, 3, 3))
    found = upto.lipschitz(points, decoder=decoder, n_points=4)
    assert (found.n_latents, found.n_outputs) == (18, 27)
    where = torch.tensor(points[:1], dtype=torch.float32)
    jacobian = torch.autograd.functional.jacobian(decoder, where).numpy().reshape(27, 18)
    values = np.linalg.svd(jacobian, compute_uv=False)
    assert found.points[0].largest == pytest.approx(values[0], rel=1e-5)


CHAIN = nn.Sequential(nn.Linear(4, 6), nn.LeakyReLU(0.3), nn.Dropout(), nn.Linear(6, 8), nn.ReLU())


def test_a_chain_of_layers_is_read_from_its_graph():
    class Written(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = CHAIN[0], CHAIN[3]

        def forward(self, z):
            return torch.relu(self.second(nn.functional.leaky_relu(self.first(z), 0.3)))

    for module in (CHAIN.eval(), Written()):
        weights, leaks, biases = zip(*layer_chain(module), strict=True)
        assert leaks == (0.3, 0.0)
        assert [weight.shape for weight in weights] == [(6, 4), (8, 6)]
        assert np.array_equal(weights[0], CHAIN[0].weight.detach().numpy())
        assert np.array_equal(biases[1], CHAIN[3].bias.detach().numpy())
    (layer,) = layer_chain(nn.Sequential(nn.Linear(4, 6, bias=False)))
    assert not layer.bias.any()


@pytest.mark.parametrize(
    "module",
    [
        nn.Sequential(nn.Linear(4, 6), nn.Tanh()),
        nn.Sequential(nn.LeakyReLU(0.3), nn.Linear(4, 6)),
        nn.Sequential(nn.Linear(4, 6), nn.LeakyReLU(2.0)),
        nn.Sequential(),
    ],
)
def test_other_networks_are_no_chain(module):
    assert layer_chain(module) is None


def test_a_branch_is_no_chain():
    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, z):
            return z + self.layer(z)

    class Skipping(Residual):
        def forward(self, z):
            self.layer(z)
            return torch.relu(z)

    class Branching(Residual):
        def forward(self, z):
            return self.layer(z) if z.sum() > 0 else z

    assert layer_chain(Residual()) is None
    assert layer_chain(Skipping()) is None
    assert layer_chain(Branching()) is None


def hooked(register, hook):
    decoder = orthogonal_decoder(0.5, (4, 6, 8))
    getattr(decoder[0], register)(hook)
    return decoder


def patched():
    decoder = orthogonal_decoder(0.5, (4, 6, 8))
    decoder[1].forward = lambda z: 0.01 * z
    return decoder


@pytest.mark.parametrize(
    "decoder",
    [
        hooked("register_forward_hook", lambda module, inputs, output: 0.01 * output),
        hooked("register_forward_pre_hook", lambda module, inputs: (0.01 * inputs[0],)),
        patched(),
        nn.Sequential(nn.Linear(4, 6), nn.Unflatten(1, (2, 3)), nn.Linear(3, 5), nn.Flatten()),
        nn.Sequential(nn.Unflatten(1, (2, 2)), nn.Linear(2, 3), nn.Flatten(), nn.Linear(6, 7)),
    ],
    ids=["a hook", "a hook before", "another forward", "layers on parts", "parts first"],
)
@pytest.mark.slow
def test_a_network_that_is_more_than_its_layers_has_no_certificate(rng, decoder):
    found = upto.lipschitz(rng.normal(size=(20, 4)), decoder=decoder.eval())
    assert found.certified is None


def test_a_certificate_that_is_exceeded_is_not_given(rng, monkeypatch):
    narrow = (ChainLayer(np.linalg.qr(rng.normal(size=(12, 5)))[0], 1.0, np.zeros(12)),)
    monkeypatch.setattr("upto.decoders.torch_decoder.layer_chain", lambda module: narrow)
    points = rng.normal(size=(9, 5))
    assert upto.lipschitz(points, decoder=nn.Linear(5, 12).eval()).certified is None
    monkeypatch.setattr("upto.decoders.torch_decoder.layer_chain", lambda module: 1 / 0)
    assert upto.lipschitz(points, decoder=nn.Linear(5, 12).eval()).certified is None


def test_what_the_weights_certify_is_never_exceeded(rng):
    found = upto.lipschitz(rng.normal(size=(50, 16)), decoder=orthogonal_decoder(0.5))
    assert found.spread("lipschitz").worst <= found.certified.value == pytest.approx(4.0, rel=1e-5)
    relu = nn.Sequential(nn.Linear(3, 5), nn.ReLU()).eval()
    assert upto.lipschitz(rng.normal(size=(9, 3)), decoder=relu).certified.value is None
    assert upto.lipschitz(rng.normal(size=(9, 5)), decoder=smooth_decoder()).certified is None
