import json

import pytest

from upto.report.markup import Inert, element, json_block, shorten, tell_apart

HOSTILE = "</script><img src=x onerror='alert(\"1\")'>&\u2028\u2029"


def test_an_element_escapes_attributes_and_children() -> None:
    written = element("a", HOSTILE, Inert("<b/>"), data_tip=HOSTILE, class_="x", r=None, cx=1.50)
    assert written.count("<") == 3
    assert "<b/>" in written
    assert 'class="x"' in written
    assert 'cx="1.5"' in written
    assert " r=" not in written
    assert "'" not in written


def test_json_cannot_end_its_script_and_reads_back() -> None:
    written = json_block({"name": HOSTILE})
    assert not set(written) & set("<>&\u2028\u2029")
    assert json.loads(written) == {"name": HOSTILE}


def test_json_has_no_number_a_browser_cannot_read() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        json_block([float("nan")])


@pytest.mark.parametrize("length", [9, 10])
def test_a_long_text_keeps_both_ends(length: int) -> None:
    short = shorten("abcdefghijklmnopqrstuvwxyz", length)
    assert len(short) == length
    assert short.startswith("abcd")
    assert short.endswith("wxyz")
    assert shorten("abc", 3) == "abc"


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["m/seed-1/l.npy", "m/seed-2/l.npy"], ["seed-1", "seed-2"]),
        (["a.npy", "b.npy"], ["a", "b"]),
        (["run-1", "run-10"], ["run-1", "run-10"]),
        (["x/a", "x/a"], ["x/a", "x/a"]),
        (["m/1.npy", "m/11.npy"], ["1", "11"]),
        (["c:\\m\\1.npy", "c:\\m\\2.npy"], ["1", "2"]),
        (["alone"], ["alone"]),
    ],
)
def test_shared_folders_and_endings_are_left_out(names: list[str], short: list[str]) -> None:
    assert tell_apart(names) == short
