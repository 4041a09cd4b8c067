#!/usr/bin/env bash
# One command from a fresh clone to a GPT-2 that has learnt real text on two MPI ranks: installs
# what is missing, builds, writes data/web.txt, trains inputs/gpt2_nano.toml and reports.
# usage: tools/quickstart.sh [--yes]      --yes: do not ask before using sudo
set -euo pipefail
# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"

input=inputs/gpt2_nano.toml run=runs/gpt2_nano text=data/web.txt
cd "$root"
phase "set-up"
tools/setup.sh --text "$@"
phase "build"
build_host zeroapp
phase "text"
[ -f "$text" ] || tools/data/web_text.py "$text"

mpi_launch 2 ./zeroapp "$input" checkpoint.resume=never
phase "training"
say "quickstart: about three minutes on two cores:"
say "  ${launch[*]}"
start=$SECONDS
touch build/quickstart.start
status=0
"${launch[@]}" || status=$?
# Open MPI's launcher now and then returns 1 after a clean run: the run's own summary decides.
if [ $status -ne 0 ] && ! [ "$run/summary.json" -nt build/quickstart.start ]; then
  fail $status "training ended with status $status, see above"
fi
say ""
say "quickstart: trained in $(seconds_since "$start") s"
tools/quickstart_report.py "$run" "$text"
say "launch line   ${launch[*]}"
say "metrics       $run/metrics.jsonl (every step), $run/summary.json (the whole run)"
