#!/usr/bin/env bash
# Compiles what a build with CUDA has of its own: kernels/ but for its twins of the host, and the
# folders gpu/ of all rooms, for sm_90 with nvcc what has kernels, as plain C++ what only calls
# CUDA's libraries. Kokkos' headers are those of .deps/kokkos-cuda or, where that is not built, what
# kokkos.sh cuda-headers makes. Links nothing and needs no GPU. Prints SKIP with its reason where
# there is no nvcc, and for the twins of NCCL and of cuDNN and for products out of CUTLASS's parts,
# which are compiled for sm_90a as far as PTX, where their headers are not there.
# Objects stay in build/cuda-check until a source, a header it reads or the flags of the compiler
# change.
# Sources whose digest stands in tests/cuda_checked.txt were compiled as they are, by this compiler
# with these flags, and are passed over. --all compiles them too; --record does, and writes the file
# anew if all is well.
# usage: tools/cuda_check.sh [--all | --record]
set -euo pipefail
# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"

mode=${1:-}
case $mode in
  "" | --all | --record) ;;
  *) fail 2 "usage: tools/cuda_check.sh [--all | --record]" ;;
esac
if ! find_nvcc; then
  say "cuda check: SKIP: no nvcc in PATH nor in /usr/local/cuda/bin (CUDA_HOME: elsewhere)"
  exit 0
fi
start=$SECONDS
cd "$root"
kokkos=.deps/kokkos-cuda
if [ ! -d "$root/$kokkos" ]; then
  kokkos=.deps/kokkos-cuda-headers
  "$root/tools/kokkos.sh" cuda-headers
fi

has_nccl() {
  echo '#include <nccl.h>' | nvcc -x cu -E - > /dev/null 2>&1
}

has_cudnn() {
  want_cudnn_frontend && echo '#include <cudnn.h>' | nvcc -x cu -E - > /dev/null 2>&1
}

has_cutlass=true
want_cutlass || has_cutlass=false

sources=()
hopper=()
for source in "$root"/kernels/*.cpp "$root"/kernels/vendor/*.cpp "$root"/kernels/vendor/cuda/*.cpp \
  "$root"/src/*/gpu/*.cpp; do
  [ -e "$source" ] || continue
  [[ $source =~ _absent\.cpp$ ]] && continue
  if [[ $source == */gpu/nccl*.cpp ]] && ! has_nccl; then
    say "cuda check: SKIP src/comm/gpu/nccl.cpp: no nccl.h"
    continue
  fi
  if [[ $source == */cudnn_attention.cpp ]] && ! has_cudnn; then
    say "cuda check: SKIP kernels/vendor/cuda/cudnn_attention.cpp: no cudnn.h or cudnn_frontend.h"
    continue
  fi
  if [[ $source =~ /(lagged|lagged_gradient|pingpong)_product\.cpp$ ]]; then
    if $has_cutlass; then
      hopper+=("${source#"$root"/}")
    else
      say "cuda check: SKIP ${source#"$root"/}: no cutlass/cutlass.h"
    fi
    continue
  fi
  sources+=("${source#"$root"/}")
done

# join NAME FIRST_LINE SOURCE...: prints units NAME_0.cpp, NAME_1.cpp, ... that include the sources.
join() {
  local name=$1 first_line=$2 number source unit
  local -A text=()
  while read -r number source; do
    unit=build/cuda-check/${name}_$number.cpp
    text[$unit]=${text[$unit]:-$first_line}$'\n'"#include \"$source\""
  done < <(python3 cmake/unity_groups.py 10 "${@:3}")
  for unit in "${!text[@]}"; do
    [ "$(cat "$unit" 2> /dev/null)" = "${text[$unit]}" ] || echo "${text[$unit]}" > "$unit"
    echo "$unit"
  done | sort
}

# join_sources: compiles several at a time, as most of what a compiler does for one of them is to
# read headers, nvcc those of Kokkos four times over. Units with kernels include what nvcc puts
# first anyway, by which cmake/nvcc_sources.regex knows them.
join_sources() {
  local plain kernels
  mapfile -t plain < <(grep -LEf cmake/nvcc_sources.regex "${sources[@]}")
  mapfile -t kernels < <(grep -lEf cmake/nvcc_sources.regex "${sources[@]}")
  mapfile -t sources < <(join kernels "#include <cuda_runtime.h>" "${kernels[@]}"
    join plain "" "${plain[@]}")
}

mkdir -p "$root/build/cuda-check"
use_ccache
launcher=${CMAKE_CXX_COMPILER_LAUNCHER:-}
# The objects are never run, so we ask for the fastest compilation: -O0 for what the host runs, and
# for kernels --Ofast-compile where nvcc has it. It takes two thirds of the time.
fast=-O0
if nvcc --help | grep -e --Ofast-compile > /dev/null; then fast+=" --Ofast-compile=max"; fi
flags="-std=c++20 --extended-lambda --expt-relaxed-constexpr --fmad=false $fast"
flags+=" -Xcompiler=-fopenmp,-ffp-contract=off $(cuda_flags)"
toolkit=$(dirname "$(dirname "$(readlink -f "$(command -v nvcc)")")")
cxx_flags="-std=c++20 -Wall -Wextra -Wshadow -Wno-unknown-pragmas -fopenmp -ffp-contract=off"
cxx_flags+=" -isystem $root/.deps/cudnn-frontend/include -isystem $toolkit/include"
cxx_flags+=" $(pkg-config --cflags ompi-cxx 2> /dev/null || true)"

# What was compiled before is told by digests of sources, versions and flags.
record=tests/cuda_checked.txt
count=$((${#sources[@]} + ${#hopper[@]}))
versions="$(nvcc --version | sed -n 's/.*release //p') $(${CXX:-c++} -dumpfullversion)"
mapfile -t digests < <(python3 -B tools/cuda_hashes.py \
  "$versions ${flags//$root/.} ${cxx_flags//$root/.} $(sha256sum < tools/cuda_check.mk)" \
  "${sources[@]}" "${hopper[@]}")
if [ -z "$mode" ] && [ -e "$record" ]; then
  mapfile -t left < <(printf '%s\n' "${digests[@]}" | grep -vxFf "$record" | cut -d ' ' -f 2)
  keep() { printf '%s\n' "$@" | grep -xFf <(printf '%s\n' "${left[@]}") || true; }
  mapfile -t sources < <(keep "${sources[@]}")
  mapfile -t hopper < <(keep "${hopper[@]}")
fi
left=$((${#sources[@]} + ${#hopper[@]}))
if [ $left -eq 0 ]; then
  say "cuda check: $count sources are as they were when they compiled ($record)"
  exit 0
fi
if wants_unity && [ ${#sources[@]} -gt 0 ]; then join_sources; fi
if make -C "$root" -f tools/cuda_check.mk --no-print-directory --keep-going -j "$jobs" \
  NVCC="$launcher nvcc" FLAGS="$flags" CXX="$launcher ${CXX:-c++}" CXX_FLAGS="$cxx_flags" \
  KOKKOS="$kokkos" SOURCES="${sources[*]}" HOPPER="${hopper[*]}"; then
  say "cuda check: $left of $count sources compile, kernels for sm_90; the others did," \
    "as they are ($(seconds_since "$start") s)"
else
  fail 1 "a source does not compile for sm_90"
fi

# Kokkos gives a kernel of 512 bytes or more by way of one block of constant memory, for which the
# host waits each time, and which cannot be recorded in a graph.
for source in $(grep -lEf cmake/nvcc_sources.regex "${sources[@]}" /dev/null); do
  large=$(nm -C "$root/build/cuda-check/${source%.cpp}.o" |
    grep -m 1 'cuda_parallel_launch_\(constant\|global\)_memory' || true)
  if [ -n "$large" ]; then
    fail 1 "$source: a kernel holds 512 bytes or more, give it less by value: $large"
  fi
done

if [ "$mode" = --record ]; then printf '%s\n' "${digests[@]}" > "$record"; fi
