#!/usr/bin/env bash
# Builds Kokkos 4.7.0 into a local prefix: tools/kokkos.sh host (OpenMP and Serial, .deps/kokkos) or
# tools/kokkos.sh cuda (the same and CUDA for sm_90, .deps/kokkos-cuda). Does nothing where the
# prefix exists. The source comes out of a Python package that carries it.
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

# build PREFIX CMAKE_ARGUMENTS...: installed beside the prefix and then renamed, so that a prefix
# that exists is complete.
build() {
  local prefix=$1 folder=$1.build log=$1.log start=$SECONDS
  shift
  rm -rf "$folder" "$prefix.new"
  use_ccache
  use_ninja
  say "kokkos: building $prefix (log: $log)"
  if ! { cmake -S "$source_folder" -B "$folder" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_STANDARD=20 -DCMAKE_INSTALL_PREFIX="$prefix.new" -DCMAKE_INSTALL_LIBDIR=lib \
    -DKokkos_ENABLE_SERIAL=ON -DKokkos_ENABLE_OPENMP=ON \
    -DKokkos_ENABLE_DEPRECATED_CODE_4=OFF "$@" &&
    cmake --build "$folder" -j "$jobs" && cmake --install "$folder"; } > "$log" 2>&1; then
    tail -n 20 "$log" >&2
    fail 1 "building Kokkos failed (log: $log)"
  fi
  rm -rf "$prefix" "$folder"
  mv "$prefix.new" "$prefix"
  say "kokkos: $prefix is ready after $(seconds_since "$start") s"
}

case ${1:-} in
  host)
    prefix=$root/.deps/kokkos
    [ -d "$prefix" ] && exit 0
    fetch_source
    build "$prefix"
    ;;
  cuda)
    prefix=$root/.deps/kokkos-cuda
    [ -d "$prefix" ] && exit 0
    find_nvcc || fail 2 "no nvcc: install the CUDA toolkit, or name its folder in CUDA_HOME"
    fetch_source
    wrapper=$root/.deps/source/nvcc_wrapper
    sed 's/^default_arch=.*/default_arch="sm_90"/' "$source_folder/bin/nvcc_wrapper" > "$wrapper"
    chmod +x "$wrapper"
    # Where nvcc has no device to ask, the architecture is named.
    build "$prefix" -DCMAKE_CXX_COMPILER="$wrapper" -DKokkos_ENABLE_CUDA=ON \
      -DKokkos_ARCH_HOPPER90=ON -DCMAKE_CXX_FLAGS="$(cuda_flags)"
    ;;
  *) fail 2 "usage: tools/kokkos.sh host|cuda" ;;
esac
