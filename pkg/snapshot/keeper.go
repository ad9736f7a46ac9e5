package snapshot

import (
	"context"
	"hash"
	"math"
	"os"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/kept"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// Options are what a Keeper works with.
type Options struct {
	// Root is the workspace. It stays the caller's, and must be open until Close has returned.
	Root *os.Root
	// NewBlobHash is the hash that names a git blob of a size, begun.
	NewBlobHash func(size int64) hash.Hash
	// Contents keeps contents that git does not have.
	Contents *kept.Store
	// Secrets gives the rules of what is secret, as they are now: is reports whether a path is, of which a directory's ends
	// in a slash, and is nil if none can be. digest names the rules. Nil: nothing is secret.
	Secrets func() (is func(path string) bool, digest string)
	// Largest is how large a content may be that is compared line by line, in bytes.
	Largest int64
	// Mark is called when a window opens, and what it gives at its end, to tell what other processes on this workspace recorded of
	// paths meanwhile; nil asks nobody. Others may wait for those that are about to. The ends are those of the ledger at the time.
	Mark func(ctx context.Context) (others Others, ends []string, err error)
	// Elsewhere tells when the commands of other processes began that run at the moment; nil: none ever does.
	Elsewhere func(ctx context.Context) ([]time.Time, error)
	// State opens .orchestration/state, where the state before a command is saved; nil saves none. Durable flushes it.
	State   func() (*os.Root, error)
	Durable bool
}

// Others tells what other processes did, of some paths.
type Others func(ctx context.Context, paths []string) (Foreign, error)

// Foreign is what other processes on a workspace did while a command ran.
type Foreign struct {
	// Writes are those that they recorded.
	Writes []Write
	// Running are their commands that have not ended yet.
	Running []Running
}

// Running is a command of another process.
type Running struct {
	// Began is when it was about to start.
	Began time.Time
	// InScope says whether it may change a path.
	InScope func(path string) bool
}

// Limits of what one walk reads and holds.
const (
	readPerWalk = 1 << 30   // bytes of what changed
	readAhead   = 96 << 20  // bytes of what nobody has read yet
	readFile    = 256 << 20 // bytes of one file
	holdPerWalk = 64 << 20
	// keepImage bounds one content that is kept although nothing changed it yet, keepImages all of them in the life of
	// a Keeper, in bytes, of which one takes keepBlock at least: the first command waits until they are written.
	keepImage  = 1 << 20
	keepImages = 48 << 20
	keepBlock  = 4 << 10
)

// Keeper keeps the state of one workspace. It is for concurrent use.
type Keeper struct {
	options Options

	mu      sync.Mutex
	waiting []*request
	walking bool
	open    map[*Window]bool
	active  map[*Writing]bool

	// The rest is the walker's own.
	root     *node
	walked   bool
	last     time.Time // when the last walk began
	notices  *notices  // from the first walk on
	partly   bool      // the last walk was only where they told of something
	whole    bool      // the last walk left nothing out, and they tell of all that there is
	unseen   int64     // see unseenSince; of the last walk
	keepLeft int64
	secrets  secrets
	stale    bool // what is secret now may be in the base
	base     *base
	older    []*base             // guarded by the lock
	since    map[string]*version // what has changed since the base; nil is gone
	untidy   atomic.Bool         // there was a new base
}

// request waits for a walk that begins after it: the window opens with it, or ends.
type request struct {
	window *Window
	done   chan struct{}
	err    error
}

// Open makes a Keeper. It looks at nothing yet.
func Open(o Options) *Keeper {
	if o.Secrets == nil {
		o.Secrets = func() (func(string) bool, string) { return nil, "none" }
	}
	return &Keeper{
		options: o, open: map[*Window]bool{}, active: map[*Writing]bool{}, root: newNode(""), keepLeft: keepImages,
		unseen: nobodyRuns,
	}
}

// Begin opens a window: when it returns, the state before is known, and what changes from now on is found by End.
// inScope says whether the command may change a path; nil: it may change everything.
func (k *Keeper) Begin(ctx context.Context, inScope func(path string) bool) (*Window, error) {
	w := k.window(time.Now(), inScope)
	k.mu.Lock()
	for writing := range k.active {
		w.add(writing.writes)
	}
	k.open[w] = true
	k.mu.Unlock()
	err := ctx.Err()
	if err == nil && k.options.Mark != nil {
		w.others, w.Ends, err = k.options.Mark(ctx)
	}
	if err == nil {
		err = k.request(w)
	}
	if err != nil {
		w.Discard()
		return nil, err
	}
	return w, nil
}

func (k *Keeper) window(began time.Time, inScope func(path string) bool) *Window {
	if inScope == nil {
		inScope = func(string) bool { return true }
	}
	return &Window{
		keeper: k, Began: began, inScope: inScope, deltas: map[string]*pending{}, writes: map[string][]*Write{},
		touched: map[string]*pending{}, back: map[string]*version{},
	}
}

// request has a walk made for a window, or joins one that has not begun.
func (k *Keeper) request(w *Window) error {
	r := &request{window: w, done: make(chan struct{})}
	k.mu.Lock()
	k.waiting = append(k.waiting, r)
	leads := !k.walking
	k.walking = true
	k.mu.Unlock()
	if leads {
		k.walkAll()
	}
	<-r.done
	return r.err
}

// walkAll walks until nobody waits.
func (k *Keeper) walkAll() {
	for {
		k.mu.Lock()
		served := k.waiting
		k.waiting = nil
		if len(served) == 0 {
			k.walking = false
			k.mu.Unlock()
			return
		}
		running := k.begun() // not those that begin with this walk
		k.mu.Unlock()
		var begin, end []*Window
		for _, r := range served {
			if slices.Contains(running, r.window) {
				end = append(end, r.window)
			} else {
				begin = append(begin, r.window)
			}
		}
		found, err := k.walk(end, len(running) > 0)
		k.deliver(begin, end, found)
		if err == nil {
			err = k.saveFor(begin)
		}
		for _, r := range served {
			r.err = err
			close(r.done)
		}
	}
}

// begun are the open windows of which the state before is known. The caller holds the lock.
func (k *Keeper) begun() (windows []*Window) {
	for w := range k.open {
		if w.begun {
			windows = append(windows, w)
		}
	}
	return windows
}

// walk looks at the workspace, while a command runs or not, at the end of some windows.
func (k *Keeper) walk(end []*Window, running bool) (*walk, error) {
	began := time.Now()
	unseen := k.unseenSince(end)
	k.learnSecrets()
	w := &walk{keeper: k, keep: k.keep(), opens: running, began: began, unseen: unseen}
	w.left.Store(readPerWalk)
	if !k.walked {
		w.left.Store(readAhead)
	}
	w.hold.Store(holdPerWalk)
	if k.notices == nil {
		k.notices = openNotices()
	}
	told := k.notices.take()
	// If no command runs, nor did when the last walk was made, what changed since is the work of the server's tools and of
	// people, which the kernel's notices tell of. Commands have ways around those; see the package's documentation.
	w.partly = told && k.walked && unseen == nobodyRuns && k.unseen == nobodyRuns
	if running && w.partly {
		w.partly = k.whole && k.enclosed(end) && k.notices.opened()
	}
	if w.partly {
		k.root.find()
	}
	err := w.run(k.root)
	w.keep.done()
	// Nobody opened those but this walk: who writes them now runs beside it, and then the next look is at everything.
	k.notices.opened()
	if err != nil {
		return &walk{}, err
	}
	k.partly, k.unseen = w.partly, unseen
	k.whole = (k.whole || !w.partly) && len(w.gaps) == 0 && k.root.told()
	slices.Sort(w.links.More)
	w.links.More = slices.Compact(w.links.More)
	w.deltas = k.without(w.deltas)
	if running {
		k.root.twice(w.deltas)
	}
	if k.base != nil {
		for i := range w.deltas {
			k.since[w.deltas[i].path] = w.deltas[i].after
		}
	}
	if !k.walked {
		w.deltas = nil
	}
	k.walked, k.last = true, began
	return w, nil
}

// enclosed: all commands that run are, and end with this look.
func (k *Keeper) enclosed(end []*Window) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	running := k.begun()
	return len(running) == len(end) && !slices.ContainsFunc(running, func(w *Window) bool { return !w.enclosed })
}

// temporary: a name that the server gives to files on the way to their place. A command that uses such a name does not
// hide behind it, as the server says which are its own.
func (k *Keeper) temporary(dir, name string) bool {
	token := workspace.TempOwner(name)
	if token == "" {
		return false
	}
	_, err := k.options.Root.Lstat(path.Join(".orchestration/state/tmp", token+".owner"))
	return err == nil
}

// deliver gives what a walk found to the windows that were open while it changed.
func (k *Keeper) deliver(begin, end []*Window, found *walk) {
	k.mu.Lock()
	defer k.mu.Unlock()
	running := k.begun()
	for _, w := range begin {
		w.begun, w.linked = true, found.links
	}
	for _, w := range running {
		w.gaps, w.linked = found.gaps, found.links
		for i := range found.deltas {
			w.merge(found.deltas[i], running, slices.Contains(end, w))
		}
	}
}

// Write is one change of one file that is known to be somebody else's than a command's. A hash is "" where there is no file.
type Write struct {
	Path          string
	Before, After string
	// AfterOID is the blob id of the content after it, "" if it is not known.
	AfterOID string
	// Since: it is known to have been made after the window opened, so it counts whatever was found then.
	Since bool
	// Wrong: a command made it that may not.
	Wrong bool
}

// Writing is a change that the server itself is about to make.
type Writing struct {
	keeper *Keeper
	writes []*Write
}

// Writing is called before the server changes files: what is found to have become so is not a command's.
func (k *Keeper) Writing(writes []Write) *Writing {
	w := &Writing{keeper: k}
	for _, one := range writes {
		w.writes = append(w.writes, &one)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.active[w] = true
	for open := range k.open {
		open.add(w.writes)
	}
	return w
}

// Done is called when the change stands. A nil Writing is one that nobody is told of.
func (w *Writing) Done() {
	w.end(func(one *Write) { one.Since = true })
}

// Undone is called when the change did not happen, or was taken back.
func (w *Writing) Undone() {
	w.end(func(one *Write) { one.After, one.AfterOID = one.Before, "" })
}

func (w *Writing) end(each func(*Write)) {
	if w == nil {
		return
	}
	w.keeper.mu.Lock()
	defer w.keeper.mu.Unlock()
	delete(w.keeper.active, w)
	for _, one := range w.writes {
		each(one)
	}
}

// nobodyRuns is what unseenSince gives where no command runs.
const nobodyRuns = math.MaxInt64

// unseenSince is the time of change from which on a file may be written without a new one: the beginning of the first of
// the commands that run and go on. It is asked for after a walk has begun, so what others do later has a later time than the walk.
func (k *Keeper) unseenSince(end []*Window) int64 {
	since := int64(nobodyRuns)
	k.mu.Lock()
	for _, w := range k.begun() {
		if !slices.Contains(end, w) {
			since = min(since, w.Began.Add(-coarse).UnixNano())
		}
	}
	k.mu.Unlock()
	if k.options.Elsewhere == nil {
		return since
	}
	began, err := k.options.Elsewhere(context.Background())
	if err != nil {
		return math.MinInt64
	}
	for _, one := range began {
		since = min(since, one.Add(-coarse).UnixNano())
	}
	return since
}
