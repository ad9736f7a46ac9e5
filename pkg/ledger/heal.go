package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
)

// proven is how far a segment is known to be on disk, and its last line there.
type proven struct {
	end, lastAt int64
	last        digest
}

// Failed reports whether a write or flush failed, so that nothing is taken until Reopen.
func (l *Ledger) Failed() bool { return l.broken.Load() != nil }

// Reopen ends the state that a failed write or flush has put the ledger in. The files are opened anew. What was proven
// to be on disk must still be there, all after it must be records, and it is written once more and flushed: a flush
// that failed can leave pages that count as clean and are not on disk, so neither reading them back nor a second flush
// alone would prove anything. A torn end is set aside as always.
//
// Without an error, every line in the file is as durable as Options.Durability says, those of failed appends included:
// the caller finds out with Has which of them are there. With an error (ErrUnavailable, ErrBusy, ErrClosed), nothing
// has changed and Reopen can be tried again.
func (l *Ledger) Reopen(ctx context.Context) error {
	req := newRequest()
	req.reopen = true
	if err := l.submit(ctx, req); err != nil {
		return err
	}
	return req.wait(ctx)
}

// heal is Reopen in the writer's goroutine.
func (l *Ledger) heal() error {
	failure := l.broken.Load()
	if failure == nil {
		return nil
	}
	unlock, _, err := l.lock(context.Background())
	if err != nil {
		return err
	}
	defer unlock()
	for _, s := range l.segments {
		if err := s.heal(l.opts.Durability == DurabilityFull); err != nil {
			return fmt.Errorf("%w; it could not be reopened: %w", *failure, err)
		}
	}
	l.broken.Store(nil)
	l.opts.Logger.Warn().AnErr("failure", *failure).Msg("the ledger was reopened and checked after a failure, and takes records again")
	return nil
}

// heal starts again with a segment.
func (s *segment) heal(durable bool) (err error) {
	known, before := s.proven, s.identity
	s.close()
	if err := s.catchUp(); err != nil {
		return err
	}
	if before == nil || !os.SameFile(before, s.identity) {
		known = proven{} // nothing is known of what has taken its place
	}
	defer func() {
		if err != nil {
			s.proven = known
		}
	}()
	if err := s.checkFrom(known); err != nil {
		return err
	}
	if !durable {
		return nil
	}
	if err := s.writeAgain(known.end); err != nil {
		return err
	}
	return s.flush()
}

// checkFrom looks at what was proven, and at all lines after it.
func (s *segment) checkFrom(known proven) error {
	if s.end < known.end || known.end > 0 && !s.hasLine(known.lastAt, known.end, known.last) {
		return fmt.Errorf("%w: %s no longer has what was flushed: run `orchestra-mcp verify`", ErrUnavailable, s.name)
	}
	err := forward(io.NewSectionReader(s.file, known.end, s.end-known.end), known.end, func(line rawLine) error {
		if _, kind := classify(line.data); line.tooLong || kind == lineGarbage {
			return fmt.Errorf("%s has no record at offset %d: run `orchestra-mcp verify`", s.name, line.offset)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}

// writeAgain makes the system write the lines from an offset on once more. They are the same bytes, so that a crash in
// between changes nothing.
func (s *segment) writeAgain(from int64) (err error) {
	file, info, err := openRegular(s.root, s.name, os.O_RDWR)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if !os.SameFile(info, s.identity) {
		return fmt.Errorf("%w: %s was replaced meanwhile", ErrUnavailable, path.Base(s.name))
	}
	buf := make([]byte, 1<<20)
	for at := from; at < s.end; {
		n, err := file.ReadAt(buf[:min(int64(len(buf)), s.end-at)], at)
		if n == 0 {
			return fmt.Errorf("%w: read %s: %w", ErrUnavailable, s.name, err)
		}
		if err := s.disk.rewrite(file, buf[:n], at); err != nil {
			return fmt.Errorf("%w: write %s again: %w", ErrUnavailable, s.name, err)
		}
		at += int64(n)
	}
	return nil
}
