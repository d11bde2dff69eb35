"""Write the picture of a report, light and dark: ``python docs/_tools/report_picture.py``.

It is the top of the page of the first result of ``upto demo``, in Chromium. Each file carries the
words that it shows, so that a test can tell whether it is of today.
"""

import io
import re
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo

import upto
from upto.core import Result
from upto.files import bundled_path

FOLDER = Path(__file__).parents[1] / "_static"
SCHEMES = ("light", "dark")
WIDTH, SCALE, MARGIN = 1120, 1.5, 48
"""Width of the window, pixels of the file for each of its own, and room around what is shown."""
COLOURS = 96
"""As many as a page of few colours needs; the file is a third as large."""
WORDS = "shows"


def comparison() -> Result:
    """Return the first result of ``upto demo``, whose page is shown."""
    resnets = bundled_path("cifar_resnets")
    return upto.compare(f"{resnets}::resnet20", f"{resnets}::resnet32", labels="label", seed=0)


def words(result: Result) -> str:
    """Return the text of the part of the page that is shown: name, verdict, numbers and errors."""
    page = upto.Report([result]).html()
    main = page.partition("<main")[2].partition("Spread of errors")[0]
    shown = re.sub(r"<(script|style)\b.*?</\1>|<[^>]*>", " ", f"<main{main}", flags=re.DOTALL)
    return " ".join(shown.split())


def words_in(picture: Path) -> str:
    """Return the words that a written picture carries."""
    with Image.open(picture) as image:
        return str(image.text[WORDS])


def write(result: Result) -> None:
    """Write the picture in every colour scheme."""
    from playwright.sync_api import sync_playwright

    carried = PngInfo()
    carried.add_text(WORDS, words(result), zip=True)
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        page_file = upto.Report([result]).write(Path(folder, "report.html"))
        browser = started.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        for scheme in SCHEMES:
            page = browser.new_page(
                viewport={"width": WIDTH, "height": 1200},
                device_scale_factor=SCALE,
                color_scheme=scheme,
            )
            page.goto(page_file.as_uri())
            top = page.locator("main").bounding_box()["y"] + 2
            last = page.locator(".errors").first.bounding_box()
            shown = {"x": 0, "y": top, "width": WIDTH, "height": last["y"] + last["height"] - top}
            shown["height"] += MARGIN
            image = Image.open(io.BytesIO(page.screenshot(clip=shown))).convert("RGB")
            image = image.quantize(COLOURS)
            image.save(FOLDER / f"report-{scheme}.png", optimize=True, pnginfo=carried)
        browser.close()


if __name__ == "__main__":
    write(comparison())
