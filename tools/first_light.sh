#!/usr/bin/env bash
# A first visit to a GPU in three calls of at most 9 minutes each: whether anything runs and where
# its time goes; what failed once more under compute-sanitizer, ranks that share the GPU, and
# choices beside each other; speeds at the sizes that people report. Each line has its share of the
# time and ends with a status; behind a failure the next one begins. It runs what build/cuda-release
# has, else the bundle in build/bundle, with the few needs in doc/installation.md.
# usage: tools/first_light.sh 1|2|3 [--out FOLDER] [--from TAR] [--seconds N] [--list]
#   --out      where results go: first_light_1.tar.gz with all output, and first_light_1.txt to be
#              read; by default build/first-light
#   --from     what an earlier call has left on another machine: its failures for call 2, and the
#              products that it has measured
#   --seconds  540 by default
#   --list     runs nothing: the seconds that each line may take, and its name
# The status is 1 where a line has failed, else 3 where one was cut, else 0; 77 without a GPU.
set -euo pipefail
# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tools/gpu_checks.sh
. "$root/tools/gpu_checks.sh"
# shellcheck source=tools/visit.sh
. "$root/tools/visit.sh"

series=first_light

seconds_of() { echo 540; }

run_1() {
  function_line "the machine" 60 machine
  line "zeroapp --version" 20 "$zeroapp" --version
  line "doctor" 40 "$zeroapp" doctor
  line "two ranks start" 20 "$launcher" --oversubscribe --bind-to none -np 2 "$zeroapp" --version
  tiny "tiny training, fp32" 30
  tiny "tiny training, bf16" 30 bf16.enabled=true
  find_a_way
  of_runs "losses of the host" 60 known_losses.py
  if trains; then
    speed 70 gpt2 16
    speed 100 gpt2-xl 16 --tokens 131072 --steps 6
    speed 100 gpt2-xl 16 --tokens 131072 --steps 6 --trace "${work:-.}/xl_trace.json"
  fi
  line "rates of shapes" 120 "$rates" 16384 "${work:-.}/rates.jsonl"
  line "rates of torch" 100 python3 "$root/perf/device/torch_rates.py" \
    "${work:-.}/torch_rates.jsonl"
  gtest "device_test" 40 1 device_test
  gtest "kernels_test" 120 1 kernels_test
  gtest "comm_test" 40 1 comm_test
}

# once_more NAME FILE: a line of the first call that failed, from its output. Of a test program what
# failed of it.
once_more() {
  local command places failures words
  mapfile -t places < "$earlier/places.txt"
  read -r command < "$2"
  command=${command//"${places[1]}"/"$work"}
  command=${command//"${places[0]}"/"$root"}
  eval "words=($command)"
  failures=$(sed -n 's/^\[  FAILED  \] \([A-Za-z0-9_/]*\.[A-Za-z0-9_/]*\).*/\1/p' "$2" | sort -u |
    head -n 20 | paste -sd :)
  if [ -n "$failures" ]; then words+=("--gtest_filter=$failures"); fi
  sanitized "$1" 150 "${words[@]}"
}

failures_once_more() {
  if [ -n "$lists" ]; then say "150 sanitized: each failure of call 1" && return 0; fi
  if [ ! -e "$earlier/results.tsv" ]; then
    set_outcome "sanitized: failures of call 1" "not run: --from names no tar of call 1"
    return 0
  fi
  local name result number=0 file
  while IFS=$'\t' read -r name result; do
    number=$((number + 1))
    [[ $result == FAILED* ]] || continue
    case $name in sanitized:* | rates* | speed* | "the machine") continue ;; esac
    file=$(find "$earlier" -name "$(printf '%02d' $number)-*.txt")
    once_more "$name" "$file"
  done < "$earlier/results.tsv"
}

run_2() {
  local xl=(gpt2-xl 16 --tokens 131072 --steps 6)
  tiny "tiny training, bf16" 30 bf16.enabled=true
  find_a_way
  failures_once_more
  local ranks
  for ranks in 2 4; do gtest "comm_test, $ranks ranks" 60 $ranks comm_test; done
  of_runs "bits of bf16, all stages and homes, ranks: 4" 200 offload.py bf16 4
  if trains; then
    speed 100 "${xl[@]}"
    speed 100 "${xl[@]}" numerics.attention=fast
    speed 100 "${xl[@]}" numerics.reproducible=true
  fi
}

run_3() {
  local host=zero.offload_optimizer.device=cpu stage=zero.stage=2
  tiny "tiny training, bf16" 30 bf16.enabled=true
  find_a_way
  if trains; then
    speed 180 gpt2-xl 32 --tokens 524288 --steps 5
    speed 90 gpt2 64 --tokens 524288 --steps 8
    speed 90 gpt2-medium 32 --tokens 524288 --steps 6
    speed 120 gpt2-large 32 --tokens 524288 --steps 6
    speed 130 gpt2-xl 16 --tokens 262144 --steps 5 $stage $host
    speed 130 gpt2-xl 16 --tokens 262144 --steps 5 $stage
  fi
  line "calibrate" 90 "$zeroapp" calibrate --out "${work:-.}/machine.toml"
}

visit_main "$@"
