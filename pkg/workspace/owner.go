package workspace

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/change"
)

const (
	ownerSuffix = ".owner"
	ownerHead   = "process "
	tokenLength = 10
	// leftTime bounds the waiting for a lock that a dead process has left to a child that it had just made: until that
	// becomes another program, a matter of moments.
	leftTime = time.Second
	sweepAge = 10 * time.Minute // longer than any write of a temporary file takes
	maxOwner = 1 << 20          // bytes of an owner's file that are read
)

// owner is a process's sign of life for its temporary files, whose names carry its token: the file
// .orchestration/state/tmp/<token>.owner, locked for as long as the process lives. Its first line says which process that
// is ("process", the id, and the place where the id means something); the others are the directories in which the process
// made temporary files beside their targets.
type owner struct {
	mu     sync.Mutex
	token  string
	dir    *durable.Dir
	file   *os.File
	beside map[string]bool
	none   bool // locks are not to be had: nobody could tell whether we live
}

// tempName gives a new name, which says whose it is where that can be said. beside is the directory that the file is
// going to be in, "" for the shared one.
func (w *Workspace) tempName(beside string) string {
	o := &w.owner
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.token == "" && !o.none {
		if err := w.own(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.log.once("owner", "temporary files of this server are not found by others should it be killed", err)
		}
	}
	if o.token == "" {
		return tempPrefix + rand.Text()[:16] + tempSuffix
	}
	if beside != "" && !o.beside[beside] && !strings.Contains(beside, "\n") {
		o.beside[beside] = true
		_, _ = io.WriteString(o.file, beside+"\n") // without it the file is only hidden
	}
	return tempPrefix + o.token + "-" + rand.Text()[:10] + tempSuffix
}

// own makes the file. Another process can take it for a dead one's before it is locked; then there is a new one.
func (w *Workspace) own() error {
	dir, err := w.openState(tempDir)
	if err != nil {
		return err
	}
	for {
		token := rand.Text()[:tokenLength]
		file, err := dir.Create(token+ownerSuffix, 0o600)
		if err != nil {
			return errors.Join(err, dir.Close())
		}
		locked, err := durable.TryLock(file)
		if err != nil {
			w.owner.none = true
			return errors.Join(err, dir.Remove(token+ownerSuffix), file.Close(), dir.Close())
		}
		st, err := durable.StatFile(file)
		if err == nil && locked && is(dir, token+ownerSuffix, st) {
			_, _ = fmt.Fprintf(file, "%s%d %s\n", ownerHead, os.Getpid(), durable.Place()) // without it nobody waits for the lock
			w.owner.token, w.owner.dir, w.owner.file, w.owner.beside = token, dir, file, map[string]bool{}
			return nil
		}
		file.Close()
	}
}

// close gives up the sign of life of a process that ends in order.
func (o *owner) close() error {
	if o.token == "" {
		return nil
	}
	err := o.dir.Remove(o.token + ownerSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	_ = durable.Unlock(o.file)
	return errors.Join(err, o.file.Close(), o.dir.Close())
}

// Abandoned is what processes that are gone left of temporary files, as far as it can be known.
type Abandoned struct {
	w      *Workspace
	dir    *durable.Dir
	owners []deadOwner
}

type deadOwner struct {
	token  string
	file   *os.File
	beside []string
}

// Abandoned finds the processes that are gone. It is called before the journal is read: then every plan that one of
// them wrote down is in the journal, and what Sweep is not told to spare is nobody's. Close gives up.
func (w *Workspace) Abandoned() (*Abandoned, error) {
	dir, err := w.openState(tempDir)
	if err != nil {
		return nil, err
	}
	a := &Abandoned{w: w, dir: dir}
	entries, err := dir.ReadDir()
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	for _, e := range entries {
		token, ok := strings.CutSuffix(e.Name(), ownerSuffix)
		if !ok || token == w.owner.mine() {
			continue
		}
		if o, dead := takeOwner(dir, token); dead {
			a.owners = append(a.owners, o)
		}
	}
	return a, nil
}

func (o *owner) mine() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.token
}

// takeOwner locks the file of a process that is gone.
func takeOwner(dir *durable.Dir, token string) (deadOwner, bool) {
	f, err := openRegular(dir, token+ownerSuffix)
	if err != nil {
		return deadOwner{}, false
	}
	free, err := durable.TryLock(f)
	for deadline := time.Now().Add(leftTime); err == nil && !free && leftBehind(f) && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
		free, err = durable.TryLock(f)
	}
	st, statErr := durable.StatFile(f)
	if err != nil || !free || statErr != nil || !is(dir, token+ownerSuffix, st) {
		f.Close()
		return deadOwner{}, false
	}
	list, _ := readUpTo(f, min(st.Size, maxOwner), maxOwner)
	beside := strings.Split(strings.TrimSpace(string(list)), "\n")
	if strings.HasPrefix(beside[0], ownerHead) {
		beside = beside[1:]
	}
	return deadOwner{token, f, beside}, true
}

// leftBehind reports whether the process that a locked file names is gone.
func leftBehind(f *os.File) bool {
	head := make([]byte, 256)
	n, _ := f.ReadAt(head, 0)
	line, _, whole := strings.Cut(string(head[:n]), "\n")
	id, place, _ := strings.Cut(strings.TrimPrefix(line, ownerHead), " ")
	pid, err := strconv.Atoi(id)
	return whole && err == nil && durable.Left(pid, place)
}

// Close lets go of what was found. A nil Abandoned has found nothing.
func (a *Abandoned) Close() error {
	if a == nil {
		return nil
	}
	for _, o := range a.owners {
		_ = durable.Unlock(o.file)
		o.file.Close()
	}
	a.owners = nil
	return a.dir.Close()
}

// Sweep removes the temporary files of those processes, but for those that the plans name.
func (a *Abandoned) Sweep(plans []change.Planned) {
	if a == nil {
		return
	}
	spared := map[string]bool{}
	for _, p := range plans {
		for _, name := range temps(p) {
			spared[name] = true
		}
	}
	for _, o := range a.owners {
		all := a.sweepDir(a.dir, sharedTemp(""), o.token, spared)
		for _, beside := range o.beside {
			if t, err := a.w.openTemp(path.Join(beside, tempPrefix+tempSuffix)); err == nil {
				all = a.sweepDir(t.dir, beside, o.token, spared) && all
				t.close()
			}
		}
		if all {
			_ = a.dir.Remove(o.token + ownerSuffix)
		}
	}
	a.sweepNameless(spared)
}

// sweepDir reports whether nothing is left.
func (a *Abandoned) sweepDir(dir *durable.Dir, at, token string, spared map[string]bool) bool {
	entries, err := dir.ReadDir()
	all := err == nil
	for _, e := range entries {
		if IsTemp(e.Name()) && strings.HasPrefix(e.Name(), tempPrefix+token+"-") {
			all = !spared[path.Join(at, e.Name())] && removeTemp(dir, e) == nil && all
		}
	}
	return all
}

// removeTemp removes a temporary file, or a directory that was on its way out. What others have put into that is kept.
func removeTemp(dir *durable.Dir, e fs.DirEntry) error {
	if !e.IsDir() {
		return dir.Remove(e.Name())
	}
	if dir.RemoveDir(e.Name()) == nil {
		return nil
	}
	return dir.Move(e.Name(), dir, strings.TrimSuffix(e.Name(), tempSuffix)+keptSuffix)
}

// sweepNameless looks at files whose process cannot be known, because its sign of life was deleted or could not be
// made. What is old and locked by nobody goes.
func (a *Abandoned) sweepNameless(spared map[string]bool) {
	entries, _ := a.dir.ReadDir()
	for _, e := range entries {
		token, _, _ := strings.Cut(strings.TrimPrefix(e.Name(), tempPrefix), "-")
		_, err := a.dir.Lstat(token + ownerSuffix)
		if IsTemp(e.Name()) && !spared[sharedTemp(e.Name())] && errors.Is(err, fs.ErrNotExist) {
			a.w.sweep(a.dir, e.Name())
		}
	}
}

// sweep leaves what it is not sure of.
func (w *Workspace) sweep(dir *durable.Dir, name string) {
	f, err := openRegular(dir, name)
	if err != nil {
		return
	}
	defer f.Close()
	st, err := durable.StatFile(f)
	if err != nil || time.Since(st.ModTime) < sweepAge {
		return
	}
	locks := lockFiles{w: w}
	defer locks.close()
	l, err := locks.tryLock(f, st)
	if err == nil && l.held {
		_ = dir.Remove(name) // the next sweep tries again
	}
	l.release()
}
