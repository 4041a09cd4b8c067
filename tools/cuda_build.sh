#!/usr/bin/env bash
# Builds the preset cuda-release from nothing and without a compiler cache. Ends with status 1 if a
# compiler or CMake warns, or if the program with what checks it on a GPU takes longer than 15
# minutes, which two cores may take; everything else of the tree is built behind that. Kokkos, built
# once for a machine, does not count. CCACHE_DISABLE=1 keeps what it built for tools/bundle.sh.
# usage: tools/cuda_build.sh
set -euo pipefail
# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"

most_seconds=900
export CCACHE_DISABLE=1
if [ $# -gt 0 ]; then fail 2 "usage: tools/cuda_build.sh"; fi

require_no_warning() {
  if grep -iE -m 5 '\bwarning\b' "$root/build/cuda-build.log" >&2; then
    fail 1 "the build warns (log: build/cuda-build.log)"
  fi
}

find_nvcc || fail 2 "no nvcc: install the CUDA toolkit, or name its folder in CUDA_HOME"
"$root/tools/kokkos.sh" cuda
rm -rf "$cuda_folder"
start=$SECONDS
build_cuda zeroapp "${gpu_tests[@]}" "$gpu_rates"
seconds=$(seconds_since "$start")
require_no_warning
build_cuda all
require_no_warning
say "the preset cuda-release builds without a warning: $seconds s, at most $most_seconds," \
  "and all of the tree in $(seconds_since "$start") s"
[ "$seconds" -le "$most_seconds" ] || fail 1 "the build takes longer than $most_seconds s"
