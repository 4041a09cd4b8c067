#!/usr/bin/env bash
# A first visit to a GPU in three calls of at most 9 minutes each: whether anything runs and where
# its time goes; what failed once more under compute-sanitizer, ranks that share the GPU, and
# choices beside each other; speeds at the sizes that people report. Each line has its share of the
# time and ends with a status; behind a failure the next one begins. It runs what build/cuda-release
# has, else the bundle in build/bundle, with doc/gpu_machine.md's few needs.
# usage: tools/first_light.sh 1|2|3 [--out FOLDER] [--from TAR] [--minutes N] [--list]
#   --out      where results go: first_light_1.tar.gz with all output, and first_light_1.txt to be
#              read; by default build/first-light
#   --from     what an earlier call has left on another machine: its failures for call 2, and the
#              products that it has measured
#   --minutes  9 by default
#   --list     runs nothing: the seconds that each line may take, and its name
# The status is 1 where a line has failed, else 3 where one was cut, else 0; 77 without a GPU.
set -euo pipefail
# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"

visit='' out=$root/build/first-light from='' minutes=9 lists=''
while [ $# -gt 0 ]; do
  case $1 in
    [123]) visit=$1 ;;
    --list) lists=yes ;;
    --out | --from | --minutes)
      [ $# -ge 2 ] || fail 2 "$1 lacks its value"
      case $1 in
        --out) out=$2 ;;
        --from) from=$2 ;;
        --minutes) minutes=$2 ;;
      esac
      shift
      ;;
    *) fail 2 "unknown argument '$1'; write 1, 2 or 3, --out, --from, --minutes or --list" ;;
  esac
  shift
done
[ -n "$visit" ] || fail 2 "write 1, 2 or 3: which of the three calls; see the head of the script"
[[ $minutes =~ ^[1-9][0-9]{0,2}$ ]] || fail 2 "--minutes '$minutes': a number of minutes"

has_gpu() { have nvidia-smi && [[ $(nvidia-smi --list-gpus 2> /dev/null) == GPU* ]]; }
if [ -z "$lists" ] && ! has_gpu; then
  say "first light: no GPU found: nothing was run"
  exit 77
fi
# Packing takes the last seconds.
end=$((SECONDS + 60 * minutes - 20))
# shellcheck source=tools/gpu_checks.sh
. "$root/tools/gpu_checks.sh"
# shellcheck source=tools/first_light_lines.sh
. "$root/tools/first_light_lines.sh"

find_programs
prepare_environment
if [ -n "$lists" ]; then
  "run_$visit"
  exit 0
fi
[ -x "$zeroapp" ] || fail 2 "neither build/cuda-release nor build/bundle has programs:" \
  "tools/bundle.sh makes a bundle where nvcc is"

mkdir -p "$out"
out=$(cd "$out" && pwd)
begin_results "$out" "$visit" "$from"
trap finish_results EXIT
trap end_from_outside INT TERM
"run_$visit"
exit "$(end_status)"
