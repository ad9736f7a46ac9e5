package mcpclient

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"
)

const (
	// maxResumes is how often a stream is taken up again without an event in between.
	maxResumes = 5
	maxEventID = 1024
	// maxField bounds the fields of an event that are no data.
	maxField = 4 << 10
)

// event is one of a stream of server-sent events.
type event struct {
	id, retry string
	data      []byte
	hasID     bool
}

// events reads a stream. Lines end with a line feed, as all servers write them.
type events struct {
	r    *bufio.Reader
	most int
	// idle is called for each line that is no data, with its size.
	idle func(bytes int)
}

// next returns the next event that has data or an id. Its error is ErrTooLarge or that of the reader.
func (e *events) next() (found event, err error) {
	hasData := false
	for {
		line, err := e.line(len(found.data))
		switch {
		case err != nil:
			return event{}, err
		case len(line) == 0 && (hasData || found.hasID):
			return found, nil
		case len(line) == 0 || line[0] == ':':
			e.idle(len(line))
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		if string(name) != "data" {
			e.idle(len(line))
		}
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			if hasData {
				found.data = append(found.data, '\n')
			}
			found.data, hasData = append(found.data, value...), true
		case "id":
			if len(value) <= maxEventID && bytes.IndexByte(value, 0) < 0 {
				found.id, found.hasID = string(value), true
			}
		case "retry":
			found.retry = string(value[:min(len(value), maxField)])
		}
	}
}

// line reads a line of which, with the data before it, no more than the limit is held.
func (e *events) line(before int) (line []byte, err error) {
	for {
		part, err := e.r.ReadSlice('\n')
		if before+len(line)+len(part) > e.most+len("data: \r\n") {
			return nil, fmt.Errorf("%w: an event of more than %d bytes", ErrTooLarge, e.most)
		}
		if err == nil && line == nil {
			return bytes.TrimRight(part, "\r\n"), nil // used before the next line is read
		}
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return nil, err // an event that is not ended does not count
		default:
			return bytes.TrimRight(line, "\r\n"), nil
		}
	}
}

// position is how far a stream was read.
type position struct {
	id    string
	pause time.Duration
	moved bool // since it was last taken up
}

// follow receives the events of a stream until it ends or, if it is the stream of a call, the call is answered.
func (w *web) follow(body io.Reader, from *call, p *position) error {
	stream := events{r: bufio.NewReader(body), most: w.client.options.MaxMessage, idle: w.client.quieten}
	for {
		e, err := stream.next()
		if err != nil {
			return err
		}
		p.moved = true
		if e.hasID {
			p.id = e.id
		}
		if e.retry != "" {
			p.pause = retryAfter(e.retry, p.pause)
		}
		if data := bytes.TrimSpace(e.data); len(data) > 0 {
			w.client.receive(data, from)
		}
		if from != nil && !w.client.waits(from) {
			return nil
		}
	}
}

// stream reads the answer to a call from its stream and, in the initialize era, from where that can be taken up again.
func (w *web) stream(ctx context.Context, body io.ReadCloser, c *call, s *state) error {
	p := position{pause: leastPause}
	err := w.follow(body, c, &p)
	for tries := 0; err != nil; tries++ {
		if p.moved {
			tries = 0
		}
		if errors.Is(err, ErrTooLarge) || ctx.Err() != nil || c.modern || p.id == "" || tries == maxResumes {
			return lost(err)
		}
		if !sleep(ctx, p.pause) {
			return context.Cause(ctx)
		}
		p.moved = false
		var again io.ReadCloser
		if again, err = w.resume(ctx, s, p.id); err == nil {
			body.Close()
			body = again
			err = w.follow(body, c, &p)
		}
		var status *StatusError
		if errors.As(err, &status) {
			return err
		}
	}
	defer body.Close()
	w.drain(body)
	return nil
}

func lost(err error) error {
	if errors.Is(err, ErrTooLarge) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrLost, err)
}

// drain reads what little follows the answer, so that the connection can be used again.
func (w *web) drain(body io.ReadCloser) {
	timer := time.AfterFunc(drainWithin, func() { body.Close() })
	defer timer.Stop()
	_, _ = io.CopyN(io.Discard, body, maxDrain)
}

// resume opens a stream by GET; with an id, the one of that event behind it.
func (w *web) resume(ctx context.Context, s *state, id string) (io.ReadCloser, error) {
	header := http.Header{}
	s.mark(header)
	if id != "" {
		header.Set("Last-Event-Id", id)
	}
	response, err := w.do(ctx, http.MethodGet, nil, header)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode != http.StatusOK || kind != "text/event-stream" {
		response.Body.Close()
		return nil, &StatusError{Status: response.StatusCode, Text: "there is no stream to be had"}
	}
	return response.Body, nil
}

// listen receives what a server of the initialize era sends of itself, until the connection ends or the server has no stream for
// that.
func (w *web) listen() {
	ctx := w.client.ctx
	p := position{pause: leastPause}
	for wait := p.pause; ; wait = min(2*wait, mostPause) {
		s := w.client.state.Load()
		p.moved = false
		body, err := w.resume(ctx, s, p.id)
		if err == nil {
			if p.id == "" { // else what was missed comes now
				w.client.listens()
			}
			err = w.follow(body, nil, &p)
			body.Close()
		}
		var status *StatusError
		switch {
		case errors.As(err, &status) && status.Status == http.StatusNotFound && s.session != "" && w.client.state.Load() == s:
			// Whether the session is gone or there is no such stream, the next call finds out; here nothing is begun anew.
			if !w.renewed(ctx, s) {
				return
			}
			p.id = ""
		case errors.As(err, &status) && status.Status < http.StatusInternalServerError:
			return
		}
		if p.moved {
			wait = p.pause
		}
		if !sleep(ctx, wait) {
			return
		}
	}
}

// renewed waits until a call has begun another session.
func (w *web) renewed(ctx context.Context, old *state) bool {
	for w.client.state.Load() == old {
		if !sleep(ctx, leastPause) {
			return false
		}
	}
	return true
}
