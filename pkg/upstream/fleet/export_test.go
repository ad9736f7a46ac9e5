package fleet

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/mcpclient"
	"github.com/intentgov/orchestra-mcp/pkg/upstream"
)

// Request sends a server what it is told, whatever is trusted.
func (f *Fleet) Request(ctx context.Context, name, method, params string) (json.RawMessage, error) {
	s := f.byName[name]
	result, err := s.request(ctx, method, json.RawMessage(params), mcpclient.Handlers{}, func(*connection) error { return nil })
	if err != nil {
		return nil, s.fail(err)
	}
	return result, nil
}

// Directory is where the program of a server starts.
func (f *Fleet) Directory(name string) string { return f.placeOf(name) + "/data" }

// Adopt has a server that speaks over streams in the place of a program, and looks at it.
func (f *Fleet) Adopt(ctx context.Context, name string, rw io.ReadWriteCloser) (*mcpclient.Client, error) {
	s := f.byName[name]
	client, err := mcpclient.Connect(ctx, rw, mcpclient.Options{Name: "test", Initialize: true})
	if err != nil {
		return nil, err
	}
	conn := &connection{client: client, changed: make(chan struct{}, 1), over: make(chan struct{})}
	if err := s.look(ctx, conn); err != nil {
		return nil, err
	}
	f.tasks.Go(func() { s.attend(conn) })
	return client, s.settle(conn, nil)
}

// Client is that of a server that runs.
func (f *Fleet) Client(name string) *mcpclient.Client { return f.byName[name].live.client }

// Patience is how long a call is waited for.
func Patience(timeout time.Duration, h *mcpclient.Handlers) (ctx context.Context, end func()) {
	ctx, p := (&server{def: upstream.Definition{Timeout: timeout}}).patience(context.Background(), h)
	return ctx, p.end
}

// Note logs what is wrong with a server.
func (f *Fleet) Note(name, sentence string) { f.byName[name].note(sentence) }

var PauseAfter = pauseAfter

// LastLine is what is told of what a program has printed.
func LastLine(printed string) string {
	t := &tail{hide: hider(nil)}
	t.add([]byte(printed))
	return t.lastLine()
}
