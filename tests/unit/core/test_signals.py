"""Signals that are held back come later, and then as before."""

from __future__ import annotations

import signal
import threading

import pytest

from upto.signals import ENDING_SIGNALS, hold_signals


@pytest.fixture(autouse=True)
def handlers():
    """Let every signal raise, as in a command."""

    def interrupt(number, frame):
        raise KeyboardInterrupt

    before = [signal.signal(number, interrupt) for number in ENDING_SIGNALS]
    yield [interrupt] * len(ENDING_SIGNALS)
    for number, handler in zip(ENDING_SIGNALS, before, strict=True):
        signal.signal(number, handler)


def those_set():
    return [signal.getsignal(number) for number in ENDING_SIGNALS]


@pytest.mark.parametrize("number", ENDING_SIGNALS)
def test_a_signal_is_raised_at_the_end_of_the_block(number, handlers):
    done = []

    def work():
        with hold_signals():
            signal.raise_signal(number)
            done.append(number)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == [number]
    assert those_set() == handlers


@pytest.mark.parametrize("call", range(1, 2 * len(ENDING_SIGNALS) + 1))
def test_no_signal_is_held_for_ever_if_one_comes_while_handlers_are_set(
    call, handlers, monkeypatch
):
    calls, real = [], signal.signal

    def interrupted(number, handler):
        before = real(number, handler)
        calls.append(number)
        if len(calls) == call:
            raise KeyboardInterrupt
        return before

    monkeypatch.setattr(signal, "signal", interrupted)
    with pytest.raises(KeyboardInterrupt), hold_signals():
        pass
    monkeypatch.undo()
    assert those_set() == handlers


def test_other_threads_hold_nothing(handlers):
    seen = []

    def look():
        with hold_signals():
            seen.extend(those_set())

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == handlers
