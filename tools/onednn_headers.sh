#!/usr/bin/env bash
# Puts the headers of oneDNN 3.6, Debian 13's, into .deps/onednn3: runs.onednn compiles the products
# of hosts against them, beside the oneDNN that is installed. Does nothing where they are.
# usage: tools/onednn_headers.sh
set -euo pipefail
# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"

package=onednn-devel==2025.0.1
wheel=onednn_devel-2025.0.1-py2.py3-none-manylinux_2_28_x86_64.whl
sha256=6daea2b679ccc59bf0c3a174b97ff99270d04bff1c5cacd7f1bc9b8eee99c86f

[ $# -eq 0 ] || fail 2 "usage: tools/onednn_headers.sh"
fetch_headers onednn3 onednn_devel-2025.0.1.data/data/include "$package" "$wheel" "$sha256" \
  "unpack Debian 13's libdnnl-dev there" --only-binary :all: --platform manylinux_2_28_x86_64
