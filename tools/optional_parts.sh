#!/usr/bin/env bash
# What a missing optional part costs: one line while configuring, and speed. Builds without oneDNN,
# liburing, SentencePiece and Arrow, and for a debugger, and runs the tests of what these
# choose.
# usage: tools/optional_parts.sh
set -euo pipefail
# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"

tests='^(kernels/(product|attention|classifier)|run/executor|support/naive'
tests+='|io/(aio|tiers)/.*|io/text/.*tokenizer|io/data/parquet_file)\.np'

# build_and_test FOLDER CMAKE-ARGUMENTS...
build_and_test() {
  local folder=$root/build/$1
  shift
  mkdir -p "$folder"
  cmake -S "$root" -B "$folder" -DZERO_PERF=OFF "$@" > "$folder/configure.log" 2>&1
  cmake --build "$folder" -j "$jobs" --target kernels_test run_test support_test io_test
  ctest --test-dir "$folder" --output-on-failure --no-tests=error -j "$jobs" -R "$tests"
}

use_ccache
use_ninja
phase "without oneDNN, liburing, SentencePiece and Arrow"
build_and_test plain -DZERO_DNNL_LIBRARY=OFF -DZERO_URING_LIBRARY=OFF \
  -DZERO_SENTENCEPIECE_LIBRARY=OFF -DZERO_PYARROW=OFF
for part in oneDNN liburing SentencePiece Arrow; do
  lines=$(grep -c "$part not found" "$root/build/plain/configure.log" || true)
  [ "$lines" -eq 1 ] || fail 1 "$lines lines, and not one, say that $part is missing"
done
phase "for a debugger"
build_and_test debug -DCMAKE_BUILD_TYPE=Debug
say "optional_parts.sh: passed after $SECONDS s"
