"""Progress is shown where someone looks: bars at a prompt or in a notebook, lines in a log."""

from __future__ import annotations

import inspect
import io
import os
import subprocess
import sys
import time
from functools import partial
from threading import Thread, active_count
from types import SimpleNamespace

import numpy as np
import pytest

import upto
from upto.core import InputError, Progress, SilentProgress, choose_progress, progress_bar
from upto.core.progress import PARTS
from upto.core.progress_bar import LineProgress, NotebookProgress, RichProgress
from upto.question import questions


class Terminal(io.StringIO):
    """A stream that calls itself a terminal."""

    def isatty(self):
        return True


def on_terminal(monkeypatch) -> Terminal:
    """Make stderr a terminal; a fixture would be undone by pytest's capture."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    return stream


def until(seen) -> None:
    """Wait for a thread that shows progress, however busy the machine is."""
    end = time.monotonic() + 20
    while not seen():
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.fixture
def kernel(monkeypatch):
    """Return what a notebook would be sent."""
    sent = []

    def display(data, *, raw, display_id, update):
        assert raw
        sent.append((display_id, update, data["text/html"], data["text/plain"]))

    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    return sent


def test_a_log_has_a_line_now_and_then():
    told = []
    watched = LineProgress(say=told.append, first=0.02, every=0.05)
    with watched.task("evaluate conditions", 9) as advance:
        advance(2)
        until(lambda: len(told) >= 2)
    assert told[0] == "upto: evaluate conditions, 2 of 9 after 0:00, 0:00 left"


def test_the_time_left_runs_down_during_a_step(monkeypatch):
    now = [50.0]
    monkeypatch.setattr(progress_bar, "time", SimpleNamespace(monotonic=lambda: now[0]))
    task = progress_bar._Task("evaluate", 4)
    now[0] += 60
    assert task.left == ""
    task.advance(1)
    assert str(task) == "evaluate, 1 of 4 after 1:00, 3:00 left"
    now[0] += 20
    assert task.left == "2:41 left"
    # A step that takes as long as all of them should have is not the end.
    now[0] += 160
    assert task.left == "1:06 left"
    task.advance(3)
    assert task.left == ""


def test_parts_of_the_time_are_shown_as_a_share(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress_bar, "time", SimpleNamespace(monotonic=lambda: now[0]))
    task = progress_bar._Task("compare", PARTS)
    now[0] += 42
    task.advance(4200)
    assert str(task) == "compare, 42% after 0:42, 0:58 left"


def test_short_work_says_nothing_in_a_log():
    told = []
    with LineProgress(say=told.append).task("look at rows", 3):
        time.sleep(0.02)
    assert told == []


def test_the_next_task_waits_for_its_line_too():
    told = []
    watched = LineProgress(say=told.append, first=0.02, every=60)
    with watched.task("first", 1):
        until(lambda: told)
    with watched.task("second", 1):
        time.sleep(0.06)
    assert [line.split(",")[0] for line in told] == ["upto: first"]


def test_nested_tasks_share_a_line_and_steps_come_from_any_thread():
    told = []
    watched = LineProgress(say=told.append, first=0.2, every=60)
    with watched.task("outer", 3) as outer, watched.task("inner", 0) as inner:
        steps = [Thread(target=inner, args=(2,)) for _ in range(4)]
        outer(1)
        for step in steps:
            step.start()
        for step in steps:
            step.join()
        until(lambda: told)
    assert told == ["upto: outer, 1 of 3 after 0:00, 0:00 left; inner, 8 after 0:00"]


def test_the_outer_task_is_shown_again_when_the_inner_one_is_over():
    told = []
    watched = LineProgress(say=told.append, first=0, every=0.01)
    with watched.task("outer", 3):
        with watched.task("inner", 2):
            until(lambda: any("inner" in line for line in told))
        told.clear()
        until(lambda: len(told) > 1)
    assert told[-1] == "upto: outer, 0 of 3 after 0:00"


def test_an_error_ends_the_task_and_its_thread():
    before = active_count()
    watched = LineProgress(say=lambda _: None, first=0, every=0.01)
    with pytest.raises(ZeroDivisionError), watched.task("work", 1):
        _ = 1 / 0
    assert active_count() == before


def test_work_goes_on_when_nobody_can_read():
    tried = []

    def fail(line):
        tried.append(line)
        raise BrokenPipeError

    with LineProgress(say=fail, first=0, every=0.01).task("work", 2) as advance:
        until(lambda: len(tried) > 1)
        advance(2)
    assert set(tried) == {"upto: work, 0 of 2 after 0:00"}


def test_a_terminal_has_one_bar_for_each_open_task(monkeypatch):
    terminal = on_terminal(monkeypatch)
    watched = RichProgress(every=0.01)
    with watched.task("[bold]outer\x1b", 2) as outer:
        outer(1)
        with watched.task("inner", 0):
            until(lambda: "inner" in terminal.getvalue())
    shown = terminal.getvalue()
    assert "[bold]outer\\u001b" in shown
    assert "1 of 2" in shown
    assert shown.rstrip().endswith("\x1b[2K")  # erased


def test_a_bar_after_some_seconds_leaves_short_work_alone(monkeypatch):
    terminal = on_terminal(monkeypatch)
    with RichProgress(first=60).task("work", 2):
        time.sleep(0.05)
    assert terminal.getvalue() == ""


def test_a_notebook_has_one_output_that_changes_and_ends_empty(kernel):
    def shown(text):
        return any(sent[3].startswith(text) for sent in kernel)

    watched = NotebookProgress(every=0.02)
    for label in ("read <rows>", "compare"):
        with watched.task(label, 4) as advance:
            advance(1)
            with watched.task("inner", 0):
                until(partial(shown, f"{label}, 1 of 4 after 0:00, 0:00 left\ninner, 0 after"))
    assert len({name for name, *_ in kernel}) == 1
    assert [update for _, update, *_ in kernel] == [False] + [True] * (len(kernel) - 1)
    page, text = next(sent[2:] for sent in kernel if "inner" in sent[2])
    assert 'read &lt;rows&gt; <progress value="1" max="4"></progress> 1 of 4' in page
    assert "inner <progress></progress> 0" in page
    assert text.splitlines()[0] == "read <rows>, 1 of 4 after 0:00, 0:00 left"
    assert kernel[-1][2:] == ("", "")


def test_where_nobody_asked_scripts_and_logs_are_silent():
    assert isinstance(choose_progress(None), SilentProgress)
    assert isinstance(choose_progress(False), SilentProgress)


def test_a_script_on_a_terminal_is_silent_unless_asked(monkeypatch):
    on_terminal(monkeypatch)
    assert isinstance(choose_progress(None), SilentProgress)
    assert isinstance(choose_progress(True), RichProgress)


def test_a_prompt_has_bars_after_two_seconds(monkeypatch):
    terminal = on_terminal(monkeypatch)
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    watched = choose_progress(None)
    assert isinstance(watched, RichProgress)
    with watched.task("work", 1):
        time.sleep(0.2)
    assert terminal.getvalue() == ""


def test_a_prompt_whose_stderr_is_a_file_has_none(monkeypatch):
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    assert isinstance(choose_progress(None), SilentProgress)


def test_a_terminal_that_cannot_erase_has_lines(monkeypatch):
    on_terminal(monkeypatch)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(choose_progress(True), LineProgress)


def test_no_stream_at_all_is_no_error(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    watched = choose_progress(True)
    watched._next = 0
    before = active_count()
    with watched.task("work", 1):
        time.sleep(0.02)
    assert active_count() == before


def test_a_notebook_has_bars_whether_asked_or_not(kernel):
    assert isinstance(choose_progress(None), NotebookProgress)
    with choose_progress(True).task("work", 1):
        until(lambda: kernel)
    assert kernel[0][2].startswith("<div>work <progress")


def test_a_receiver_of_ones_own_is_used():
    class Mine:
        def task(self, label: str, total: int):
            raise NotImplementedError

    mine = Mine()
    assert choose_progress(mine) is mine


@pytest.mark.parametrize("wrong", ["yes", 1, 0, [], SilentProgress, object()])
def test_anything_else_is_one_sentence(wrong):
    with pytest.raises(InputError, match=r"^progress is .*True, False, None or an object with"):
        choose_progress(wrong)


WATCHED = [each.name for each in questions() if each.name != "diversity"]
"""`diversity` is algebra on one small matrix and reports nothing."""


@pytest.mark.parametrize("name", WATCHED)
def test_every_question_takes_progress(name):
    parameter = inspect.signature(getattr(upto, name)).parameters["progress"]
    assert parameter.default is None
    assert parameter.annotation == "Progress | bool | None"


def test_a_wrong_value_is_found_before_the_work():
    with pytest.raises(InputError, match="progress is 'yes'"):
        upto.inspect(np.zeros((4, 2)), progress="yes")


def test_a_question_reports_to_standard_error_only(capsys, rng):
    upto.inspect(rng.normal(size=(40, 3)), progress=True)
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_a_process_without_a_terminal_writes_lines():
    program = (
        "import time\nfrom upto.core import choose_progress\n"
        "watched = choose_progress(True)\nwatched._next = 0\n"
        "with watched.task('work', 3):\n    time.sleep(0.3)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=os.environ, check=True
    )
    assert (done.stdout, done.stderr) == ("", "upto: work, 0 of 3 after 0:00\n")


def test_the_protocol_is_what_bars_have():
    bars: list[Progress] = [LineProgress(), RichProgress(), NotebookProgress(), SilentProgress()]
    assert all(callable(each.task) for each in bars)
