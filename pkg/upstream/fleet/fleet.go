package fleet

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/mcpclient"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/command/profile"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/upstream"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/catalogue"
)

// Options are what a Fleet works with.
type Options struct {
	// Definitions are the servers, as upstream.Definition.Check has passed them, in the order in which they are listed.
	Definitions []upstream.Definition
	// Workspace is its directory, an absolute path without links; UserDir the user's settings directory.
	Workspace, UserDir string
	// Environ is this process's environment.
	Environ []string
	// Ours are the names of our own tools, which no server's can have.
	Ours []string
	// Version is ours, which servers are told.
	Version string

	// Runner starts programs; nil where the system has none: then only servers with an address can be reached.
	Runner *command.Runner
	// Profiles and Sandbox say how programs are held, Rules what .intentignore says now: it is asked at each start, and an error
	// lets nothing start. Nil has no rules.
	Profiles *profile.Builder
	Sandbox  sandbox.Want
	Rules    func() (profile.Rules, error)
	// Hidden are directories of whose files no program reads any, beside those of other servers and the user's.
	Hidden []string

	// HTTP makes the requests to addresses; nil is one of the client's own.
	HTTP *http.Client
	// Logger gets what happens to servers.
	Logger zerolog.Logger
	// Changed is told that a list is another: "tools", "prompts", "resources". It must not wait for the fleet.
	Changed func(list string)
	// Clock is for tests; nil is time.Now.
	Clock func() time.Time
}

// Fleet is the servers of one workspace. It is for concurrent use.
type Fleet struct {
	o       Options
	servers []*server
	byName  map[string]*server

	ctx    context.Context // of all that is started, until Close
	cancel context.CancelFunc
	tasks  sync.WaitGroup // that Close waits for

	first firstUse
	seen  shelf
}

// Open makes a Fleet. It starts nothing and reads no file.
func Open(o Options) *Fleet {
	f := &Fleet{o: o.withDefaults(), byName: map[string]*server{}}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	for _, d := range f.o.Definitions {
		s := newServer(f, d)
		f.servers = append(f.servers, s)
		f.byName[d.Name] = s
	}
	return f
}

// Tools are those that are trusted, in the order of the definitions. The first call has the servers started of which nothing is known
// yet, all at once, and waits for them for ten seconds together; who is later announces itself by Options.Changed. Otherwise nothing is
// started for it: the list is what the pins say.
func (f *Fleet) Tools(ctx context.Context) []catalogue.Tool { return nil }

// Tool is the trusted tool of a name.
func (f *Fleet) Tool(name string) (catalogue.Tool, bool) { return catalogue.Tool{}, false }

// Parts is the whole catalogue, with what is not offered and why.
func (f *Fleet) Parts() []catalogue.Part { return nil }

// Call calls a tool and returns the result as it was sent. The server is started if need be. The call has the definition's timeout,
// which begins anew with each sign of progress, up to an hour in all, and stands still while the user is asked. Errors are an *Error.
func (f *Fleet) Call(ctx context.Context, t catalogue.Tool, arguments json.RawMessage, h mcpclient.Handlers) (json.RawMessage, error) {
	return nil, nil
}

// Prompts, Resources and Templates are as the servers listed them last, renamed.
func (f *Fleet) Prompts(ctx context.Context) []json.RawMessage { return nil }

// Resources are named NAME+URI, those of a server without a prefix as they are.
func (f *Fleet) Resources(ctx context.Context) []json.RawMessage { return nil }

// Templates are named like resources.
func (f *Fleet) Templates(ctx context.Context) []json.RawMessage { return nil }

// GetPrompt passes on prompts/get; found is false where no server has the prompt.
func (f *Fleet) GetPrompt(ctx context.Context, params json.RawMessage, h mcpclient.Handlers) (result json.RawMessage, found bool, err error) {
	return nil, false, nil
}

// Resource finds whose a URI is, and its own form there.
func (f *Fleet) Resource(uri string) (server, own string, found bool) { return "", "", false }

// ReadResource passes on resources/read.
func (f *Fleet) ReadResource(ctx context.Context, params json.RawMessage, h mcpclient.Handlers) (result json.RawMessage, found bool, err error) {
	return nil, false, nil
}

// Complete passes on completion/complete.
func (f *Fleet) Complete(ctx context.Context, params json.RawMessage, h mcpclient.Handlers) (result json.RawMessage, found bool, err error) {
	return nil, false, nil
}

// Start starts a server, unless it runs, and returns when it was listed.
func (f *Fleet) Start(ctx context.Context, name string) error { return nil }

// States are those of the servers, in the order of the definitions.
func (f *Fleet) States() []State { return nil }

// Close ends all servers, within two seconds.
func (f *Fleet) Close() error { return nil }
