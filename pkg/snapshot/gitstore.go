package snapshot

import (
	"cmp"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/fileclock"
)

// maxStored bounds the entries of git's store that are looked at.
const maxStored = 5000

// GitStore is what of git's store there was before a command: its objects, its logs and the branches of its remotes. Walks
// leave these out. Only what is gone or changed later is found, by names and times of change; what is new is not.
type GitStore struct {
	keeper *Keeper
	start  int64
	files  []string // relative to .git
	dirs   map[string]stat
	packs  map[string]stat // with names elsewhere
	// Short: there was more than is looked at.
	Short bool
}

// StoreChange is a file or directory of git's store that is not as it was.
type StoreChange struct {
	Path string // workspace-relative
	Gone bool
	// Links is how many names the file has.
	Links uint64
	// Loose: its permissions let it be written, as git's never do.
	Loose bool
}

// GitStore looks at it; nil where .git is no directory.
func (k *Keeper) GitStore() *GitStore {
	top := k.gitTop()
	if top == nil {
		return nil
	}
	defer top.release()
	s := &GitStore{keeper: k, start: fileclock.Now(), dirs: map[string]stat{}, packs: map[string]stat{}}
	left := []string{"objects", "logs", "refs/remotes"}
	for len(left) > 0 && len(s.files)+len(s.dirs) < maxStored {
		dir := left[0]
		left = left[1:]
		var now stat
		if top.lstat(dir, &now) != nil || now.kind() != Directory {
			continue
		}
		s.dirs[dir] = now
		eachName(top, dir, func(name string) {
			var of stat
			switch at := path.Join(dir, name); {
			case top.lstat(at, &of) != nil:
			case of.kind() == Directory:
				left = append(left, at)
			default:
				s.files = append(s.files, at)
				if dir == "objects/pack" && of.links > 1 {
					s.packs[at] = of
				}
			}
		})
	}
	if s.Short = len(left) > 0 || len(s.files) > maxStored; s.Short {
		s.files = s.files[:min(len(s.files), maxStored)]
	}
	return s
}

// eachName visits what is in a directory, as far as it can be looked into; no link on the way is followed.
func eachName(top *handle, dir string, visit func(name string)) {
	h := top.hold()
	defer func() { h.release() }()
	for name := range strings.SplitSeq(dir, "/") {
		inner, err := h.openDir(name)
		if err != nil {
			return
		}
		h.release()
		h = inner
	}
	_ = h.names(make([]byte, listing), func(name []byte) { visit(string(name)) })
}

func (k *Keeper) gitTop() *handle {
	root, err := openTop(k.options.Root)
	if err != nil {
		return nil
	}
	defer root.release()
	top, err := root.openDir(".git")
	if err != nil {
		return nil
	}
	return top
}

// Changes are what is gone or changed since, sorted.
func (s *GitStore) Changes() []StoreChange {
	top := s.keeper.gitTop()
	if top == nil {
		return []StoreChange{{Path: ".git", Gone: true}}
	}
	defer top.release()
	var found []StoreChange
	gone := map[string]bool{}
	for _, dir := range slices.Sorted(maps.Keys(s.dirs)) { // what is above first
		was := s.dirs[dir]
		if gone[path.Dir(dir)] {
			gone[dir] = true
			continue
		}
		var now stat
		if top.lstat(dir, &now) != nil || now.kind() != Directory || !was.sameInode(&now) && was.ino != 0 {
			gone[dir] = true
			found = append(found, StoreChange{Path: ".git/" + dir, Gone: true})
		} else if !was.sameRights(&now) {
			found = append(found, StoreChange{Path: ".git/" + dir, Loose: true})
		}
	}
	for _, name := range s.files {
		var now stat
		switch err := top.lstat(name, &now); {
		case gone[path.Dir(name)]:
		case err != nil:
			found = append(found, StoreChange{Path: ".git/" + name, Gone: true})
		case now.ctime >= s.start:
			found = append(found, StoreChange{Path: ".git/" + name, Links: now.links, Loose: now.mode&0o222 != 0 || now.mode&fs.ModeType != 0})
		}
	}
	return inOrder(found)
}

// Packs are the changes of packs that have names elsewhere.
func (s *GitStore) Packs() []StoreChange {
	top := s.keeper.gitTop()
	if top == nil {
		return nil
	}
	defer top.release()
	var found []StoreChange
	for name, was := range s.packs {
		var now stat
		if top.lstat(name, &now) != nil || !was.sameInode(&now) {
			continue // the other names keep what they have
		}
		if !was.sameRights(&now) || was.mtime != now.mtime || was.size != now.size || was.links == now.links && was.ctime != now.ctime {
			found = append(found, StoreChange{Path: ".git/" + name, Links: now.links, Loose: now.mode&0o222 != 0})
		}
	}
	return inOrder(found)
}

func inOrder(found []StoreChange) []StoreChange {
	slices.SortFunc(found, func(a, b StoreChange) int { return cmp.Compare(a.Path, b.Path) })
	return found
}
