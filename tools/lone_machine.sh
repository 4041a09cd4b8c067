#!/usr/bin/env bash
# Runs a command as on a machine on which nothing but it is installed: PATH has the few tools that
# scripts of this folder start themselves, and neither ssh nor rsh; of the network there is loopback
# alone, where this user may make a network of its own, else a line says that it is the machine's.
# usage: tools/lone_machine.sh COMMAND [ARGUMENT...]   (COMMAND is a path)
set -euo pipefail
# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"

tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
for tool in sh dirname basename env sleep; do ln -s "$(command -v $tool)" "$tools/$tool"; done

with_loopback_alone=()
if have ip && unshare --net true 2> /dev/null; then
  with_loopback_alone=(unshare --net sh -c 'ip link set lo up && exec "$@"' -)
else
  say "lone_machine.sh: SKIP the network is the machine's: unshare or ip is refused or missing"
fi
"${with_loopback_alone[@]}" env -i "PATH=$tools" "HOME=$tools" \
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$@"
