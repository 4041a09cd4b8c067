# shellcheck shell=bash
# What tools/gpu_check.sh is made of, beside its list of checks: CUDA's libraries for a bundle, one
# check within its share of the time, and what came of all. Sourced behind common.sh, never run.

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

# folder_of LIBRARY FOLDER...: the first that has it, or nothing.
folder_of() {
  local library=$1 folder
  shift
  for folder in "$@"; do
    if [ -e "$folder/$library" ]; then echo "$folder" && return 0; fi
  done
}

# newest_cudnn FOLDER...: the folder with the latest cuDNN 9 for CUDA 13, or nothing: a machine may
# have an old one beside that of a Python package. One that does not load counts as the oldest.
newest_cudnn() {
  local folder version newest=0 best=''
  for folder in "$@"; do
    [ -e "$folder/libcudnn.so.9" ] || continue
    version=$(LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
      python3 - "$folder/libcudnn.so.9" 2> /dev/null << 'END' || true
import ctypes
import sys
library = ctypes.CDLL(sys.argv[1])
print(library.cudnnGetVersion() if library.cudnnGetCudartVersion() // 1000 == 13 else 0)
END
    )
    [[ $version =~ ^[0-9]+$ ]] || version=1
    if [ "$version" -gt "$newest" ]; then newest=$version best=$folder; fi
  done
  if [ -n "$best" ]; then echo "$best"; fi
}

# link_cudnn BUNDLE FOLDER...: all of cuDNN 9, which the programs do without where there is none,
# and the compiler that it calls for plans of its own.
link_cudnn() {
  local bundle=$1 cudnn nvrtc
  shift
  cudnn=$(newest_cudnn "$@")
  nvrtc=$(folder_of libnvrtc.so.13 "$@")
  if [ -z "$cudnn" ]; then
    say "gpu check: no libcudnn.so.9: attention will be our own kernels', far slower"
    return 0
  fi
  ln -sf "$cudnn"/libcudnn*.so.9 "$bundle/cuda/"
  if [ -z "$nvrtc" ]; then
    say "gpu check: no libnvrtc.so.13: cuDNN may have no plan for attention"
    return 0
  fi
  ln -sf "$nvrtc"/libnvrtc*.so.* "$bundle/cuda/"
}

# is_wanted_library BUNDLE LIBRARY: by a program, whose file names what it loads.
is_wanted_library() { grep -qF "$2" "$1"/programs/*; }

# link_cuda_libraries BUNDLE: what its programs want and the bundle leaves out, found on this
# machine.
link_cuda_libraries() {
  local folders library found
  mkdir -p "$1/cuda"
  mapfile -t folders < <(cuda_folders)
  for library in libcublasLt.so.13 libnccl.so.2; do
    found=$(folder_of "$library" "${folders[@]}")
    if [ -n "$found" ]; then
      ln -sf "$found/$library" "$1/cuda/$library"
    elif is_wanted_library "$1" "$library"; then
      fail 2 "no $library in: ${folders[*]}; name CUDA's folder in CUDA_HOME"
    fi
  done
  link_cudnn "$1" "${folders[@]}"
}

# find_programs: sets zeroapp, tests, rates and launcher: those of build/cuda-release, or of a
# bundle where there is no such build, linked to this machine's CUDA unless checks are only listed.
find_programs() {
  local bundle=$root/build/bundle
  zeroapp=$cuda_folder/src/zeroapp tests=$cuda_folder/tests rates=$cuda_folder/perf/$gpu_rates
  launcher=mpirun
  if [ -x "$zeroapp" ] || [ ! -x "$bundle/bin/zeroapp" ]; then return 0; fi
  zeroapp=$bundle/bin/zeroapp tests=$bundle/bin rates=$bundle/bin/$gpu_rates
  launcher=$bundle/bin/mpirun
  if [ -z "${lists:-}" ]; then link_cuda_libraries "$bundle"; fi
}

# start_loopback: with the command of its name or without (SIOCSIFFLAGS, up and running).
start_loopback() {
  ip link set lo up 2> /dev/null || python3 -c 'import fcntl, socket, struct
of = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(of, 0x8914, struct.pack("16sh14x", b"lo", 0x41))' 2> /dev/null
}

# prepare_environment: what launchers, tests and NCCL are told on one machine with one GPU.
prepare_environment() {
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PYTHONDONTWRITEBYTECODE=1
  # The tests send from memory that a GPU shares, and another process may fail to copy out of it.
  export OMPI_MCA_btl_vader_single_copy_mechanism=none
  # All ranks are on this machine: a launcher needs no ssh then, and NCCL no network but loopback.
  export OMPI_MCA_plm="${OMPI_MCA_plm:-isolated}" NCCL_SOCKET_IFNAME="${NCCL_SOCKET_IFNAME:-lo}"
  export OMPI_MCA_ess_singleton_isolated="${OMPI_MCA_ess_singleton_isolated:-1}"
  export PATH="$PATH:${CUDA_HOME:-/usr/local/cuda}/bin"  # compute-sanitizer
  if [ -z "${lists:-}" ]; then start_loopback || true; fi
  export SHARE_DEVICE=1  # tests/runs/program.py: the ranks of a test drive one GPU
}

# What OpenMP and MPI count, and what interposes on calls, has no meaning on a device.
not_of_devices='Stream.RunsWorkOnItsOwnNumberOfThreads:*Product.*Threads*'

order=() failed=0 cut=0 only=${only:-} lists=${lists:-} end=${end:-0} part=${part:-}
declare -A results

# is_wanted NAME
is_wanted() { [[ -z $only || $1 =~ $only ]]; }

# outcome_of CODE SECONDS SHARE: one that was ended, by timeout with 124, or 137 where it had to
# kill, is neither passed nor failed. What is killed within its share was killed by another.
outcome_of() {
  if [ "$1" -eq 0 ]; then
    echo "passed in $2 s"
  elif [ "$1" -eq 124 ] || { [ "$1" -eq 137 ] && [ "$2" -ge "$3" ]; }; then
    echo "cut: ran out of its share of $3 s"
  elif [ "$1" -eq 77 ]; then
    echo "not judged: what it needs was not measured"
  else
    echo "FAILED with status $1"
  fi
}

# share_of SHARE LEFT: the seconds that a check may take where LEFT are left. One that was chosen by
# $only alone may take all of them. In a $part each keeps its share, so that one which hangs leaves
# time to the others; half of it, about what is expected, will do.
share_of() {
  if [ -n "$part" ]; then
    if [ "$2" -ge $(($1 / 2)) ] && [ "$2" -lt "$1" ]; then echo "$2"; else echo "$1"; fi
  elif [ -n "$only" ]; then
    echo "$2"
  else
    echo "$1"
  fi
}

# check NAME SHARE COMMAND...: runs it for at most SHARE seconds, about twice of what it is expected
# to take, where so many are left before $end: else shorter ones have the time.
check() {
  local name=$1 share=$2 left=$((end - SECONDS)) start=$SECONDS code=0
  is_wanted "$name" || return 0
  if [ -n "$lists" ]; then say "$share $name" && return 0; fi
  shift 2
  order+=("$name")
  share=$(share_of "$share" "$left")
  if [ "$left" -le 5 ] || [ "$share" -gt "$left" ]; then
    results[$name]="not run: it may take $share s, and $left s were left"
    return 0
  fi
  phase "$name"
  timeout --kill-after=15 "$share" "$@" || code=$?
  results[$name]=$(outcome_of $code $((SECONDS - start)) "$share")
  case ${results[$name]} in
    FAILED*) failed=1 ;;
    cut*) cut=1 ;;
  esac
}

# keep_origin FOLDER ORIGIN: what a folder holds is of one GPU and one build, which it names.
keep_origin() {
  local path=$1/made_by.txt
  if [ ! -e "$path" ]; then printf '%s\n' "$2" > "$path"; fi
  [ "$(< "$path")" = "$2" ] ||
    fail 2 "$1 holds results of '$(< "$path")', and these would be of '$2':" \
      "name another folder with --out, or remove this one"
}

# leave_out NAME REASON: a check that cannot run here.
leave_out() {
  is_wanted "$1" || return 0
  order+=("$1")
  results[$1]="not run: $2"
}

# count_of WORD: the checks whose outcome begins so.
count_of() {
  local name count=0
  for name in "${order[@]}"; do
    case ${results[$name]} in "$1"*) count=$((count + 1)) ;; esac
  done
  echo $count
}

# keep_results FOLDER: prints what came of the checks, and adds it to those that other calls with
# this folder have made.
keep_results() {
  local name folder=$1
  for name in "${order[@]}"; do
    printf '%s\t%s\n' "$name" "${results[$name]}"
  done > "$folder/results.now"
  touch "$folder/results.tsv"
  awk -F '\t' 'NR == FNR { now[$1] = 1; print; next } !($1 in now)' "$folder/results.now" \
    "$folder/results.tsv" > "$folder/results.all"
  mv "$folder/results.all" "$folder/results.tsv"
  awk -F '\t' '{ printf "%-76s %s\n", $1, $2 }' "$folder/results.now"
  rm "$folder/results.now"
  say "gpu check: $(count_of passed) passed, $(count_of FAILED) failed, $(count_of cut) cut," \
    "$(count_of not) not run"
}

# end_status: 1 where a check has failed; else 3 where one was cut, which shows nothing; else 0.
end_status() { echo $((failed ? 1 : cut ? 3 : 0)); }
