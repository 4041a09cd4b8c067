#!/usr/bin/env bash
# A visit to a GPU that has been seen before, in three calls of 250, 230 and 270 s: whether what
# changed is right there, NCCL between ranks that share the GPU among it; what kernels take by
# themselves, at the clocks of a long run; and how fast models train, beside the program of an
# earlier commit where the bundle has one. It runs what build/cuda-release has, else the bundle in
# build/bundle. Power and clocks are noted ten times a second.
# usage: tools/next_visit.sh 1|2|3 [--out FOLDER] [--from TAR] [--seconds N] [--list]
#   --out      where results go: next_visit_1.tar.gz with all output, and next_visit_1.txt to be
#              read; by default build/next-visit
#   --from     what an earlier call has left on another machine: the products that it has measured
#   --seconds  by default as above
#   --list     runs nothing: the seconds that each line may take, and its name
# The status is 1 where a line has failed, else 3 where one was cut, else 0; 77 without a GPU.
set -euo pipefail
# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tools/gpu_checks.sh
. "$root/tools/gpu_checks.sh"
# shellcheck source=tools/visit.sh
. "$root/tools/visit.sh"

series=next_visit
# Kernels that have not run on a GPU yet are measured beside the others.
export ZERO_PRODUCTS=candidates
# Tests of the kernels that were written for these visits.
changed='*Norm*:*Classifier*:*Softmax*:*Product*:*Embedding*:*Sum*:*Gradients*'
# Kernels for ncu: our own, and the libraries' products and attention.
seen='regex:zero|gemm|cutlass|nvjet|cudnn'
counters=lts__t_bytes.sum.per_second,sm__inst_issued.avg.pct_of_peak_sustained_active
counters+=,gpu__time_duration.sum,dram__bytes.sum.per_second

seconds_of() { case $1 in 1) echo 250 ;; 2) echo 230 ;; 3) echo 270 ;; esac; }

# note_clocks: watts, MHz and degrees, ten times a second, until the call ends.
note_clocks() {
  if [ -n "$lists" ]; then return 0; fi
  nvidia-smi --query-gpu=timestamp,power.draw,clocks.sm,clocks.mem,temperature.gpu \
    --format=csv,noheader,nounits --loop-ms=100 > "$work/clocks.csv" 2>&1 < /dev/null &
  clocks=$!
  trap 'kill "$clocks" 2> /dev/null || true; finish_results' EXIT
}

# over_nccl NAME SHARE RANKS: the tests of communicators, which share the GPU by NCCL.
over_nccl() {
  line "$1" "$2" env ZERO_COMM=nccl "$launcher" --oversubscribe --bind-to none -np "$3" \
    "$root/tools/nccl_on_one_gpu.sh" "$tests/comm_test" --gtest_brief=1
}

# Kernels of the tests that changed, and the same under memcheck.
kernels() {
  line "kernels that changed" 50 "$tests/kernels_test" --gtest_brief=1 \
    "--gtest_filter=$changed-$not_of_devices"
  sanitized "kernels that changed" 60 "$tests/kernels_test" --gtest_brief=1 \
    "--gtest_filter=*Norm*:*Classifier*:*Softmax*:GeluProducts.Agree*-$not_of_devices"
}

# beside NAME SHARE PROGRAM MODEL MICRO_BATCH OPTION...: speed() of one of two programs.
beside() {
  local name=$1 share=$2 program=$3
  shift 3
  line "speed of $name" "$share" python3 "$root/tools/gpu_speed.py" "$program" "$@" \
    --to "$work/speed.jsonl"
}

# in_turns SHARE TIMES MODEL MICRO_BATCH OPTION...: an earlier program and this one.
in_turns() {
  local share=$1 times=$2 base=$root/build/bundle/bin/base turn
  shift 2
  for ((turn = 1; turn <= times; ++turn)); do
    if [ -x "$base" ] || [ -n "$lists" ]; then
      beside "$1, earlier program, turn $turn" "$share" "$base" "$@"
    fi
    beside "$1, turn $turn" "$share" "$zeroapp" "$@"
  done
}

run_1() {
  note_clocks
  function_line "the machine" 30 machine
  tiny "tiny training, bf16" 30 bf16.enabled=true
  kernels
  over_nccl "comm_test over NCCL" 20 1
  over_nccl "comm_test over NCCL, 2 ranks" 40 2
  over_nccl "comm_test over NCCL, 4 ranks" 40 4
  of_runs "trainings over NCCL" 100 nccl_bits.py
  of_runs "losses of the host" 60 known_losses.py
}

run_2() {
  note_clocks
  line "rates of shapes" 120 "$rates" 16384 "${work:-.}/rates.jsonl"
  beside "gpt2-xl, op by op" 60 "$zeroapp" gpt2-xl 16 --tokens 32768 --steps 6 \
    --trace "${work:-.}/xl_trace.json"
  beside "gpt2, op by op" 40 "$zeroapp" gpt2 64 --tokens 131072 --steps 6 \
    --trace "${work:-.}/gpt2_trace.json"
  line "counters of kernels" 100 ncu --clock-control none --target-processes all \
    --kernel-name "$seen" --metrics "$counters" --launch-skip 400 --launch-count 120 \
    python3 "$root/tools/gpu_speed.py" "$zeroapp" 2x1600x25 16 run.record=false --steps 3
}

run_3() {
  # Updates before the norm is known pay where few of them are done again: nothing is clipped.
  local host=zero.offload_optimizer.device=cpu few=(16x4096x32 16 --tokens 16384 --steps 8
    zero.stage=2 activation_checkpointing.recompute=full gradient_clipping=0
    "run.machine=$root/perf/results/nvidia-h200-2026-11-26-machine.toml")
  note_clocks
  in_turns 30 2 gpt2 64 --tokens 524288 --steps 6
  in_turns 40 1 gpt2-xl 16 --tokens 131072 --steps 5
  beside "gpt2-xl, 524288 tokens" 60 "$zeroapp" gpt2-xl 32 --tokens 524288 --steps 4
  beside "gpt2-large" 40 "$zeroapp" gpt2-large 32 --tokens 524288 --steps 4
  beside "gpt2-medium" 30 "$zeroapp" gpt2-medium 32 --tokens 524288 --steps 5
  beside "16x4096x32" 40 "$zeroapp" "${few[@]}"
  beside "16x4096x32, host" 60 "$zeroapp" "${few[@]}" $host zero.offload_optimizer.speculate=false
  beside "16x4096x32, host, speculating" 60 "$zeroapp" "${few[@]}" $host \
    zero.offload_optimizer.speculate=true
}

visit_main "$@"
