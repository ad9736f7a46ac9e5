package doctor

import (
	"fmt"
	"math"

	"golang.org/x/sys/unix"
)

// fileSystem is what is known of a kind, from the kernel's source: whether rename can exchange two names
// (RENAME_EXCHANGE, renameat2(2)), without which a person's save in the last moment can be missed.
type fileSystem struct {
	name     string
	exchange bool
}

// fileSystems are known by the magic numbers of statfs(2).
func fileSystems() map[int64]fileSystem {
	return map[int64]fileSystem{
		unix.EXT4_SUPER_MAGIC:      {"ext4", true},
		unix.XFS_SUPER_MAGIC:       {"xfs", true},
		unix.BTRFS_SUPER_MAGIC:     {"btrfs", true},
		unix.TMPFS_MAGIC:           {"tmpfs", true},
		unix.F2FS_SUPER_MAGIC:      {"f2fs", true},
		unix.OVERLAYFS_SUPER_MAGIC: {"overlayfs", true},
		unix.NFS_SUPER_MAGIC:       {"NFS", false},
		unix.SMB_SUPER_MAGIC:       {"SMB", false},
		unix.SMB2_SUPER_MAGIC:      {"SMB", false},
		unix.CIFS_SUPER_MAGIC:      {"SMB", false},
		unix.V9FS_MAGIC:            {"9p", false},
		unix.EXFAT_SUPER_MAGIC:     {"exFAT", false},
	}
}

// checkKind judges by the kind of the file system, because only a write could tell. It gives the kind's name.
func (e *examination) checkKind() string {
	var st unix.Statfs_t
	if err := unix.Statfs(e.Dir, &st); err != nil {
		return "unknown file system"
	}
	kind, known := fileSystems()[int64(st.Type)]
	switch {
	case !known:
		e.ok("file system of kind %#x: whether two files can be exchanged atomically is found out at the first change", st.Type)
		return "this file system"
	case !kind.exchange:
		e.warn(fmt.Sprintf("The workspace is on %s, which cannot exchange two files atomically: what a person saves in the very moment of a change "+
			"can be missed.", kind.name), "Move the workspace to a local file system.", "")
	}
	return kind.name
}

// space gives free bytes, and free inodes; a file system without inodes has more than enough.
func space(dir string) (free int64, files uint64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, err
	}
	files = st.Ffree
	if st.Files == 0 {
		files = math.MaxUint64
	}
	return int64(st.Bavail) * st.Bsize, files, nil
}

func writable(name string) error { return unix.Access(name, unix.W_OK) }
