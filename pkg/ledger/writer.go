package ledger

import (
	"context"
	"fmt"
	"path"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/live"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

const (
	queueLength  = 256
	maxGroupSize = 4 << 20 // bytes of one write, beyond which no further record joins
	linger       = 20 * time.Millisecond
	maxOpen      = 64 // segments of the layout by sessions that stay open
)

// request is a record on its way to the writer.
type request struct {
	id       string
	kind     string
	call     string
	file     string   // the segment's name
	bodies   [][]byte // more than one if the record was spread; none to wait for the others only
	soon     bool
	reopen   bool        // asks for Reopen; has no bodies
	claimed  atomic.Bool // by the writer, or by the caller who gives up
	answered chan error
	ids      []record.Hash // of its lines, once they were written
}

func newRequest() *request { return &request{answered: make(chan error, 1)} }

func (l *Ledger) requestOf(d *Draft) *request {
	req := newRequest()
	req.id, req.kind, req.call, req.bodies = d.ID(), string(d.entry.Kind), d.entry.Call, d.bodies
	req.file = path.Join(segment.Home, segment.SingleName)
	if l.opts.Layout == LayoutSessions {
		name := d.entry.Session
		if name == "" {
			name = l.own()
		}
		req.file = path.Join(segment.Home, segment.TraceDir, name+segment.LineSuffix)
	}
	return req
}

// submit puts the request into the queue, and starts the writer with the first.
func (l *Ledger) submit(ctx context.Context, req *request) error {
	l.state.RLock()
	defer l.state.RUnlock()
	if l.closed {
		return ErrClosed
	}
	l.begin.Do(func() { go l.run() })
	select {
	case l.queue <- req:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ask submits the request and returns the answer.
func (l *Ledger) ask(ctx context.Context, req *request) error {
	if err := l.submit(ctx, req); err != nil {
		return err
	}
	return req.wait(ctx)
}

// wait returns the answer. A caller who gives up before the writer has claimed the request takes it back; after
// that, only the answer can say what happened.
func (r *request) wait(ctx context.Context) error {
	select {
	case err := <-r.answered:
		return err
	case <-ctx.Done():
		if r.claimed.CompareAndSwap(false, true) {
			return ctx.Err()
		}
		return <-r.answered
	}
}

// run is the one writer: gather what waits, write it as one group, answer, again.
func (l *Ledger) run() {
	defer close(l.done)
	for first := range l.queue {
		l.commit(l.gather(first))
		l.rotateLong()
	}
	l.rotation.cancel() // what has not come to the point of moving files
	l.rotation.done.Wait()
	for _, s := range l.segments {
		s.Close()
	}
}

// gather takes what is in the queue. Callers who were just answered are let run first, so that their next records
// come into this group. A group of records that nobody waits for lingers for one that somebody does.
func (l *Ledger) gather(first *request) []*request {
	group, urgent, size := []*request{}, false, 0
	take := func(r *request) {
		group, urgent, size = append(group, r), urgent || !r.soon, size+r.size()
	}
	take(first)
	runtime.Gosched()
	var lingered <-chan time.Time // made where it is waited for: each timer wakes the thread that waits for the network
	for size < maxGroupSize {
		if urgent {
			select {
			case r, open := <-l.queue:
				if !open {
					return group
				}
				take(r)
				continue
			default:
				return group
			}
		}
		if lingered == nil {
			lingered = time.After(linger)
		}
		select {
		case r, open := <-l.queue:
			if !open {
				return group
			}
			take(r)
		case <-lingered:
			return group
		}
	}
	return group
}

func (r *request) size() int {
	n := 0
	for _, b := range r.bodies {
		n += len(b)
	}
	return n
}

// share is the part of a group that goes into one segment.
type share struct {
	segment  *live.File
	requests []*request
	begun    time.Time // by the system's clock, which the times of files are by
	err      error
}

// commit writes and answers a group. The lock is held for the writing only, so that other processes write while this
// one flushes. When another file was put in place meanwhile, the records that it has not are written again: a rotation
// took them along, git did not.
func (l *Ledger) commit(group []*request) {
	begun := time.Now()
	group, waiters := claim(group)
	shares := l.divide(group)
	for attempt := 1; len(shares) > 0; attempt++ {
		l.write(shares)
		l.flush(shares)
		var again []*share
		for _, s := range shares {
			switch {
			case s.err == nil && !s.segment.InPlace() && attempt < segment.MaxReplaced:
				again = append(again, s)
			case s.err == nil && attempt == segment.MaxReplaced:
				s.err = fmt.Errorf("%w: %s is replaced again and again", segment.ErrUnavailable, s.segment.Name)
				fallthrough
			default:
				l.tell(s, begun)
				l.answer(s)
			}
		}
		shares = again
	}
	for _, r := range waiters {
		var err error
		if r.reopen {
			err = l.heal()
		}
		r.answered <- err
	}
}

// claim leaves out what its caller took back, and sets aside the requests that only wait.
func claim(group []*request) (records, waiters []*request) {
	for _, r := range group {
		switch {
		case !r.claimed.CompareAndSwap(false, true):
		case len(r.bodies) == 0:
			waiters = append(waiters, r)
		default:
			records = append(records, r)
		}
	}
	return records, waiters
}

func (l *Ledger) divide(group []*request) []*share {
	var shares []*share
	byFile := map[string]*share{}
	for _, r := range group {
		s := byFile[r.file]
		if s == nil {
			s = &share{segment: l.segment(r.file)}
			byFile[r.file] = s
			shares = append(shares, s)
		}
		s.requests = append(s.requests, r)
	}
	for name, s := range l.segments {
		if len(l.segments) > maxOpen && byFile[name] == nil {
			s.Close()
			delete(l.segments, name)
		}
	}
	return shares
}

func (l *Ledger) segment(name string) *live.File {
	s := l.segments[name]
	if s == nil {
		at := l.at.Load()
		s = &live.File{Top: at.top, Disk: l.disk, Log: l.opts.Logger, Now: l.opts.Clock, Name: name}
		l.segments[name] = s
	}
	return s
}

// lock locks the ledger where it stands, and gives that.
func (l *Ledger) lock(ctx context.Context) (unlock func(), at *location, err error) {
	for {
		if at, err = l.forWriting(); err != nil {
			return nil, nil, err
		}
		if unlock, err = segment.LockTop(ctx, at.top, l.opts.LockWait); err != nil {
			return nil, nil, err
		}
		now, err := l.here()
		if err == nil && now == at {
			return unlock, at, nil
		}
		unlock() // it was moved while we waited
		if err != nil {
			return nil, nil, err
		}
	}
}

func (l *Ledger) write(shares []*share) {
	unlock, at, err := l.lock(context.Background())
	if err == nil {
		defer unlock()
	}
	for _, s := range shares {
		if err == nil && s.segment.Top.Root() != at.root {
			s.segment.Close()
			s.segment.Top = at.top
		}
		if failure := l.broken.Load(); failure != nil {
			err = *failure
		}
		if s.err = err; err == nil {
			s.err = l.writeShare(s)
		}
	}
}

func (l *Ledger) writeShare(s *share) error {
	if err := s.segment.CatchUp(); err != nil {
		return err
	}
	missing := s.requests
	if s.begun.IsZero() {
		s.begun = time.Now()
	} else {
		missing = l.notCarried(s)
	}
	var bodies [][]byte
	for _, r := range missing {
		bodies = append(bodies, r.bodies...)
	}
	if len(bodies) == 0 {
		return nil
	}
	l.followGone(s.segment)
	ids, err := s.segment.Append(bodies)
	if err != nil {
		return l.poison(err)
	}
	l.followed()
	for _, r := range missing {
		r.ids, ids = ids[:len(r.bodies)], ids[len(r.bodies):]
	}
	return nil
}

// flush brings all segments of a group to disk at once: their flushes share the file system's journal.
func (l *Ledger) flush(shares []*share) {
	if l.opts.Durability == DurabilityOS {
		return
	}
	var all sync.WaitGroup
	for i, s := range shares {
		switch {
		case s.err != nil:
		case i == len(shares)-1: // mostly the only one: no other thread has to be woken for it
			l.flushShare(s)
		default:
			all.Go(func() { l.flushShare(s) })
		}
	}
	all.Wait()
}

func (l *Ledger) flushShare(s *share) {
	if err := s.segment.Flush(); err != nil {
		s.err = l.poison(err)
	}
}

// tell tells who wants to know of what was written.
func (l *Ledger) tell(s *share, begun time.Time) {
	if l.opts.Written == nil || s.err != nil {
		return
	}
	records := 0
	for _, r := range s.requests {
		records += len(r.bodies)
	}
	l.opts.Written(records, time.Since(begun))
}

func (l *Ledger) answer(s *share) {
	for _, r := range s.requests {
		if r.soon {
			l.soon.Add(-1)
			if s.err != nil {
				l.reportLost(r.kind, r.call, r.id, s.err)
				if l.opts.Lost != nil {
					go l.opts.Lost(r.id) // which may want to append, and this is who does
				}
			}
		}
		r.answered <- s.err
	}
}
