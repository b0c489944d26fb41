"""`pelago.simulate` returns the report of the command."""

import json
import subprocess

import pytest

import pelago
from conftest import COMMAND


@pytest.fixture(autouse=True)
def _named(monkeypatch):
    monkeypatch.setenv("PELAGO", COMMAND)


def by_command(tmp_path, *options):
    report = tmp_path / "report.json"
    line = [COMMAND, "sim", *options[0], "--quiet", "--report", report, *options[1]]
    ended = subprocess.run(line, capture_output=True, text=True, check=True, timeout=120)
    return json.loads(report.read_text()), ended.stdout


@pytest.mark.parametrize(
    "named, options",
    [
        ({}, []),
        ({"seed": 7, "per_node": 2}, ["--seed", "7", "--per-node", "2"]),
        ({"settings": {"rail.link.cable_ns": "2us"}}, ["--set", "rail.link.cable_ns=2us"]),
        ({"protocol": True, "faults": "loss=0.1", "seed": 3}, ["--protocol", "--faults", "loss=0.1", "--seed", "3"]),
    ],
)
def test_the_report_is_the_commands(tmp_path, named, options):
    report = pelago.simulate("ring", "rx200-qdr", ranks=8, **named)
    expected, output = by_command(tmp_path, ["-n", "8", "--machine", "rx200-qdr", *options], ["ring"])
    assert report.pop("output") == output
    assert report == expected
    assert [row["rank"] for row in report["ranks"]["rows"]] == list(range(8))


def test_python_programs_are_simulated_and_repeatable(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, numpy as np, pelago\n"
        "def main(world):\n"
        "    words = world.array(1, np.int64)\n"
        "    world.compute(world.rank * 1e-6)\n"
        "    words.fetch_add(0, 0, int(sys.argv[1]))\n"
        "    world.barrier()\n"
        "    return print(words.local[0], round(world.now() * 1e9)) if world.rank == 0 else None\n"
        "pelago.run(main)\n"
    )
    one, other = (pelago.simulate(program, "rx200-qdr", ranks=64, arguments=[3]) for _ in range(2))
    assert one == other and one["output"].split()[0] == "192"
    assert one["ranks"]["count"] == 64 and one["job"]["end_ps"] >= 63_000_000


def test_output_that_is_no_text_is_escaped(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import os, sys, pelago\n"
        "pelago.run(lambda world: os.write(1, b'\\xff\\n') if world.rank == 0 else None)\n"
        "sys.exit(os.write(2, b'\\xfe') if sys.argv[1:] else 0)\n"
    )
    assert pelago.simulate(program, "rx200-qdr", ranks=2)["output"] == "\\xff\n"
    with pytest.raises(RuntimeError, match=r"\\xfe"):
        pelago.simulate(program, "rx200-qdr", ranks=2, arguments=["fail"])


def test_mistakes_are_told(monkeypatch):
    with pytest.raises(TypeError, match="list of arguments"):
        pelago.simulate("ring", "rx200-qdr", ranks=2, arguments="-n 3")
    with pytest.raises(RuntimeError, match="no-such-machine"):
        pelago.simulate("ring", "no-such-machine", ranks=2)
    with pytest.raises(RuntimeError, match="rail.nothing"):
        pelago.simulate("ring", "rx200-qdr", ranks=2, settings={"rail.nothing": 1})
    monkeypatch.delenv("PELAGO")
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(FileNotFoundError, match="PATH"):
        pelago.simulate("ring", "rx200-qdr", ranks=2)
