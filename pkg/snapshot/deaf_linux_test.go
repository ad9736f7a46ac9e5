//go:build linux && !portable

package snapshot

// Deaf has a keeper get no notices.
func (k *Keeper) Deaf() { k.notices = &notices{fd: -1, mounts: -1, local: map[uint64]bool{}} }

// Watching bounds the directories that a keeper has the kernel tell of.
func (k *Keeper) Watching(most int) {
	k.notices = openNotices()
	k.notices.most = most
}

// RunsOut has a keeper find that there are no watches left for anybody, and says how many it has then.
func (k *Keeper) RunsOut() (before, left int) {
	before = len(k.notices.nodes)
	k.notices.giveBack()
	return before, len(k.notices.nodes)
}

// NoOpens has a keeper not be told of files that are opened.
func (k *Keeper) NoOpens() {
	k.notices = openNotices()
	k.notices.opens.close()
	k.notices.opens = nil
}

// Partly reports whether the last look of a keeper left out what the kernel told nothing of.
func (k *Keeper) Partly() bool { return k.partly }
