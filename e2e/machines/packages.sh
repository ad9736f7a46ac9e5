# Debian's packages, fetched by apt-get into a place of their own: this system's own packages and lists are not touched.
# Read by machines.sh.

# userland is what the root file system of a machine has, beside what every Debian has.
userland=(mount git python3 make patch procps rsync perl nodejs gcc libc6-dev libattr1 attr acl e2fsprogs util-linux apparmor)

# apt runs apt-get for a release and an architecture.
apt() { # RELEASE ARCHITECTURE ARGUMENTS…
  local release=$1 arch=$2 state=$cache/apt/$1-$2
  shift 2
  mkdir -p "$state/lists/partial" "$cache/archives/partial"
  touch "$state/status"
  echo "deb [signed-by=$keyring] $mirror $release main" > "$state/sources.list"
  command apt-get -q -o APT::Architecture="$arch" -o APT::Architectures="$arch" \
    -o Dir::Etc::sourcelist="$state/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
    -o Dir::State="$state" -o Dir::State::lists="$state/lists" -o Dir::State::status="$state/status" \
    -o Dir::Cache="$state/cache" -o Dir::Cache::archives="$cache/archives" -o Acquire::Languages=none \
    -o APT::Sandbox::User=root -o Debug::NoLocking=1 "$@"
}

# lists brings the list of a release's packages up to date, once a day.
lists() { # RELEASE ARCHITECTURE
  local stamp=$cache/apt/$1-$2/updated
  [ -n "$(find "$stamp" -mtime -1 2> /dev/null)" ] && return
  apt "$1" "$2" update || return
  touch "$stamp"
}

# fetched prints the files of packages and of all that they need.
fetched() { # RELEASE ARCHITECTURE PACKAGES…
  local release=$1 arch=$2 name
  shift 2
  apt "$release" "$arch" -y --no-install-recommends --download-only install "$@" >&2
  apt "$release" "$arch" -y --no-install-recommends --print-uris -o Dir::Cache::archives="$cache/none" install "$@" 2> /dev/null |
    sed -n "s/^'[^']*' \([^ ]*\) .*/\1/p" | while read -r name; do
      echo "$cache/archives/$name"
    done
}

# unpacked makes a root file system of packages, without running what they would run: the tests need programs, no services.
unpacked() { # DIRECTORY FILES…
  local root=$1 file dir
  shift
  mkdir -p "$root/usr"
  for dir in bin sbin lib lib64; do
    mkdir -p "$root/usr/$dir"
    ln -s "usr/$dir" "$root/$dir"
  done
  for file in "$@"; do
    dpkg-deb --fsys-tarfile "$file" | tar -x -C "$root" --keep-directory-symlink
  done
}

# userland_image makes the root file system of an architecture, where it is not there yet.
userland_image() { # RELEASE ARCHITECTURE
  local release=$1 arch=$2 image=$cache/root-$1-$2.ext4 root files
  local made="${userland[*]}"
  [ -e "$image" ] && [ "$(cat "$image.made" 2> /dev/null)" = "$made" ] && return
  lists "$release" "$arch" || return
  mapfile -t files < <(fetched "$release" "$arch" '?essential' busybox-static "${userland[@]}")
  [ ${#files[@]} -gt 0 ] || return
  root=$(mktemp -d "$cache/root.XXXXXX")
  unpacked "$root" "${files[@]}"
  mkdir -p "$root"/{proc,sys,dev,run,tmp,tests,root,home/user}
  chmod 1777 "$root/tmp" "$root/var/tmp"
  chown 1000:1000 "$root/home/user"
  printf 'root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n' > "$root/etc/passwd"
  printf 'root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n' > "$root/etc/group"
  ln -sf /proc/mounts "$root/etc/mtab"
  [ -e "$root/usr/bin/awk" ] || ln -s mawk "$root/usr/bin/awk"
  rm -rf "$root"/usr/share/{doc,man,locale,info} "$root"/boot
  mke2fs -q -t ext4 -d "$root" -E root_owner=0:0 "$image.new" 3G || return
  cp "$root/usr/bin/busybox" "$cache/busybox-$arch" 2> /dev/null || cp "$root/bin/busybox" "$cache/busybox-$arch"
  rm -rf "$root"
  mv "$image.new" "$image"
  echo "$made" > "$image.made"
}

# modules are what a kernel needs to reach its disks, in Debian's names, and what it would load by itself if it had them.
modules=(virtio_pci virtio_mmio virtio_blk ext4 unix_diag)

# kernel fetches the kernel of a release and makes the first file system that it starts with.
kernel() { # RELEASE ARCHITECTURE
  local release=$1 arch=$2 dir=$cache/kernel-$1-$2 tree package version
  [ -e "$dir/initrd" ] && [ "$dir/initrd" -nt "$here/guest/init" ] && [ "$dir/initrd" -nt "$here/packages.sh" ] && return
  lists "$release" "$arch" || return
  package=$(fetched "$release" "$arch" "linux-image-cloud-$arch" | grep '/linux-image-[0-9]') || return
  tree=$(mktemp -d "$cache/kernel.XXXXXX")
  unpacked "$tree/package" "$package"
  version=$(ls "$tree/package/usr/lib/modules")
  depmod -b "$tree/package" "$version"
  mkdir -p "$tree/first"/{bin,proc,dev,sys,root,modules}
  cp "$cache/busybox-$arch" "$tree/first/bin/busybox"
  ln -s busybox "$tree/first/bin/sh"
  install -m 755 "$here/guest/init" "$tree/first/init"
  modprobe -d "$tree/package" -S "$version" -a -D "${modules[@]}" | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' |
    while read -r module; do
      cp "$module" "$tree/first/modules/"
      basename "$module" >> "$tree/first/modules/order"
    done
  mkdir -p "$dir"
  cp "$tree/package/boot/vmlinuz-$version" "$dir/vmlinuz"
  echo "$version" > "$dir/version"
  (cd "$tree/first" && find . | cpio -o -H newc --quiet) > "$dir/initrd.new"
  mv "$dir/initrd.new" "$dir/initrd"
  rm -rf "$tree"
}
