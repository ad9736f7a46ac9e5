package mcpbridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Beside is what a server offers behind its own tools, prompts and resources: those of other servers. What it gives
// goes to clients as it is, and is bounded and checked here only as far as a client, or a reader of ours, could be
// misled by it. Its methods are called concurrently. Where they give less than there is they say so in an error, and
// what they gave is listed.
type Beside interface {
	// Tools, Prompts, Resources and ResourceTemplates give definitions, each one JSON object as the protocol's lists
	// have them. Which are listed, in this order, and which are left out: see README.md.
	Tools(ctx context.Context) ([]json.RawMessage, error)
	Prompts(ctx context.Context) ([]json.RawMessage, error)
	Resources(ctx context.Context) ([]json.RawMessage, error)
	ResourceTemplates(ctx context.Context) ([]json.RawMessage, error)
	// HasTool tells whether calls of a tool are to go to [Config.Handler]. It is asked by who reads a connection, and
	// must be quick.
	HasTool(name string) bool
	// GetPrompt, ReadResource and Complete answer with the whole result object, ErrNotFound where it is none of theirs, a
	// [*Failure], or what [BesideCall.Ask] returned, as it is or wrapped.
	GetPrompt(ctx context.Context, c BesideCall) (json.RawMessage, error)
	ReadResource(ctx context.Context, c BesideCall) (json.RawMessage, error)
	Complete(ctx context.Context, c BesideCall) (json.RawMessage, error)
}

// BesideCall is one prompts/get, resources/read or completion/complete request that is not for the server's own. Its
// context ends when the client cancels it, or leaves.
type BesideCall struct {
	// Params are the members of params that the method has, without _meta: one JSON object of at most 64 KiB.
	Params json.RawMessage
	Caller Caller
	// Model and Trace are those of [Call].
	Model string
	Trace TraceContext
	// Progress, Log, LogLevel and Ask are those of [Call]; in 2026-07-28 a key has 1 to 64 bytes, and is not "operator". Ask is [ErrCannotAsk] for completions, which no revision asks in.
	Progress func(message string, done, total float64)
	Log      func(level, logger string, data json.RawMessage)
	LogLevel string
	Ask      func(ctx context.Context, key string, q Question) (Reply, error)
}

// Failure is an error that a client is to see as a JSON-RPC error. Its Code goes out as it is where it is -32602, or one
// that neither JSON-RPC nor the protocol has reserved (-32768 to -32000); -32002 (a resource that does not exist) as that of the
// client's era; any other as -32603: a client acts on those, such as by speaking another revision.
type Failure struct {
	Code    int
	Message string
}

func (f *Failure) Error() string { return fmt.Sprintf("error %d: %s", f.Code, f.Message) }

// besides tells whether a request is for Beside: one for a thing by a name that is none of the server's own.
func (s *Server) besides(r *request) func(context.Context, BesideCall) (json.RawMessage, error) {
	b := s.config.Beside
	if b == nil {
		return nil
	}
	switch r.method {
	case "prompts/get":
		if name, _ := r.asked.text("name"); s.prompt(name) == nil {
			return b.GetPrompt
		}
	case "resources/read":
		uri, _ := r.asked.text("uri")
		if ours, _ := s.resource(uri); ours == nil {
			return b.ReadResource
		}
	case "completion/complete":
		if ref, err := readMembers(r.asked.get("ref")); err == nil && !s.refersToOurs(ref) {
			return b.Complete
		}
	}
	return nil
}

// refersToOurs tells whether a completion is asked for a prompt or a template of the server's own.
func (s *Server) refersToOurs(ref members) bool {
	if name, ok := ref.text("name"); ok {
		return s.prompt(name) != nil
	}
	uri, _ := ref.text("uri")
	ours, _ := s.resource(uri)
	return ours != nil || s.hasTemplate(uri)
}

// askBeside runs a request for Beside. What is none of its things is answered as if there were no Beside.
func (f *flight) askBeside() (answer []byte, failure *rpcError, err error) {
	raw, failure, err := f.runBeside()
	switch {
	case failure != nil:
		return nil, failure, nil
	case errors.Is(err, ErrNotFound):
		return f.ours()
	case errors.Is(err, ErrUnanswered):
		answer, err = f.askAgain()
		return answer, nil, err
	case err != nil:
		return nil, failureOf(err, f.caller), nil
	}
	answer, err = f.server.rawResult(f.id, raw, added{cacheable: f.method == "resources/read"}, f.caller)
	return answer, nil, err
}

func (f *flight) runBeside() (_ json.RawMessage, failure *rpcError, err error) {
	defer f.server.survive(f.method, &failure)
	defer f.settle()
	call := BesideCall{
		Params: f.params, Caller: f.caller, Model: f.model, Trace: f.trace,
		Progress: f.progress.report, Log: f.logger(), LogLevel: f.level(), Ask: f.put,
	}
	if f.method == "completion/complete" {
		call.Ask = func(context.Context, string, Question) (Reply, error) { return Reply{}, ErrCannotAsk }
	}
	raw, err := f.beside(f.ctx, call)
	return raw, nil, err
}

// maxFailure bounds what a client is told of a failure, in characters.
const maxFailure = 2000

// failureOf is an error of Beside as the client sees it.
func failureOf(err error, caller Caller) *rpcError {
	code, text := codeInternal, err.Error()
	if f, ok := errors.AsType[*Failure](err); ok {
		text = f.Message
		switch reserved := f.Code >= -32768 && f.Code <= -32000; {
		case f.Code == codeResourceNotFound:
			code = notFoundCode(caller)
		case !reserved || f.Code == codeInvalidParams:
			code = f.Code
		}
	}
	if runes := []rune(strings.ToValidUTF8(text, "�")); len(runes) > maxFailure {
		text = string(runes[:maxFailure]) + "…"
	}
	return errorf(code, "%s", text)
}
