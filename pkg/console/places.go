package console

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/presence"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/insight"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/operator"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
	"github.com/intentgov/orchestra-mcp/pkg/status"
)

// place is a workspace that the console shows.
type place struct {
	*operator.Workspace
	ID    string // presence.Name of its path
	Inbox *operator.Inbox

	counted *insight.Collector // of the ledger, once Insight was looked at

	mu     sync.Mutex
	report status.Report
	looked time.Time // when the report was made
	marks  map[area]uint64

	beside string // the directory of the ledger where it is not in the tree; see locate.Beside
}

// Name is what the workspace's directory is called.
func (p *place) Name() string { return filepath.Base(p.Dir) }

// places are the workspaces of the user, each opened once.
type places struct {
	options Options

	mu   sync.Mutex
	open map[string]*place // by ID
}

func newPlaces(o Options) *places { return &places{options: o, open: map[string]*place{}} }

// all gives the workspaces that are there now, by their path. One that cannot be opened is named in the error.
func (ps *places) all() ([]*place, error) {
	dirs := slices.Clone(ps.options.Dirs)
	var errs []error
	if userDir := settings.UserDir(ps.options.Environ); userDir != "" {
		known, err := presence.Workspaces(userDir)
		errs = append(errs, err)
		dirs = append(dirs, known...)
	}
	slices.Sort(dirs)
	ps.mu.Lock()
	defer ps.mu.Unlock()
	there := map[string]bool{}
	var all []*place
	for _, dir := range slices.Compact(dirs) {
		p, err := ps.opened(dir)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		there[p.ID] = true
		all = append(all, p)
	}
	for id := range ps.open {
		if !there[id] { // views that still use it get errors
			errs = append(errs, ps.open[id].Close(context.Background()))
			delete(ps.open, id)
		}
	}
	return all, errors.Join(errs...)
}

func (ps *places) opened(dir string) (*place, error) {
	id := presence.Name(dir)
	if p, ok := ps.open[id]; ok {
		return p, nil
	}
	w, err := operator.Open(operator.Options{
		Dir: dir, Environ: ps.options.Environ, Via: approval.Console, Now: ps.options.Now, Logger: ps.options.Logger,
	})
	if err != nil {
		return nil, err
	}
	inbox, err := w.Inbox()
	if err != nil {
		return nil, errors.Join(err, w.Close(context.Background()))
	}
	p := &place{Workspace: w, ID: id, Inbox: inbox, beside: locate.Beside(dir), counted: insight.New(insight.Options{Now: ps.options.Now})}
	ps.open[id] = p
	go p.warm()
	return p, nil
}

// get gives one workspace by its id. One that is open is not looked for among all: a page asks again and again.
func (ps *places) get(id string) (*place, bool) {
	ps.mu.Lock()
	p, ok := ps.open[id]
	ps.mu.Unlock()
	if ok {
		return p, true
	}
	all, _ := ps.all()
	at := slices.IndexFunc(all, func(p *place) bool { return p.ID == id })
	if at < 0 {
		return nil, false
	}
	return all[at], true
}

// reportLife is how long a report holds where no file has changed: an agent whose server is gone counts for a while.
const reportLife = 10 * time.Second

// happening is what happens in the workspace, which is looked at anew where something there has changed.
func (p *place) happening(ctx context.Context) (status.Report, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	marks := lookAt(p)
	if p.Now().Sub(p.looked) < reportLife && maps.Equal(marks, p.marks) {
		return p.report, nil
	}
	report, err := p.Happening(ctx)
	if err == nil {
		p.marks, p.report, p.looked = marks, report, p.Now()
	}
	return report, err
}

// warm has the ledger's index brought up to date, which takes seconds once on a long ledger, before a person asks.
func (p *place) warm() {
	_, _ = p.Ledger.Query(context.Background(), record.Filter{IntentID: "-", Newest: true, Limit: 1})
}

func (ps *places) close() error {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	var errs []error
	for _, p := range slices.Collect(maps.Values(ps.open)) {
		errs = append(errs, p.Close(context.Background()))
	}
	clear(ps.open)
	return errors.Join(errs...)
}
