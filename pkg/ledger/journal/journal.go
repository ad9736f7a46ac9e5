package journal

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// The errors that a caller may test for, by when they occur.
var (
	// ErrUnavailable: an entry cannot be written. After a failed write or flush the journal takes no more entries
	// until Reopen; nothing was changed.
	ErrUnavailable = errors.New("the in-flight journal cannot be written")
	// ErrClosed: the journal was used after Close.
	ErrClosed = errors.New("the in-flight journal is closed")
)

func unavailable(err error) error { return fmt.Errorf("%w: %w", ErrUnavailable, err) }

const (
	dirName     = "inflight"
	slotSuffix  = ".entry"
	asideSuffix = ".unreadable"
)

// Options are fixed for the life of a Journal.
type Options struct {
	// State opens the directory in which the journal lives, and makes it if need be. It is called before the first
	// entry; the journal closes what it returns.
	State func() (*os.Root, error)
	// Durable says that an entry has to survive a power cut.
	Durable bool
	Logger  zerolog.Logger
	// Written, if not nil, is told of each entry how long it took to write and flush it.
	Written func(took time.Duration)
}

// Journal is one process's part of what is in flight in a workspace. Its methods may be called concurrently.
type Journal struct {
	opts  Options
	flush func(*os.File) error // of data and size; tests make it fail
	write func(*os.File, []byte) error

	mu     sync.Mutex
	dir    *os.Root // state/inflight, nil before it is needed
	listed *os.File // the same, for listing it before each entry; nil before that
	free   []*slot
	own    map[string]bool // names of this process's slots
	broken error
	closed bool
}

// slot is a file that this process holds.
type slot struct {
	name string
	file *os.File
	size int64
}

// Open gives the journal of a workspace. It reads and creates nothing.
func Open(o Options) *Journal {
	write := func(f *os.File, b []byte) error { _, err := f.WriteAt(b, 0); return err }
	return &Journal{opts: o, flush: durable.FlushData, write: write, own: map[string]bool{}}
}

// Begin writes an entry and returns when it is as durable as Options say. Errors: ErrUnavailable, ErrClosed.
func (j *Journal) Begin(e Entry) (*Inflight, error) {
	e.PID, e.Place = os.Getpid(), durable.Place()
	content, err := encode(e)
	if err != nil {
		return nil, unavailable(err)
	}
	s, err := j.take()
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	if err := j.write(s.file, content); err != nil {
		return nil, j.lose(s, err)
	}
	s.size = max(s.size, int64(len(content)))
	if j.opts.Durable {
		if err := j.flush(s.file); err != nil {
			return nil, j.lose(s, err)
		}
	}
	if j.opts.Written != nil {
		j.opts.Written(time.Since(begun))
	}
	return &Inflight{j: j, s: s}, nil
}

// lose gives up after a failed write. The slot is emptied as far as that can be done: the mutation has not begun.
func (j *Journal) lose(s *slot, cause error) error {
	err := errors.Join(cause, mark(s.file, stateAt, nothing))
	j.mu.Lock()
	defer j.mu.Unlock()
	j.broken = unavailable(err)
	j.opts.Logger.Error().Err(err).Msg("the in-flight journal failed and takes no more entries until it is reopened")
	j.discard(s)
	return j.broken
}

// Reopen starts again after a failure. It is sound without a look back: the mutation whose entry failed did not begin,
// and the next entry is written into a new file and flushed before it counts.
func (j *Journal) Reopen() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.broken == nil {
		return
	}
	j.broken = nil
	if j.dir != nil {
		j.forgetDir()
	}
}

// take gives a slot with nothing in flight.
func (j *Journal) take() (*slot, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.usable(); err != nil {
		return nil, err
	}
	if n := len(j.free); n > 0 {
		if s := j.free[n-1]; j.stands(s) {
			j.free = j.free[:n-1]
			return s, nil
		}
		j.forgetDir() // state/ was deleted although we are alive
	}
	s, err := j.newSlot()
	if err != nil {
		return nil, unavailable(err)
	}
	j.own[s.name] = true
	return s, nil
}

// Usable reports as ErrUnavailable or ErrClosed why an entry is not taken now. It changes nothing.
func (j *Journal) Usable() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.usable()
}

func (j *Journal) usable() error {
	if j.closed {
		return ErrClosed
	}
	return j.broken
}

func (j *Journal) stands(s *slot) bool { return durable.Stands(j.dir, s.name, s.file) }

func (j *Journal) forgetDir() {
	for _, s := range j.free {
		j.discard(s)
	}
	j.free = nil
	j.closeDir()
}

func (j *Journal) closeDir() {
	j.closeList()
	j.dir.Close()
	j.dir = nil
}

func (j *Journal) closeList() {
	if j.listed != nil {
		j.listed.Close()
		j.listed = nil
	}
}

// newSlot makes a file, locks it and gives it its size, all on disk before the first entry.
func (j *Journal) newSlot() (*slot, error) {
	if err := j.openDir(); err != nil {
		return nil, err
	}
	for {
		s := &slot{name: rand.Text()[:16] + slotSuffix, size: reserved}
		var err error
		if s.file, err = j.dir.OpenFile(s.name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err != nil {
			return nil, err
		}
		locked, err := durable.TryLock(s.file)
		if errors.Is(err, durable.ErrUnsupported) {
			locked, err = true, nil
		}
		if err == nil && locked && j.stands(s) {
			return s, j.fill(s)
		}
		s.file.Close() // another process took the empty file for a dead one's
		if err != nil {
			return nil, err
		}
	}
}

func (j *Journal) fill(s *slot) error {
	err := j.write(s.file, blank())
	if err == nil && j.opts.Durable {
		err = errors.Join(j.flush(s.file), durable.FlushDir(j.dir))
	}
	if err != nil {
		j.discard(s)
	}
	return err
}

// openDir makes the directory. A link in its place is refused: it could lead to another workspace's.
func (j *Journal) openDir() error {
	if j.dir != nil {
		return nil
	}
	state, err := j.opts.State()
	if err != nil {
		return err
	}
	defer state.Close()
	made := state.Mkdir(dirName, 0o700)
	if made != nil && !errors.Is(made, fs.ErrExist) {
		return made
	}
	info, err := state.Lstat(dirName)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf(".orchestration/state/%s is not a directory: move it away", dirName)
	}
	if err != nil {
		return err
	}
	if j.opts.Durable { // also what another process made and was killed before it flushed
		if err := durable.FlushDir(state); err != nil {
			return err
		}
	}
	j.dir, err = state.OpenRoot(dirName + "/")
	return err
}

// discard removes a slot. What cannot be removed is found empty, or as an orphan, by whoever opens the workspace next.
func (j *Journal) discard(s *slot) {
	delete(j.own, s.name)
	if j.stands(s) {
		_ = j.dir.Remove(s.name)
	}
	release(s.file)
}

// release gives the lock back at once: a child between fork and exec may have a copy of the descriptor.
func release(f *os.File) {
	_ = durable.Unlock(f)
	f.Close()
}

// Close removes the slots that have nothing in flight. What is in flight still is left as an orphan.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil
	}
	j.closed = true
	if j.dir == nil {
		return nil
	}
	for _, s := range j.free {
		j.discard(s)
	}
	j.free = nil
	j.closeList()
	return nil
}

// Inflight is an entry of this process. Exactly one of Done, Void and Leave ends it.
type Inflight struct {
	j *Journal
	s *slot
}

// Done forgets the entry: its record is in the ledger and nothing of it is left to do. Should a crash bring it back,
// it is found to be recorded.
func (f *Inflight) Done() { f.end(mark(f.s.file, stateAt, nothing)) }

// Void forgets the entry of a mutation that did not happen. That is flushed, because no record would tell.
func (f *Inflight) Void() {
	f.end(f.set(nothing))
}

// Doubt says, before a mutation is taken back, that its record may be in the ledger all the same: its append failed
// and what is on disk is not known. The entry then tells whoever settles it to look.
func (f *Inflight) Doubt() error { return f.note(inDoubt) }

func (f *Inflight) note(state byte) error {
	if err := f.set(state); err != nil {
		return unavailable(err)
	}
	return nil
}

func (f *Inflight) set(state byte) error {
	err := mark(f.s.file, stateAt, state)
	if err == nil && f.j.opts.Durable {
		err = f.j.flush(f.s.file)
	}
	return err
}

// Stands says that the mutation was to be taken back and could not be everywhere, because somebody else had changed a
// file meanwhile. What is missing is then no sign that the mutation never happened.
func (f *Inflight) Stands(doubt bool) error {
	state := byte(standing)
	if doubt {
		state = doubly
	}
	return f.note(state)
}

// Leave gives the entry up as if this process had died: it is settled as an orphan, by the next call if need be.
func (f *Inflight) Leave() {
	f.j.mu.Lock()
	defer f.j.mu.Unlock()
	delete(f.j.own, f.s.name)
	release(f.s.file)
}

// end puts the slot back. One that cannot be emptied is left: it would be settled wrongly under a later entry.
func (f *Inflight) end(err error) {
	if err == nil && f.s.size > trimmedFrom {
		err = f.s.file.Truncate(reserved)
		f.s.size = reserved
	}
	if err != nil {
		f.j.opts.Logger.Warn().Err(err).Msg("an entry of the in-flight journal could not be ended; it is settled as if this process had died")
		f.Leave()
		return
	}
	f.j.mu.Lock()
	defer f.j.mu.Unlock()
	if f.j.closed || f.j.broken != nil {
		f.j.discard(f.s)
		return
	}
	f.j.free = append(f.j.free, f.s)
}
