#!/usr/bin/env bash
# Whether a change has kept every bit: trains, evaluates, generates, exports, plans and resumes with
# the program of BASE and with this tree's, and compares losses, states, tensors, texts and plans.
# It takes some two minutes behind the build. Ends with status 1 if something differs that
# tests/meant_changes.txt does not list, or is listed and does not differ.
# A run that BASE refuses for its optimizer is named, and compared with one of this tree at another
# stage and rank count.
# usage: tools/same_bits.sh BASE [BUILD] [--only RUNS] [--jobs N] [--meant FILE] [--list]
#   BASE          a commit, built in build/same_bits, or a program
#   BUILD         a build folder or a program; without it this tree is built in build/host-release
#   --only RUNS   runs whose name fits, with * and ?
#   --meant FILE  instead of tests/meant_changes.txt
set -euo pipefail
# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"

# built_base COMMIT: sets `program` to zeroapp of that commit.
built_base() {
  local commit folder
  commit=$(git -C "$root" rev-parse --verify --quiet "$1^{commit}") ||
    fail 2 "$1: neither a commit of this repository nor a program"
  folder=$root/build/same_bits/$commit
  program=$folder/build/host-release/src/zeroapp
  if [ ! -d "$folder" ]; then
    rm -rf "$folder.new"
    git clone --quiet --no-checkout "$root" "$folder.new"
    git -C "$folder.new" checkout --quiet --detach "$commit"
    if [ -e "$root/.deps" ]; then ln -s "$(realpath "$root/.deps")" "$folder.new/.deps"; fi
    mv "$folder.new" "$folder"
  fi
  (root=$folder build_host zeroapp)
}

[ $# -gt 0 ] || fail 2 "write tools/same_bits.sh BASE [BUILD]; see its head"
base=$1
shift
build=
if [ $# -gt 0 ] && [[ $1 != --* ]]; then
  build=$1
  shift
fi
if [ -f "$base" ] && [ -x "$base" ]; then program=$base; else built_base "$base"; fi
if [ -z "$build" ]; then
  build_host zeroapp
  build=$root/build/host-release
fi
if [ -d "$build" ]; then build=$build/src/zeroapp; fi
[ -x "$build" ] || fail 2 "$build: no program; build the target zeroapp first"
exec python3 "$root/tools/same_bits/same_bits.py" "$program" "$build" "$@"
