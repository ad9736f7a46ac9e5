package fleet

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/command/profile"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/upstream"
)

// Options are what a Fleet works with.
type Options struct {
	// Definitions are the servers, as the settings give them, in the order in which they are listed.
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

var errLeft = errors.New("some of the other servers take too long to end")

// Fleet is the servers of one workspace. It is for concurrent use.
type Fleet struct {
	o       Options
	servers []*server
	byName  map[string]*server

	ctx    context.Context // of all that is started, until Close
	cancel context.CancelFunc
	tasks  sync.WaitGroup // that Close waits for

	first sync.Once // use
	shelf shelf
}

// Open makes a Fleet, which must be closed. It starts no server and reads no file.
func Open(o Options) *Fleet {
	f := &Fleet{o: o.withDefaults(), byName: map[string]*server{}}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	for _, d := range f.o.Definitions {
		s := newServer(f, d)
		f.servers = append(f.servers, s)
		f.byName[d.Name] = s
	}
	if len(f.servers) > 0 {
		f.tasks.Go(f.watchPins)
	}
	return f
}

// withDefaults fills in what may be left out.
func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Changed == nil {
		o.Changed = func(string) {}
	}
	return o
}

// closeTime is how long Close waits for the ends of servers.
const closeTime = 1800 * time.Millisecond

// Close ends all servers, within two seconds. It is an error if something of them is left, which is killed as soon as it can be.
func (f *Fleet) Close() error {
	f.cancel()
	for _, s := range f.servers {
		s.close()
	}
	done := make(chan struct{})
	go func() {
		f.tasks.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-time.After(closeTime):
		return errLeft
	}
}
