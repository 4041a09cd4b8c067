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

mpi_launch 2 ./zeroapp "$input"
phase "training"
say "quickstart: about three minutes on two cores:"
say "  ${launch[*]} checkpoint.resume=never"
start=$SECONDS
touch build/quickstart.start
status=0
# Ctrl-C ends the training and not this script. mpirun, out of its reach, hears of it by SIGUSR1:
# after SIGINT it would kill within 2 s what has not saved yet.
setsid "${launch[@]}" checkpoint.resume=never &
training=$!
trap 'kill -USR1 "$training" 2> /dev/null || true' INT TERM HUP
wait "$training" || status=$?
while kill -0 "$training" 2> /dev/null; do
  status=0
  wait "$training" || status=$?
done
trap - INT TERM HUP
# Open MPI's launcher now and then returns 1 after a clean run: the run's own summary decides.
if [ $status -ne 0 ] && ! [ "$run/summary.json" -nt build/quickstart.start ]; then
  fail $status "training ended with status $status, see above"
fi
say ""
if ! report=$(tools/quickstart_report.py "$run" "$text"); then
  [ -n "$report" ] || exit 1
  say "quickstart: $report"
  fail 1 "to go on: ${launch[*]}"
fi
say "quickstart: trained in $(seconds_since "$start") s"
say "$report"
say "launch line   ${launch[*]}"
say "metrics       $run/metrics.jsonl (every step), $run/summary.json (the whole run)"
