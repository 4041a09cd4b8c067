"""Registers and spills of kernels that memory bounds, as nvcc says them, and so how many warps a
multiprocessor holds: too few of them do not keep memory busy. Compiles one source for sm_90 and
runs nothing. Ends with status 77, skipped, without nvcc or Kokkos' headers for CUDA.
usage: registers.py"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "kernels/vendor/cuda/row_kernels.cpp"
SKIPPED = 77

# Part of a mangled name; registers and bytes spilled at most; warps of a multiprocessor at least.
BOUNDS = [
    ("NormGradRowsINS_4bf16ELi2E", 128, 0, 16),
    ("NormGradRowsINS_3f16ELi2E", 128, 0, 16),
    ("NormGradRowsIfLi2E", 128, 0, 16),
    ("NormGradRowsINS_4bf16ELi3E", 168, 0, 12),
    ("NormGradRowsINS_3f16ELi3E", 168, 0, 12),
    ("NormGradRowsIfLi3E", 168, 0, 12),
    ("NormForwardRowsINS_4bf16ELi4E", 72, 0, 28),
    ("NormForwardRowsINS_3f16ELi4E", 72, 0, 28),
    ("NormForwardRowsINS_4bf16ELi8E", 96, 0, 20),
    ("NormForwardRowsINS_3f16ELi8E", 96, 0, 20),
    ("NormForwardRowsINS_4bf16ELi16E", 168, 0, 12),
    ("NormForwardRowsINS_3f16ELi16E", 168, 0, 12),
    ("NormForwardRowsIf", 168, 0, 12),
    ("ColumnTilesINS_4bf16E", 48, 0, 40),
    ("ColumnTilesINS_3f16E", 48, 0, 40),
    ("ColumnTilesIf", 48, 0, 40),
]
REGISTERS_OF_PART = 16384  # of each of a multiprocessor's four parts


def nvcc():
    place = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "bin/nvcc"
    return shutil.which("nvcc") or (str(place) if place.exists() else None)


def kokkos_headers():
    for folder in ("kokkos-cuda", "kokkos-cuda-headers"):
        if (ROOT / ".deps" / folder / "include").is_dir():
            return ROOT / ".deps" / folder / "include"
    return None


def report(compiler, headers):
    flags = ["-std=c++20", "--extended-lambda", "--expt-relaxed-constexpr", "-arch=sm_90",
             "--fmad=false", "-O3", "-Xcompiler=-fopenmp", "--resource-usage", "-cubin", "-x", "cu"]
    shim = ["-include", str(ROOT / "cmake/kokkos_cuda13.hpp")]
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run(
            [compiler, *flags, *shim, f"-I{ROOT}", f"-I{ROOT}/include", "-isystem", str(headers),
             str(SOURCE), "-o", f"{folder}/kernels.cubin"], capture_output=True, text=True,
            timeout=300)
    if made.returncode != 0:
        sys.exit(f"{SOURCE} does not compile:\n{made.stdout}{made.stderr}")
    return made.stdout + made.stderr


def kernels_in(lines):
    """Returns (name, registers, bytes spilled) of each kernel."""
    found, name, spilled = [], "", 0
    for line in lines.splitlines():
        if entry := re.search(r"Compiling entry function '(\S+)'", line):
            name = entry[1]
        elif bytes_of := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
            spilled = max(int(bytes_of[1]), int(bytes_of[2]))
        elif used := re.search(r"Used (\d+) registers", line):
            found.append((name, int(used[1]), spilled))
    return found


def warps_held(registers):
    """A warp takes registers by eight a thread from one of four parts."""
    return 4 * (REGISTERS_OF_PART // (32 * ((registers + 7) // 8 * 8)))


def main():
    compiler, headers = nvcc(), kokkos_headers()
    if compiler is None or headers is None:
        print("SKIP: no nvcc, or no headers of Kokkos for CUDA (tools/kokkos.sh cuda-headers)")
        return SKIPPED
    kernels, faults = kernels_in(report(compiler, headers)), []
    for part, most, spill, least in BOUNDS:
        fitting = [kernel for kernel in kernels if part in kernel[0]]
        if not fitting:
            faults.append(f"no kernel is named {part}")
        for name, registers, spilled in fitting:
            print(f"{part}: {registers} registers, {spilled} bytes spilled")
            if registers > most or spilled > spill or warps_held(registers) < least:
                faults.append(f"{name}: {registers} registers, {spilled} bytes spilled: at most "
                              f"{most} and {spill}, for {least} warps of a multiprocessor")
    print(*faults, sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
