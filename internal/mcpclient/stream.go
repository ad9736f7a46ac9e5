package mcpclient

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

const (
	// heldPosts is how many short messages of ours (answers to pings, cancellations) wait for a server that does not read.
	heldPosts = 64
	// maxGarbage is how many lines in a row may be no message: some servers print a banner, or a library's warnings.
	maxGarbage = 1000
)

// stallAfter is how long a server may leave a message unread, readGrace how long it is read after it could not be written to.
var (
	stallAfter = 30 * time.Second
	readGrace  = time.Second
)

// stream is the link over the streams of a process.
type stream struct {
	client *Client
	rw     io.ReadWriteCloser
	out    chan []byte // has no room: who sends a request waits with it, so that nothing piles up
	posts  chan []byte
}

func newStream(c *Client, rw io.ReadWriteCloser) *stream {
	return &stream{client: c, rw: rw, out: make(chan []byte), posts: make(chan []byte, heldPosts)}
}

func (s *stream) send(ctx context.Context, c *call) error {
	select {
	case s.out <- c.line:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.client.done:
		return s.client.err
	}
}

func (s *stream) post(message []byte) bool {
	select {
	case s.posts <- append(message, '\n'):
		return true
	default:
		return false
	}
}

func (s *stream) giveUp(c *call) {
	if !c.opens() {
		s.post(cancelled(c.id))
	}
}

func (s *stream) opened(_ context.Context, state *state) error {
	s.client.state.Store(state)
	if !state.Modern {
		s.post(initialized())
	}
	return nil
}

func (s *stream) close() error { return s.rw.Close() }

// write writes what is to be sent. A server that does not read holds up only this.
func (s *stream) write() {
	stalled := time.AfterFunc(time.Hour, func() { s.client.fail(fmt.Errorf("%w: for %v", ErrStalled, stallAfter)) })
	stalled.Stop()
	for {
		var line []byte
		select {
		case line = <-s.posts: // what the server waits for goes first
		default:
			select {
			case line = <-s.posts:
			case line = <-s.out:
			case <-s.client.done:
				return
			}
		}
		stalled.Reset(stallAfter)
		_, err := s.rw.Write(line)
		stalled.Stop()
		if err != nil {
			// What it said before it ended may be on the way still.
			select {
			case <-s.client.done:
			case <-time.After(readGrace):
			}
			s.client.fail(fmt.Errorf("%w: write to it: %v", ErrEnded, err))
			return
		}
	}
}

// read receives what the server says, until it ends.
func (s *stream) read() { s.client.fail(s.readLines()) }

func (s *stream) readLines() error {
	lines := bufio.NewReaderSize(s.rw, 64<<10)
	garbage := 0
	for {
		line, err := readLine(lines, s.client.options.MaxMessage)
		switch {
		case errors.Is(err, io.EOF):
			return fmt.Errorf("%w: end of its output", ErrEnded)
		case errors.Is(err, ErrTooLarge):
			return err
		case err != nil:
			return fmt.Errorf("%w: read from it: %v", ErrEnded, err)
		case len(line) == 0:
			s.client.quieten(0)
			continue
		}
		if s.client.receive(line, nil) {
			garbage = 0
		} else if garbage++; garbage == maxGarbage {
			return fmt.Errorf("%w: %d lines in a row were no message, the last one %q", ErrForeign, garbage, shorten(string(line), 100))
		}
	}
}

// readLine returns the next line without white space around it, in memory of its own. One that is longer than most is not read to
// its end.
func readLine(r *bufio.Reader, most int) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > most+1 {
			return nil, fmt.Errorf("%w: a line of more than %d bytes", ErrTooLarge, most)
		}
		if errors.Is(err, bufio.ErrBufferFull) && cap(line)-len(line) < 2*len(part) {
			line = slices.Grow(line, max(2*len(part), len(line))) // of what is long most is a little longer than the buffer
		}
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil && (!errors.Is(err, io.EOF) || len(line) == 0):
			return nil, err
		default:
			return bytes.TrimSpace(line), nil
		}
	}
}
