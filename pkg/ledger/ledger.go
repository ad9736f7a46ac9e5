package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/gitdir"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/live"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/query"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/rotation"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// Layout says which file a record goes to. Every query and check reads both.
type Layout string

// Durability says what an answered append has survived.
type Durability string

// The values of Options.Layout and Options.Durability.
const (
	LayoutSingle   Layout = "single"   // one file for all
	LayoutSessions Layout = "sessions" // a file for each session, which never conflicts in git

	DurabilityFull Durability = "full" // a power cut: the line is flushed to disk
	DurabilityOS   Durability = "os"   // the end of the process: the system flushes when it likes
)

const defaultLockWait = 5 * time.Second

// Options are fixed for the life of a Ledger. The zero value serves.
type Options struct {
	Layout Layout // default LayoutSingle
	// Beside has the first record of a workspace in a git repository put the ledger beside the tree; see [locate.Beside]. One that
	// is in the tree stays there.
	Beside     bool
	Durability Durability // default DurabilityFull
	Version    string     // of the program, for the line's tool.version
	// Principal names who is at the machine, for records that say no other; nil leaves it out. It is asked when a record is drafted.
	Principal func() string
	// SegmentSize is the length in bytes beyond which a file's lines are moved into archives, but for the last eighth of
	// it; default 16 MiB, negative for never.
	SegmentSize int64
	LockWait    time.Duration    // how long an append waits for other processes before ErrBusy; default 5 s
	Clock       func() time.Time // default time.Now
	NewID       func() string    // gives a new UUID for each record; default random
	// Revision gives the commit that is checked out, or nothing. Default: read from the git repository around the workspace.
	Revision func() string
	Logger   zerolog.Logger
	// Lost, if not nil, is told of each record of [Ledger.AppendSoon] that could not be written, with its id, "" if it
	// had none yet. It may be called by several goroutines at a time.
	Lost func(id string)
	// Written, if not nil, is told of each group of records that got to the file, and how long it took from taking them up to
	// the end of their flush.
	Written func(records int, took time.Duration)
}

// Ledger appends to and reads from the ledger of one workspace. All methods may be called at the same time, and any
// number of processes may have the same ledger open.
type Ledger struct {
	workspace *os.Root
	at        atomic.Pointer[location]
	opts      Options
	git       *gitdir.Git
	disk      segment.Disk
	maxLine   int

	besideDir func() string // see locate.Beside
	wasBeside atomic.Bool
	link      string // for the writer: what the link in the tree has to say

	followEvery time.Duration

	queue chan *request
	done  chan struct{} // closed when the writer has ended
	soon  atomic.Int64  // records of AppendSoon that are not in the file yet

	life   context.Context // until Close, of what is done behind the answers
	end    context.CancelFunc
	behind sync.WaitGroup

	state  sync.RWMutex // guards closed; held for reading while a request is put into queue
	closed bool
	begin  sync.Once // of the writer, or of what can have none any more

	broken atomic.Pointer[error] // the failure that poisoned the ledger

	goneLock sync.Mutex
	gone     map[record.Hash]bool // lines that the next record follows although they are gone; see Loss

	segments map[string]*live.File // of the writer's goroutine
	rotation *rotator
	own      func() string // names the segment of records without a session
}

// Appended says where a record went.
type Appended struct {
	ID   string // the record's id
	Hash string // the identity of its line, hex; of the first one if it was spread over several
}

// Open gives the ledger of the workspace at root. It reads and creates nothing: what a first append has to know is
// read then. The root must stay open until Close.
func Open(root *os.Root, opts Options) (*Ledger, error) {
	opts.Layout, opts.Durability = cmp.Or(opts.Layout, LayoutSingle), cmp.Or(opts.Durability, DurabilityFull)
	switch {
	case opts.Layout != LayoutSingle && opts.Layout != LayoutSessions:
		return nil, fmt.Errorf("ledger layout %q is not known; use %q or %q", opts.Layout, LayoutSingle, LayoutSessions)
	case opts.Durability != DurabilityFull && opts.Durability != DurabilityOS:
		return nil, fmt.Errorf("durability %q is not known; use %q or %q", opts.Durability, DurabilityFull, DurabilityOS)
	}
	dir, err := filepath.Abs(root.Name())
	if err != nil {
		return nil, fmt.Errorf("open the ledger of %s: %w", root.Name(), err)
	}
	l := &Ledger{
		workspace: root, git: gitdir.New(dir), disk: segment.RealDisk(), maxLine: record.MaxLine, followEvery: followEvery,
		queue: make(chan *request, queueLength), done: make(chan struct{}), segments: map[string]*live.File{},
		rotation: &rotator{retry: map[string]int64{}}, gone: map[record.Hash]bool{},
		besideDir: sync.OnceValue(func() string { return locate.Beside(root.Name()) }),
	}
	l.life, l.end = context.WithCancel(context.Background())
	l.rotation.ctx, l.rotation.cancel = context.WithCancel(context.Background())
	l.at.Store(newLocation(root, false))
	opts.LockWait, opts.SegmentSize = cmp.Or(opts.LockWait, defaultLockWait), cmp.Or(opts.SegmentSize, rotation.DefaultSize)
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	if opts.NewID == nil {
		opts.NewID = uuid.NewString
	}
	if opts.Revision == nil {
		opts.Revision = l.git.Revision
	}
	l.opts, l.own = opts, sync.OnceValue(opts.NewID)
	return l, nil
}

// Append writes a record and returns when its line is as durable as Options.Durability says. An error means that the record is
// not acknowledged: ErrInvalidRecord, ErrTooLarge, ErrNotInitialized, ErrBusy and the context's error leave nothing in the file;
// after ErrUnavailable it may be there or not. The context ends the waiting for a turn, not a write that has begun.
func (l *Ledger) Append(ctx context.Context, r record.Record) (Appended, error) {
	d, err := l.Draft(r)
	if err != nil {
		return Appended{}, err
	}
	return l.AppendDraft(ctx, d)
}

// AppendSoon writes a record that no answer has to wait for. It goes with the next group, or within a few
// milliseconds, and keeps its place before every later append. When the queue is full it blocks; what cannot be
// written is reported to the log and to Options.Lost, never dropped silently.
func (l *Ledger) AppendSoon(r record.Record) {
	d, err := l.Draft(r)
	if err == nil {
		req := l.requestOf(d)
		req.soon = true
		l.soon.Add(1)
		if err = l.submit(context.Background(), req); err != nil {
			l.soon.Add(-1)
		}
	}
	if err != nil {
		l.reportLost(string(r.Kind), r.Call, "", err)
		if l.opts.Lost != nil {
			l.opts.Lost("")
		}
	}
}

// Flush returns when everything that was given to AppendSoon before is in the file.
func (l *Ledger) Flush(ctx context.Context) error {
	if l.soon.Load() == 0 {
		return nil
	}
	return l.ask(ctx, newRequest())
}

// Writable reports as ErrNotInitialized, ErrUnavailable or ErrClosed why an append would fail now. It changes
// nothing and does not wait for locks.
func (l *Ledger) Writable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := l.usable(); err != nil {
		return err
	}
	if _, err := segment.HomeInfo(l.workspace); err != nil {
		return err
	}
	at, err := l.found()
	if err != nil {
		return err
	}
	err = l.writableAt(at)
	if err != nil && !at.beside {
		// A first record may have made the ledger beside the tree since, and left a link where this looked.
		if now, lost := l.found(); lost == nil && now.beside {
			return l.writableAt(now)
		}
	}
	return err
}

func (l *Ledger) writableAt(at *location) error {
	name := path.Join(segment.Home, segment.SingleName)
	if l.opts.Layout == LayoutSingle {
		file, err := at.top.OpenRegular(name, os.O_WRONLY|os.O_APPEND)
		if err == nil {
			return file.Close()
		}
		if !errors.Is(err, os.ErrNotExist) {
			return segment.Unavailable(err)
		}
	}
	dir, err := durable.OpenRoot(at.root)
	if err != nil {
		return segment.Unavailable(err)
	}
	defer dir.Close()
	if err := dir.Writable(segment.Home); err != nil {
		return fmt.Errorf("%w: %s: %w", segment.ErrUnavailable, segment.Home, err)
	}
	return nil
}

// Close writes what is waiting and ends the writer. Appends that come later get ErrClosed. If the context ends first,
// the rest is still written in the background.
func (l *Ledger) Close(ctx context.Context) error {
	l.state.Lock()
	if !l.closed {
		l.closed = true
		close(l.queue)
		l.begin.Do(func() { close(l.done) })
	}
	l.state.Unlock()
	l.end()
	l.behind.Wait()
	select {
	case <-l.done:
		if failure := l.broken.Load(); failure != nil {
			return *failure
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("close the ledger: %w", ctx.Err())
	}
}

// BlobID gives the id that git has for a file with this content, before git's own filters, in the hash of the
// workspace's repository.
func (l *Ledger) BlobID(content []byte) string { return l.git.BlobID(content) }

func (l *Ledger) usable() error {
	if failure := l.broken.Load(); failure != nil {
		return *failure
	}
	l.state.RLock()
	defer l.state.RUnlock()
	if l.closed {
		return ErrClosed
	}
	return nil
}

// poison makes every later append fail with ErrUnavailable, and returns that error.
func (l *Ledger) poison(cause error) error {
	failure := fmt.Errorf("%w: %w; what was being written may be on disk or not; it is reopened and checked before the next change",
		segment.ErrUnavailable, cause)
	if l.broken.CompareAndSwap(nil, &failure) {
		l.opts.Logger.Error().Err(cause).Msg("the ledger failed and takes no more records until it is reopened")
	}
	return *l.broken.Load()
}

func (l *Ledger) reportLost(kind, call, id string, err error) {
	l.opts.Logger.Error().Err(err).Str("kind", kind).Str("call", call).Str("record", id).
		Msg("a ledger record could not be written and is lost")
}

// What reading and checking give.
type (
	Result      = query.Result
	RawLine     = segment.RawLine
	Problem     = segment.Problem
	ProblemKind = segment.ProblemKind
)

// The kinds of problems.
const (
	ProblemMissing    = segment.ProblemMissing
	ProblemIncomplete = segment.ProblemIncomplete
	ProblemMalformed  = segment.ProblemMalformed
	ProblemTorn       = segment.ProblemTorn
	ProblemTooLong    = segment.ProblemTooLong
	ProblemUnreadable = segment.ProblemUnreadable
	ProblemArchive    = segment.ProblemArchive
	ProblemSealed     = segment.ProblemSealed
	ProblemUnrecorded = segment.ProblemUnrecorded
)

// The errors that a caller may test for.
var (
	ErrClosed         = errors.New("the ledger is closed") // the Ledger was used after Close
	ErrNotInitialized = segment.ErrNotInitialized
	ErrBusy           = segment.ErrBusy
	ErrUnavailable    = segment.ErrUnavailable
)
