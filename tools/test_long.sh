#!/usr/bin/env bash
# The campaigns that take longer than every change may wait for. They are the lines of
# tests/campaigns.txt; each runs from the root of the tree, its output goes to build/long/NAME.log.
# One that ends with 77 and says in a line "SKIP ..." why has shown nothing, which is no pass. Ends
# with status 1 if one failed, else with 77 if one was skipped.
# usage: tools/test_long.sh [--list | NAME...]      without a name: all of them
set -euo pipefail
# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"

table=$root/tests/campaigns.txt
# Prints "name|what it shows|command", without blanks around the bars.
campaigns() {
  sed -E -e '/^ *(#|$)/d' -e 's/^ *([^|]*[^ |]) *\| *([^|]*[^ |]) *\| */\1|\2|/' "$table"
}

# verdict_of STATUS LOG: the status alone would not do, libFuzzer ends with 77 when it has found
# something.
verdict_of() {
  if [ "$1" -eq 0 ]; then
    echo PASS
  elif [ "$1" -eq 77 ] && grep -q '^SKIP ' "$2"; then
    echo SKIP
  else
    echo FAIL
  fi
}

if [ "${1:-}" = --list ]; then
  campaigns | while IFS='|' read -r name shows command; do
    printf '%-20s %s\n%-20s $ %s\n' "$name" "$shows" "" "$command"
  done
  exit 0
fi
for wanted in "$@"; do
  # Reads to the end: where grep -q stops sooner, the pipe may fail.
  campaigns | grep "^$wanted|" > /dev/null ||
    fail 2 "no campaign $wanted; see tools/test_long.sh --list"
done

"$root/tools/setup.sh" --text
build_host all
mkdir -p "$root/build/long"
declare -A count=([PASS]=0 [FAIL]=0 [SKIP]=0)
while IFS='|' read -r name shows command <&3; do
  if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then continue; fi
  log=$root/build/long/$name.log
  start=$SECONDS
  status=0
  (cd "$root" && bash -o pipefail -ec "$command") > "$log" 2>&1 < /dev/null || status=$?
  verdict=$(verdict_of $status "$log")
  count[$verdict]=$((count[$verdict] + 1))
  say "$verdict $name ($(seconds_since "$start") s): $shows"
  tail -n 3 "$log" | sed 's/^/     /'
done 3< <(campaigns)
say "${count[PASS]} passed, ${count[FAIL]} failed, ${count[SKIP]} skipped (logs: build/long)"
if [ "${count[FAIL]}" -gt 0 ]; then exit 1; fi
if [ "${count[SKIP]}" -gt 0 ]; then exit 77; fi
