package snapshot

// maxLinked bounds the files with several names that one walk names, in all its workers.
const maxLinked = 50_000

// Linked is a name of a file that has several.
type Linked struct {
	Dir, Name  string // Dir is "" for the top
	Dev, Inode uint64
	// Links is how many names the file has, in the workspace and elsewhere.
	Links uint64
}

// Path is the name, workspace-relative.
func (l *Linked) Path() string { return join(l.Dir, l.Name) }

// Links are the names of files with several names, as one walk found them.
type Links struct {
	Files []Linked
	// More are directories with more of them than could be named.
	More []string
}

func (l *Links) add(dir string, e *entry) {
	if len(l.Files) < maxLinked/workers {
		l.Files = append(l.Files, Linked{dir, e.name, e.stat.dev, e.stat.ino, e.stat.links})
		return
	}
	if n := len(l.More); n == 0 || l.More[n-1] != dir {
		l.More = append(l.More, dir)
	}
}

// joined are those of all workers.
func (w *walk) links() *Links {
	all := &Links{}
	for i := range w.named {
		all.Files = append(all.Files, w.named[i].Files...)
		all.More = append(all.More, w.named[i].More...)
	}
	return all
}

// Linked are the files with several names that the last look found, of Begin or of End; those in parts that are not looked
// at are not among them.
func (w *Window) Linked() *Links {
	w.keeper.mu.Lock() // looks of other commands add to it
	defer w.keeper.mu.Unlock()
	return w.linked
}
