package journal

import (
	"fmt"
)

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
	err := mark(f.s.file, stateAt, nothing)
	if err == nil && f.j.opts.Durable {
		err = f.j.flush(f.s.file)
	}
	f.end(err)
}

// Doubt says, before a mutation is taken back, that its record may be in the ledger all the same: its append failed
// and what is on disk is not known. The entry then tells whoever settles it to look.
func (f *Inflight) Doubt() error {
	return f.note(inDoubt)
}

func (f *Inflight) note(state byte) error {
	err := mark(f.s.file, stateAt, state)
	if err == nil && f.j.opts.Durable {
		err = f.j.flush(f.s.file)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
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
