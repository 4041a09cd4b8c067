#!/usr/bin/env bash
# Packs an installation (cmake --install) with the shared libraries that it loads and Open MPI with
# its launcher, but for the C and C++ libraries and CUDA's large ones, which the machine has. A
# bundle runs wherever it is copied to, and SHA256SUMS has the sums of its files. For a machine with
# a GPU, a driver, CUDA's libraries and nothing else it also has the tests of build/cuda-release,
# which tools/gpu_check.sh runs.
# usage: tools/bundle.sh [--base PROGRAM]   (into build/bundle; at most 60 MB)
#        tools/bundle.sh --host [--from BUILD] [--to FOLDER]   (at most 100 MB)
#   --base  a zeroapp of an earlier commit, built for GPUs, which tools/next_visit.sh times beside
#           this one
#   --host  without a GPU, and without tests: of BUILD, a folder that is built already, else of
#           build/host-release, into FOLDER, else build/bundle. A build is for processors such as
#           its own unless -DZERO_ARCH=x86-64-v3 was said.
set -euo pipefail
# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"

most_megabytes=60
bundle=$root/build/bundle
base='' host='' built=''
# What the machine has: the loader's and compiler's libraries, and parts of CUDA or its driver.
of_machine='^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|stdc\+\+|gcc_s|cuda|cublasLt|nccl))\.so'

# libraries_of FILE...: the shared libraries that the files load, one path a line.
libraries_of() {
  local missing
  missing=$(ldd "$@" | awk '/=> not found/ { print $1 }' | grep -Ev "$of_machine" | sort -u)
  if [ -n "$missing" ]; then fail 1 "not found here: ${missing//$'\n'/ }"; fi
  ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u
}

add_libraries() {
  local library
  for library in $(libraries_of "$@"); do
    [[ $(basename "$library") =~ $of_machine ]] && continue
    [ -e "$bundle/lib/$(basename "$library")" ] && continue
    cp -L "$library" "$bundle/lib/"
  done
}

# What MPI's files, windows, topologies and message logs are made of, which zeroapp does not use.
unused='^mca_(io|fs|fbtl|fcoll|sharedfp|osc|topo|vprotocol)_'

# add_parts FROM TO: of a library's plugins those that want no library which is not here already:
# the others drive networks and schedulers.
add_parts() {
  local part library
  mkdir -p "$2"
  for part in "$1"/*.so; do
    [[ $(basename "$part") =~ $unused ]] && continue
    for library in $(libraries_of "$part"); do
      library=$(basename "$library")
      [[ $library =~ $of_machine ]] || [ -e "$bundle/lib/$library" ] || continue 2
    done
    cp -L "$part" "$2/"
  done
}

path_of_mpi() { ompi_info --parsable --path "$1" | sed -n "s/^path:$1://p"; }

add_program() {
  mkdir -p "$bundle/programs" "$bundle/bin"
  cp -L "$1" "$bundle/programs/$2"
  cp "$root/tools/bundle_start.sh" "$bundle/bin/$2"
  add_libraries "$1"
}

# add_installation BUILD: zeroapp with its inputs, pages and manual, as cmake --install has it.
add_installation() {
  ZERO_CARRIES_LIBRARIES=1 cmake --install "$1" --component runtime --prefix "$bundle" > /dev/null
  mv "$bundle/bin/zeroapp" "$bundle/programs/zeroapp"
  cp "$root/tools/bundle_start.sh" "$bundle/bin/zeroapp"
  add_libraries "$1/src/zeroapp"
}

add_open_mpi() {
  local parts pmix
  ompi_info --version 2> /dev/null | grep 'Open MPI v4' > /dev/null ||
    fail 2 "the bundle takes along Open MPI 4 (Debian: openmpi-bin), which is not here"
  add_program "$(command -v mpirun)" mpirun
  add_program "$(command -v orted)" orted  # started for a rank that no launcher has
  parts=$(path_of_mpi pkglibdir)
  pmix=$(ldd "$parts"/mca_pmix_*.so | awk '/libpmix\.so/ { print $3; exit }')
  cp -L "$pmix" "$bundle/lib/"
  add_libraries "$pmix"
  add_parts "$parts" "$bundle/openmpi/parts"
  pmix=$(dirname "$(readlink -f "$pmix")")
  add_parts "$pmix/pmix" "$bundle/pmix/parts"
  mkdir -p "$bundle/openmpi/texts" "$bundle/pmix/texts"
  cp "$(path_of_mpi pkgdatadir)"/help-*.txt "$bundle/openmpi/texts/"
  cp "$pmix"/../share/pmix/help-*.txt "$bundle/pmix/texts/"
}

# A program that was built without SentencePiece says so when it is given a model of it, and not
# before.
encode_pieces() {
  local trial=$bundle/trial settings encoded
  settings=(model.family=t5 model.layers=1 model.width=8 model.heads=1 model.vocab_size=1024
    data.train="$trial/pairs.tsv" data.source_length=8 data.target_length=8 run.steps=1
    data.tokenizer="$root/tests/golden/pieces/spiece.model")
  mkdir "$trial"
  printf 'source\ttarget\nthe land\tof Egypt\n' > "$trial/pairs.tsv"
  printf '%s = 1\n' train_batch_size train_micro_batch_size_per_gpu > "$trial/pieces.toml"
  encoded=$("$bundle/bin/zeroapp" data "$trial/pieces.toml" --steps 1 "${settings[@]}" 2>&1) ||
    fail 1 "the bundle's zeroapp encodes nothing with a SentencePiece model: $encoded"
  grep -q '^ *source 5 102 1$' <<< "$encoded" ||
    fail 1 "the bundle's zeroapp makes other ids than 5 102 1 of \"the land\": $encoded"
  rm -r "$trial"
}

while [ $# -gt 0 ]; do
  case $1 in
    --host) host=yes && shift && continue ;;
    --base) base=${2:-} ;;
    --from) built=${2:-} ;;
    --to) bundle=${2:-} ;;
    *) fail 2 "$1: write [--base PROGRAM], or --host [--from BUILD] [--to FOLDER]" ;;
  esac
  [ -n "${2:-}" ] || fail 2 "$1: wants a word behind it"
  shift 2
done
[ -z "$base" ] || [ -x "$base" ] || fail 2 "--base '$base': no program"
[ -n "$host" ] || [ -z "$built" ] || fail 2 "--from: is for --host"
[ -z "$host" ] || [ -z "$base" ] || fail 2 "--base: is for GPUs"
if [ -n "$host" ] && [ -z "$built" ]; then
  build_host zeroapp
  built=$root/build/host-release
elif [ -z "$host" ]; then
  build_cuda zeroapp "${gpu_tests[@]}" "$gpu_rates"
  built=$cuda_folder
fi
if [ -n "$host" ]; then most_megabytes=100; fi  # oneDNN has 44 of them
[ -x "$built/src/zeroapp" ] || fail 2 "$built: has no src/zeroapp"
# What lies in a folder of another purpose stays.
if [ -e "$bundle" ] && [ ! -e "$bundle/SHA256SUMS" ] && [ "$bundle" != "$root/build/bundle" ]; then
  fail 2 "$bundle: is there, and no bundle; name a new folder"
fi
rm -rf "$bundle"
mkdir -p "$bundle/lib" "$bundle/programs"
add_installation "$built"
if [ -z "$host" ]; then
  for test in "${gpu_tests[@]}"; do add_program "$cuda_folder/tests/$test" "$test"; done
  add_program "$cuda_folder/perf/$gpu_rates" "$gpu_rates"
fi
if [ -n "$base" ]; then add_program "$base" base; fi
add_open_mpi
find "$bundle" -type f \( -name '*.so*' -o -path '*/programs/*' \) -exec strip --strip-unneeded {} +
(cd "$bundle" && find . -type f ! -name SHA256SUMS -print0 | sort -z | xargs -0 sha256sum) \
  > "$bundle.sums"
mv "$bundle.sums" "$bundle/SHA256SUMS"

"$bundle/bin/zeroapp" --version
encode_pieces
bytes=$(find "$bundle" -type f -printf '%s\n' | awk '{ sum += $1 } END { print sum }')
say "bundle: $bundle, $((bytes / 1000000)) MB in $(find "$bundle" -type f | wc -l) files"
(cd "$bundle" && du -sh --apparent-size programs/* lib openmpi pmix)
# Two ranks start where neither ssh nor a network is: without a GPU doctor ends with another status.
started=$("$root/tools/lone_machine.sh" "$bundle/bin/mpirun" --oversubscribe --bind-to none -np 2 \
  "$bundle/bin/zeroapp" doctor 2>&1) || true
grep -q 'mpirun: 2 ranks' <<< "$started" ||
  fail 1 "the bundle's mpirun does not start two ranks by itself: $started"
[ "$bytes" -le $((most_megabytes * 1000000)) ] ||
  fail 1 "the bundle has more than $most_megabytes MB: it would not travel"
