#!/usr/bin/env bash
# Does in clones of the committed tree what a newcomer does, without a compiler cache: the quick
# start, the quick start again, and in a second clone tools/test.sh. Ends with status 1 if one of
# them fails, has learnt too little, or a part of it takes longer than it may on two cores. Packages
# that the machine has already cost nothing here. usage: tools/fresh_clone.sh
set -euo pipefail
# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"

most_nats=1.9
clone=$root/build/long/fresh

clone_afresh() {
  mkdir -p "$root/build/long"
  rm -rf "$clone"
  git clone --quiet "$root" "$clone"
}

log_of() { echo "$root/build/long/fresh-$1.log"; }

# run_in_clone NAME SCRIPT: what it prints is NAME's log.
run_in_clone() { CCACHE_DISABLE=1 "$clone/tools/$2" --yes 2>&1 | tee "$(log_of "$1")"; }

require_learnt() {
  python3 - "$clone/runs/gpt2_nano/summary.json" "$most_nats" << 'END'
import json
import sys
loss, most = json.load(open(sys.argv[1]))["eval_loss"], float(sys.argv[2])
print(f"{loss:.3f} nats a byte of held-out text, below {most}: "
      f"{'passed' if loss < most else 'FAILED'}")
sys.exit(loss >= most)
END
}

# times_of NAME: "seconds part" of each part in NAME's log, from its line "== part (at N s)" to the
# next one or to the script's last word.
times_of() {
  awk '
    function finish(now) { if (part != "") print now - began, part }
    /^== .* \(at [0-9]+ s\)$/ {
      now = $(NF - 1)
      finish(now)
      part = substr($0, 4, index($0, " (at ") - 4)
      began = now
      if (part == "training") print now, "all before training"
    }
    /^quickstart: trained in [0-9]+ s$/ { finish(began + $(NF - 1)) }
    /^test\.sh: passed after [0-9]+ s$/ { finish($(NF - 1)) }
  ' "$(log_of "$1")"
}

# judge_times: compares with lines "NAME MOST PART"; false if a part took longer or is not there.
judge_times() {
  local name most part seconds verdict slow=0
  while read -r name most part; do
    seconds=$(times_of "$name" | sed -n "s/^\([0-9]*\) $part\$/\1/p")
    if [ -z "$seconds" ]; then fail 1 "$(log_of "$name") has no part $part"; fi
    verdict=passed
    if [ "$seconds" -gt "$most" ]; then verdict=FAILED slow=1; fi
    printf '%-12s %-20s %4d s, at most %d: %s\n' "$name" "$part" "$seconds" "$most" "$verdict"
  done
  return $slow
}

clone_afresh
run_in_clone quickstart quickstart.sh
require_learnt
run_in_clone again quickstart.sh
require_learnt
clone_afresh
run_in_clone test test.sh
say ""
times_of quickstart | sed -n 's/^\([0-9]*\) training$/the quick start trained in \1 s/p'
# The parts of the first quick start come to 6 minutes, those of the tests to 18: the kernels are
# compiled beside the tests, so that little of it is left behind them.
judge_times << 'END'
quickstart 175 all before training
quickstart 185 training
again 20 all before training
test 60 set-up
test 300 build
test 700 tests
test 20 kernels for sm_90
END
