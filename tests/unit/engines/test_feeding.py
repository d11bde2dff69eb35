"""How blocks reach a GPU, on a machine without one: a simulation runs its streams at will.

The simulated device does nothing before it must, or everything at once, or draws lots: whatever the
order, every block the device works on must be the block that was read.
"""

from __future__ import annotations

import threading
from collections import deque
from types import SimpleNamespace

import numpy as np
import pytest

from upto.engines import device_rows as feeding
from upto.engines.blocks import slices_of


class Stream:
    """Operations in order: each runs when the device chooses this stream."""

    def __init__(self, device, name):
        self.device, self.name, self.queue = device, name, deque()

    def wait_event(self, event):
        recorded = event.recorded
        self.queue.append(lambda: event.done >= recorded)

    def wait_stream(self, other):
        event = Event(self.device)
        event.record(other)
        self.wait_event(event)

    def run_one(self):
        """Run the first operation; it stays where it is if it has to wait."""
        if self.queue and self.queue[0]() is not False:
            self.queue.popleft()
            return True
        return False


class Event:
    def __init__(self, device):
        self.device, self.recorded, self.done = device, 0, 0

    def record(self, stream):
        self.recorded += 1
        number = self.recorded
        stream.queue.append(lambda: setattr(self, "done", max(self.done, number)))

    def synchronize(self):
        wanted = self.recorded
        while self.done < wanted:
            self.device.step()


class Tensor:
    def __init__(self, device, array):
        self.device, self.array = device, array
        self.dtype, self.shape = array.dtype, array.shape

    def __getitem__(self, key):
        return Tensor(self.device, self.array[key])

    def numpy(self):
        return self.array

    def copy_(self, other, *, non_blocking):
        assert non_blocking

        def copy():
            self.array[...] = other.array
            self.device.n_copies += 1

        self.device.current.queue.append(copy)


class Device:
    """Two streams and the order in which they advance; memory starts as garbage."""

    type = "cuda"
    n_copies = 0

    def __init__(self, choose):
        self.choose, self.lock, self.local = choose, threading.Lock(), threading.local()
        self.streams = [Stream(self, "working")]
        self.torch = SimpleNamespace(
            empty=lambda shape, dtype, device, pin_memory=False: Tensor(
                self, np.full(shape, 77, dtype=dtype)
            ),
            from_numpy=lambda array: Tensor(self, array),
            cuda=SimpleNamespace(
                Event=lambda blocking=False: Event(self),
                Stream=self.new_stream,
                current_stream=lambda device: self.current,
                stream=self.using,
            ),
        )

    @property
    def current(self):
        """The stream of this thread."""
        return getattr(self.local, "stream", self.streams[0])

    def new_stream(self, device):
        self.streams.append(Stream(self, "copying"))
        return self.streams[-1]

    def using(self, stream):
        device, before = self, self.current

        class Using:
            def __enter__(self):
                device.local.stream = stream

            def __exit__(self, *_):
                device.local.stream = before

        return Using()

    def step(self):
        # The thread that reads and the one that works may both wait for the device.
        with self.lock:
            ran = any(stream.run_one() for stream in self.choose(self.streams))
            assert ran or not any(stream.queue for stream in self.streams), "a deadlock"

    def finish(self):
        while any(stream.queue for stream in self.streams):
            self.step()


def in_order(streams):
    return streams


def copies_first(streams):
    return streams[::-1]


def by_lot(seed):
    rng = np.random.default_rng(seed)
    return lambda streams: [streams[i] for i in rng.permutation(len(streams))]


ORDERS = {"work first": in_order, "copies first": copies_first}
ORDERS |= {f"by lot {seed}": by_lot(seed) for seed in range(5)}


@pytest.mark.parametrize("choose", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("eager", [0, 1, 3, 100])
@pytest.mark.parametrize("n_rows", [0, 5, 10, 95])
def test_the_device_works_on_the_block_that_was_read(choose, eager, n_rows, monkeypatch):
    device = Device(choose)
    monkeypatch.setattr(feeding, "load_torch", lambda: device.torch)
    rows = np.arange(n_rows * 3.0).reshape(n_rows, 3)
    weights = np.arange(n_rows, dtype=np.int16)
    blocks = slices_of(n_rows, 10)
    seen = []
    for _, (x, w) in zip(
        blocks,
        feeding._through_pinned_memory(device, [rows, weights], blocks),
        strict=True,
    ):
        look = [part.array for part in (x, w)]
        device.current.queue.append(lambda look=look: seen.append([a.copy() for a in look]))
        for _ in range(eager):
            device.step()
    device.finish()
    assert len(seen) == len(blocks)
    for block, (x, w) in zip(blocks, seen, strict=True):
        np.testing.assert_array_equal(x, rows[block])
        np.testing.assert_array_equal(w, weights[block])


def test_no_memory_is_written_while_earlier_work_may_read_it(monkeypatch):
    device = Device(copies_first)
    monkeypatch.setattr(feeding, "load_torch", lambda: device.torch)
    before = []
    device.current.queue.append(lambda: before.append(device.n_copies))
    feed = feeding._through_pinned_memory(device, [np.ones((40, 2))], slices_of(40, 10))
    for _ in feed:
        pass
    device.finish()
    assert before == [0]
    assert device.n_copies == 4


def test_no_memory_is_given_back_before_its_copies_ended(monkeypatch):
    device = Device(in_order)
    monkeypatch.setattr(feeding, "load_torch", lambda: device.torch)
    copy, copied = Tensor.copy_, []

    def fail_at_second(self, other, *, non_blocking):
        if copied:
            message = "the device is lost"
            raise RuntimeError(message)
        copied.append(self)
        copy(self, other, non_blocking=non_blocking)

    monkeypatch.setattr(Tensor, "copy_", fail_at_second)
    feed = feeding._through_pinned_memory(device, [np.ones((40, 2))] * 2, slices_of(40, 10))
    with pytest.raises(RuntimeError, match="the device is lost"):
        next(feed)
    working, copying = device.streams
    # What comes next on the working stream, such as new arrays in that memory, waits.
    left = []
    working.queue.append(lambda: left.append(len(copying.queue)))
    device.finish()
    assert left == [0]


def test_an_error_while_reading_reaches_the_caller(monkeypatch):
    device = Device(in_order)
    monkeypatch.setattr(feeding, "load_torch", lambda: device.torch)

    class Torn:
        shape, dtype = (30, 2), np.dtype("float64")

        def __getitem__(self, key):
            if key.start == 20:
                message = "torn page"
                raise OSError(message)
            return np.zeros((10, 2))

    blocks = slices_of(30, 10)
    feed = feeding._through_pinned_memory(device, [Torn()], blocks)
    next(feed)
    next(feed)
    with pytest.raises(OSError, match="torn page"):
        next(feed)


def test_resident_rows_are_not_copied(monkeypatch):
    device = Device(in_order)
    monkeypatch.setattr(feeding, "load_torch", lambda: device.torch)
    rows = feeding.DeviceRows(Tensor(device, np.arange(20.0).reshape(10, 2)), np.dtype("float64"))
    blocks = list(feeding._blocks(device, [rows], 4))
    assert [block for block, _ in blocks] == slices_of(10, 4)
    assert all(np.shares_memory(x.array, rows.tensor.array) for _, (x,) in blocks)
    assert len(device.streams) == 1
