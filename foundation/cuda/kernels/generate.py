#!/usr/bin/env python3
"""Makes pelago.ptx of pelago.cu by NVRTC, which needs no GPU: pip install nvidia-cuda-nvrtc

usage: generate.py [SOURCE]    writes the PTX text to standard output; exits with 3 if there is no NVRTC of the version below

The text is of a low version and target, which all drivers from CUDA 11.0 on translate for their devices from Volta on. Comments, which name the compiler's
build, are left out.
"""
import ctypes
import glob
import os
import re
import site
import sys

VERSION, TARGET = "7.0", "sm_70"

# Others make other text of the same source.
NVRTC = (13, 5)


def libraries():
    """Places of NVRTC: an environment variable, the Python package, the system."""
    yield os.environ.get("PELAGO_NVRTC_LIBRARY", "")
    for folder in [site.getusersitepackages(), *site.getsitepackages()]:
        yield from sorted(glob.glob(folder + "/nvidia/*/lib/libnvrtc.so.*"), reverse=True)
    yield "libnvrtc.so"


def load():
    """NVRTC with its table of built-in functions, or nothing."""
    for path in filter(None, libraries()):
        for builtins in glob.glob(os.path.dirname(path) + "/libnvrtc-builtins.so.*"):
            ctypes.CDLL(builtins, ctypes.RTLD_GLOBAL)
        try:
            nvrtc = ctypes.CDLL(path)
        except OSError:
            continue
        major, minor = ctypes.c_int(), ctypes.c_int()
        nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        if (major.value, minor.value) == NVRTC:
            return nvrtc
    print("no NVRTC %d.%d: pip install nvidia-cuda-nvrtc, or set PELAGO_NVRTC_LIBRARY" % NVRTC, file=sys.stderr)
    sys.exit(3)


def text(program, size, get):
    length = ctypes.c_size_t()
    size(program, ctypes.byref(length))
    buffer = ctypes.create_string_buffer(length.value)
    get(program, buffer)
    return buffer.value.decode()


def main():
    source = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "pelago.cu")
    nvrtc, program = load(), ctypes.c_void_p()
    with open(source, "rb") as file, open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "water.h"), "rb") as header:
        texts, names = ((ctypes.c_char_p * 1)(text) for text in (header.read(), b"water.h"))
        nvrtc.nvrtcCreateProgram(ctypes.byref(program), file.read(), b"pelago.cu", 1, texts, names)
    # The least that NVRTC 13 has; no contraction of products and sums, so that results are those of the host.
    options = [b"--gpu-architecture=compute_75", b"--fmad=false", b"--std=c++17"]
    if nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)):
        print(text(program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog), file=sys.stderr)
        sys.exit(1)
    ptx = text(program, nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX)
    ptx = re.sub(r"^\.version .*$", ".version " + VERSION, ptx, flags=re.M)
    ptx = re.sub(r"^\.target .*$", ".target " + TARGET, ptx, flags=re.M)
    lines = [line.rstrip() for line in ptx.splitlines() if not line.lstrip().startswith("//")]
    print(re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip())


main()
