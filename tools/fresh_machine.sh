#!/usr/bin/env bash
# Does README's two commands on a bare machine: a minimal root of Debian, made by mmdebstrap, in
# which only g++, git and certificates were added. It has 64 MiB of /dev/shm, and no network after
# its set-up. As a user without sudo the packages are there, installed by root before. Says what was
# installed. Ends with 77 where mmdebstrap or root's rights are missing.
# usage: tools/fresh_machine.sh SUITE root|user [--setup]     SUITE: bookworm or trixie
#   --setup  no more than the set-up
set -euo pipefail
# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"

suite=${1:-} who=${2:-} only=${3:-}
[[ "$suite $who" =~ ^(bookworm|trixie)\ (root|user)$ && $only =~ ^(--setup)?$ ]] ||
  fail 2 "write SUITE root|user [--setup], SUITE being bookworm or trixie"
skip() { say "SKIP fresh_machine.sh: $1" && exit 77; }
have mmdebstrap || skip "no mmdebstrap (Debian: mmdebstrap)"
[ "$(id -u)" -eq 0 ] || skip "needs root, to chroot"
unshare --mount --net true 2> /dev/null || skip "this machine gives no mounts of its own"

place=$root/build/long/machine-$suite-$who
machine=$place/root

# inside NETWORK COMMAND...: in the machine's root; its mounts and, with NETWORK "off", its network
# go with the command.
inside() {
  local network=$1
  shift
  local own=(--mount --pid --fork)
  if [ "$network" = off ]; then own+=(--net); fi
  # shellcheck disable=SC2016
  unshare "${own[@]}" sh -c '
    mount -t proc proc "$0/proc" && mount --rbind /sys "$0/sys" &&
    mount -t tmpfs -o mode=755 dev "$0/dev" && mkdir "$0/dev/shm" "$0/dev/pts" &&
    for node in null zero full random urandom tty; do
      : > "$0/dev/$node" && mount --bind "/dev/$node" "$0/dev/$node" || exit 1
    done
    ln -s /proc/self/fd "$0/dev/fd" && ln -s /proc/self/fd/0 "$0/dev/stdin" &&
    ln -s /proc/self/fd/1 "$0/dev/stdout" && ln -s /proc/self/fd/2 "$0/dev/stderr" &&
    mount -t tmpfs -o size=64m,mode=1777 shm "$0/dev/shm" &&
    if command -v ip > /dev/null; then ip link set lo up 2> /dev/null || true; fi &&
    exec chroot "$0" "$@"' "$machine" "$@"
}

# as_user NETWORK COMMAND: a line of bash in the clone.
as_user() {
  local home=/root line="cd ~/zeroapp && export OMPI_ALLOW_RUN_AS_ROOT=1"
  line+=" OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 && $2"
  local path=/usr/bin:/bin:/usr/sbin:/sbin
  # Where a network needs a proxy or an index of its own, the machine is told of it.
  local needed
  mapfile -t needed < <(env | grep -iE '^(https?_proxy|no_proxy|PIP_[A-Z_]+)=' || true)
  local words=(env -i "PATH=$path" "HOME=$home" LANG=C.UTF-8 "${needed[@]}" bash -c "$line")
  if [ "$who" = user ]; then
    words=(su -s /bin/bash newcomer -c "$line")
  fi
  inside "$1" "${words[@]}"
}

phase "a bare root of $suite"
mkdir -p "$place"
rm -rf --one-file-system "$machine"
mmdebstrap --quiet --variant=minbase --include=g++,git,ca-certificates "$suite" "$machine"
cp /etc/resolv.conf "$machine/etc/resolv.conf"
# A proxy that reads connections signs by an authority of its own, which this machine trusts.
authorities=/usr/local/share/ca-certificates
if [ -d "$authorities" ]; then
  cp -r "$authorities/." "$machine$authorities/"
  inside on update-ca-certificates > /dev/null 2>&1
fi
home=$machine/root
if [ "$who" = user ]; then
  inside on useradd --create-home --shell /bin/bash newcomer
  home=$machine/home/newcomer
fi
# shellcheck disable=SC2016
installed() { inside off dpkg-query -W -f '${Package}\n' | sort; }
before=$(installed)
git clone --quiet "$root" "$home/zeroapp"
if [ "$who" = user ]; then
  # An administrator installs the packages, and nothing of the tree is root's.
  inside on env HOME=/root bash -c "cp -r /home/newcomer/zeroapp /tmp/setup &&
    /tmp/setup/tools/setup.sh --yes --text --pairs && rm -rf /tmp/setup"
  inside on chown -R newcomer: /home/newcomer
fi

phase "set-up"
as_user on "tools/setup.sh --yes --text --pairs"
say "installed by the set-up:"
comm -13 <(echo "$before") <(installed) | tr '\n' ' ' | fold -s -w 100
say ""
[ -z "$only" ] || exit 0

phase "tools/quickstart.sh"
as_user off "tools/quickstart.sh --yes"
phase "tools/test.sh"
as_user off "tools/test.sh --yes"
say "fresh_machine.sh: $suite as $who: passed after $SECONDS s"
