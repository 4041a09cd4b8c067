#!/usr/bin/env bash
# Clones the committed tree into build/long/fresh, runs tools/test.sh there without a compiler
# cache, and ends with status 1 if that fails or a part of it takes longer than a check of every
# change may wait for on two cores. usage: tools/fresh_clone.sh
set -euo pipefail
# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"

clone=$root/build/long/fresh
log=$root/build/long/fresh-test.log
mkdir -p "$root/build/long"
rm -rf "$clone"
git clone --quiet "$root" "$clone"
CCACHE_DISABLE=1 "$clone/tools/test.sh" --yes 2>&1 | tee "$log"

# The time of a part runs from its own "== name (at N s)" to the next one or to the last line.
awk '
  BEGIN { most["set-up"] = 240; most["build"] = 420; most["tests"] = 540
          most["kernels for sm_90"] = 300 }
  function finish(now) {
    if (part == "") return
    slow = now - began > most[part]
    printf "%-20s %4d s, at most %d: %s\n", part, now - began, most[part],
           slow ? "FAILED" : "passed"
    failed += slow
    ++parts
  }
  /^== .* \(at [0-9]+ s\)$/ {
    now = $(NF - 1)
    finish(now)
    part = substr($0, 4, index($0, " (at ") - 4)
    began = now
  }
  /^test\.sh: passed after [0-9]+ s$/ { finish($(NF - 1)) }
  END { exit failed > 0 || parts != 4 }
' "$log"
