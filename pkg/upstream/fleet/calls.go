package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/mcpclient"
	"github.com/intentgov/orchestra-mcp/internal/rawjson"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/catalogue"
)

const (
	// MaxInFlight is how many requests a server has at a time; others wait.
	MaxInFlight = 64
	// maxWaiting is how long they wait.
	maxWaiting = 30 * time.Second
	// MaxCall bounds a call that shows progress.
	MaxCall = time.Hour
)

// Call calls a tool and returns the result as it was sent. The server is started if need be. The call has the definition's timeout,
// which begins anew with each sign of progress, up to an hour in all, and stands still while the user is asked. Errors are an *Error.
func (f *Fleet) Call(ctx context.Context, t catalogue.Tool, arguments json.RawMessage, h mcpclient.Handlers) (json.RawMessage, error) {
	s := f.byName[t.Server]
	if s == nil {
		return nil, &Error{Server: t.Server, Err: unsent{ErrUnknown}}
	}
	params := rawjson.AppendText([]byte(`{"name":`), t.Own)
	if len(arguments) > 0 {
		params = append(append(params, `,"arguments":`...), arguments...)
	}
	h.Schema = t.Input
	result, err := s.request(ctx, "tools/call", append(params, '}'), h, func(conn *connection) error {
		// The server was listed when it was started: what it is now is known.
		if now, ok := f.Tool(t.Name); !ok || now.Hash != t.Hash || now.Server != t.Server || !conn.lists(t) {
			return fmt.Errorf("%w: %s changed, or was taken away; look at it with: orchestra-mcp servers review %s", ErrNotTrusted, t.Name, t.Server)
		}
		return nil
	})
	if err == nil && len(t.Output) > 0 {
		err = f.promised(t, result)
	}
	if err != nil {
		return nil, s.fail(err)
	}
	return result, nil
}

// promised checks a result against the schema that its tool has for it.
func (f *Fleet) promised(t catalogue.Tool, result json.RawMessage) error {
	members, err := rawjson.Read(result)
	if string(members.Get("isError")) == "true" {
		return nil
	}
	structured := members.Get("structuredContent")
	if structured == nil {
		return fmt.Errorf("%w: it has no structuredContent", ErrOutput)
	}
	schema, err := f.current().schema(t)
	if err == nil {
		err = schema.Check(structured)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrOutput, err)
	}
	return nil
}

// GetPrompt passes on prompts/get; found is false where no server has the prompt.
func (f *Fleet) GetPrompt(ctx context.Context, params json.RawMessage, h mcpclient.Handlers) (result json.RawMessage, found bool, err error) {
	members, _ := rawjson.Read(params)
	name, _ := members.Text("name")
	is, ok := f.current().prompts.ours[name]
	if !ok {
		return nil, false, nil
	}
	return is.pass(ctx, "prompts/get", withText(members, "name", is.own), h)
}

// Prompt finds whose a prompt is.
func (f *Fleet) Prompt(name string) (server string, found bool) {
	is, ok := f.current().prompts.ours[name]
	if !ok {
		return "", false
	}
	return is.server.def.Name, true
}

// Resource finds whose a URI is, and its own form there.
func (f *Fleet) Resource(uri string) (server, own string, found bool) {
	is, ok := f.resource(uri)
	if !ok {
		return "", "", false
	}
	return is.server.def.Name, is.own, true
}

// ReadResource passes on resources/read; found is false where the URI is of no server.
func (f *Fleet) ReadResource(ctx context.Context, params json.RawMessage, h mcpclient.Handlers) (result json.RawMessage, found bool, err error) {
	members, _ := rawjson.Read(params)
	uri, _ := members.Text("uri")
	is, ok := f.resource(uri)
	if !ok {
		return nil, false, nil
	}
	result, found, err = is.pass(ctx, "resources/read", withText(members, "uri", is.own), h)
	var said *mcpclient.Error
	if errors.As(err, &said) && said.Code == mcpclient.CodeInvalidParams {
		if data, _ := rawjson.Read(said.Data); data.Get("uri") != nil { // as a server of 2026-07-28 says it
			said.Code = codeNotFound
		}
	}
	return result, found, err
}

// codeNotFound is what a server of the initialize era says of a resource that does not exist.
const codeNotFound = -32002

// Complete passes on completion/complete; found is false where what is to be completed is of no server.
func (f *Fleet) Complete(ctx context.Context, params json.RawMessage, h mcpclient.Handlers) (result json.RawMessage, found bool, err error) {
	members, _ := rawjson.Read(params)
	ref, _ := rawjson.Read(members.Get("ref"))
	v := f.current()
	member, in := "name", v.prompts.ours
	if kind, _ := ref.Text("type"); kind == "ref/resource" {
		member, in = "uri", v.templates.ours
	}
	name, _ := ref.Text(member)
	is, ok := in[name]
	if !ok {
		return nil, false, nil
	}
	return is.pass(ctx, "completion/complete", members.Set("ref", withText(ref, member, is.own).Raw()), h)
}

// pass sends a request on, without what is between the client and us.
func (o origin) pass(ctx context.Context, method string, params rawjson.Object, h mcpclient.Handlers) (json.RawMessage, bool, error) {
	result, err := o.server.request(ctx, method, params.Without("_meta").Raw(), h, func(*connection) error { return nil })
	if err != nil {
		return nil, true, o.server.fail(err)
	}
	return result, true, nil
}

// Start starts a server, unless it runs, and returns when it was listed.
func (f *Fleet) Start(ctx context.Context, name string) error {
	s := f.byName[name]
	if s == nil {
		return &Error{Server: name, Err: ErrUnknown}
	}
	if _, err := s.connected(ctx); err != nil {
		return s.fail(err)
	}
	return nil
}

// request sends one request to the server, which is started if need be. What is to be checked when it runs, and before it is sent,
// checks says.
func (s *server) request(ctx context.Context, method string, params json.RawMessage, h mcpclient.Handlers, checks func(*connection) error) (json.RawMessage, error) {
	if err := s.enter(ctx); err != nil {
		return nil, unsent{err}
	}
	defer func() { <-s.slots }()
	conn, err := s.connected(ctx)
	if err == nil {
		err = checks(conn)
	}
	if err != nil {
		return nil, unsent{err}
	}
	conn.enter()
	defer conn.leave()
	s.lookIfLongAgo(conn)
	ctx, patience := s.patience(ctx, &h)
	defer patience.end()
	result, err := conn.client.Request(ctx, method, params, h)
	switch {
	case errors.Is(err, mcpclient.ErrParams):
		return nil, unsent{err}
	case err != nil:
		return nil, s.explainFrom(conn, err)
	}
	return result, nil
}

// enter takes a place among the requests of the server.
func (s *server) enter(ctx context.Context) error {
	select {
	case s.slots <- struct{}{}:
		return nil
	default:
	}
	late := time.NewTimer(maxWaiting)
	defer late.Stop()
	select {
	case s.slots <- struct{}{}:
		return nil
	case <-late.C:
		return fmt.Errorf("the server has had %d requests at once for %v, and takes no more", MaxInFlight, maxWaiting)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// patience is how long a call is waited for.
type patience struct {
	cancel context.CancelCauseFunc
	each   time.Duration
	most   time.Time

	mu     sync.Mutex
	timer  *time.Timer
	asking int
	over   bool
}

// patience has the context end when the time is over, and the handlers that show that the server lives give it more.
func (s *server) patience(ctx context.Context, h *mcpclient.Handlers) (context.Context, *patience) {
	ctx, cancel := context.WithCancelCause(ctx)
	p := &patience{cancel: cancel, each: s.def.Timeout, most: time.Now().Add(max(MaxCall, s.def.Timeout))}
	p.timer = time.AfterFunc(p.each, func() {
		cancel(fmt.Errorf("%w, within %v", ErrTimeout, p.each))
	})
	progress, ask := h.Progress, h.Ask
	h.Progress = func(message string, done, total float64) {
		p.renew()
		if progress != nil {
			progress(message, done, total)
		}
	}
	if ask != nil {
		h.Ask = func(ctx context.Context, key string, params json.RawMessage) (json.RawMessage, error) {
			p.hold()
			defer p.resume()
			return ask(ctx, key, params)
		}
	}
	return ctx, p
}

func (p *patience) renew() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over && p.asking == 0 && p.timer.Stop() {
		p.timer.Reset(min(p.each, time.Until(p.most)))
	}
}

func (p *patience) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asking++
	p.timer.Stop()
}

func (p *patience) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asking--; p.asking == 0 && !p.over {
		p.timer.Reset(p.each)
	}
}

func (p *patience) end() {
	p.mu.Lock()
	p.over = true
	p.timer.Stop()
	p.mu.Unlock()
	p.cancel(nil)
}

// errEnding is the end of a request that the server has when the fleet is closed.
var errEnding = reason{ErrEnded, ErrClosed.Error() + ", and no longer waits for what was asked"}

// explainFrom says more of an error of a request where the server has ended.
func (s *server) explainFrom(conn *connection, err error) error {
	if conn.process == nil || !errors.Is(err, mcpclient.ErrEnded) && !errors.Is(err, mcpclient.ErrClosed) {
		return s.explain(err)
	}
	select { // it dies now
	case <-conn.process.gone:
		if s.fleet.ctx.Err() != nil {
			return errEnding
		}
		return conn.process.ending()
	case <-time.After(closeTime):
		return fmt.Errorf("%w: %w", ErrEnded, err)
	}
}

// explain says what to do about an error, and takes the secrets out of what the server said in it.
func (s *server) explain(err error) error {
	var login *mcpclient.AuthError
	var said *mcpclient.Error
	switch {
	case errors.As(err, &said):
		return s.withoutSecrets(said)
	case errors.As(err, &login):
		return fmt.Errorf("%w: run orchestra-mcp servers login %s, or put an Authorization header into %s", err, s.def.Name, s.files.Secrets)
	case errors.Is(err, mcpclient.ErrClosed):
		return errEnding
	case errors.Is(err, mcpclient.ErrTooLarge), errors.Is(err, mcpclient.ErrStalled), errors.Is(err, mcpclient.ErrForeign):
		return fmt.Errorf("%w: %w", ErrEnded, err)
	}
	return err
}

func (s *server) withoutSecrets(said *mcpclient.Error) *mcpclient.Error {
	hide := s.hider()
	clean := &mcpclient.Error{Code: said.Code, Message: hide.Replace(said.Message), Data: json.RawMessage(hide.Replace(string(said.Data)))}
	if len(clean.Data) == 0 || !json.Valid(clean.Data) {
		clean.Data = nil
	}
	return clean
}

// fail is an error for who asked.
func (s *server) fail(err error) *Error {
	return &Error{Server: s.def.Name, Err: err, text: s.text(err)}
}

// text is an error in one line that is safe to print and has no secret.
func (s *server) text(err error) string { return printable(s.hider(), err) }

func printable(hide *strings.Replacer, err error) string {
	return strings.ReplaceAll(command.Clean([]byte(hide.Replace(err.Error()))), "\n", " ")
}
