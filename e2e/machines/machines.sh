#!/usr/bin/env bash
# Boots real kernels in qemu and holds the boundary of commands to what corpus/README.md says of such machines.
#
#   make machines                       # all of them, short
#   e2e/machines/machines.sh [--long] [--list] [NAME…]
#
# It needs root, Go, and Debian with the packages that it names if they are missing. What is fetched are packages of
# Debian, by apt-get, below $MACHINES_CACHE (default: orchestra-machines in the user's cache directory, some 3 GB).
# It prints what each check came to as it goes, and at the end a table. Exit codes: 0 all passed, 1 something failed,
# 2 usage, 3 could not run.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
module=$(cd "$here/../.." && pwd)
cache=${MACHINES_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/orchestra-machines}
keyring=${MACHINES_KEYRING:-/usr/share/keyrings/debian-archive-keyring.gpg}
# The packages under test, whose tests go along.
packages=(e2e/corpus pkg/command/cgroup pkg/command/sandbox pkg/snapshot)

. "$here/packages.sh"
. "$here/table.sh"

fail() { # CODE TEXT
  echo "machines: $2" >&2
  exit "$1"
}

# ready stops where something is missing.
ready() {
  [ "$(id -u)" = 0 ] || fail 3 "this makes file systems with files of several users: run it as root"
  local tool missing=()
  for tool in qemu-system-x86_64 qemu-system-aarch64 mke2fs depmod cpio dpkg-deb go; do
    command -v "$tool" > /dev/null || missing+=("$tool")
  done
  [ ${#missing[@]} = 0 ] || fail 3 "missing: ${missing[*]} (apt-get install --no-install-recommends qemu-system-x86 qemu-system-arm e2fsprogs kmod cpio)"
  mirror=${MACHINES_MIRROR:-$(sources | head -n 1)}
  [ -n "$mirror" ] || fail 3 "no Debian mirror in apt's sources: name one with MACHINES_MIRROR"
  mkdir -p "$cache"
}

# sources are the mirrors of Debian that apt has here.
sources() {
  sed -n 's/^URIs: *\([^ ]*\/debian\/\?\)\( .*\)\?$/\1/p; s/^deb \(\[[^]]*\] \)\?\([^ ]*\/debian\/\?\) .*/\2/p' \
    /etc/apt/sources.list /etc/apt/sources.list.d/* 2> /dev/null || true
}

# tests_image has the tests as programs, beside what they read of the repository.
tests_image() { # ARCHITECTURE
  local arch=$1 tree package
  tree=$work/tests-$arch
  for package in "${packages[@]}"; do
    mkdir -p "$tree/$package"
    (cd "$module" && CGO_ENABLED=0 GOOS=linux GOARCH=$arch go test -c -o "$tree/$package/" "./$package") || return
    [ ! -d "$module/$package/testdata" ] || cp -r "$module/$package/testdata" "$tree/$package/"
    [ ! -f "$module/$package/README.md" ] || cp "$module/$package/README.md" "$tree/$package/"
  done
  (cd "$module" && CGO_ENABLED=0 GOOS=linux GOARCH=$arch go build -o "$tree/orchestra-mcp" ./cmd/orchestra-mcp) || return
  cp "$here/guest/run" "$tree/run"
  chmod -R a+rX "$tree"
  mke2fs -q -t ext4 -d "$tree" -E root_owner=0:0 "$work/tests.new" 400M
  mv "$work/tests.new" "$work/tests-$arch.ext4"
}

# boot starts a machine and prints what it says, until it turns itself off or the time is over.
boot() { # ARCHITECTURE RELEASE USERLAND ARGUMENTS
  local arch=$1 kernel=$cache/kernel-$2-$1 root=$cache/root-$3-$1.ext4 arguments=$4 qemu console
  case $arch in
    # Without cmpxchg16b, whose flags QEMU 7.2 gets wrong: kernels died of it.
    amd64) qemu=(qemu-system-x86_64 -machine q35 -cpu max,-cx16) console=ttyS0 ;;
    arm64) qemu=(qemu-system-aarch64 -machine virt -cpu cortex-a72) console=ttyAMA0 ;;
  esac
  accelerator "$arch"
  cp "$work/plan" "$work/plan.disk"
  truncate -s 64K "$work/plan.disk"
  timeout --kill-after=10 "$limit" "${qemu[@]}" "${acceleration[@]}" -smp 1 -m 1536 -display none -no-reboot -nic none \
    -serial stdio -monitor none -kernel "$kernel/vmlinuz" -initrd "$kernel/initrd" \
    -append "console=$console quiet panic=-1 loglevel=3 $arguments" \
    -drive "file=$root,if=virtio,format=raw,snapshot=on" \
    -drive "file=$work/tests-$arch.ext4,if=virtio,format=raw,readonly=on" \
    -drive "file=$work/plan.disk,if=virtio,format=raw,readonly=on" < /dev/null
}

# accelerator: the machine's own, where it has one.
accelerator() { # ARCHITECTURE
  acceleration=(-accel tcg)
  [ "$1" != "$(dpkg --print-architecture)" ] || ! grep -q -w -E 'vmx|svm' /proc/cpuinfo || [ ! -w /dev/kvm ] || acceleration=(-accel kvm -accel tcg)
}

# tried boots one machine of the table and adds its lines to the results.
tried() { # NAME
  local name=$1 log=$work/$1.log failed=0
  local arch release userland_release arguments
  IFS='|' read -r arch release userland_release arguments <<< "${machine_of[$name]}"
  echo "-- $name: ${said_of[$name]}"
  userland_image "$userland_release" "$arch" > "$work/fetch.log" 2>&1 || fail 3 "the userland of $userland_release for $arch: $(tail -n 5 "$work/fetch.log")"
  kernel "$release" "$arch" >> "$work/fetch.log" 2>&1 || fail 3 "the kernel of $release for $arch: $(tail -n 5 "$work/fetch.log")"
  [ -e "$work/tests-$arch.ext4" ] || tests_image "$arch" > "$work/build.log" 2>&1 || fail 3 "the tests for $arch: $(tail -n 5 "$work/build.log")"
  { echo "long='$long'"; echo "${plan_of[$name]}"; } > "$work/plan"
  boot "$arch" "$release" "$userland_release" "$arguments" 2>&1 | sed -u 's,\r$,,' | tee "$log" | sed -u -n '/^\(== \|   | \)/p' || failed=1
  grep -q '^== done' "$log" || { failed=1; echo "== failed: it did not come to its end"; tail -n 20 "$log"; }
  ! grep -q '^== failed' "$log" || failed=1
  sed -n "s/^== \(passed\|failed\) \(.*\)/\1  $name: \2/p" "$log" >> "$work/results"
  grep -q '^== done' "$log" || echo "failed  $name: it did not come to its end" >> "$work/results"
  return $failed
}

main() { # ARGUMENTS
  local long= limit=3h names=() failed=0 argument name
  for argument in "$@"; do
    case $argument in
      --long) long=ORCHESTRA_LONG=1 ;;
      --list) for name in "${machines[@]}"; do printf '%-24s %s\n' "$name" "${said_of[$name]}"; done; exit 0 ;;
      -*) fail 2 "unknown: $argument (machines.sh [--long] [--list] [NAME…])" ;;
      *) [ -n "${machine_of[$argument]:-}" ] || fail 2 "there is no machine $argument (--list names them)"; names+=("$argument") ;;
    esac
  done
  [ ${#names[@]} -gt 0 ] || names=("${machines[@]}")
  ready
  work=$(mktemp -d)
  trap 'rm -rf "$work"/*.ext4 "$work"/tests-*' EXIT # the logs stay
  echo "machines: what each one says goes to $work"
  for name in "${names[@]}"; do
    tried "$name" || failed=1
  done
  echo
  cat "$work/results"
  exit "$failed"
}

main "$@"
