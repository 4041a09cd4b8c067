#!/usr/bin/env bash
# One command from a fresh clone to tested code: set-up, build, every test, and the kernels compiled
# for sm_90. Ends with status 0 only if all of it passed. usage: tools/test.sh [--yes]
set -euo pipefail
# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"

phase "set-up"
"$root/tools/setup.sh" --style "$@"
phase "build"
build_host all
phase "tests"
status=0
# One more than processors: tests that start programs wait for launchers a third of their time.
ctest --test-dir "$root/build/host-release" --output-on-failure -j $((jobs + 1)) || status=1
skipped=$(grep '^SKIP ' "$root/build/host-release/Testing/Temporary/LastTest.log" || true)
if [ -n "$skipped" ]; then
  say "parts of tests skipped, which shows nothing of them: $(wc -l <<< "$skipped")"
  say "$skipped"
fi
phase "kernels for sm_90"
"$root/tools/cuda_check.sh" || status=1
if [ $status -ne 0 ]; then fail 1 "FAILED after $SECONDS s, see above"; fi
say "test.sh: passed after $SECONDS s"
