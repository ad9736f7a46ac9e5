package mcpbridge

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"
)

// StdioOptions are the limits of a stdio connection.
type StdioOptions struct {
	// MaxLine is the longest line that is read, in bytes; 0 means 16 MiB. What is in flight holds at most four times that.
	MaxLine int
	// Drain is how long calls may go on after the end of input; 0 means one second. Then their contexts are
	// cancelled, and 0.6 seconds later the connection is given up.
	Drain time.Duration
}

const (
	defaultMaxMessage = 16 << 20
	// heldMessages is how many messages of the greatest size may be in flight.
	heldMessages = 4
	defaultDrain = time.Second
	drainGrace   = 600 * time.Millisecond
)

// ServeStdio serves one client, which sends a message a line on in and reads the answers from out. It returns nil
// after the end of input, or once ctx is done, when what was in flight has ended or its time is over; and an error if
// in cannot be read or out cannot be written. If ctx ends it, a pending Read on in is left behind.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer, options StdioOptions) error {
	options = StdioOptions{MaxLine: orDefault(options.MaxLine, defaultMaxMessage), Drain: orDefault(options.Drain, defaultDrain)}
	// Calls outlive ctx by the drain time.
	c := s.newConn(context.WithoutCancel(ctx), heldMessages*options.MaxLine, lineWriter(out))
	defer c.cancel()
	defer s.config.Disconnected(c.peer.connection)

	ended := make(chan error, 1)
	go func() { ended <- c.readLines(in, options.MaxLine) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
	case <-c.broken:
	}
	c.drain(options.Drain)
	if writeErr := c.stop(); writeErr != nil {
		return fmt.Errorf("stdio: write to the client: %w", writeErr)
	}
	return err
}

func lineWriter(out io.Writer) func([]byte) error {
	return func(message []byte) error {
		_, err := out.Write(append(message, '\n'))
		return err
	}
}

// readLines receives every line of in.
func (c *conn) readLines(in io.Reader, maxLine int) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(lines, maxLine)
		switch {
		case errors.Is(err, errLineTooLong):
			c.send(encodeError(nil, errorf(codeInvalidRequest, "the line is longer than %d bytes and was skipped", maxLine)))
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("stdio: read from the client: %w", err)
		case len(bytes.TrimSpace(line)) > 0:
			c.receive(line, Identity{})
			// What was started runs now, on this thread; the next read blocks it, and another thread would first have
			// to be woken.
			runtime.Gosched()
		}
	}
}

// drain waits for what is in flight: first as it is, then cancelled.
func (c *conn) drain(patience time.Duration) {
	idle := c.close()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case <-idle:
		return
	case <-c.broken:
	case <-timeout.C:
	}
	c.cancel()
	select {
	case <-idle:
	case <-time.After(drainGrace):
		c.server.log.Warn().Msg("calls did not end in time after the end of input")
	}
}

// errLineTooLong: the line was over the cap; it has been read past.
var errLineTooLong = errors.New("line too long")

// readLine returns the next line without its newline, in memory of its own. A longer one than max is read past without
// being kept, so that what a peer sends cannot take more memory than that. A last line without a newline counts as one.
// Then the error is io.EOF.
func readLine(r *bufio.Reader, max int) (line []byte, err error) {
	for long := false; ; {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(bytes.TrimSuffix(part, []byte("\n"))) > max; !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case long:
			return nil, errLineTooLong
		case err != nil && len(line) == 0:
			return nil, err
		default:
			return bytes.TrimSuffix(line, []byte("\n")), nil
		}
	}
}
