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

[ $# -eq 0 ] || fail 2 "usage: tools/cutlass.sh"
fetch_headers cutlass cutlass_library/source/include "$package" "$wheel" "$sha256" \
  "name a folder with cutlass/cutlass.h in CMAKE_INCLUDE_PATH" --only-binary :all:
