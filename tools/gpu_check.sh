#!/usr/bin/env bash
# Everything that only a GPU can show: builds with CUDA where that is needed, runs the tests of
# device, kernels and communicators on the GPU, each against its host reference, and the small ones
# under compute-sanitizer. Ends with status 77, and runs nothing, where no GPU is found.
# usage: tools/gpu_check.sh [--minutes N]   (8 by default; what does not fit is named as not run)
set -euo pipefail
# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"

minutes=8
while [ $# -gt 0 ]; do
  case $1 in
    --minutes) minutes=${2:-} && shift ;;
    *) fail 2 "unknown argument '$1' (usage: tools/gpu_check.sh [--minutes N])" ;;
  esac
  shift
done
[[ $minutes =~ ^[1-9][0-9]{0,3}$ ]] || fail 2 "--minutes '$minutes': a number of minutes"

gpus=0
if have nvidia-smi; then gpus=$(nvidia-smi --list-gpus 2> /dev/null | grep -c '^GPU' || true); fi
if [ "$gpus" -eq 0 ]; then
  say "gpu check: no GPU found: nothing was run"
  exit 77
fi
nvidia-smi --query-gpu=name,driver_version,memory.used,memory.free --format=csv,noheader

folder=$root/build/cuda-release
programs=(device_test kernels_test comm_test)
built=1
for program in "${programs[@]}"; do
  [ -x "$folder/tests/$program" ] || built=0
done
if [ $built -eq 0 ]; then
  find_nvcc || fail 2 "no nvcc, and no tests built beforehand in $folder"
  phase "building (log: build/cuda-build.log)"
  "$root/tools/kokkos.sh" cuda
  use_ccache
  use_ninja
  mkdir -p "$root/build"
  if ! { cd "$root" && cmake --preset cuda-release &&
    cmake --build "$folder" -j "$jobs" --target zeroapp "${programs[@]}"; } \
    > "$root/build/cuda-build.log" 2>&1; then
    tail -n 40 "$root/build/cuda-build.log" >&2
    fail 1 "building for the GPU failed"
  fi
fi

status=0
declare -A results
end=$((SECONDS + 60 * minutes))

# check NAME COMMAND...: runs it within what is left of the time.
check() {
  local name=$1 left=$((end - SECONDS)) code=0
  shift
  if [ $left -le 5 ]; then
    results[$name]="not run: the $minutes minutes are over"
    return 0
  fi
  phase "$name"
  timeout "$left" "$@" || code=$?
  case $code in
    0) results[$name]=passed ;;
    124) results[$name]="not finished within the $minutes minutes" ;;
    *)
      results[$name]="FAILED with status $code"
      status=1
      ;;
  esac
}

# What OpenMP and MPI count, and what interposes on calls, has no meaning on a device.
host_only='-Stream.RunsWorkOnItsOwnNumberOfThreads:*Product.*Threads*'
order=()
for program in "${programs[@]}"; do
  order+=("$program")
  check "$program" "$folder/tests/$program" "--gtest_filter=$host_only" --gtest_brief=1
done
if have compute-sanitizer; then
  order+=("memcheck of small kernels")
  check "memcheck of small kernels" compute-sanitizer --error-exitcode 9 \
    "$folder/tests/kernels_test" --gtest_filter='Gelu*:LayerNorm*:Dropout*:StackedSum*' \
    --gtest_brief=1
else
  say "gpu check: compute-sanitizer is not installed: memcheck was not run"
fi

phase "results"
for name in "${order[@]}"; do printf '%-28s %s\n' "$name" "${results[$name]}"; done
say "gpu check: not in this script yet: training, NCCL over several GPUs, measurements"
exit $status
