"""Registers and spills of kernels, as nvcc says them, and so how many warps a multiprocessor holds:
too few of them do not keep memory busy. Compiles sources for Hopper and runs nothing. Ends with
status 77, skipped, without nvcc, Kokkos' headers for CUDA or, for products, CUTLASS's.
usage: registers.py [rows | classifier | products | positions]...     by default rows"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
CUTLASS = ROOT / ".deps/cutlass/include"

# A group has sources and, for each kernel, part of its mangled name; registers and bytes spilled at
# most; warps of a multiprocessor at least.
ROWS = ["kernels/vendor/cuda/row_kernels.cpp"]
ROW_BOUNDS = [
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
# The classifier's softmax holds a row of logits in a block's registers.
CLASSIFIER = ["kernels/classifier.cpp"]
CLASSIFIER_BOUNDS = [
    ("SoftmaxBlockINS3_4bf16ENS4_9PlainLoss", 168, 0, 12),
    ("SoftmaxBlockINS3_3f16ENS4_9PlainLoss", 168, 0, 12),
    ("SoftmaxBlockIfNS4_9PlainLoss", 168, 0, 12),
    # A bias of logits, or smoothing, asks for more registers than there are.
    ("LossWithOptions", 168, 600, 12),
]
# Two warp groups of a block multiply, and a third loads and finishes: no thread may spill.
PRODUCTS = [f"kernels/vendor/cuda/{name}_product.cpp"
            for name in ("lagged", "lagged_gradient", "pingpong")]
PRODUCT_BOUNDS = [
    ("FinishGeluEEE", 168, 0, 12),
    ("FinishGeluInTurns", 168, 0, 12),
    ("FinishGradient", 168, 0, 12),
    ("GemmUniversal", 168, 0, 12),
]
# Disentangled attention waits for memory.
POSITIONS = ["kernels/vendor/cuda/disentangled.cpp"]
POSITION_BOUNDS = [(part, 72, 0, 28) for part in
                   ("AttendText", "QueryGradient", "KeyGradient", "PositionGradient")]
GROUPS = {"rows": (ROWS, ROW_BOUNDS), "classifier": (CLASSIFIER, CLASSIFIER_BOUNDS),
          "products": (PRODUCTS, PRODUCT_BOUNDS), "positions": (POSITIONS, POSITION_BOUNDS)}
REGISTERS_OF_PART = 16384  # of each of a multiprocessor's four parts


def nvcc():
    place = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "bin/nvcc"
    return shutil.which("nvcc") or (str(place) if place.exists() else None)


def kokkos_headers():
    for folder in ("kokkos-cuda", "kokkos-cuda-headers"):
        if (ROOT / ".deps" / folder / "include").is_dir():
            return ROOT / ".deps" / folder / "include"
    return None


def report(compiler, headers, source, products):
    target = "-gencode=arch=compute_90a,code=sm_90a" if products else "-arch=sm_90"
    flags = ["-std=c++20", "--extended-lambda", "--expt-relaxed-constexpr", target, "--fmad=false",
             "-O3", "-DNDEBUG", "-Xcompiler=-fopenmp", "--resource-usage", "-cubin", "-x", "cu"]
    shim = ["-include", str(ROOT / "cmake/kokkos_cuda13.hpp")]
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run(
            [compiler, *flags, *shim, f"-I{ROOT}", f"-I{ROOT}/include", "-isystem", str(headers),
             "-isystem", str(CUTLASS), str(ROOT / source), "-o", f"{folder}/kernels.cubin"],
            capture_output=True, text=True, timeout=600)
    if made.returncode != 0:
        sys.exit(f"{source} does not compile:\n{made.stdout}{made.stderr}")
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


def faults_of(kernels, bounds):
    faults = []
    for part, most, spill, least in bounds:
        fitting = [kernel for kernel in kernels if part in kernel[0]]
        if not fitting:
            faults.append(f"no kernel is named {part}")
        for name, registers, spilled in fitting:
            print(f"{part}: {registers} registers, {spilled} bytes spilled")
            if registers > most or spilled > spill or warps_held(registers) < least:
                faults.append(f"{name}: {registers} registers, {spilled} bytes spilled: at most "
                              f"{most} and {spill}, for {least} warps of a multiprocessor")
    return faults


def main():
    groups = sys.argv[1:] or ["rows"]
    if unknown := set(groups) - GROUPS.keys():
        sys.exit(f"unknown group {', '.join(sorted(unknown))}; write {', '.join(GROUPS)}")
    compiler, headers = nvcc(), kokkos_headers()
    if compiler is None or headers is None:
        print("SKIP no nvcc, or no headers of Kokkos for CUDA (tools/kokkos.sh cuda-headers)")
        return SKIPPED
    if "products" in groups and not CUTLASS.is_dir():
        print("SKIP no headers of CUTLASS (tools/cutlass.sh)")
        return SKIPPED
    faults = []
    for group in groups:
        sources, bounds = GROUPS[group]
        lines = [report(compiler, headers, source, group == "products") for source in sources]
        faults += faults_of(kernels_in("".join(lines)), bounds)
    print(*faults, sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
