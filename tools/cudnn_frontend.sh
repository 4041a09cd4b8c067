#!/usr/bin/env bash
# Puts the headers of cudnn-frontend 1.32.0 into .deps/cudnn-frontend, for builds with CUDA: with
# them attention is cuDNN's where it can be. Does nothing where they are. They come out of a Python
# package that carries them; of it nothing else is used, whatever Python there is here.
# usage: tools/cudnn_frontend.sh
set -euo pipefail
# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"

package=nvidia-cudnn-frontend==1.32.0
wheel=nvidia_cudnn_frontend-1.32.0-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl
sha256=c6006556017a4d1c914c52a556c71b1267f2d6a0500f742e7b4edef539878df0

[ $# -eq 0 ] || fail 2 "usage: tools/cudnn_frontend.sh"
fetch_headers cudnn-frontend include "$package" "$wheel" "$sha256" \
  "name a folder with cudnn_frontend.h in CMAKE_INCLUDE_PATH" \
  --only-binary :all: --implementation cp --python-version 3.11 --abi cp311 \
  --platform manylinux_2_28_x86_64
