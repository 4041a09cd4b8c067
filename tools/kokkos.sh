#!/usr/bin/env bash
# Builds Kokkos 4.7.0 into a local prefix: tools/kokkos.sh host (OpenMP and Serial, .deps/kokkos) or
# tools/kokkos.sh cuda (the same and CUDA for sm_90, .deps/kokkos-cuda). tools/kokkos.sh
# cuda-headers compiles nothing: it puts the headers of the latter into .deps/kokkos-cuda-headers,
# which is enough to check sources. Does nothing where the prefix exists. The source comes out of a
# Python package that carries it.
set -euo pipefail
# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"

package=pygenten==0.1.5
archive=pygenten-0.1.5.tar.gz
sha256=e620f05c742905e2db705d875f1cac92ef0ed453f9e6734e9beda26cc0f9cce7
source_folder=$root/.deps/source/kokkos

fetch_source() {
  [ -f "$source_folder/CMakeLists.txt" ] && return 0
  local scratch
  scratch=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$scratch'" EXIT
  say "kokkos: downloading its source (17 MB)"
  fetch_package "$scratch" "$package" "$archive" "$sha256" \
    "install Kokkos 4.5 or later with OpenMP yourself and name its prefix in CMAKE_PREFIX_PATH" \
    --no-binary pygenten
  tar -xzf "$scratch/$archive" -C "$scratch" pygenten-0.1.5/tpls/kokkos
  mkdir -p "$(dirname "$source_folder")"
  rm -rf "$source_folder"
  mv "$scratch/pygenten-0.1.5/tpls/kokkos" "$source_folder"
}

configure() {
  local prefix=$1
  shift
  use_ccache
  use_ninja
  cmake -S "$source_folder" -B "$prefix.build" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_STANDARD=20 -DCMAKE_INSTALL_PREFIX="$prefix.new" -DCMAKE_INSTALL_LIBDIR=lib \
    -DKokkos_ENABLE_SERIAL=ON -DKokkos_ENABLE_OPENMP=ON \
    -DKokkos_ENABLE_DEPRECATED_CODE_4=OFF "$@"
}

# Both put what they make into PREFIX.new.
build_all() { cmake --build "$1.build" -j "$jobs" && cmake --install "$1.build"; }
copy_headers() {
  local to=$1.new/include
  mkdir -p "$to" &&
    cp -r "$source_folder"/{core,containers,algorithms,simd}/src/. "$to" &&
    cp -r "$source_folder"/tpls/*/include/. "$to" &&
    cp -r "$1.build"/KokkosCore_*.h* "$1.build/core/src/desul" "$to"
}

# make_prefix PREFIX HOW CMAKE_ARGUMENTS...: made beside the prefix and then renamed, so that a
# prefix that exists is complete. HOW is one of the functions above.
make_prefix() {
  local prefix=$1 how=$2 log=$1.log start=$SECONDS
  shift 2
  rm -rf "$prefix.build" "$prefix.new"
  say "kokkos: making $prefix (log: $log)"
  if ! { configure "$prefix" "$@" && "$how" "$prefix"; } > "$log" 2>&1; then
    tail -n 20 "$log" >&2
    fail 1 "building Kokkos failed (log: $log)"
  fi
  rm -rf "$prefix" "$prefix.build"
  mv "$prefix.new" "$prefix"
  say "kokkos: $prefix is ready after $(seconds_since "$start") s"
}

case ${1:-} in
  host)
    prefix=$root/.deps/kokkos
    [ -d "$prefix" ] && exit 0
    fetch_source
    make_prefix "$prefix" build_all
    ;;
  cuda | cuda-headers)
    prefix=$root/.deps/kokkos-$1
    how=build_all
    if [ "$1" = cuda-headers ]; then how=copy_headers; fi
    [ -d "$prefix" ] && exit 0
    find_nvcc || fail 2 "no nvcc: install the CUDA toolkit, or name its folder in CUDA_HOME"
    fetch_source
    wrapper=$root/.deps/source/nvcc_wrapper
    sed 's/^default_arch=.*/default_arch="sm_90"/' "$source_folder/bin/nvcc_wrapper" > "$wrapper"
    chmod +x "$wrapper"
    # Where nvcc has no device to ask, the architecture is named.
    make_prefix "$prefix" "$how" -DCMAKE_CXX_COMPILER="$wrapper" -DKokkos_ENABLE_CUDA=ON \
      -DKokkos_ARCH_HOPPER90=ON -DCMAKE_CXX_FLAGS="$(cuda_flags)"
    ;;
  *) fail 2 "usage: tools/kokkos.sh host|cuda|cuda-headers" ;;
esac
