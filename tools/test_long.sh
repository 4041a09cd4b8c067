#!/usr/bin/env bash
# The campaigns that take longer than every change may wait for. They are the lines of
# tests/campaigns.txt; each runs from the root of the tree, its output goes to build/long/NAME.log.
# usage: tools/test_long.sh [--list | NAME...]      without a name: all of them
set -euo pipefail
# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"

table=$root/tests/campaigns.txt
# Prints "name|what it shows|command", without blanks around the bars.
campaigns() {
  sed -E -e '/^ *(#|$)/d' -e 's/^ *([^|]*[^ |]) *\| *([^|]*[^ |]) *\| */\1|\2|/' "$table"
}

if [ "${1:-}" = --list ]; then
  campaigns | while IFS='|' read -r name shows command; do
    printf '%-20s %s\n%-20s $ %s\n' "$name" "$shows" "" "$command"
  done
  exit 0
fi
for wanted in "$@"; do
  campaigns | grep -q "^$wanted|" || fail 2 "no campaign $wanted; see tools/test_long.sh --list"
done

"$root/tools/setup.sh" --text
build_host all
mkdir -p "$root/build/long"
failed=0
while IFS='|' read -r name shows command <&3; do
  if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then continue; fi
  log=$root/build/long/$name.log
  start=$SECONDS
  if (cd "$root" && bash -o pipefail -ec "$command") > "$log" 2>&1 < /dev/null; then
    verdict=PASS
  else
    verdict=FAIL
    failed=$((failed + 1))
  fi
  say "$verdict $name ($(seconds_since "$start") s): $shows"
  tail -n 3 "$log" | sed 's/^/     /'
done 3< <(campaigns)
if [ $failed -gt 0 ]; then fail 1 "$failed campaigns failed (logs: build/long)"; fi
