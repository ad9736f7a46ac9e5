package trace

import (
	"context"
	"errors"
	"io/fs"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/orchdir"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/journal"
)

// SettleLeft is Settle for a server that starts: where nobody has left anything, it only lists two directories and
// changes nothing. The first change that comes meanwhile waits for it; if it fails, that change tries again, and says
// why it cannot be made.
func (r *Recorder) SettleLeft(ctx context.Context) error {
	if r.settled.Load() || !r.left() {
		return nil
	}
	return r.Settle(ctx)
}

// left reports whether there may be something to settle.
func (r *Recorder) left() bool {
	if home, err := r.Workspace.Root().Lstat(orchdir.Name); err != nil || !home.IsDir() {
		return false // not initialised, or the first change says what it is
	}
	state, err := orchdir.Open(r.Workspace.Root(), false, "state")
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer state.Close()
	slots, err := journal.Slots(state)
	if err != nil || slots {
		return true
	}
	gaps, err := durable.ReadDirectoryIn(state, gapDir)
	return err != nil && !errors.Is(err, fs.ErrNotExist) || len(gaps) > 0
}
