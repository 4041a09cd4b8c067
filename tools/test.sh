#!/usr/bin/env bash
# One command from a fresh clone to tested code: set-up, build, every test, and beside the tests the
# kernels compiled for sm_90. Ends with status 0 only if all of it passed.
# usage: tools/test.sh [--yes]
set -euo pipefail
# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"

phase "set-up"
"$root/tools/setup.sh" --style --pairs --slurm "$@"
phase "build"
build_host all
phase "tests"
status=0
# Half as many compilers as processors take what tests leave of these while they wait; they end
# with this script.
check_log=$root/build/cuda-check.log
jobs=$(((jobs + 1) / 2)) setsid nice -n 19 \
  "$root/tools/cuda_check.sh" > "$check_log" 2>&1 < /dev/null &
check=$!
trap 'kill -- "-$check" 2> /dev/null || true' EXIT
# Twice the processors: what starts programs waits for launchers and clocks half of its time, and
# what does not has PROCESSORS 2.
ctest --test-dir "$root/build/host-release" --output-on-failure -j $((2 * jobs)) || status=1
# Seconds and names of what took longest; under other load than its own a test takes longer.
awk '$2 == "Test:" { name = $3 } $1 == "Test" && $2 == "time" { printf "%8.1f %s\n", $4, name }' \
  "$root/build/host-release/Testing/Temporary/LastTest.log" | sort -rn > "$root/build/seconds.log"
say "the slowest tests: $(head -n 5 "$root/build/seconds.log" | awk '{ print $2 " " $1 " s" }' |
  paste -sd, | sed 's/,/, /g')"
say "tests above 40 s: $(awk '$1 > 40 { n++ } END { print n + 0 }' "$root/build/seconds.log")$(
  awk '$1 > 40 { printf " %s", $2 }' "$root/build/seconds.log")"
skipped=$(grep '^SKIP ' "$root/build/host-release/Testing/Temporary/LastTest.log" || true)
if [ -n "$skipped" ]; then
  say "parts of tests skipped, which shows nothing of them: $(wc -l <<< "$skipped")"
  say "$skipped"
fi
phase "kernels for sm_90"  # what is left of it
wait $check || status=1
cat "$check_log"
if [ $status -ne 0 ]; then fail 1 "FAILED after $SECONDS s, see above"; fi
say "test.sh: passed after $SECONDS s"
