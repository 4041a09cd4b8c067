#!/usr/bin/env bash
# Puts the headers of CUTLASS 4.2.0 into .deps/cutlass, for builds with CUDA: with them products
# with GELU on Hopper can be our own kernels. Does nothing where the headers are. They come out of a
# Python package that carries them; nothing else of it is used.
# usage: tools/cutlass.sh
set -euo pipefail
# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"

package=nvidia-cutlass==4.2.0.0
wheel=nvidia_cutlass-4.2.0.0-py3-none-any.whl
sha256=f9599ada45c7bcb6bf53f7d3f0a7d154183e53451c01bfa59eecd37dd4a693f6
prefix=$root/.deps/cutlass

[ $# -eq 0 ] || fail 2 "usage: tools/cutlass.sh"
[ -d "$prefix" ] && exit 0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
say "cutlass: downloading its headers (6 MB)"
fetch_package "$scratch" "$package" "$wheel" "$sha256" \
  "name a folder with cutlass/cutlass.h in CMAKE_INCLUDE_PATH" --only-binary :all:
python3 -m zipfile -e "$scratch/$wheel" "$scratch/wheel"
rm -rf "$prefix.new"
mkdir -p "$prefix.new"
mv "$scratch/wheel/cutlass_library/source/include" "$prefix.new/include"
cp "$scratch"/wheel/nvidia_cutlass-*.dist-info/licenses/LICENSE* "$prefix.new/"
mv "$prefix.new" "$prefix"
say "cutlass: $prefix is ready"
