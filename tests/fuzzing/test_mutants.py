"""Some mutants of every format; `make fuzz` reads ten thousand."""

from __future__ import annotations

import pytest

from fuzzing.judging import COMMANDS, READERS, judge
from fuzzing.seeds import SEEDS

_SLOW = {"result_comparison": 40, "result_matrix": 40, "result_others": 40}
_SLOW |= {"zarr2": 60, "zarr3": 60, "checkpoint": 60}
_MANY = 200
_FEW = 60


def failures(name, numbers, **options):
    verdicts = [judge(name, number, **options) for number in numbers]
    return [
        f"{each.format} {each.number}: {each.outcome}, {each.says[-800:]}"
        for each in verdicts
        if not each.is_fine and each.outcome != "alone"
    ]


@pytest.mark.parametrize("name", sorted(SEEDS))
def test_a_mutant_is_refused_in_one_line_or_read_as_its_library_reads_it(name):
    assert failures(name, range(_FEW)) == []


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_refuses_a_mutant_in_one_line_or_answers(name):
    assert failures(name, range(3), command=True) == []


def test_every_seed_is_read():
    assert set(SEEDS) == set(READERS)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SEEDS))
def test_more_mutants_are_refused_or_read(name):
    assert failures(name, range(_FEW, _FEW + _SLOW.get(name, _MANY))) == []
