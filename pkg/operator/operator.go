package operator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/buildinfo"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/external"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
	"github.com/intentgov/orchestra-mcp/pkg/status"
)

// Options are what a Workspace is opened with. Dir and Environ are needed.
type Options struct {
	// Dir is the workspace's absolute path.
	Dir string
	// Environ is the environment that settings are read from, and that names the user's own directory.
	Environ []string
	// Via is how answers come that are given here: approval.Inbox or approval.Console; "" is the inbox.
	Via string
	// Now is the clock; nil is the system's.
	Now func() time.Time
	// Logger gets the errors of the servers that carry out what the operator does.
	Logger zerolog.Logger
}

// Workspace is a workspace as its operator sees it. Its methods may be called from several goroutines.
type Workspace struct {
	Options
	// Root is the workspace's directory, open until Close.
	Root *os.Root
	// Ledger is what Records and its like ask.
	Ledger *ledger.Ledger
}

// Open opens a workspace.
func Open(o Options) (*Workspace, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Via == "" {
		o.Via = approval.Inbox
	}
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	records, err := ledger.Open(root, ledger.Options{})
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &Workspace{Options: o, Root: root, Ledger: records}, nil
}

// Close gives everything back.
func (w *Workspace) Close(ctx context.Context) error {
	return errors.Join(w.Ledger.Close(ctx), w.Root.Close())
}

// UserDir is the directory of the user's own settings, "" if there is none.
func (w *Workspace) UserDir() string { return settings.UserDir(w.Environ) }

// Settings are those that hold for the workspace.
func (w *Workspace) Settings() (settings.Loaded, error) {
	return settings.Load(settings.LoadOptions{
		WorkspaceRoot: w.Root, WorkspaceDir: w.Dir, SystemDir: settings.SystemDir, UserDir: w.UserDir(), Environ: w.Environ,
	})
}

// WithServer opens the workspace for a body as a server does, next to those that run. Only errors are logged: what a server
// warns of is not about what the operator does.
func (w *Workspace) WithServer(body func(*server.Server) error) error {
	loaded, err := w.Settings()
	if err != nil {
		return err
	}
	srv, err := server.New(server.Options{
		Dir: w.Dir, Settings: loaded.Settings, Version: buildinfo.Read().Version, Logger: w.Logger.Level(zerolog.ErrorLevel), UserDir: w.UserDir(),
	})
	if err != nil {
		return fmt.Errorf("open the workspace %s: %w", w.Dir, err)
	}
	return errors.Join(body(srv), srv.Close())
}

// Status looks at what happens in the workspace now; see status.Of.
func (w *Workspace) Status(ctx context.Context) (status.Report, error) {
	return status.Of(ctx, status.Options{Dir: w.Dir, UserDir: w.UserDir(), Now: w.Now, Current: w.currentCheck()})
}

// Happening is Status without the check of the ledger.
func (w *Workspace) Happening(ctx context.Context) (status.Report, error) {
	return status.Of(ctx, status.Options{Dir: w.Dir, UserDir: w.UserDir(), Now: w.Now, Current: w.currentCheck(), Unchecked: true})
}

// currentCheck tells which checks stand in the settings; those of settings that cannot be read all do.
func (w *Workspace) currentCheck() func(external.Finding) bool {
	loaded, err := w.Settings()
	if err != nil {
		return nil
	}
	return func(f external.Finding) bool {
		return slices.Contains(loaded.Settings.Checks, settings.Check{Paths: f.Paths, Command: f.Command})
	}
}

// Name is who answers, as the system knows them.
func Name() string {
	if me, err := user.Current(); err == nil {
		return me.Username
	}
	return ""
}
