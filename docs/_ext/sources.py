"""The sources of the library, of which kept outputs are until one changes."""

import hashlib
from pathlib import Path

import upto

DATA = Path(__file__).parents[1] / "tutorials" / "data"
SOURCES = Path(upto.__file__).parents[1]
BUNDLED = SOURCES / "upto" / "files" / "bundled"


def fingerprint():
    """Return a digest of the package, its data and those of the tutorials."""
    digest = hashlib.sha256()
    for path in sorted(SOURCES.glob("upto*/**/*.*")):
        if path.suffix != ".pyc" and path.is_file():
            digest.update(f"{path.relative_to(SOURCES)} {path.stat().st_size}\n".encode())
            digest.update(path.read_bytes())
    for path in sorted(DATA.iterdir()):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def without_folder(page):
    """Return a page that names bundled files alone, not where they are when the site is built."""
    return page.replace(f"{BUNDLED}/", "")
