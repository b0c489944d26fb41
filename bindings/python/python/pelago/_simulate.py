"""Programs on simulated machines."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def simulate(
    program: str | os.PathLike[str],
    machine: str | os.PathLike[str],
    *,
    ranks: int,
    arguments: Sequence[object] = (),
    settings: Mapping[str, object] | None = None,
    per_node: int | None = None,
    seed: int | None = None,
    heap: str | int | None = None,
    stack: str | int | None = None,
    protocol: bool = False,
    data: str | None = None,
    faults: str | None = None,
    compute: str | None = None,
    time_limit: float | None = None,
    command: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Simulates a program by `pelago sim`, and returns its report.

    `program` is a bundled program (`pelago run --list`), a program in Rust or C, or a Python program (`.py`, run by this interpreter). `machine` is a bundled machine
    (`pelago sim --list`) or a file. `settings` replaces values of the machine: `{"rail.link.cable_ns": "1.2us"}`. Other arguments are the options of the command of the
    same name; `command` is its path, by default `PELAGO` of the environment or `pelago` in `PATH`.

    The report has the values of the file of `pelago sim --report`: times are in picoseconds. `report["ranks"]["rows"]`, `report["latencies"]` and
    `report["links"]["busiest"]` are lists of dictionaries, from which data frames are made. `report["output"]` is what the program printed; bytes that are no UTF-8 are escaped.

    Raises FileNotFoundError without the command, and RuntimeError with its message if it fails.
    """
    if isinstance(arguments, (str, bytes)):
        raise TypeError("arguments is a list of arguments, not one text")
    found = os.fspath(command) if command is not None else os.environ.get("PELAGO") or shutil.which("pelago")
    if not found:
        raise FileNotFoundError("the command pelago is not in PATH: install it, or name it by command= or PELAGO")
    options = {
        "--per-node": per_node,
        "--seed": seed,
        "--heap": heap,
        "--stack": stack,
        "--data": data,
        "--faults": faults,
        "--compute": compute,
        "--time-limit": time_limit,
    }
    name = os.fspath(program)
    started = [sys.executable, name] if name.endswith(".py") else [name]
    with tempfile.TemporaryDirectory(prefix="pelago-") as folder:
        report = Path(folder) / "report.json"
        line = [found, "sim", "-n", str(ranks), "--machine", os.fspath(machine), "--quiet", "--report", str(report)]
        line += [text for option, value in options.items() if value is not None for text in (option, str(value))]
        line += [text for path, value in (settings or {}).items() for text in ("--set", f"{path}={value}")]
        line += ["--protocol"] if protocol else []
        ended = subprocess.run(
            line + started + [str(argument) for argument in arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # Programs may print bytes that are no text.
            errors="backslashreplace",
            check=False,
        )
        if ended.returncode != 0:
            raise RuntimeError(ended.stderr.strip() or f"pelago sim ended with exit code {ended.returncode}")
        if not report.exists():
            raise RuntimeError("the program ended without a simulation: does it call pelago.run?")
        found_report: dict[str, Any] = json.loads(report.read_text())
    found_report["output"] = ended.stdout
    return found_report
