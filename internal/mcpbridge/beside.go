package mcpbridge

import (
	"context"
	"encoding/json"
	"fmt"
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
	// Progress, Log, LogLevel and Ask are those of [Call]. Ask is [ErrCannotAsk] for completions, which no revision asks in.
	Progress func(message string, done, total float64)
	Log      func(level, logger string, data json.RawMessage)
	LogLevel string
	Ask      func(ctx context.Context, key string, q Question) (Reply, error)
}

// Failure is an error that a client is to see as a JSON-RPC error. Its Code goes out as it is where it is -32602 or one
// that neither JSON-RPC nor the protocol has reserved (-32768 to -32000), else as -32603: a client acts on the others, such
// as by speaking another revision.
type Failure struct {
	Code    int
	Message string
}

func (f *Failure) Error() string { return fmt.Sprintf("error %d: %s", f.Code, f.Message) }
