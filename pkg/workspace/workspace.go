package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// Workspace is one directory tree. Its methods may be called concurrently.
type Workspace struct {
	dir  string // absolute, as opened
	real string // the same with links resolved
	root *os.Root
	top  *durable.Dir

	durability Durability
	log        *onceLog
	locks      *pathLocks
	abilities  abilities
	patience   patience
	owner      owner
	beside     atomic.Bool // temporary files cannot be moved from the shared directory after all
	beforeSwap func()      // for tests: the moment before two names are exchanged
	places     []Place     // those that matter here
	links      linkNames   // in them
}

// Durability says what a Commit waits for.
type Durability int

const (
	// Full flushes contents and directories to disk before Commit returns.
	Full Durability = iota
	// OS leaves flushing to the operating system: a crash of the machine can undo or empty a change.
	OS
)

// abilities lets tests take away what the file system could do.
type abilities struct{ exchange, lease, lock bool }

// patience bounds every wait for somebody else.
type patience struct {
	lock   time.Duration // for another writer's lock
	writer time.Duration // for a program that has the file open for writing
}

// Option is an optional collaborator of Open.
type Option func(*Workspace)

// WithLogger takes messages about what the file system cannot do and about content kept aside.
func WithLogger(log zerolog.Logger) Option {
	return func(w *Workspace) { w.log = &onceLog{log: log} }
}

// WithDurability sets what Commit waits for; Full is the default.
func WithDurability(d Durability) Option {
	return func(w *Workspace) { w.durability = d }
}

// Open opens the directory dir, which may be reached through symbolic links.
func Open(dir string, opts ...Option) (*Workspace, error) {
	var resolved string
	var root *os.Root
	abs, err := filepath.Abs(dir)
	if err == nil {
		resolved, err = filepath.EvalSymlinks(abs)
	}
	if err == nil {
		root, err = os.OpenRoot(resolved)
	}
	if err != nil {
		return nil, fmt.Errorf("open workspace %s: %w", dir, err)
	}
	top, err := durable.OpenRoot(root)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open workspace %s: %w", dir, err), root.Close())
	}
	w := &Workspace{
		dir: filepath.ToSlash(abs), real: filepath.ToSlash(resolved), root: root, top: top,
		log:        &onceLog{log: zerolog.Nop()},
		locks:      &pathLocks{held: map[string]chan struct{}{}},
		abilities:  abilities{exchange: true, lease: true, lock: true},
		patience:   patience{lock: 5 * time.Second, writer: 2 * time.Second},
		beforeSwap: func() {},
		links:      linkNames{of: map[string]namesAt{}, settle: settleTime},
	}
	for _, opt := range opts {
		opt(w)
	}
	w.choosePlaces()
	return w, nil
}

// Dir is the workspace's absolute directory, symbolic links resolved.
func (w *Workspace) Dir() string { return filepath.FromSlash(w.real) }

// Root is the confinement for callers that need other operations than this package's. It rejects absolute
// links even if they point into the workspace.
func (w *Workspace) Root() *os.Root { return w.root }

// Close releases the directory. Targets and what was committed must have been closed.
func (w *Workspace) Close() error { return errors.Join(w.owner.close(), w.top.Close(), w.root.Close()) }

// Names of the directories that this package uses.
const (
	governanceDir = ".orchestration"
	stateDir      = "state"
	tempDir       = "tmp"
)

// openState opens .orchestration/state/NAMES, making what is missing below .orchestration itself, which
// must exist. None of them may be a symbolic link: a cloned repository could point it anywhere.
func (w *Workspace) openState(names ...string) (*durable.Dir, error) {
	return w.OpenOwn(append([]string{stateDir}, names...)...)
}

// OpenOwn opens .orchestration/NAMES in the way of openState.
func (w *Workspace) OpenOwn(names ...string) (*durable.Dir, error) {
	if at, err := w.top.OpenDirAt(path.Join(append([]string{governanceDir}, names...)...)); err == nil {
		return at, nil
	}
	// Something is missing, or in the way.
	at, err := w.top.OpenDir(governanceDir)
	if err != nil {
		return nil, pathError("open", governanceDir, err)
	}
	for _, name := range names {
		next, err := w.openOrMake(at, name)
		at.Close()
		if err != nil {
			return nil, pathError("open", governanceDir+"/.../"+name, err)
		}
		at = next
	}
	return at, nil
}

// openOrMake makes the name durable: before-images and the journal are worth nothing if a power cut takes the
// directory away.
func (w *Workspace) openOrMake(at *durable.Dir, name string) (*durable.Dir, error) {
	next, err := at.OpenDir(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return next, err
	}
	if err := at.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if w.durability == Full {
		if err := at.Sync(); err != nil {
			return nil, err
		}
	}
	return at.OpenDir(name)
}

// State opens .orchestration/state, made with mode 0700 if missing. It fails if the workspace is not
// initialised or if one of the two is a symbolic link. The caller closes it.
func (w *Workspace) State() (*os.Root, error) {
	at, err := w.openState()
	if err != nil {
		return nil, err
	}
	defer at.Close()
	seen, err := at.Stat()
	if err != nil {
		return nil, err
	}
	root, err := w.root.OpenRoot(governanceDir + "/" + stateDir + "/")
	if err != nil {
		return nil, err
	}
	// os.Root follows links inside the workspace: it must be the directory that was checked.
	info, err := root.Stat(".")
	if err != nil || !durable.Same(seen, durable.StatInfo(info)) {
		root.Close()
		return nil, pathError("open", governanceDir+"/"+stateDir, ErrChangedDir)
	}
	return root, nil
}

// onceLog says each thing once: what a file system cannot do is true of every later call too.
type onceLog struct {
	log  zerolog.Logger
	said sync.Map
}

func (l *onceLog) once(topic, text string, err error) {
	if _, before := l.said.LoadOrStore(topic, true); !before {
		l.log.Warn().Str("topic", topic).AnErr("reason", err).Msg(text)
	}
}
