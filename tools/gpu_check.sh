#!/usr/bin/env bash
# Everything that only a GPU can show: the tests of device, kernels and communicators, each against
# its host reference, on 1, 2 and 4 ranks that share the GPU; trainings whose ranks, stages and
# homes must give the same bits, and whose losses must be the host's; the small kernels under
# compute-sanitizer; how fast GPT-2 trains. It takes what build/cuda-release has, else a bundle in
# build/bundle (tools/bundle.sh), for which the machine needs CUDA's libraries and Python alone,
# else it builds. Ends with status 77, and runs nothing, where no GPU is found.
# usage: tools/gpu_check.sh [--minutes N] [--out FOLDER] [--only PATTERN]
#   --minutes  8 by default; what does not fit is named as not run
#   --out      where the results go as JSON, and all output as gpu_check.log (build/gpu-check)
#   --only     of the checks those whose names match, as "speed|rates" does; they may take all of
#              the time, and what the folder holds of others stays
set -euo pipefail
# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"

minutes=8 out=$root/build/gpu-check only=
known="--minutes N, --out FOLDER, --only PATTERN"
while [ $# -gt 0 ]; do
  [ $# -ge 2 ] || fail 2 "'$1' lacks its value, or is unknown; known are $known"
  case $1 in
    --minutes) minutes=${2:-} && shift ;;
    --out) out=${2:-} && shift ;;
    --only) only=${2:-} && shift ;;
    *) fail 2 "unknown argument '$1'; known are $known" ;;
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
mkdir -p "$out"
exec > >(tee -a "$out/gpu_check.log") 2>&1

# cuda_folders: where a machine may keep CUDA's libraries, Python's packages last.
cuda_folders() {
  local home=${CUDA_HOME:-/usr/local/cuda}
  printf '%s\n' "$home/lib64" "$home"/targets/*/lib /usr/lib/x86_64-linux-gnu
  python3 - << 'END' || true
import importlib.util
import pathlib
spec = importlib.util.find_spec("nvidia")
for place in spec.submodule_search_locations if spec else ():
    print(*sorted(pathlib.Path(place).glob("*/lib")), sep="\n")
END
}

# link_nvrtc BUNDLE FOLDER...: the compiler that cuDNN calls for plans of its own.
link_nvrtc() {
  local bundle=$1 folder
  shift
  for folder in "$@"; do
    [ -e "$folder/libnvrtc.so.13" ] || continue
    ln -sf "$folder"/libnvrtc*.so.* "$bundle/cuda/"
    return 0
  done
  say "gpu check: no libnvrtc.so.13: cuDNN may have no plan for attention"
}

# link_cudnn BUNDLE FOLDER...: all of cuDNN 9, which the programs do without where there is none.
link_cudnn() {
  local bundle=$1 folder
  shift
  for folder in "$@"; do
    [ -e "$folder/libcudnn.so.9" ] || continue
    ln -sf "$folder"/libcudnn*.so.9 "$bundle/cuda/"
    link_nvrtc "$bundle" "$@"
    return 0
  done
  say "gpu check: no libcudnn.so.9: attention will be our own kernels', far slower"
}

# link_cuda_libraries BUNDLE: what its programs want and the bundle leaves out, found on this
# machine.
link_cuda_libraries() {
  local folders folder library found
  mkdir -p "$1/cuda"
  folders=$(cuda_folders)
  for library in libcublasLt.so.13 libnccl.so.2; do
    found=
    for folder in $folders; do
      if [ -e "$folder/$library" ]; then found=$folder/$library && break; fi
    done
    [ -n "$found" ] || fail 2 "no $library in: ${folders//$'\n'/ }; name CUDA's folder in CUDA_HOME"
    ln -sf "$found" "$1/cuda/$library"
  done
  # The list is meant to fall apart into folders.
  # shellcheck disable=SC2086
  link_cudnn "$1" $folders
}

bundle=$root/build/bundle launcher=mpirun
zeroapp=$cuda_folder/src/zeroapp tests=$cuda_folder/tests rates=$cuda_folder/perf/$gpu_rates
if [ ! -x "$zeroapp" ] && [ -x "$bundle/bin/zeroapp" ]; then
  zeroapp=$bundle/bin/zeroapp tests=$bundle/bin rates=$bundle/bin/$gpu_rates
  launcher=$bundle/bin/mpirun
  link_cuda_libraries "$bundle"
elif [ ! -x "$zeroapp" ]; then
  build_cuda zeroapp "${gpu_tests[@]}" "$gpu_rates"
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PYTHONDONTWRITEBYTECODE=1
# The tests send from memory that a GPU shares, and another process may fail to copy out of it.
export OMPI_MCA_btl_vader_single_copy_mechanism=none
export SHARE_DEVICE=1  # tests/runs/program.py: the ranks of a test drive one GPU

status=0
order=()
declare -A results
end=$((SECONDS + 60 * minutes))

# is_wanted NAME
is_wanted() { [[ -z $only || $1 =~ $only ]]; }

# check NAME COMMAND...: runs it within what is left of the time, and at most in a third of all, so
# that one which hangs leaves the others theirs.
check() {
  local name=$1 left=$((end - SECONDS)) start=$SECONDS code=0
  is_wanted "$name" || return 0
  if [ -z "$only" ] && [ $left -gt $((20 * minutes)) ]; then left=$((20 * minutes)); fi
  shift
  order+=("$name")
  if [ $left -le 5 ]; then
    results[$name]="not run: the $minutes minutes are over"
    return 0
  fi
  phase "$name"
  timeout "$left" "$@" || code=$?
  case $code in
    0) results[$name]="passed in $((SECONDS - start)) s" ;;
    124) results[$name]="not finished within $left s" status=1 ;;
    *)
      results[$name]="FAILED with status $code"
      status=1
      ;;
  esac
}

# check_test NAME RANKS PROGRAM FILTER: what OpenMP and MPI count, and what interposes on calls, has
# no meaning on a device. Ranks say themselves whether they passed.
check_test() {
  local launch=("$launcher" --oversubscribe --bind-to none -np "$2")
  if [ "$2" -eq 1 ]; then launch=(); fi
  check "$1" "${launch[@]}" "$tests/$3" --gtest_brief=1 \
    "--gtest_filter=$4-Stream.RunsWorkOnItsOwnNumberOfThreads:*Product.*Threads*"
}

# check_speed MODEL MICRO_BATCH SETTING...
check_speed() {
  check "speed of $1 ${*:3}" python3 "$root/tools/gpu_speed.py" "$zeroapp" "$@" \
    --to "$out/speed.jsonl"
}

# write_results: one JSON file named after the GPU and the day; prints its name.
write_results() {
  python3 "$root/tools/product_times.py" --to "$out/products.json" > /dev/null || true
  python3 - "$out" "$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)" \
    "$("$zeroapp" --version)" << 'END'
import datetime
import json
import pathlib
import re
import sys
out, gpu, version = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
day = datetime.date.today().isoformat()
checks = dict(line.rstrip("\n").split("\t") for line in (out / "results.tsv").open())
def lines(name):
    path = out / name
    return [json.loads(line) for line in path.open()] if path.exists() else []
machine = out / "machine.toml"
products = out / "products.json"
times = json.loads(products.read_text()) if products.exists() else []
# Of a speed that was measured again the last one.
known_by = ("model", "settings", "dtype", "micro_batch", "tokens_a_step")
speeds = {str([line[key] for key in known_by]): line for line in lines("speed.jsonl")}
path = out / f"{re.sub('[^a-z0-9]+', '-', gpu.lower())}-{day}.json"
path.write_text(json.dumps({"gpu": gpu, "date": day, "version": version,
                            "checks": checks,
                            "machine": machine.read_text() if machine.exists() else None,
                            "rates": lines("rates.jsonl"),
                            "products": times,
                            "speeds": list(speeds.values())}, indent=1) + "\n")
print(path)
END
}

if [ -z "$only" ]; then rm -f "$out"/{speed,rates}.jsonl "$out"/{products.json,results.tsv}; fi
check "doctor" "$zeroapp" doctor
for program in "${gpu_tests[@]}"; do check_test "$program" 1 "$program" '*'; done
check "losses of the host" python3 "$root/tests/runs/known_losses.py" "$zeroapp" "$launcher"
check "continued texts" python3 "$root/tests/runs/generate.py" "$zeroapp" "$launcher"
for ranks in 2 4; do check_test "comm_test, $ranks ranks" "$ranks" comm_test '*'; done
check_speed gpt2 16
check_speed gpt2-xl 4
check "products fused beside apart" python3 "$root/tools/product_times.py"
rates_name="rates of shapes, memory and transfers"
if is_wanted "$rates_name"; then rm -f "$out/rates.jsonl"; fi
check "$rates_name" "$rates" 8192 "$out/rates.jsonl"
if is_wanted "calibrate"; then rm -f "$out/machine.toml"; fi
check "calibrate" "$zeroapp" calibrate --out "$out/machine.toml"
if have compute-sanitizer; then
  check "memcheck of small kernels" compute-sanitizer --target-processes all --error-exitcode 9 \
    "$tests/kernels_test" --gtest_brief=1 \
    --gtest_filter='Gelu*:LayerNorm*:Dropout*:StackedSum*:HeadPadding*'
else
  say "gpu check: compute-sanitizer is not installed: memcheck was not run"
fi
check "without a device" python3 "$root/tests/runs/no_device.py" "$zeroapp" "$launcher"
check "ranks and stages" python3 "$root/tests/runs/equal_bits.py" "$zeroapp" "$launcher"
check "homes" python3 "$root/tests/runs/offload.py" "$zeroapp" "$launcher"
full=activation_checkpointing.recompute=full
host=zero.offload_optimizer.device=cpu
check_speed gpt2-xl 16 --tokens 131072 "$full"
check_speed gpt2_10b 16 --tokens 262144 --steps 3 "$full" zero.stage=2 "$host"
check_speed gpt2-medium 8
check_speed gpt2-large 8
check_speed gpt2_1.5b 4
check_speed gpt2_1.5b 16 "$full"
check_speed gpt2-xl 4 --fp16
check_speed gpt2-xl 4 --tokens 262144 --steps 4 zero.stage=2 "$host"
check_speed gpt2-xl 4 --tokens 16384 zero.stage=2 "$host"
check_speed gpt2_10b 16 --tokens 16384 --steps 4 "$full" zero.stage=2 "$host"
check_speed gpt2_10b 16 --tokens 262144 --steps 3 --fp16 "$full" zero.stage=2 "$host"
# States of 20 B: 10 bytes a parameter, which are written once a step.
disk=$out/states
mkdir -p "$disk"
if [ "$(df --output=avail -B1 "$disk" | tail -n 1)" -gt 300000000000 ]; then
  check_speed 20b 8 --tokens 262144 --steps 2 "$full" zero.stage=3 \
    zero.offload_optimizer.device=nvme "zero.offload_optimizer.nvme_path=$disk"
else
  say "gpu check: less than 300 GB free for states in $disk: 20b was not run"
fi
rm -rf "$disk"

phase "results"
[ ${#order[@]} -gt 0 ] || fail 2 "--only '$only': no check has such a name"
for name in "${order[@]}"; do
  printf '%s\t%s\n' "$name" "${results[$name]}"
done > "$out/results.now"
# What other calls have found stays.
touch "$out/results.tsv"
awk -F '\t' 'NR == FNR { now[$1] = 1; print; next } !($1 in now)' "$out/results.now" \
  "$out/results.tsv" > "$out/results.all"
mv "$out/results.all" "$out/results.tsv"
awk -F '\t' '{ printf "%-60s %s\n", $1, $2 }' "$out/results.now"
rm "$out/results.now"
say "the same and all speeds: $(write_results)"
say "gpu check: not in this script: NCCL over several GPUs"
exit $status
