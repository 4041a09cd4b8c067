#!/usr/bin/env bash
# Packs what tools/gpu_check.sh runs, for a machine with a GPU, a driver, CUDA's libraries and
# nothing else installed: zeroapp and the tests of build/cuda-release, stripped, Open MPI with its
# launcher, and the shared libraries that these load, but for the C and C++ libraries and CUDA's
# large ones, which the machine has. The bundle runs wherever the tree and it are copied to.
# usage: tools/bundle.sh [--base PROGRAM]   (into build/bundle; at most 60 MB)
#   --base  a zeroapp of an earlier commit, built for GPUs, which tools/next_visit.sh times beside
#           this one
set -euo pipefail
# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"

most_megabytes=60
bundle=$root/build/bundle
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

base=
if [ $# -eq 2 ] && [ "$1" = --base ]; then
  base=$2
elif [ $# -gt 0 ]; then
  fail 2 "usage: tools/bundle.sh [--base PROGRAM]"
fi
[ -z "$base" ] || [ -x "$base" ] || fail 2 "--base '$base': no program"
build_cuda zeroapp "${gpu_tests[@]}" "$gpu_rates"
rm -rf "$bundle"
mkdir -p "$bundle/lib"
add_program "$cuda_folder/src/zeroapp" zeroapp
for test in "${gpu_tests[@]}"; do add_program "$cuda_folder/tests/$test" "$test"; done
add_program "$cuda_folder/perf/$gpu_rates" "$gpu_rates"
if [ -n "$base" ]; then add_program "$base" base; fi
add_open_mpi
find "$bundle" -type f \( -name '*.so*' -o -path '*/programs/*' \) -exec strip --strip-unneeded {} +

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
