#!/usr/bin/env python3
"""The products of hosts compile against the oneDNN that is installed and against that of Debian 13,
whose headers tools/onednn_headers.sh fetches. Ends with status 77, skipped, where one of both is
missing. usage: gemm_versions.py COMPILER"""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = "kernels/vendor/host/gemm_onednn.cpp"
OPTIONS = ["-std=c++20", "-fsyntax-only", "-fopenmp", "-Wall", "-Wextra", "-Wshadow", "-Werror",
           "-Iinclude", "-I."]
VERSION = "#include <oneapi/dnnl/dnnl_version.h>\nDNNL_VERSION_MAJOR\n"
SKIPPED = 77


def major(compiler, options):
    """The first number of the headers' version; 0 without headers."""
    done = subprocess.run([compiler, "-E", "-P", "-xc++", "-", *options], input=VERSION, text=True,
                          capture_output=True, check=False)
    return int(done.stdout.split()[-1]) if done.returncode == 0 else 0


def main():
    compiler = sys.argv[1] if len(sys.argv) > 1 else "g++"
    fetched = ["-isystem", str(ROOT / ".deps/onednn3/include")]
    seen = {major(compiler, options): options for options in ([], fetched)}
    seen.pop(0, None)
    for version, options in seen.items():
        done = subprocess.run([compiler, *OPTIONS, *options, SOURCE], cwd=ROOT, text=True,
                              capture_output=True, check=False)
        if done.returncode != 0:
            sys.exit(f"failed: with oneDNN {version}:\n{done.stderr}")
        print(f"compiles with oneDNN {version}")
    if not {2, 3} <= set(seen):
        print(f"SKIP oneDNN {' and '.join(str(v) for v in {2, 3} - set(seen))}: no headers; "
              "tools/onednn_headers.sh fetches those of 3")
        sys.exit(SKIPPED)


main()
