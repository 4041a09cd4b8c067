# shellcheck shell=bash
# A visit to a machine with a GPU: its arguments, how one line is run, and the lines that visits
# share. Sourced behind common.sh, never run. A script of visits sets `series`, its own name. It
# defines seconds_of CALL and run_1 to run_3, and ends with visit_main "$@".

work='' earlier='' visit=${visit:-} series=${series:-} running='' current=''
needed=()
declare -A outcome numbers

# begin_results FOLDER VISIT TAR: an empty folder of results, and of an earlier call what measured
# products are kept in, and which lines failed.
begin_results() {
  work=$1/${series}_$2
  earlier=$work.earlier
  rm -rf "$work" "$earlier"
  mkdir -p "$work/cache" "$earlier"
  printf '%s\n' "$root" "$work" > "$work/places.txt"
  if [ -n "$3" ]; then
    tar -xzf "$3" -C "$earlier" --strip-components=1 || fail 2 "$3: no tar of an earlier call"
  elif [ "$2" -gt 1 ] && [ -e "$1/${series}_1.tar.gz" ]; then
    tar -xzf "$1/${series}_1.tar.gz" -C "$earlier" --strip-components=1
  fi
  cp "$earlier"/cache/*.txt "$work/cache/" 2> /dev/null || true
  export XDG_CACHE_HOME=$work/cache
}

# finish_results: one tar, and its summary beside it.
finish_results() {
  trap - EXIT INT TERM
  summary > "$work.txt" || true
  cp "$work.txt" "$work/summary.txt"
  tar -czf "$work.tar.gz" -C "$(dirname "$work")" "$(basename "$work")"
  rm -rf "$work" "$earlier"
  cat "$work.txt"
  say "${series/_/ }: all output is in $work.tar.gz"
}

# end_from_outside: what runs is ended, and what is known is packed.
end_from_outside() {
  if [ -n "$running" ]; then
    kill "$running" 2> /dev/null || true
    wait "$running" || true
    keep_output "$current" "cut: the call was ended from outside"
  fi
  exit 3
}

# summary: a line each, and the end of what those said that did not pass.
summary() {
  local name file
  say "${series/_/ }, call $visit, $(date -u +%Y-%m-%dT%H:%MZ), $(describe_gpu)"
  for name in "${order[@]}"; do printf '%-64s %s\n' "$name" "${outcome[$name]}"; done
  say "$(count_outcomes passed) passed, $(count_outcomes FAILED) failed," \
    "$(count_outcomes cut) cut, $(count_outcomes not) not run"
  if [ -s "$work/speed.jsonl" ]; then
    python3 "$root/tools/gpu_results.py" "$work" speeds "$(describe_gpu)" || true
  fi
  for name in "${order[@]}"; do
    file=$work/$(file_of "$name")
    case ${outcome[$name]} in passed* | not*) continue ;; esac
    say "" "---- $name: ${outcome[$name]}; the last lines:"
    if [ -e "$file" ]; then tail -n 12 "$file"; fi
  done
}

describe_gpu() {
  nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader | head -n 1 ||
    true
}

count_outcomes() {
  local name count=0
  for name in "${order[@]}"; do
    case ${outcome[$name]} in "$1"*) count=$((count + 1)) ;; esac
  done
  echo $count
}

# file_of NAME: where a line's output goes.
file_of() { echo "${numbers[$1]}-$(tr -cs 'a-zA-Z0-9.' '_' <<< "$1" | cut -c1-60).txt"; }

set_outcome() {
  order+=("$1")
  numbers[$1]=$(printf '%02d' ${#order[@]})
  outcome[$1]=$2
  printf '%s\t%s\n' "$1" "$2" >> "$work/results.tsv"
  say "$1: $2"
}

# line NAME SHARE COMMAND...: for at most SHARE seconds, twice what is expected; where only half of
# them are left, for these. Sets the outcome, never the script's status.
line() {
  local name=$1 share=$2 left start=$SECONDS code=0
  shift 2
  if [ -n "$lists" ]; then say "$share $name" && return 0; fi
  left=$((end - SECONDS))
  if [ "$left" -lt $((share / 2)) ] || [ "$left" -lt 5 ]; then
    set_outcome "$name" "not run: it may take $share s, and $left s were left"
    return 0
  fi
  if [ "$left" -lt "$share" ]; then share=$left; fi
  say "== $name (at $SECONDS s, for at most $share)"
  { printf '%q ' "$@" && echo; } > "$work/line.txt"
  current=$name
  # A shell sees a signal while it waits, and not while it runs a command.
  timeout --kill-after=5 "$share" "$@" >> "$work/line.txt" 2>&1 < /dev/null &
  running=$!
  wait "$running" || code=$?
  running=''
  keep_output "$name" "$(outcome_of $code $((SECONDS - start)) "$share")"
}

# keep_output NAME OUTCOME: of the line that has just ended.
keep_output() {
  set_outcome "$@"
  mv "$work/line.txt" "$work/$(file_of "$1")"
  case $2 in
    FAILED*) failed=1 ;;
    cut*) cut=1 ;;
  esac
}

has_passed() { [ -n "$lists" ] || [[ ${outcome[$1]:-} == passed* ]]; }

# function_line NAME SHARE FUNCTION: one of this file, in a process that can be ended.
function_line() {
  line "$1" "$2" bash -c ". '$root/tools/common.sh'; . '$root/tools/gpu_checks.sh';
    . '$root/tools/visit.sh'; zeroapp='$zeroapp' tests='$tests' rates='$rates' $3"
}

# tell COMMAND...: a fact of the machine, or why there is none.
tell() {
  say "\$ $*"
  timeout 10 "$@" 2>&1 | head -n 40 || true
}

# machine: what a failure may come of, before anything runs.
machine() {
  tell nvidia-smi
  tell grep -E 'MemTotal|MemFree|MemAvailable|HugePages_Total|CommitLimit' /proc/meminfo
  tell cat /sys/fs/cgroup/memory.max
  tell nproc
  tell df -h "$root" /tmp /dev/shm
  tell sh -c 'ulimit -a'
  tell uname -a
  tell ip link set lo up
  tell ip address
  tell sh -c 'command -v ssh rsh srun mpirun nvcc compute-sanitizer nsys'
  tell python3 -c 'import torch; print("torch", torch.__version__, torch.version.cuda,
    torch.backends.cudnn.version(), torch.cuda.nccl.version(), torch.cuda.is_available())'
  tell python3 -c 'import importlib.metadata as m; print(*sorted(f"{d.name} {d.version}"
    for d in m.distributions() if d.name.startswith(("nvidia", "torch", "mpi4py"))), sep=", ")'
  tell sh -c "ls -l '$root/build/bundle/cuda'"
  local program
  for program in "$zeroapp" "$tests/kernels_test"; do
    # A program of a bundle is a script that starts programs/NAME with the bundle's libraries.
    tell env "LD_LIBRARY_PATH=$root/build/bundle/lib:$root/build/bundle/cuda" ldd \
      "${program/bundle\/bin/bundle\/programs}"
  done
}

# tiny NAME SHARE SETTING...: 20 steps of a small model, in one process without a launcher.
tiny() {
  local folder=${work:-.}/tiny name=$1 share=$2
  shift 2
  if [ -z "$lists" ]; then
    mkdir -p "$folder"
    cat > "$folder/tiny.toml" << 'END'
train_batch_size = 16
train_micro_batch_size_per_gpu = 8
[model]
layers = 2
width = 256
heads = 4
dropout = 0.0
[data]
train = "synthetic"
sequence_length = 256
[run]
steps = 20
[checkpoint]
resume = "never"
END
  fi
  line "$name" "$share" "$zeroapp" "$folder/tiny.toml" "run.output=$folder/run" "$@"
}

# speed SHARE MODEL MICRO_BATCH OPTION... [SETTING...]: with what it took for anything to train.
speed() {
  local name="speed of $2, micro-batch $3${4:+ ${*:4}}"
  line "${name/ --trace */, traced}" "$1" python3 "$root/tools/gpu_speed.py" \
    "$zeroapp" "${@:2}" "${needed[@]}" --to "$work/speed.jsonl"
}

gtest() {
  local launch=("$launcher" --oversubscribe --bind-to none -np "$3")
  if [ "$3" -eq 1 ]; then launch=(); fi
  line "$1" "$2" "${launch[@]}" "$tests/$4" --gtest_brief=1 "--gtest_filter=*-$not_of_devices"
}

of_runs() {
  line "$1" "$2" python3 "$root/tests/runs/$3" "$zeroapp" "$launcher" "${@:4}"
}

# find_a_way: where the tiny training fails, which of the simpler ways trains; `needed` is that one.
find_a_way() {
  local bf16=bf16.enabled=true
  if has_passed "tiny training, bf16" && [ -z "$lists" ]; then return 0; fi
  tiny "tiny training, kernels one by one" 30 $bf16 run.record=false
  tiny "tiny training, reproducible" 30 $bf16 numerics.reproducible=true
  if [ -n "$lists" ]; then return 0; fi
  if has_passed "tiny training, kernels one by one"; then
    needed=(run.record=false)
  elif has_passed "tiny training, reproducible"; then
    needed=(numerics.reproducible=true)
  fi
  export CUDA_LAUNCH_BLOCKING=1
  tiny "tiny training, each kernel waited for" 30 $bf16 run.record=false
  unset CUDA_LAUNCH_BLOCKING
  sanitized "tiny training" 90 "$zeroapp" "$work/tiny/tiny.toml" "run.output=$work/tiny/run" \
    $bf16 run.record=false run.steps=3
}

# sanitized NAME SHARE COMMAND...
sanitized() {
  if [ -z "$lists" ] && ! have compute-sanitizer; then
    set_outcome "sanitized: $1" "not run: compute-sanitizer is not installed"
    return 0
  fi
  line "sanitized: $1" "$2" compute-sanitizer --target-processes all --error-exitcode 9 "${@:3}"
}

# trains: whether anything does, and so whether a speed can be measured.
trains() {
  if has_passed "tiny training, bf16" || [ ${#needed[@]} -gt 0 ]; then return 0; fi
  set_outcome "speeds" "not run: no training ends"
  return 1
}

has_gpu() { have nvidia-smi && [[ $(nvidia-smi --list-gpus 2> /dev/null) == GPU* ]]; }

# read_arguments ARGUMENT...: sets visit, out, from, seconds and lists.
read_arguments() {
  out=$root/build/${series//_/-} from='' seconds=''
  while [ $# -gt 0 ]; do
    case $1 in
      [123]) visit=$1 ;;
      --list) lists=yes ;;
      --out | --from | --seconds)
        [ $# -ge 2 ] || fail 2 "$1 lacks its value"
        case $1 in
          --out) out=$2 ;;
          --from) from=$2 ;;
          --seconds) seconds=$2 ;;
        esac
        shift
        ;;
      *) fail 2 "unknown argument '$1'; write 1, 2 or 3, --out, --from, --seconds or --list" ;;
    esac
    shift
  done
  [ -n "$visit" ] || fail 2 "write 1, 2 or 3: which of the three calls; see the head of the script"
  seconds=${seconds:-$(seconds_of "$visit")}
  [[ $seconds =~ ^[1-9][0-9]{1,4}$ ]] || fail 2 "--seconds '$seconds': a number from 10 on"
}

# visit_main ARGUMENT...: one call.
visit_main() {
  read_arguments "$@"
  if [ -z "$lists" ] && ! has_gpu; then
    say "${series/_/ }: no GPU found: nothing was run"
    exit 77
  fi
  end=$((SECONDS + seconds - 20))  # packing takes the last ones
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
}
