"""The programs of the book: each prints what its page says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import COMMAND, PLATFORMS, Job

EXAMPLES = Path(__file__).parents[1] / "examples"

BOOK = Path(__file__).parents[3] / "docs/book/src"


def programs(page):
    """The programs in Python that a page shows in full."""
    shown = re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    return [program for program in shown if "pelago.run(" in program]


@pytest.mark.parametrize("page", [BOOK / "getting-started/python.md", Path(__file__).parents[1] / "README.md"])
def test_the_first_program_prints_the_number_of_the_left_neighbour_and_one(job, page):
    [program] = programs(page)
    assert job.lines(program) == ["rank 0 holds 4", "rank 1 holds 1", "rank 2 holds 2", "rank 3 holds 3"]


def test_heat_has_the_bits_of_the_program_in_rust(job):
    """`PELAGO_HEAT` names the program of the tutorial in Rust."""
    rust = os.environ.get("PELAGO_HEAT")
    if not rust:
        pytest.skip("PELAGO_HEAT names no program in Rust")
    options = [option.format(ranks=4) for option in job.options]
    ended = subprocess.run([COMMAND, *options, rust, "--bits"], capture_output=True, text=True, check=True, timeout=120)
    expected = sorted(ended.stdout.splitlines())
    assert expected[1] == "heat on 4 ranks after 200 steps: 43224.311078"
    assert job.lines(EXAMPLES / "heat.py", "--bits") == expected


def test_particles_are_the_same_for_every_number_of_ranks(tmp_path):
    alone = Job(PLATFORMS["shm"], tmp_path).lines(EXAMPLES / "particles.py", ranks=1)
    assert alone[0].startswith("10000 particles after 50 steps")
    for platform in PLATFORMS.values():
        together = Job(platform, tmp_path).lines(EXAMPLES / "particles.py", ranks=4)
        assert together[0] == alone[0] and together[1].endswith("moved to another rank")


def test_a_sweep_takes_longer_with_longer_cables(tmp_path):
    environment = {**os.environ, "PELAGO": COMMAND}
    line = [sys.executable, EXAMPLES / "sweep.py", EXAMPLES / "heat.py"]
    ended = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True, timeout=300)
    rows = [line.split() for line in ended.stdout.splitlines()[1:11]]
    times = {ranks: [float(row[2]) for row in rows if row[0] == ranks] for ranks in ("4", "16")}
    assert all(times[ranks] == sorted(times[ranks]) and times[ranks][0] < times[ranks][-1] for ranks in times)
