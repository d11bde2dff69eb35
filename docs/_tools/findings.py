"""Write `docs/findings/`: an index and one page for each code of `upto.core.RULES`.

Run it after a change of the catalogue: ``python docs/_tools/findings.py``. The example of each page
is run to get the message it shows.
"""

from pathlib import Path

from upto.core import RULES, Rule

FOLDER = Path(__file__).parents[1] / "findings"
NOTE = "<!-- Written by docs/_tools/findings.py; change upto/core/finding.py instead. -->\n\n"

EXAMPLES = {
    "UP001": """\
rng = np.random.default_rng(0)
result = upto.inspect(rng.laplace(size=(100, 30)), ica=False)
""",
    "UP002": """\
rows = np.random.default_rng(0).laplace(size=(300, 4))
result = upto.inspect(np.hstack([rows, rows[:, :1]]), ica=False)
""",
    "UP003": """\
rng = np.random.default_rng(0)
result = upto.inspect(rng.normal(size=(2000, 4)))
""",
    "UP004": """\
rng = np.random.default_rng(0)
result = upto.unmix(rng.laplace(size=(1000, 8)), max_iterations=2)
""",
    "UP005": """\
rng = np.random.default_rng(0)
result = upto.compare(rng.laplace(size=(2000, 3)), rng.laplace(size=(2000, 3)))
""",
    "UP006": """\
rng = np.random.default_rng(0)
rows = rng.laplace(size=(300, 3))
first = upto.Embeddings(rows=rows[:250], name="first", ids=np.arange(250))
second = upto.Embeddings(rows=rows[50:] + 1, name="second", ids=np.arange(50, 300))
result = upto.compare(first, second, ica=False)
""",
    "UP007": """\
rows = np.random.default_rng(0).laplace(size=(300, 3))
result = upto.inspect(np.vstack([rows, rows[:20]]), ica=False)
""",
    "UP008": """\
rows = np.random.default_rng(0).laplace(size=(2000, 4))
rows[:, 3] = rows[:, :3].sum(axis=1) + 1e-8 * rows[:, 3]
result = upto.unmix(rows.astype(np.float32))
""",
    "UP009": """\
rng = np.random.default_rng(0)
result = upto.compare(rng.laplace(size=(300, 3)), rng.laplace(size=(300, 3)), ica=False)
""",
    "UP010": """\
rng = np.random.default_rng(0)
rows = rng.laplace(size=(30, 40))
result = upto.compare(rows, rows + 0.1 * rng.normal(size=(30, 40)), ica=False)
""",
    "UP011": """\
rows = np.random.default_rng(0).laplace(size=(5000, 3))
rows[0] += 1000
result = upto.inspect(rows, ica=False)
""",
    "UP012": """\
rows = np.random.default_rng(0).uniform(size=(300, 2))
result = upto.compare(rows, rows[:, ::-1], lipschitz=1.0, refits=0)
""",
    "UP013": """\
rows = np.random.default_rng(0).laplace(size=(300, 3))
rows[:, 1] = 7
result = upto.inspect(rows, ica=False)
""",
    "UP014": """\
rows = np.random.default_rng(0).laplace(size=(300, 3))
result = upto.compare(rows, rows, ica=False)
""",
    "UP015": """\
rng = np.random.default_rng(0)
rows = rng.laplace(size=(20, 2))
result = upto.compare(rows, rows + 0.01 * rng.normal(size=(20, 2)), ica=False)
""",
    "UP016": """\
rng = np.random.default_rng(0)
rows = rng.laplace(size=(300, 5))
result = upto.compare(rows, rows + 0.1 * rng.normal(size=(300, 5)))
""",
    "UP017": """\
rng = np.random.default_rng(0)
rows = rng.laplace(size=(100, 40))
result = upto.compare(rows, rows + rng.laplace(size=(100, 40)), ica=False)
""",
    "UP018": """\
rows = np.random.default_rng(0).laplace(size=(300, 4))
result = upto.compare(rows, rows[:, :3], ica=False)
""",
    "UP019": """\
rng = np.random.default_rng(0)
first, second = rng.normal(size=(2, 1000, 32))
first[:, 0] = second[:, 0] = 30 * rng.normal(size=1000)
result = upto.compare(first, second, ica=False)
""",
    "UP020": """\
rows = np.random.default_rng(0).laplace(size=(300, 4))
named = upto.Embeddings(rows=rows, name="named", ids=np.arange(300))
result = upto.compare(named, rows + 1, ica=False)
""",
    "UP021": """\
rows = np.random.default_rng(0).laplace(size=(1000, 2))
result = upto.unmix(np.vstack([rows, rows[:, ::-1]]))
""",
    "UP022": """\
rng = np.random.default_rng(0)
result = upto.unmix(rng.normal(size=(500, 2)), restarts=10)
""",
    "UP023": """\
rng = np.random.default_rng(0)
rows = np.hstack([rng.laplace(size=(3000, 2)), rng.normal(size=(3000, 3))])
result = upto.unmix(rows)
""",
    "UP024": """\
rng = np.random.default_rng(0)
rows = rng.laplace(size=(3000, 4))
result = upto.similarity(rows, rows + rng.normal(size=(3000, 4)), measures="linear-cka")
""",
    "UP025": """\
first, second = np.random.default_rng(0).laplace(size=(2, 300, 4))
result = upto.similarity(first, second, measures="linear-cka")
""",
    "UP026": """\
rng = np.random.default_rng(0)
rows = rng.laplace(size=(9, 4))
second = rows + 0.1 * rng.normal(size=(9, 4))
result = upto.similarity(rows, second, measures=["linear-cka", "mutual-knn:10"])
""",
    "UP027": """\
first, second = np.random.default_rng(0).laplace(size=(2, 40, 4))
plates = np.minimum(np.arange(40), 9)
result = upto.similarity(first, second, measures="linear-cka", within=plates)
""",
    "UP029": """\
rng = np.random.default_rng(0)
result = upto.unmix(rng.laplace(size=(640, 64)))
""",
    "UP030": """\
rng = np.random.default_rng(0)
rows = rng.laplace(size=(400, 4))
runs = [rows + 0.1 * rng.normal(size=rows.shape) for _ in range(3)]
result = upto.consensus(*runs, rng.laplace(size=(400, 4)))
""",
    "UP031": """\
rng = np.random.default_rng(0)
shared = rng.laplace(size=(2000, 1))
runs = [np.hstack([shared, rng.laplace(size=(2000, 3))]) for _ in range(3)]
result = upto.consensus(*runs, up_to="ica")
""",
    "UP032": """\
sources = np.random.default_rng(0).laplace(size=(3000, 6))
ring = sources + np.roll(sources, -1, axis=1)
result = upto.consensus(ring[:, [0, 3]], ring[:, [1, 4]], ring[:, [2, 5]], up_to="ica")
""",
    "UP033": """\
rng = np.random.default_rng(0)
steps = rng.laplace(size=(4000, 3))
result = upto.unmix(steps[1:] + steps[:-1])
""",
    "UP034": """\
rng = np.random.default_rng(0)
first = rng.normal(size=(500, 8)) * [1, 1, 1, 1, 0.1, 0.1, 0.1, 0.1]
second = first.copy()
second[:, 4:] = 0.1 * rng.normal(size=(500, 4))
result = upto.compare(first, second, ica=False)
""",
    "UP035": """\
rng = np.random.default_rng(0)
rows = rng.laplace(size=(400, 20))
result = upto.compare(rows, rows @ np.linalg.qr(rng.normal(size=(20, 20)))[0])
""",
    "UP036": """\
rng = np.random.default_rng(0)
first, second = rng.normal(size=(2, 500, 4)).cumsum(axis=1)
result = upto.compare(first, second, ica=False)
""",
    "UP037": """\
rng = np.random.default_rng(0)
first, second = (
    np.repeat(rng.normal(size=(60, 4)), 5, axis=0) + 1e-3 * rng.normal(size=(300, 4))
    for _ in range(2)
)
result = upto.compare(first, second, ica=False)
""",
    "UP038": """\
rng = np.random.default_rng(0)
label = rng.integers(0, 5, 500)
means = 5 * rng.normal(size=(5, 4))
first, second = (means[label] + rng.normal(size=(500, 4)) for _ in range(2))
result = upto.compare(first, second, labels=label, ica=False)
""",
    "UP039": """\
rng = np.random.default_rng(0)
first, second = rng.normal(size=(2, 200, 4))
first[:5] *= 50
second[:5] *= 50
result = upto.similarity(first, second, measures="linear-cka")
""",
    "UP040": """\
rows = np.random.default_rng(0).laplace(size=(200, 4))
first = {"conv": rows, "relu": np.zeros_like(rows)}
result = upto.layers(first, {"conv": rows + 1, "relu": rows})
""",
    "UP041": """\
rng = np.random.default_rng(1)
first, second = ({"a": rng.normal(size=(200, 4))} for _ in range(2))
result = upto.layers(first, second)
""",
    "UP028": """\
first, second = np.random.default_rng(0).laplace(size=(2, 4, 2))
result = upto.similarity(first, second, measures="linear-cka")
""",
    "UP050": """\
latents = np.random.default_rng(0).normal(size=(300, 4))
result = upto.lipschitz(latents, decoder=lambda z: z[:, [0, 1, 1, 0, 3]])
""",
    "UP051": """\
latents = np.random.default_rng(0).normal(size=(300, 4))
result = upto.lipschitz(latents, decoder=lambda z: z**3 / 3)
""",
    "UP052": """\
latents = np.random.default_rng(0).normal(size=(100, 40))
result = upto.lipschitz(latents, decoder=lambda z: z.exp(), method="lanczos", steps=8)
""",
    "UP053": """\
latents = np.random.default_rng(0).normal(size=(20, 4))
result = upto.lipschitz(latents, decoder=lambda z: z.sin())
""",
    "UP054": """\
latents = np.random.default_rng(0).normal(size=(300, 4))
result = upto.lipschitz(latents, decoder=lambda z: 5 * z)
""",
    "UP055": """\
rng = np.random.default_rng(0)
latents = np.tile(rng.normal(size=(100, 2)), (2, 1))
result = upto.lipschitz(latents, latents + 0.1 * rng.normal(size=(200, 2)))
""",
    "UP056": """\
latents = np.random.default_rng(0).normal(size=(300, 4))
result = upto.lipschitz(latents, decoder=lambda z: z.float().tanh())
""",
    "UP057": """\
rows = np.random.default_rng(0).uniform(size=(300, 2))
result = upto.compare(rows, np.exp(rows), lipschitz=0.0, refits=0)
""",
    "UP060": """\
rng = np.random.default_rng(0)
factors = rng.integers(4, size=(300, 2))
result = upto.factors(rng.normal(size=(300, 4)), factors, scores="mig", forms="raw")
""",
    "UP061": """\
rng = np.random.default_rng(0)
factors = rng.integers(4, size=(300, 2))
published = "infomec/modularity@latent_quantization"
result = upto.factors(rng.normal(size=(300, 4)), factors, scores=published, forms="raw")
""",
    "UP062": """\
latents = np.random.default_rng(0).uniform(size=(300, 2))
factors = {"x": latents[:, 0], "light": np.ones(300)}
result = upto.factors(latents, factors, scores="mig", forms="raw")
""",
    "UP063": """\
latents = np.random.default_rng(0).uniform(size=(300, 2))
labels = np.where(latents[:, 0] < 0.1, np.nan, latents[:, 0])
result = upto.factors(latents, {"x": labels}, scores="mig", forms="raw")
""",
    "UP064": """\
latents = np.random.default_rng(0).uniform(size=(300, 2))
factors = {"x": np.round(10 * latents[:, 0] ** 4)}
result = upto.factors(latents, factors, scores="mig", forms="raw")
""",
    "UP065": """\
factors = np.random.default_rng(0).uniform(size=(300, 3))
result = upto.factors(factors[:, :2], factors, scores="mig", forms="raw")
""",
    "UP066": """\
factors = np.random.default_rng(0).uniform(size=(300, 2))
latents = factors * [1, 0] + np.random.default_rng(1).normal(size=(300, 2)) * [0, 1]
result = upto.factors(latents, factors, scores="mig", forms="raw")
""",
    "UP067": """\
latents = np.random.default_rng(0).uniform(size=(300, 2))
factors = {"x": latents[:, 0], "shape": np.where(latents[:, 1] < 0.5, "cube", "ball")}
result = upto.factors(latents, factors, scores="mig", forms="raw")
""",
    "UP068": """\
latents = np.random.default_rng(0).uniform(size=(300, 2))
factors = {"x": latents[:, 0], "y": latents.sum(axis=1)}
result = upto.factors(latents, factors, scores="mig", forms="raw")
""",
    "UP069": """\
factors = np.random.default_rng(0).uniform(size=(300, 2))
latents = np.column_stack([factors.sum(axis=1), np.random.default_rng(1).normal(size=300)])
result = upto.factors(latents, factors, scores="mig", forms="raw")
""",
    "UP070": """\
rng = np.random.default_rng(0)
factors = rng.integers(4, size=(300, 2))
published = "infomec/explicitness@latent_quantization"
result = upto.factors(rng.normal(size=(300, 4)), factors, scores=published, forms="raw")
""",
    "UP090": """\
latents = np.random.default_rng(0).uniform(size=(300, 2))
factors = {"x": latents[:, 0]}
names = "infomec/modularity"
result = upto.factors(latents, factors, scores=names, forms="raw")
""",
    "UP087": """\
prior = ([0.5, 0.5], [[0, 0], [4, 1]], [[1, 1], [1, 4]])
result = upto.mixture(prior, rows=np.random.default_rng(0).laplace(size=(500, 2)))
""",
    "UP088": """\
from upto.theory import PiecewiseNetwork

fold = PiecewiseNetwork(weights=[[[1.0], [-1.0]], [[1.0, 1.0]]])  # |z|
result = upto.mixture(([0.5, 0.5], [[-2], [3]], [[1], [2]]), decoder=fold)
""",
    "UP091": """\
result = upto.mixture(([0.5, 0.5], [[0, 0], [4, 1]], [np.eye(2), np.zeros((2, 2))]))
""",
    "UP092": """\
result = upto.mixture(([0.5, 0.5], [[0, 0], [4, 1]], [[1, 1], [2, 2.1]]))
""",
    "UP093": """\
result = upto.mixture(([0.001, 0.999], [[0, 0], [4, 1]], [[1, 1], [1, 4]]))
""",
    "UP094": """\
result = upto.mixture(([1.0], [[0, 0]], [[1, 4]]))
""",
    "UP095": """\
result = upto.mixture(([0.5, 0.5], [[0, 0], [0.1, 0]], [[1, 1], [1, 1.5]]))
""",
    "UP096": """\
three = ([0.2, 0.3, 0.5], [[0], [4], [9]], [[1], [2], [1]])
result = upto.mixture(three, ([0.5, 0.5], [[0], [4]], [[1], [2]]), draws=0)
""",
    "UP097": """\
first = ([0.5, 0.5], [[0, 0], [4, 1]], [[1, 1], [1, 4]])
result = upto.mixture(first, ([0.5, 0.5], [[7, 0], [0, 3]], [[1, 4], [1, 1]]))
""",
    "UP098": """\
result = upto.mixture(([0.5, 0.5], [[0, 0], [4, 1]], [[1, 1], [1, 4]]))
""",
    "UP099": """\
prior = ([0.5, 0.5], [[0, 0], [4, 1]], [[1, 1], [1, 4]])
result = upto.mixture(prior, up_to="scaled-permutation")
""",
    "UP100": """\
rng = np.random.default_rng(0)
prior = ([0.5, 0.5], [[0, 0], [9, 1]], [[1, 1], [1, 4]])
rows = np.repeat([[0, 0], [9, 1]], 40, axis=0) + rng.uniform(-1, 1, size=(80, 2))
result = upto.mixture(prior, prior, rows=[rows, rng.permutation(rows)], draws=0)
""",
    "UP101": """\
rng = np.random.default_rng(0)
old = rng.laplace(size=(300, 5))
index = np.vstack([rng.laplace(size=(700, 5)), rng.laplace(size=(300, 5)) + 8])
new = (old @ rng.normal(size=(5, 6))).round(6)
result = upto.align(old, new, up_to="affine", metric="euclidean", apply=index)
""",
    "UP102": """\
rng = np.random.default_rng(0)
old = rng.laplace(size=(300, 5))
new = (old + rng.laplace(size=(300, 5))) * rng.lognormal(0, 1, size=(300, 1))
result = upto.align(old, new, up_to="affine", metric="inner-product")
""",
    "UP103": """\
rng = np.random.default_rng(0)
old = rng.normal(size=(1500, 3))
new = np.hstack([old, 2 * np.sin(2 * old)])
result = upto.align(old, new)
""",
    "UP104": """\
rng = np.random.default_rng(0)
old = rng.laplace(size=(150, 60))
new = (old @ rng.normal(size=(60, 60)) + rng.normal(size=(150, 60))).round(6)
result = upto.align(old, new, up_to="affine")
""",
    "UP105": """\
rng = np.random.default_rng(0)
old = rng.laplace(size=(1000, 5))
new = (old @ rng.normal(size=(5, 6)) + 0.1 * rng.normal(size=(1000, 6))).round(6)
result = upto.align(old, new, up_to="affine", index_size=200_000)
""",
    "UP106": """\
rng = np.random.default_rng(0)
old = rng.laplace(size=(200, 5))
result = upto.align(old, (old @ rng.normal(size=(5, 6))).round(6), up_to="affine")
""",
    "UP107": """\
rng = np.random.default_rng(0)
old = rng.laplace(size=(400, 5))
result = upto.align(old, 2 * old + 0.1 * rng.normal(size=(400, 5)), up_to="rigid")
""",
    "UP108": """\
rng = np.random.default_rng(0)
old = rng.laplace(size=(400, 5))
result = upto.align(old, (old @ rng.normal(size=(5, 6))).round(6), up_to="affine", at=(10, 50))
""",
    "UP109": """\
rng = np.random.default_rng(0)
old = rng.laplace(size=(1000, 4))
new = 3 * old[:, ::-1]
result = upto.align(old, new, up_to="rigid", metric="inner-product")
""",
    "UP110": """\
rng = np.random.default_rng(0)
old = rng.laplace(size=(400, 5))
new = (old @ rng.normal(size=(5, 6))).round(6)
new[3] = np.nan
result = upto.align(old, new, up_to="affine", bad_rows="drop")
""",
    "UP071": """\
rng = np.random.default_rng(0)
plate, gene = np.repeat(np.arange(8), 30), np.tile(["DMSO", "MTOR"], 120)
gene[(plate > 2) & (gene == "MTOR")] = "DMSO"
wells = upto.Embeddings(rows=rng.normal(size=(240, 3)), columns={"plate": plate, "gene": gene})
quick = {"classifier": "linear", "conditions": "base", "mixing": False, "maps": False}
result = upto.batches(wells, batch="plate", label="gene", control="DMSO", **quick)
""",
    "UP072": """\
rng = np.random.default_rng(0)
plate, gene = np.repeat(np.arange(8), 30), np.tile(["DMSO", "MTOR"], 120)
well = np.tile([f"A{number:02d}" for number in range(30)], 8)
columns = {"plate": plate, "gene": gene, "well": well}
wells = upto.Embeddings(rows=rng.normal(size=(240, 3)), columns=columns)
quick = {"classifier": "linear", "conditions": "base", "mixing": False, "maps": False}
result = upto.batches(wells, batch="plate", label="gene", control="DMSO", **quick)
""",
    "UP073": """\
rng = np.random.default_rng(0)
plate, gene = np.repeat(np.arange(8), 30), np.tile(["DMSO", "MTOR"], 120)
well = np.tile([f"A{number:02d}" for number in range(15)], 16)
columns = {"plate": plate, "gene": gene, "well": well}
wells = upto.Embeddings(rows=rng.normal(size=(240, 3)), columns=columns)
quick = {"classifier": "linear", "conditions": "base", "mixing": False, "maps": False}
result = upto.batches(wells, batch="plate", label="gene", control="DMSO", **quick)
""",
    "UP074": """\
rng = np.random.default_rng(0)
plate, gene = np.repeat(np.arange(8), 30), np.tile(["DMSO", "MTOR"], 120)
rows = rng.normal(size=(240, 3))
rows[30::30] = rows[0]
wells = upto.Embeddings(rows=rows, columns={"plate": plate, "gene": gene})
quick = {"classifier": "linear", "conditions": "base", "mixing": False, "maps": False}
result = upto.batches(wells, batch="plate", label="gene", control="DMSO", **quick)
""",
    "UP075": """\
rng = np.random.default_rng(0)
plate, gene = np.repeat(np.arange(8), 30), np.tile(["DMSO", "MTOR"], 120)
gene[:3] = "PLK1"
wells = upto.Embeddings(rows=rng.normal(size=(240, 3)), columns={"plate": plate, "gene": gene})
quick = {"classifier": "linear", "conditions": "base", "mixing": False, "maps": False}
result = upto.batches(wells, batch="plate", label="gene", control="DMSO", **quick)
""",
    "UP076": """\
rng = np.random.default_rng(0)
plate, gene = np.repeat(np.arange(8), 30), np.tile(["DMSO", "MTOR"], 120)
wells = upto.Embeddings(rows=rng.normal(size=(240, 3)), columns={"plate": plate, "gene": gene})
quick = {"classifier": "linear", "conditions": "random", "mixing": False, "maps": False}
result = upto.batches(wells, batch="plate", label="gene", control="DMSO", **quick)
""",
    "UP077": """\
rng = np.random.default_rng(3)
plate, gene = np.repeat(np.arange(8), 30), np.tile(["DMSO", "MTOR"], 120)
rows = rng.normal(size=(240, 1)) + 20 * (gene == "MTOR")[:, None]
wells = upto.Embeddings(rows=rows, columns={"plate": plate, "gene": gene})
quick = {"classifier": "linear", "conditions": "base", "mixing": False, "maps": False, "seed": 3}
result = upto.batches(wells, batch="plate", label="gene", control="DMSO", folds=2, **quick)
""",
    "UP078": """\
rng = np.random.default_rng(0)
plate = np.repeat(np.arange(16), 30)
treated = plate % 2 == 1
gene = np.where(rng.random(480) < np.where(treated, 0.9, 0.1), "MTOR", "DMSO")
rows = rng.normal(size=(480, 3)) + 4 * treated[:, None]
wells = upto.Embeddings(rows=rows, columns={"plate": plate, "gene": gene})
quick = {"classifier": "linear", "conditions": "base", "mixing": False, "maps": False}
result = upto.batches(wells, batch="plate", label="gene", control="DMSO", **quick)
""",
    "UP079": """\
rng = np.random.default_rng(0)
plate, gene = np.repeat(np.arange(8), 30), np.tile(["DMSO", "MTOR"], 120)
wells = upto.Embeddings(rows=rng.normal(size=(240, 3)), columns={"plate": plate, "gene": gene})
quick = {"classifier": "linear", "conditions": "base", "mixing": False, "maps": False}
result = upto.batches(wells, batch="plate", label="gene", control="DMSO", fit="all", **quick)
""",
    "UP080": """\
rng = np.random.default_rng(0)
plate = np.repeat(np.arange(16), 30)
gene = np.where(rng.random(480) < np.where(plate % 2, 0.9, 0.1), "MTOR", "DMSO")
rows = rng.normal(size=(480, 3)) + (gene == "MTOR")[:, None] + rng.normal(size=(16, 3))[plate] / 2
wells = upto.Embeddings(rows=rows, columns={"plate": plate, "gene": gene})
quick = {"classifier": "linear", "conditions": "batch-scaled", "maps": False}
result = upto.batches(wells, batch="plate", label="gene", control="DMSO", **quick)
""",
    "UP081": """\
rng = np.random.default_rng(0)
plate, gene = np.repeat(np.arange(4), 60), np.tile(["DMSO", "MTOR"], 120)
wells = upto.Embeddings(rows=rng.normal(size=(240, 3)), columns={"plate": plate, "gene": gene})
quick = {"classifier": "linear", "conditions": "base", "mixing": False, "maps": False}
result = upto.batches(wells, batch="plate", label="gene", control="DMSO", **quick)
""",
    "UP082": """\
rng = np.random.default_rng(0)
plate, gene = np.repeat(np.arange(8), 30), np.tile(["DMSO", "MTOR"], 120)
rows = rng.laplace(size=(240, 2)) + np.stack([plate + 2 * (gene == "MTOR"), 0 * plate], axis=1)
wells = upto.Embeddings(rows=rows, columns={"plate": plate, "gene": gene})
quick = {"classifier": "linear", "conditions": "base", "mixing": False, "maps": False}
result = upto.batches(wells, batch="plate", label="gene", control="DMSO", **quick)
""",
    "UP083": """\
rng = np.random.default_rng(0)
plate, gene = np.repeat(np.arange(8), 30), np.tile(["DMSO", "MTOR"], 120)
wells = upto.Embeddings(rows=rng.normal(size=(240, 3)), columns={"plate": plate, "gene": gene})
quick = {"classifier": "linear", "conditions": "control-scaled", "mixing": False, "maps": False}
result = upto.batches(wells, batch="plate", label="gene", control="DMSO", **quick)
""",
    "UP084": """\
rng = np.random.default_rng(0)
plate, gene = np.repeat(np.arange(12), 400), np.tile(["DMSO", "MTOR"], 2400)
rows = rng.laplace(size=(4800, 2)) + 3 * rng.normal(size=(12, 2))[plate]
wells = upto.Embeddings(rows=rows, columns={"plate": plate, "gene": gene})
quick = {"classifier": "linear", "conditions": "biology", "mixing": False, "maps": False}
result = upto.batches(wells, batch="plate", label="gene", control="DMSO", **quick)
""",
    "UP089": """\
rng = np.random.default_rng(0)
plate, gene = np.repeat(np.arange(8), 30), np.tile(["DMSO", "MTOR"], 120)
rows = rng.laplace(size=(240, 2)) + 3 * rng.normal(size=(8, 2))[plate]
wells = upto.Embeddings(rows=rows, columns={"plate": plate, "gene": gene})
quick = {"classifier": "linear", "conditions": "biology", "mixing": False, "maps": False}
result = upto.batches(wells, batch="plate", label="gene", control="DMSO", **quick)
""",
    "UP085": """\
rng = np.random.default_rng(0)
plate, gene = np.repeat(np.arange(8), 30), np.tile(["DMSO", " dmso", "MTOR"], 80)
wells = upto.Embeddings(rows=rng.normal(size=(240, 3)), columns={"plate": plate, "gene": gene})
quick = {"classifier": "linear", "conditions": "base", "mixing": False, "maps": False}
result = upto.batches(wells, batch="plate", label="gene", control="DMSO", **quick)
""",
    "UP086": """\
rng = np.random.default_rng(0)
plate, gene = np.repeat(np.arange(8), 30), np.tile(["DMSO", "MTOR"], 120)
rows = rng.normal(size=(240, 5))
rows[120:] = rows[:120] + 1e-6 * rng.normal(size=(120, 5))
wells = upto.Embeddings(rows=rows, columns={"plate": plate, "gene": gene})
quick = {"classifier": "linear", "conditions": "base", "mixing": False, "maps": False}
result = upto.batches(wells, batch="plate", label="gene", control="DMSO", **quick)
""",
}
"""For each code, the shortest code that raises it."""

INDEX = """\
# Findings

A finding points out something about a result that a reader should not miss: a code and the numbers
that raised it. Findings are printed to stderr, shown in the report, and stored in
`result.findings`. `upto explain UP003` prints the text of these pages.

A **warning** means that a number may be misleading; `upto compare --strict` exits with 1 if there
is one. A **note** requires no action. The meaning of a code never changes; numbers that are missing
from the list are not in use.

| code | | finding |
|---|---|---|
{rows}

```{{toctree}}
:hidden:

{codes}
```
"""

PAGE = """\
# {rule.code}: {rule.title}

*{severity}*

**What it means.** {rule.meaning}

**Why it matters.** {rule.matters}

**What to do.** {rule.remedy}
"""

EXAMPLE = """
## Example

```python
import numpy as np
import upto

{code}print([str(finding) for finding in result.findings if finding.code == "{rule.code}"][0])
```

```text
{message}
```
"""


def example_message(code: str) -> str:
    """Run the example of a code and return the text of the finding it raises."""
    import numpy as np

    import upto

    names = {"np": np, "upto": upto}
    exec(EXAMPLES[code], names)  # type: ignore[arg-type]
    return next(str(finding) for finding in names["result"].findings if finding.code == code)  # type: ignore[attr-defined]


def rule_page(rule: Rule) -> str:
    """Return the page of one finding."""
    text = NOTE + PAGE.format(rule=rule, severity=rule.severity.capitalize())
    if rule.code in EXAMPLES:
        code, message = EXAMPLES[rule.code], example_message(rule.code)
        text += EXAMPLE.format(rule=rule, code=code, message=message)
    return text


def index_page() -> str:
    """Return the list of all findings."""
    rows = "\n".join(
        f"| [{rule.code}]({rule.code}.md) | {rule.severity} | {rule.title} |"
        for rule in RULES.values()
    )
    return NOTE + INDEX.format(rows=rows, codes="\n".join(RULES))


def pages() -> dict[Path, str]:
    """Return every page by its path."""
    return {
        FOLDER / "index.md": index_page(),
        **{FOLDER / f"{code}.md": rule_page(rule) for code, rule in RULES.items()},
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    written = pages()
    for old in set(FOLDER.glob("*.md")) - set(written):
        old.unlink()
    for path, text in written.items():
        path.write_text(text, encoding="utf-8")
