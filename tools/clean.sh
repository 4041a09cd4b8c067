#!/usr/bin/env bash
# Removes what the scripts of this tree made: build/, runs/ and the zeroapp link; with --all also
# what was downloaded or derived from downloads, .deps/ and data/.
set -euo pipefail
# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"

made=(build runs zeroapp)
case ${1:-} in
  "") ;;
  --all) made+=(.deps data) ;;
  *) fail 2 "usage: tools/clean.sh [--all]" ;;
esac
for name in "${made[@]}"; do
  rm -rf "${root:?}/$name"
done
say "clean: removed ${made[*]}"
