//go:build linux && !portable

package snapshot

// Deaf has a keeper get no notices.
func (k *Keeper) Deaf() { k.notices = &notices{fd: -1, mounts: -1, local: map[uint64]bool{}} }

// Partly reports whether the last look of a keeper left out what the kernel told nothing of.
func (k *Keeper) Partly() bool { return k.partly }
