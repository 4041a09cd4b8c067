#!/usr/bin/env bash
# Everything that only a GPU can show: the tests of device, kernels and communicators, each against
# its host reference, on 1, 2 and 4 ranks that share the GPU; trainings whose ranks, stages and
# homes must give the same bits, and whose losses must be the host's; the tests of kernels under
# compute-sanitizer; how fast models train, with and without offload, and in how much memory. It
# takes what build/cuda-release has, else a bundle in build/bundle (tools/bundle.sh), for which the
# machine needs CUDA's libraries and Python alone, else it builds. The status is 1 where a check has
# failed, else 3 where one was cut for its time, else 0; 77, with nothing run, where no GPU is.
# usage: tools/gpu_check.sh [--minutes N] [--out FOLDER] [--only PATTERN | --part N] [--list]
#   --minutes  8 by default, about 150 for all; what does not fit is named as not run
#   --out      where output and results go; by default build/gpu-check, and the results, as
#              <gpu>-<date>.json, perf/results; a folder holds those of one GPU and one build
#   --only     of the checks those whose names match, as "speed|rates" does; each may take all of
#              the time that is left, and what the folder holds of others stays
#   --part     in 9 minutes the checks of the N-th line of tools/gpu_parts.txt, each in its share;
#              none of them holds the model of 20 billion parameters, which wants --minutes 60
#              --only 44x6144
#   --list     runs nothing: the seconds that each check may take, and its name
set -euo pipefail
# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"

minutes=8 out=$root/build/gpu-check to=$root/perf/results only='' lists='' part=''
known="--minutes N, --out FOLDER, --only PATTERN, --part N, --list"
while [ $# -gt 0 ]; do
  if [ "$1" = --list ]; then lists=yes && shift && continue; fi
  [ $# -ge 2 ] || fail 2 "'$1' lacks its value, or is unknown; known are $known"
  case $1 in
    --minutes) minutes=${2:-} && shift ;;
    --out) out=${2:-} to=${2:-} && shift ;;
    --only) only=${2:-} && shift ;;
    --part)
      part=$2 minutes=9
      only=$(sed -n "${2}p" "$root/tools/gpu_parts.txt" 2> /dev/null || true)
      [ -n "$only" ] || fail 2 "--part '$2': a line of tools/gpu_parts.txt"
      shift
      ;;
    *) fail 2 "unknown argument '$1'; known are $known" ;;
  esac
  shift
done
[[ $minutes =~ ^[1-9][0-9]{0,3}$ ]] || fail 2 "--minutes '$minutes': a number of minutes"

gpus=0 gpu=''
if [ -n "$lists" ]; then
  gpus=1 out=$(mktemp -d)
  trap 'rm -rf "$out"' EXIT
elif have nvidia-smi; then gpus=$(nvidia-smi --list-gpus 2> /dev/null | grep -c '^GPU' || true); fi
if [ "$gpus" -eq 0 ]; then
  say "gpu check: no GPU found: nothing was run"
  exit 77
fi
if [ -z "$lists" ]; then
  gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)
  nvidia-smi --query-gpu=name,driver_version,memory.used,memory.free --format=csv,noheader
  mkdir -p "$out"
  exec > >(tee -a "$out/gpu_check.log") 2>&1
fi

end=$((SECONDS + 60 * minutes))
# shellcheck source=tools/gpu_checks.sh
. "$root/tools/gpu_checks.sh"

find_programs
if [ ! -x "$zeroapp" ] && [ -z "$lists" ]; then
  build_cuda zeroapp "${gpu_tests[@]}" "$gpu_rates"
  end=$((SECONDS + 60 * minutes))
fi
prepare_environment

# check_test NAME SHARE RANKS PROGRAM: ranks say themselves whether they passed.
check_test() {
  local launch=("$launcher" --oversubscribe --bind-to none -np "$3")
  if [ "$3" -eq 1 ]; then launch=(); fi
  check "$1" "$2" "${launch[@]}" "$tests/$4" --gtest_brief=1 "--gtest_filter=*-$not_of_devices"
}

# check_run NAME SHARE FILE ARGUMENT...: of tests/runs.
check_run() {
  check "$1" "$2" python3 "$root/tests/runs/$3" "$zeroapp" "$launcher" "${@:4}"
}

# check_bits PRECISION RANKS SHARE: 17 trainings, 16 for the stages and homes and one to compare.
# With one rank a start on a GPU takes 2 to 4 seconds.
check_bits() { check_run "bits of $1, all stages and homes, ranks: $2" "$3" offload.py "$1" "$2"; }

# sanitize TOOL NAME SHARE SUITES [WITHOUT]: under compute-sanitizer, where kernels take many times
# as long: their tests are all small, but for those that WITHOUT names.
sanitize() {
  if [ -z "$lists" ] && ! have compute-sanitizer; then
    leave_out "$1 of $2" "compute-sanitizer is not installed"
    return 0
  fi
  check "$1 of $2" "$3" compute-sanitizer --tool "$1" --target-processes all --error-exitcode 9 \
    "$tests/kernels_test" --gtest_brief=1 "--gtest_filter=$4-$not_of_devices:${5:-}"
}

check_memory() { sanitize memcheck "$@"; }

# check_races NAME SHARE SUITES: of kernels whose threads share memory on the chip.
check_races() { sanitize racecheck "$@"; }

# check_unwritten NAME SHARE SUITES [WITHOUT]: of what nobody has written. Arenas are zero-filled
# and outputs of tests poisoned, but for those of attention, which are then as the device gave them.
# In fp32, and so of our own kernels: of what cuDNN's write by bulk copies initcheck sees nothing.
check_unwritten() {
  export ZERO_TEST_UNWRITTEN=1
  sanitize initcheck "$@"
  unset ZERO_TEST_UNWRITTEN
}

# check_speed SHARE MODEL MICRO_BATCH SETTING...
check_speed() {
  local name="speed of $2, micro-batch $3"
  if [ $# -gt 3 ]; then name="$name ${*:4}"; fi
  check "$name" "$1" python3 "$root/tools/gpu_speed.py" "$zeroapp" "${@:2}" --to "$out/speed.jsonl"
}

# check_found NAME SUBJECT: what speeds were measured here, beside what is promised.
check_found() { check "$1" 15 python3 "$root/tools/gpu_results.py" "$out" "$2" "$gpu"; }

# check_shares: those of another GPU are told, not judged.
check_shares() {
  local name="shares of the peak that are promised"
  check_found "$name" speeds
  if [[ $gpu != *H200* && ${results[$name]:-} == "not judged"* ]]; then
    results[$name]="not judged: promised of an H200 alone"
  fi
}

check_kernels_of_memory() {
  check_memory "optimizer, gradients and decisions" 120 \
    'Adam*:Lamb*:Lion*:Sgd*:Element*:Split*:Grad*:Sum*Squares*:Square*:Pend*:Clear*:Decide*:Update*'
  check_memory "elementwise kernels" 120 \
    'LayerNorm*:Rms*:Dropout*:StackedSum*:TreeSum*:SumGroups*:ResizeHeads*:Embedding*:Initial*'
  check_memory "the classifier, digests" 120 'Classifier*:LabelLoss*:SampleRows*:Digest*'
  check_memory "the loops that kernels share" 120 \
    'MapEl*:Conversion*:Rows.*:Column*:Softmax*:HeldRows*:SegmentTable*:NormBlock*'
  check_memory "own attention" 120 \
    'OwnAttention*:Cached*:WriteDropout*:RelativeBias*:AttentionLengths*:AttentionPadding*:Disent*'
  check_memory "parts of decoders" 120 'DecoderAttention*:HeadNorm*:Gated*:Rotate*'
  check_memory "products" 180 \
    'Product*:RowProduct*:TableProduct*:FusedProduct*:GeluProducts*' 'ProductBlocks.*'
}

check_rates() {
  local name="rates of shapes, memory and transfers"
  if is_wanted "$name"; then rm -f "$out"/rates.jsonl*; fi
  check "$name" 150 "$rates" 8192 "$out/rates.jsonl"
  if is_wanted "calibrate"; then rm -f "$out/machine.toml"; fi
  check "calibrate" 90 "$zeroapp" calibrate --out "$out/machine.toml"
}

# check_torch: the same shapes, and the same model compiled, by PyTorch where it is installed.
check_torch() {
  local place=$root/perf/device name
  local rates_of="rates of torch" speed_of="speed of gpt2 by torch, micro-batch 64"
  if [ -z "$lists" ] && ! python3 -c 'import torch' 2> /dev/null; then
    for name in "$rates_of" "$speed_of"; do leave_out "$name" "torch is not installed"; done
    return 0
  fi
  if is_wanted "$rates_of"; then rm -f "$out/torch_rates.jsonl"; fi
  check "$rates_of" 100 python3 "$place/torch_rates.py" "$out/torch_rates.jsonl"
  if is_wanted "$speed_of"; then rm -f "$out/torch_speed.jsonl"; fi
  check "$speed_of" 200 python3 "$place/torch_gpt2.py" gpt2 64 --tokens 524288 \
    --to "$out/torch_speed.jsonl"
}

full=activation_checkpointing.recompute=full
selective=activation_checkpointing.recompute=selective
host=zero.offload_optimizer.device=cpu
stage=zero.stage=2

# Half a million tokens a step, as people train GPT-2, in the micro-batches that fill an H200.
check_sizes() {
  check_speed 120 gpt2 64 --tokens 524288 --steps 10
  check_speed 200 gpt2-xl 32 --tokens 524288 --steps 5
  check_speed 200 gpt2-xl 16 --tokens 524288 --steps 5
  check_speed 120 gpt2-medium 32 --tokens 524288 --steps 8
  check_speed 160 gpt2-large 32 --tokens 524288 --steps 6
}

# A run with the optimizer's states on the host, and the same without: micro-batch, tokens of a step
# and recompute are equal. 10 billion parameters fit with offload alone, 16 of their 50 layers both.
check_offload() {
  check_speed 200 16x4096x32 16 --tokens 262144 --steps 4 $full $stage $host
  check_speed 200 16x4096x32 16 --tokens 262144 --steps 4 $full $stage
  check_speed 150 16x4096x32 16 --tokens 16384 --steps 8 $full $stage $host
  check_speed 150 16x4096x32 16 --tokens 16384 --steps 8 $full $stage
  check_speed 180 gpt2-xl 8 --tokens 262144 --steps 6 $stage $host
  check_speed 180 gpt2-xl 8 --tokens 262144 --steps 6 $stage
  check_speed 180 gpt2-xl 8 --tokens 16384 $stage $host
  check_speed 180 gpt2-xl 8 --tokens 16384 $stage
}

# In 16 bits of fp16 states take two bytes more: a twentieth stays on the GPU, where a host has
# 128 GiB.
check_ten_billion() {
  check_speed 560 gpt2_10b 16 --tokens 262144 --steps 4 $selective $stage $host
  check_speed 450 gpt2_10b 16 --tokens 16384 --steps 6 $full $stage $host
  check_speed 560 gpt2_10b 8 --tokens 262144 --steps 4 --fp16 $full $stage $host \
    zero.offload_optimizer.ratio=0.95
}

# 19.9 billion parameters: 10 bytes of each on the disk, which are written once a step and hashed at
# the end; with more tokens a step their sums of gradients would fit no GPU.
check_twenty_billion() {
  local disk=$out/states model=44x6144x48
  mkdir -p "$disk"
  if [ -n "$lists" ] || [ "$(df --output=avail -B1 "$disk" | tail -n 1)" -gt 300000000000 ]; then
    check_speed 2400 $model 16 --tokens 16384 --steps 3 $full zero.stage=3 \
      zero.offload_optimizer.device=nvme "zero.offload_optimizer.nvme_path=$disk"
  else
    leave_out "speed of $model on disk" "less than 300 GB are free in $disk"
  fi
  rm -rf "$disk"
}

if [ -z "$lists" ]; then
  version=$("$zeroapp" --version)
  if [ -z "$only" ]; then
    rm -f "$out"/{speed,rates}.jsonl "$out"/{products.json,machine.toml,results.tsv,made_by.txt}
  fi
  keep_origin "$out" "$gpu, $version"
fi
check "doctor" 60 "$zeroapp" doctor
for program in "${gpu_tests[@]}"; do check_test "$program" 120 1 "$program"; done
check_run "losses of the host" 90 known_losses.py
for ranks in 2 4; do check_test "comm_test, $ranks ranks" 120 "$ranks" comm_test; done
check_sizes
check_bits bf16 4 200
check_kernels_of_memory
check_rates
check_torch
check_run "continued texts" 180 generate.py
check_run "encoder-decoders" 300 encoder_decoders.py
check_run "trainings over NCCL" 120 nccl_bits.py
check_offload
check_speed 90 gpt2 16 $full
check_speed 90 gpt2-medium 16 $full
check_speed 120 gpt2-large 8 $full
check_speed 120 t5-large 128 --tokens 131072 --steps 8
check_speed 120 blenderbot-400M-distill 200 --tokens 153600 --steps 8
check_speed 180 gpt2_1.5b 8
check_speed 180 gpt2_1.5b 8 $full
check_speed 180 gpt2-xl 8 $full
check_speed 180 gpt2-xl 8 --fp16
check_bits bf16 2 150
check_bits bf16 1 120
for precision in fp32 fp16; do
  for ranks in 4 2 1; do check_bits $precision "$ranks" 200; done
done
check_run "bits of recompute, LAMB and MPI" 240 equal_bits.py
check_run "homes of activations, and others" 240 offload.py others
check_run "without a device" 120 no_device.py
check_memory "attention by the library" 240 \
  'Attention/*:AttentionGradient*:AttentionMask*:AttentionRefusal*:Cudnn*' '*TakesTheShapes*'
check_memory "every algorithm of products" 300 'LtAlgorithms*'
check_races "sums along rows and columns" 150 \
  'LayerNorm*:RmsNorm*:SoftmaxRows*:Rows.*:ColumnTree*:ColumnChunksOf*:SumOfSquares*:Lamb*'
check_races "own attention and the classifier" 200 'OwnAttention*:Cached*:Classifier*'
check_unwritten "own attention" 150 'Attention/0.*:OwnAttention/0.*'
check "products fused beside apart" 30 python3 "$root/tools/product_times.py"
check_ten_billion
check_speed 240 gpt2-xl 16 --tokens 131072 "$full"
check_twenty_billion
end=$((SECONDS + 60))  # these take none
check_found "device memory within the plan, 2 % and what was there" memory
check_found "host optimizer at 0.95 of the same without offload" offload
check_shares

if [ -n "$lists" ]; then exit; fi
phase "results"
[ ${#order[@]} -gt 0 ] || fail 2 "--only '$only': no check has such a name"
keep_results "$out"
python3 "$root/tools/product_times.py" --to "$out/products.json" > /dev/null || true
written=$(python3 "$root/tools/gpu_results.py" "$out" write "$to" "$gpu" "$version")
say "the same and all speeds: $written"
say "gpu check: not in this script: NCCL over several GPUs"
exit "$(end_status)"
