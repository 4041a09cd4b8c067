#!/usr/bin/env python3
"""The products of hosts compile against the oneDNN that is installed and against that of Debian 13,
whose headers tools/onednn_headers.sh fetches. A line SKIP says which one is missing.
usage: onednn.py ZEROAPP MPIEXEC COMPILER"""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = "kernels/vendor/host/gemm_onednn.cpp"
OPTIONS = ["-std=c++20", "-fsyntax-only", "-fopenmp", "-Wall", "-Wextra", "-Wshadow", "-Werror",
           "-Iinclude", "-I."]
VERSION = "#include <oneapi/dnnl/dnnl_version.h>\nDNNL_VERSION_MAJOR\n"


def major(compiler, options):
    """The first number of the headers' version; 0 without headers."""
    done = subprocess.run([compiler, "-E", "-P", "-xc++", "-", *options], input=VERSION, text=True,
                          capture_output=True, check=False)
    return int(done.stdout.split()[-1]) if done.returncode == 0 else 0


def main():
    compiler = sys.argv[3]
    fetched = ["-isystem", str(ROOT / ".deps/onednn3/include")]
    seen = {major(compiler, options): options for options in ([], fetched)}
    seen.pop(0, None)
    for version, options in seen.items():
        done = subprocess.run([compiler, *OPTIONS, *options, SOURCE], cwd=ROOT, text=True,
                              capture_output=True, check=False)
        if done.returncode != 0:
            sys.exit(f"failed: with oneDNN {version}:\n{done.stderr}")
        print(f"compiles with oneDNN {version}")
    missing = {2, 3} - set(seen)
    if missing:
        sys.exit(f"SKIP no headers of oneDNN {missing}: tools/onednn_headers.sh fetches those of 3")
    print("both versions of oneDNN compile")


main()
