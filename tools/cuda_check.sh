#!/usr/bin/env bash
# Compiles every Kokkos source of kernels/ for sm_90 with nvcc, against the Kokkos of
# .deps/kokkos-cuda (built at the first call, about two minutes on two cores). Needs no GPU. Prints
# SKIP with its reason where there is no nvcc. Objects stay in build/cuda-check until a source, a
# header it reads or the compiler's flags change.
set -euo pipefail
# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"

if ! find_nvcc; then
  say "cuda check: SKIP: no nvcc in PATH nor in /usr/local/cuda/bin (CUDA_HOME: elsewhere)"
  exit 0
fi
start=$SECONDS
"$root/tools/kokkos.sh" cuda

sources=()
for source in "$root"/kernels/*.cpp; do
  # What is for the host alone says so in its name.
  if [ -e "$source" ] && [[ $source != *_host.cpp ]]; then sources+=("${source#"$root"/}"); fi
done
if [ ${#sources[@]} -eq 0 ]; then
  say "cuda check: SKIP: kernels/ holds no source"
  exit 0
fi
launcher=
if have ccache; then launcher=ccache; fi
flags="-std=c++20 --extended-lambda --expt-relaxed-constexpr -arch=sm_90 --fmad=false -O1"
flags+=" -Xcompiler=-fopenmp,-ffp-contract=off $(cuda_flags)"
mkdir -p "$root/build/cuda-check"
if make -C "$root" -f tools/cuda_check.mk --no-print-directory --keep-going -j "$jobs" \
  NVCC="$launcher nvcc" FLAGS="$flags" SOURCES="${sources[*]}"; then
  say "cuda check: ${#sources[@]} sources compile for sm_90 ($(seconds_since "$start") s)"
else
  fail 1 "a source of kernels/ does not compile for sm_90"
fi
