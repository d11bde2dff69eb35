import base64
import hashlib
import html
import re
from importlib import resources
from pathlib import Path

import pytest
from browser import sample_results as sample

import upto.questions
from upto.core import InputError
from upto.core.references import bibtex
from upto.report import Report

HOSTILE = "</script><img src=x onerror=alert(1)>"


def test_a_usual_page_is_small() -> None:
    rows = sample.scatter(n_rows=2000)
    assert len(Report([sample.comparison(rows=rows)]).html().encode()) < 300_000


def test_the_title_says_which_runs_and_which_question() -> None:
    def title_of(*results) -> str:
        return re.search(r"<title>(.*?)</title>", Report(results).html())[1]

    shown = title_of(sample.comparison(first="one", second="two"))
    assert shown == "one → two · compare · upto"
    assert title_of(sample.comparison(), sample.unmixed()) == "2 results · upto"


def test_a_page_is_written_whole_and_returns_its_path(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    report = Report([sample.comparison()])
    assert report.write(str(path)) == path
    assert path.read_text(encoding="utf-8") == report.html()
    assert list(tmp_path.iterdir()) == [path]


def test_a_page_that_cannot_be_made_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr("upto.report.page.summarise", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        Report([sample.comparison()]).write(path)
    assert path.read_text() == "old"


def test_no_results_no_report() -> None:
    with pytest.raises(InputError, match="at least one result"):
        Report([])


def test_the_policy_holds_the_hashes_of_what_the_page_contains() -> None:
    page = Report([sample.comparison()]).html()
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    for tag in ("style", "script"):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src &#39;sha256-{digest}&#39;" in policy
    assert policy.startswith("default-src &#39;none&#39;")
    assert "unsafe" not in policy


def test_the_page_names_nothing_to_load() -> None:
    page = Report([sample.comparison(), sample.matrix()]).html()
    # The citation may give an address, as text.
    page = re.sub(r'<pre id="bibtex".*?</pre>', "", page, flags=re.DOTALL)
    assert re.findall(r"https?:|//cdn|@import|url\(|<iframe|<object", page) == []
    assert set(re.findall(r'(?:src|href)="([^"#][^"]*)"', page)) == {"data:,"}


def test_hostile_names_are_escaped_everywhere() -> None:
    pair = sample.comparison(first=HOSTILE, verdict=HOSTILE)
    many = sample.matrix(n_runs=3, names=(HOSTILE, "b", "c"))
    page = Report([pair, many]).html()
    assert "<img" not in page
    assert page.count("</script>") == 3


def test_a_notebook_shows_the_page_as_a_document_of_its_own() -> None:
    report = Report([sample.comparison(first='<b>"it\'s"')])
    shown = report._repr_html_()
    source = re.fullmatch(r'<iframe title="Report" srcdoc="([^"]*)" style="[^"]*"></iframe>', shown)
    assert source is not None
    assert html.unescape(source[1]) == report.html()


def test_names_that_no_encoding_can_write_do_not_stop_the_page(tmp_path: Path) -> None:
    path = Report([sample.comparison(first="run\udce9.npy")]).write(tmp_path / "report.html")
    page = path.read_text(encoding="utf-8")
    assert "run" in page
    assert page.rstrip().endswith("</html>")


def test_templates_never_switch_escaping_off() -> None:
    templates = resources.files("upto.report").joinpath("templates")
    names = sorted(entry.name for entry in templates.iterdir())
    assert {"page.html", "page.css", "page.js"} <= set(names)
    for name in names:
        text = templates.joinpath(name).read_text(encoding="utf-8")
        if name.endswith(".html"):
            assert not re.search(r"\|\s*safe|autoescape|\sstyle=|\son[a-z]+=", text), name
    own = sorted(Path(upto.questions.__file__).parent.glob("*/*.html"))
    assert own
    for path in own:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\|\s*safe|autoescape|\sstyle=|\son[a-z]+=", text), path.parent.name
    script = templates.joinpath("page.js").read_text(encoding="utf-8")
    assert not re.search(r"innerHTML|insertAdjacentHTML|eval\(|localStorage|fetch\(", script)


def test_contents_only_for_several_results() -> None:
    assert 'class="contents"' not in Report([sample.comparison()]).html()
    assert 'class="contents"' in Report([sample.comparison(), sample.matrix()]).html()


def test_the_citation_names_the_version_and_the_paper() -> None:
    text = bibtex(version="9.8.7")
    assert "version = {9.8.7}" in text
    assert "{2603.11970}" in text
    assert text.count("{") == text.count("}")
