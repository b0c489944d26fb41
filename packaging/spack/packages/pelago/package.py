# Copyright the Pelago developers. SPDX-License-Identifier: Apache-2.0 OR MIT
"""Spack recipe: spack repo add packaging/spack; spack install pelago."""

import os

from spack.package import *


class Pelago(Package):
    """One-sided (PGAS, RDMA) communication in Rust: library, launcher, simulator, and the C interfaces of OpenSHMEM and ACP."""

    homepage = "https://docs.rs/pelago"
    # To be set with the address of the public repository: url or git. Until then: spack dev-build pelago@main, in the sources.

    license("Apache-2.0 OR MIT")

    version("main")

    variant("fabric", default=True, description="Install libfabric, which Pelago opens at run time")

    depends_on("c", type="build")
    depends_on("rust@1.88:", type="build")
    depends_on("binutils", type="build")
    depends_on("libfabric@1.17:", when="+fabric", type="run")

    def install(self, spec, prefix):
        cargo = which("cargo", required=True)
        packages = ("pelago-cli", "pelago-acp", "pelago-shmem")
        cargo("build", "--release", "--locked", *(f"--package={package}" for package in packages))
        sh = which("sh", required=True)
        for interface in ("acp", "shmem"):
            sh(f"bindings/{interface}/install", prefix, os.path.join("target", "release"))
        pelago = Executable(prefix.bin.pelago)
        pelago("man", prefix.share.man.man1)

    def setup_run_environment(self, env):
        # Found at run time by name.
        if self.spec.satisfies("+fabric"):
            env.prepend_path("LD_LIBRARY_PATH", self.spec["libfabric"].prefix.lib)
