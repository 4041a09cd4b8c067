# shellcheck shell=bash
# What the scripts of this folder share; sourced, never run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=${jobs:-$(nproc)}
export root jobs

say() { printf '%s\n' "$*"; }
# phase NAME: marks where a part begins, in the form that fresh_clone.sh times.
phase() { say "== $1 (at $SECONDS s)"; }
# fail STATUS TEXT...: one line on stderr, then the end.
fail() {
  local status=$1
  shift
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit "$status"
}
have() { command -v "$1" > /dev/null 2>&1; }

# seconds_since START: whole seconds, START being an earlier value of SECONDS.
seconds_since() { echo $((SECONDS - $1)); }

# fetch_package FOLDER PACKAGE FILE SHA256 ELSE PIP_OPTIONS...: pip puts the file of a Python
# package into FOLDER, where it must have the sum. ELSE is what a user can do where that fails.
fetch_package() {
  local folder=$1 package=$2 file=$3 sum=$4 else=$5
  shift 5
  if ! python3 -m pip download --quiet --disable-pip-version-check --no-deps "$@" \
    --dest "$folder" "$package" > "$folder/pip.log" 2>&1; then
    tail -n 5 "$folder/pip.log" >&2
    fail 2 "cannot download $package with pip; another way: $else"
  fi
  echo "$sum  $folder/$file" | sha256sum --check --quiet - ||
    fail 2 "$file is not the file it should be (sha256): nothing of it was used"
}

# fetch_headers NAME FOLDER PACKAGE FILE SHA256 ELSE PIP_OPTIONS...: puts the headers in FOLDER of a
# wheel, and its licence, into .deps/NAME, unless that is there.
fetch_headers() {
  local name=$1 folder=$2 wheel=$4 prefix=$root/.deps/$1 scratch
  shift 2
  [ ! -d "$prefix" ] || return 0
  scratch=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$scratch'" EXIT
  say "$name: downloading its headers"
  fetch_package "$scratch" "$@"
  python3 -m zipfile -e "$scratch/$wheel" "$scratch/wheel"
  rm -rf "$prefix.new"
  mkdir -p "$prefix.new"
  mv "$scratch/wheel/$folder" "$prefix.new/include"
  find "$scratch"/wheel/*.dist-info -name "LICENSE*" -exec cp {} "$prefix.new/" \;
  mv "$prefix.new" "$prefix"
  say "$name: $prefix is ready"
}

# use_ccache: lets CMake and make compile through ccache where it is installed and not disabled. One
# clone finds what another compiled; a debugger may then name the other's folder.
use_ccache() {
  if ! have ccache || [ -n "${CCACHE_DISABLE:-}" ]; then return 0; fi
  export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$root} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-1}
  export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER:-ccache}
}

# wants_unity: true without a compiler cache. Builds are from nothing then, and sources are compiled
# several at a time.
wants_unity() { [[ ${CMAKE_CXX_COMPILER_LAUNCHER:-} != *ccache* ]]; }

# use_ninja: prefers Ninja as the generator of new build folders.
use_ninja() {
  have ninja || return 0
  export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}
}

# build_host TARGET: configures build/host-release and builds TARGET, which may be all.
build_host() {
  local log=$root/build/configure.log options=()
  use_ccache
  use_ninja
  mkdir -p "$root/build"
  # A build folder that is there stays as it is: with another launcher all would be built anew.
  if [ -e "$root/build/host-release/CMakeCache.txt" ]; then
    unset CMAKE_CXX_COMPILER_LAUNCHER
  elif wants_unity; then
    options=(-DZERO_UNITY=ON)
  fi
  say "building $1 (log: build/build.log)"
  if ! (cd "$root" && cmake --preset host-release "${options[@]}") > "$log" 2>&1; then
    cat "$log" >&2
    fail 1 "configuring failed"
  fi
  # What CMake says about missing parts is for the reader; the rest stays in the log.
  grep -E 'not found|Warning' "$log" || true
  log=$root/build/build.log
  if ! cmake --build "$root/build/host-release" -j "$jobs" --target "$1" > "$log" 2>&1; then
    tail -n 40 "$log" >&2
    fail 1 "the build failed"
  fi
}

# find_nvcc: puts the CUDA toolkit's compiler into PATH where it is not; false without one.
find_nvcc() {
  have nvcc && return 0
  [ -x "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" ] || return 1
  export PATH="${CUDA_HOME:-/usr/local/cuda}/bin:$PATH"
}

# cuda_flags: what nvcc needs to read Kokkos 4.7.0.
cuda_flags() {
  local version
  version=$(nvcc --version | sed -n 's/.*release \([0-9]*\).*/\1/p')
  if [ "$version" -ge 13 ]; then echo "-include $root/cmake/kokkos_cuda13.hpp"; fi
}

# want_cudnn_frontend: the headers with which attention is cuDNN's; false where they do not come.
want_cudnn_frontend() {
  "$root/tools/cudnn_frontend.sh" ||
    { say "attention will be our own kernels', far slower than cuDNN's" && return 1; }
}

# want_cutlass: the headers of our own products with GELU; false where they do not come.
want_cutlass() {
  "$root/tools/cutlass.sh" ||
    { say "products with GELU will be cuBLASLt's alone, up to 1.2 times as slow" && return 1; }
}

# What a build with CUDA is checked with on a GPU.
cuda_folder=$root/build/cuda-release
gpu_tests=(device_test kernels_test comm_test)
gpu_rates=perf_device_rates
export cuda_folder gpu_tests gpu_rates

# build_cuda TARGET...: configures build/cuda-release, with its own Kokkos, and builds the targets.
build_cuda() {
  local log=$root/build/cuda-build.log
  find_nvcc || fail 2 "no nvcc: install the CUDA toolkit, or name its folder in CUDA_HOME"
  "$root/tools/kokkos.sh" cuda
  want_cudnn_frontend || true
  want_cutlass || true
  use_ccache
  use_ninja
  mkdir -p "$root/build"
  say "building $* for GPUs (log: build/cuda-build.log)"
  if ! { (cd "$root" && cmake --preset cuda-release) &&
    cmake --build "$cuda_folder" -j "$jobs" --target "$@"; } > "$log" 2>&1; then
    tail -n 40 "$log" >&2
    fail 1 "building for GPUs failed"
  fi
}

# mpi_launch RANKS COMMAND...: one node, unbound ranks that share its cores evenly. Sets `launch`,
# an array, so that a script can print the line it runs. After Ctrl-C mpirun lets the delay pass
# before it tells the ranks and once more before it kills them, in which they save.
mpi_launch() {
  local ranks=$1
  shift
  local threads=$((jobs / ranks))
  launch=(mpirun -np "$ranks")
  if [ "$(id -u)" -eq 0 ]; then launch+=(--allow-run-as-root); fi
  if [ "$ranks" -gt "$jobs" ]; then launch+=(--oversubscribe); fi
  launch+=(--mca odls_base_sigkill_timeout 2)
  launch+=(--bind-to none -x "OMP_NUM_THREADS=$((threads > 0 ? threads : 1))" "$@")
}
