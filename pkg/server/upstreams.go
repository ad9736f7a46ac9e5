package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
	"github.com/intentgov/orchestra-mcp/internal/mcpclient"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/command/profile"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/tools"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/catalogue"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/fleet"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/mapping"
)

// upstreams are the other servers behind this one: the fleet has them run, and the law judges what they are asked to do.
type upstreams struct {
	server *Server
	fleet  *fleet.Fleet
	law    *tools.Upstreams
	bridge atomic.Pointer[mcpbridge.Server] // that hears of lists that change; nil before there is one
}

var (
	_ tools.Upstream   = (*upstreams)(nil)
	_ tools.Offer      = (*fleet.Fleet)(nil)
	_ mcpbridge.Beside = (*upstreams)(nil)
)

// openUpstreams puts the servers of the settings behind the engine. None is started for it.
func (s *Server) openUpstreams(runner *command.Runner, profiles *profile.Builder, want sandbox.Want, commands *tools.Commands) error {
	definitions := s.options.Settings.Upstreams()
	if len(definitions) == 0 {
		return nil
	}
	u := &upstreams{server: s}
	ours := tools.FaceNames()
	for _, spec := range s.engine.Specs() {
		ours = append(ours, spec.Name)
	}
	u.fleet = fleet.Open(fleet.Options{
		Definitions: definitions, Workspace: s.workspace.Dir(), UserDir: s.options.UserDir, Environ: os.Environ(), Ours: ours,
		Version: s.options.Version, Runner: runner, Profiles: profiles, Sandbox: want, Rules: s.programRules(commands), Hidden: s.hidden(),
		Logger: s.log, Changed: u.changed, Clock: s.options.Clock,
	})
	law, err := tools.NewUpstreams(tools.UpstreamOptions{
		Commands: commands, Definitions: definitions, Offer: u.fleet, Server: u, Secrets: catalogue.NewOutgoing(os.Environ()).Secrets, Level: u.level,
	})
	if err != nil {
		return errors.Join(err, u.fleet.Close())
	}
	u.law, s.upstreams = law, u
	s.engine.Beside, s.engine.Missing = law.Tool, law.Missing
	for _, face := range law.Faces() {
		if err := s.engine.AddTool(face); err != nil {
			return errors.Join(err, u.fleet.Close())
		}
	}
	return nil
}

// LookAt starts one of the other servers that the settings declare, or reaches it, and returns when its tools were listed and pinned.
// It runs until Close.
func (s *Server) LookAt(ctx context.Context, name string) error {
	if s.upstreams == nil {
		return &fleet.Error{Server: name, Err: fleet.ErrUnknown}
	}
	return s.upstreams.fleet.Start(ctx, name)
}

// programRules are what .intentignore says to a program that starts now.
func (s *Server) programRules(commands *tools.Commands) func() (profile.Rules, error) {
	return func() (profile.Rules, error) {
		ignore, err := s.intents.Ignore()
		if err != nil {
			return profile.Rules{}, err
		}
		return commands.Rules(ignore), nil
	}
}

func (u *upstreams) changed(list string) {
	if b := u.bridge.Load(); b != nil {
		b.ListChanged(list)
	}
}

// level is what holds the program of a server.
func (u *upstreams) level(server string) sandbox.Level {
	for _, state := range u.fleet.States() {
		if state.Name == server && !state.HTTP {
			return state.Level
		}
	}
	return sandbox.None
}

// notSent is why a server was not asked.
type notSent struct{ error }

func (notSent) Is(target error) bool { return target == tools.ErrNotSent }

func (e notSent) Unwrap() error { return e.error }

// Call implements tools.Upstream.
func (u *upstreams) Call(ctx context.Context, t catalogue.Tool, arguments json.RawMessage, progress func(string, float64, float64)) (json.RawMessage, error) {
	client := ClientOf(ctx)
	raw, err := u.fleet.Call(ctx, t, arguments, mcpclient.Handlers{
		Progress: progress, Log: client.call.Log, LogLevel: client.call.LogLevel, Meta: traceMembers(client.call.Trace), Ask: asksFor(t.Server, client.asks()),
	})
	failed, isFailed := errors.AsType[*mcpclient.Error](err)
	switch {
	case err == nil:
		return raw, nil
	case isFailed: // it is the server's answer, and the agent's to mend
		return hooks.EncodeJSON(map[string]any{"isError": true, "content": []map[string]any{{
			"type": "text", "text": fmt.Sprintf("The server %s answers with error %d: %s", t.Server, failed.Code, failed.Message),
		}}})
	case errors.Is(err, mcpbridge.ErrUnanswered):
		return nil, fmt.Errorf("%w: %w", tools.ErrUnanswered, err)
	case fleet.NotSent(err):
		return nil, notSent{err}
	}
	return nil, err
}

// traceMembers are what a server is told of what its call is a part of.
func traceMembers(t mcpbridge.TraceContext) json.RawMessage {
	if t.Parent == "" {
		return nil
	}
	members := map[string]string{"traceparent": t.Parent}
	if t.State != "" {
		members["tracestate"] = t.State
	}
	encoded, err := json.Marshal(members)
	if err != nil {
		return nil
	}
	return encoded
}

// asksFor puts what a server asks to the client's user. The user is told who asks: the text is the server's.
func asksFor(server string, ask func(context.Context, string, Question) (Reply, error)) func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	if ask == nil {
		return nil
	}
	return func(ctx context.Context, key string, params json.RawMessage) (json.RawMessage, error) {
		var asked struct {
			Mode            string          `json:"mode"`
			Message         string          `json:"message"`
			RequestedSchema json.RawMessage `json:"requestedSchema"`
		}
		if err := json.Unmarshal(params, &asked); err != nil || asked.Mode != "" && asked.Mode != "form" {
			return putAway()
		}
		reply, err := ask(ctx, keyOf(key), Question{Message: fmt.Sprintf("The server %s asks: %s", server, printable.Lines(asked.Message)), Schema: asked.RequestedSchema})
		switch {
		case errors.Is(err, ErrUnanswered):
			return nil, err
		case err != nil: // nobody can be asked, or no answer came
			return putAway()
		}
		answer := map[string]any{"action": reply.Action}
		if len(reply.Content) > 0 {
			answer["content"] = reply.Content
		}
		return hooks.EncodeJSON(answer)
	}
}

// keyOf is the key under which a question goes to the client: the server's, unless it is none that a question can have.
func keyOf(key string) string {
	if mcpbridge.IsKey(key) {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return "upstream-" + hex.EncodeToString(sum[:12])
}

// putAway is the answer to a question that was not put, or that nobody answered.
func putAway() (json.RawMessage, error) {
	return json.RawMessage(`{"action":"` + string(mcpbridge.Cancel) + `"}`), nil
}

// Tools implements mcpbridge.Beside.
func (u *upstreams) Tools(ctx context.Context) ([]json.RawMessage, error) {
	return u.law.Listed(u.fleet.Tools(ctx)), nil
}

// HasTool implements mcpbridge.Beside. Of a tool that was there the engine says whether it still is.
func (u *upstreams) HasTool(name string) bool {
	if u.fleet.Listed(name) {
		return true
	}
	_, ok := u.fleet.Tool(name)
	return ok || u.fleet.Unmet(name) || u.fleet.Withheld(name) != "" // which the refusal says
}

// meet has the servers looked at of which nothing is known yet, for a client that calls a tool before it has listed any.
func (u *upstreams) meet(ctx context.Context, tool string) {
	if u == nil || u.fleet.Listed(tool) {
		return
	}
	if _, ok := u.server.engine.Spec(tool); !ok && u.fleet.Unmet(tool) {
		u.fleet.Tools(ctx)
	}
}

// Prompts implements mcpbridge.Beside.
func (u *upstreams) Prompts(ctx context.Context) ([]json.RawMessage, error) {
	return u.fleet.Prompts(ctx), nil
}

// Resources implements mcpbridge.Beside.
func (u *upstreams) Resources(ctx context.Context) ([]json.RawMessage, error) {
	return u.fleet.Resources(ctx), nil
}

// ResourceTemplates implements mcpbridge.Beside.
func (u *upstreams) ResourceTemplates(ctx context.Context) ([]json.RawMessage, error) {
	return u.fleet.Templates(ctx), nil
}

// GetPrompt implements mcpbridge.Beside.
func (u *upstreams) GetPrompt(ctx context.Context, c mcpbridge.BesideCall) (json.RawMessage, error) {
	var params struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(c.Params, &params); err != nil {
		return nil, err
	}
	server, found := u.fleet.Prompt(params.Name)
	if !found {
		return nil, mcpbridge.ErrNotFound
	}
	return besideResult(u.fleet.GetPrompt(ctx, c.Params, besideHandlers(server, c)))
}

// ReadResource implements mcpbridge.Beside. What a file: URI names is there only if an agent may read it.
func (u *upstreams) ReadResource(ctx context.Context, c mcpbridge.BesideCall) (json.RawMessage, error) {
	var params struct {
		URI string `json:"uri"`
	}
	if err := json.Unmarshal(c.Params, &params); err != nil {
		return nil, err
	}
	server, own, found := u.fleet.Resource(params.URI)
	if !found || !u.server.mayRead(own) {
		return nil, mcpbridge.ErrNotFound
	}
	return besideResult(u.fleet.ReadResource(ctx, c.Params, besideHandlers(server, c)))
}

// mayRead tells whether .intentignore lets an agent read what a URI names; what is no file in the workspace is not for it to say.
func (s *Server) mayRead(uri string) bool {
	file, is, err := mapping.FileOf(uri)
	if err != nil || !is {
		return err == nil
	}
	ignore, err := s.intents.Ignore()
	if err != nil {
		return false
	}
	t, err := s.workspace.ResolveDir(file)
	if err != nil {
		return true // outside of the workspace
	}
	defer t.Close()
	_, secret := ignore.Secret(t.Path())
	return !secret
}

// Complete implements mcpbridge.Beside.
func (u *upstreams) Complete(ctx context.Context, c mcpbridge.BesideCall) (json.RawMessage, error) {
	return besideResult(u.fleet.Complete(ctx, c.Params, besideHandlers("", c)))
}

func besideHandlers(server string, c mcpbridge.BesideCall) mcpclient.Handlers {
	return mcpclient.Handlers{Progress: c.Progress, Log: c.Log, LogLevel: c.LogLevel, Meta: traceMembers(c.Trace), Ask: asksFor(server, c.Ask)}
}

func besideResult(raw json.RawMessage, found bool, err error) (json.RawMessage, error) {
	failed, isFailed := errors.AsType[*mcpclient.Error](err)
	switch {
	case !found:
		return nil, mcpbridge.ErrNotFound
	case isFailed:
		return nil, &mcpbridge.Failure{Code: int(failed.Code), Message: failed.Message}
	}
	return raw, err
}
