#!/usr/bin/env bash
# Makes this machine able to build, test and run zeroapp. Says first what is missing and what it
# costs, then installs it: as root with apt-get, with sudo after one question, else it prints the
# line to ask an administrator for and ends with status 2. Kokkos is built into .deps/kokkos unless
# CMake finds one. With everything there it only looks, in less than two seconds.
# usage: tools/setup.sh [--yes] [--text] [--pairs] [--style] [--slurm]
#   --yes    do not ask before using sudo      --text   also the packages with the text to train on
#   --pairs  also those of two translations of it, and what makes pieces of them, if they can be had
#   --style  also the formatter and the fuzzer that the tests use where they are there
#   --slurm  also the batch system under which the tests run job scripts, if they are root's
set -euo pipefail
# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"

assume_yes=no want_text=no want_pairs=no want_style=no want_slurm=no
for argument in "$@"; do
  case $argument in
    --yes) assume_yes=yes ;;
    --text) want_text=yes ;;
    --pairs) want_pairs=yes ;;
    --style) want_style=yes ;;
    --slurm) want_slurm=yes ;;
    *) fail 2 "usage: tools/setup.sh [--yes] [--text] [--pairs] [--style] [--slurm]" ;;
  esac
done
compiler=${CXX:-c++}

# What each part is recognised by. A header is looked up the way the compiler will.
header() {
  printf '#if !__has_include(<%s>)\n#error absent\n#endif\n' "$1" |
    "$compiler" -E -x c++ - > /dev/null 2>&1
}
has_compiler() { printf '#include <span>\n' | "$compiler" -std=c++20 -E -x c++ - > /dev/null 2>&1; }
has_cmake() {
  local version
  version=$(cmake --version 2> /dev/null | sed -n '1s/.* //p')
  [ "$(printf '3.25\n%s\n' "$version" | sort -V | head -n 1)" = 3.25 ]
}
has_builder() { have ninja || have make; }
has_mpi() { have mpirun && have mpicxx; }
has_gtest() { header gtest/gtest.h && header gmock/gmock.h; }
has_json() { header nlohmann/json.hpp; }
has_hdf5() { header hdf5.h || header hdf5/serial/hdf5.h; }
has_xxhash() { header xxhash.h; }
has_openssl() { header openssl/sha.h; }
has_h5py() {
  local python
  for python in python3 /usr/bin/python3; do
    "$python" -c 'import h5py' 2> /dev/null && return 0
  done
  return 1
}
has_python() { have python3; }
has_pip() { python3 -m pip --version > /dev/null 2>&1; }
has_uring() { header liburing.h; }
has_sentencepiece() { header sentencepiece_processor.h; }
has_zstd() { header zstd.h; }
has_onednn() { header oneapi/dnnl/dnnl.h; }
# perf/ loads it by name while it runs, for a second opinion on the peak; nothing links it.
has_openblas() { PATH=$PATH:/sbin:/usr/sbin ldconfig -p | grep 'libopenblas\.so\.0' > /dev/null; }
has_text() { have mod2imp && [ -e /usr/share/sword/mods.d/engWEB2015eb.conf ]; }
has_pairs() {
  has_text && have spm_train && [ -e /usr/share/sword/mods.d/engKJV2006eb.conf ]
}
has_style() {
  have clang-format-14 || clang-format --version 2> /dev/null | grep 'version 14\.' > /dev/null
}
has_fuzzer() {
  have clang++-14 &&
    compgen -G "$(clang++-14 -print-resource-dir)/lib/linux/libclang_rt.fuzzer-*" > /dev/null
}
has_slurm() { have slurmctld && have slurmd && have srun && have munged && have ip; }
has_kokkos() {
  [ -d "$root/.deps/kokkos" ] && return 0
  has_compiler && has_cmake || return 1
  local probe status=0
  probe=$(mktemp -d)
  printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(probe LANGUAGES CXX)' \
    'find_package(Kokkos 4.5 REQUIRED)' > "$probe/CMakeLists.txt"
  cmake -S "$probe" -B "$probe/build" > /dev/null 2>&1 || status=1
  rm -rf "$probe"
  return $status
}

# name | required or optional | MB to download on a bare Debian 12 | packages | what it is for
parts=(
  "compiler|required|79|build-essential|a C++20 compiler"
  "cmake|required|20|cmake|CMake 3.25 or later"
  "builder|required|1|ninja-build|Ninja or make"
  "mpi|required|25|libopenmpi-dev openmpi-bin|MPI"
  "gtest|required|1|libgtest-dev libgmock-dev|GoogleTest"
  "json|required|1|nlohmann-json3-dev|JSON"
  "hdf5|required|5|libhdf5-dev|HDF5, the format of checkpoints"
  "xxhash|required|1|libxxhash-dev|xxHash: digests of checkpoints"
  "openssl|required|5|libssl-dev|OpenSSL: SHA-256"
  "python|required|10|python3|Python 3"
  "onednn|optional|7|libdnnl-dev|oneDNN: without it products are many times slower"
  "uring|optional|1|liburing-dev|liburing: without it disks are read and written by threads"
  "sentencepiece|optional|1|libsentencepiece-dev|SentencePiece: without it no spiece.model is read"
  "zstd|optional|1|libzstd-dev|zstd: without it files of JSON lines are read uncompressed alone"
  "h5py|optional|15|python3-h5py|h5py: without it nothing is tested of how Python sees checkpoints"
  "openblas|optional|7|libopenblas0-pthread|OpenBLAS: without it perf/ takes oneDNN's peak as it is"
)
if [ "$want_text" = yes ]; then
  parts+=("text|required|10|libsword-utils sword-text-web|the World English Bible, to train on")
fi
if [ "$want_pairs" = yes ]; then
  bibles="libsword-utils sword-text-web sword-text-kjv"
  parts+=("pairs|optional|15|$bibles sentencepiece|two Bibles: without them no mini is trained")
fi
if [ "$want_style" = yes ]; then
  parts+=("style|optional|35|clang-format-14|clang-format 14: without it the layout is not checked"
    "fuzzer|optional|12|clang-14 libclang-rt-14-dev|libFuzzer: without it fixed mutations stand in")
fi

if [ "$want_slurm" = yes ]; then
  parts+=("slurm|optional|30|slurm-wlm munge iproute2|Slurm: without it no job script is run")
fi

required_packages=() optional_packages=() download_mb=0 report=()
find_missing() {
  local part name kind mb packages purpose
  for part in "${parts[@]}"; do
    IFS='|' read -r name kind mb packages purpose <<< "$part"
    "has_$name" && continue
    report+=("  $purpose ($packages)")
    download_mb=$((download_mb + mb))
    # The list is meant to fall apart into words.
    # shellcheck disable=SC2206
    if [ "$kind" = required ]; then required_packages+=($packages); fi
    # shellcheck disable=SC2206
    if [ "$kind" = optional ]; then optional_packages+=($packages); fi
  done
}

need_kokkos=no
find_missing
if ! has_kokkos; then
  need_kokkos=yes
  report+=("  Kokkos 4.7.0, built into .deps/kokkos")
  download_mb=$((download_mb + 18))
  if ! has_pip; then
    required_packages+=(python3-pip)
    download_mb=$((download_mb + 4))
    report+=("  pip, to download Kokkos with (python3-pip)")
  fi
fi
if [ ${#report[@]} -eq 0 ]; then
  say "setup: everything is there"
  exit 0
fi

packages=("${required_packages[@]}" "${optional_packages[@]}")
minutes=1
if [ "$need_kokkos" = yes ]; then minutes=$((minutes + 2)); fi
say "setup: will install (about $download_mb MB to download, about $minutes minutes):"
printf '%s\n' "${report[@]}"

administrator=()
choose_administrator() {
  if ! have apt-get; then return 1; fi
  if [ "$(id -u)" -eq 0 ]; then return 0; fi
  have sudo || return 1
  administrator=(sudo)
  [ "$assume_yes" = yes ] && return 0
  local answer=no
  [ -t 0 ] && read -r -p "Install the packages with sudo? [y/N] " answer
  [[ $answer == [yY]* ]]
}
ask_for_help() {
  if have apt-get; then
    fail 2 "ask an administrator for: apt-get install --no-install-recommends ${packages[*]}"
  fi
  fail 2 "no apt-get here: install the parts listed above; their Debian packages are ${packages[*]}"
}
install_packages() {
  "${administrator[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet=2 \
    --no-install-recommends -o Dpkg::Use-Pty=0 "$@" > "$log" 2>&1
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if [ ${#packages[@]} -gt 0 ]; then
  if choose_administrator; then
    "${administrator[@]}" apt-get update --quiet=2 > "$log" 2>&1 || true
    if [ ${#required_packages[@]} -gt 0 ] && ! install_packages "${required_packages[@]}"; then
      tail -n 5 "$log" >&2
      ask_for_help
    fi
    if [ ${#optional_packages[@]} -gt 0 ] && ! install_packages "${optional_packages[@]}"; then
      for package in "${optional_packages[@]}"; do
        install_packages "$package" || say "setup: $package does not install; going on without it"
      done
    fi
  elif [ ${#required_packages[@]} -gt 0 ]; then
    ask_for_help
  else
    say "setup: going on without; to have them: apt-get install ${optional_packages[*]}"
  fi
fi
if [ "$need_kokkos" = yes ]; then
  "$root/tools/kokkos.sh" host
  "$root/tools/onednn_headers.sh" || say "setup: products are not compiled against oneDNN 3"
fi
say "setup: done after $SECONDS s"
