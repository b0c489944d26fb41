"""Jobs of Python programs. `PELAGO` names the command, or it is in `PATH`."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

COMMAND = os.environ.get("PELAGO") or shutil.which("pelago") or "pelago"

PLATFORMS = {
    "shm": ["run", "-n", "{ranks}", "--time-limit", "60"],
    "udp": ["run", "-n", "{ranks}", "--time-limit", "60", "--transport", "udp"],
    "simulated": ["sim", "-n", "{ranks}", "--machine", "rx200-qdr", "--quiet", "--time-limit", "60"],
}


class Job:
    """How a job is started."""

    def __init__(self, options: list[str], folder: Path) -> None:
        self.options, self.folder = options, folder
        self.environment: dict[str, str] = {}

    def start(self, program: str | Path, *arguments: object, ranks: int = 4) -> subprocess.CompletedProcess[str]:
        """Runs a program, or the text of one, to its end."""
        if isinstance(program, str):
            path = self.folder / "program.py"
            path.write_text(textwrap.dedent(program))
            program = path
        options = [option.format(ranks=ranks) for option in self.options]
        line = [COMMAND, *options, sys.executable, str(program), *map(str, arguments)]
        return subprocess.run(line, capture_output=True, text=True, timeout=120, check=False, env=os.environ | self.environment)

    def lines(self, program: str | Path, *arguments: object, ranks: int = 4) -> list[str]:
        """The lines of a program that ends well, sorted."""
        ended = self.start(program, *arguments, ranks=ranks)
        assert ended.returncode == 0, ended.stderr
        return sorted(ended.stdout.splitlines())


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The driver without a device, as the tests of Rust compile it."""
    folder = Path(__file__).parents[3] / "foundation/cuda"
    out = tmp_path_factory.mktemp("driver")
    source = "#define WATER static\n" + (folder / "kernels/water.h").read_text() + (folder / "mock/driver.c").read_text()
    (out / "driver.c").write_text(source)
    flags = ["-std=gnu11", "-O1", "-ffp-contract=off", "-shared", "-fPIC", "-pthread"]
    subprocess.run(["cc", *flags, out / "driver.c", "-o", out / "libmock.so", "-ldl"], check=True)
    return out / "libmock.so"


@pytest.fixture(params=PLATFORMS)
def job(request: pytest.FixtureRequest, tmp_path: Path) -> Job:
    """A job on each platform."""
    return Job(PLATFORMS[request.param], tmp_path)


@pytest.fixture(params=["shm", "udp"])
def real(request: pytest.FixtureRequest, tmp_path: Path) -> Job:
    """A job of processes."""
    return Job(PLATFORMS[request.param], tmp_path)
