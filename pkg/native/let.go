package native

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/clienthook"
	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// A call of a file tool that was let through is kept in .orchestration/state/native/<sha256 of its name>.json until what it
// came to is recorded: a server that is killed in between is followed by one that knows of it.
const (
	callsDir   = "native"
	callSuffix = ".json"
	partSuffix = ".part"
	maxCall    = 256 << 20
	// callLife is after how long a call that has changed nothing counts as not made: a person may have been asked about it.
	callLife = 24 * time.Hour
)

// letThrough is such a call.
type letThrough struct {
	Version int              `json:"version"`
	Event   clienthook.Event `json:"event"` // without its action
	Name    string           `json:"name"`  // of the tool of ours
	Began   time.Time        `json:"began"`
	Intent  string           `json:"intent"`
	Session string           `json:"session"` // the public id
	Files   []letFile        `json:"files"`
	Asked   []asked          `json:"asked,omitempty"` // of its user, by the client
	Policy  string           `json:"policy,omitempty"`
	Judged  *record.Judged   `json:"judged,omitempty"` // as its record will have it

	key string
}

// letFile is one file as it was judged.
type letFile struct {
	change.Change
	Exists    bool            `json:"exists"`
	Knowledge hooks.Knowledge `json:"knowledge"`
	// Content is that before, and Known whether After is what the client will write.
	Content []byte `json:"content"`
	Known   bool   `json:"known"`
}

// letThrough keeps a call that was judged.
func (d *Desk) letThrough(e clienthook.Event, call *hooks.Call, effects hooks.Effects) (*letThrough, error) {
	kept := e
	kept.Action, kept.Input = nil, nil
	l := &letThrough{Version: 1, Event: kept, Name: call.Tool, Began: d.Clock().UTC(), Intent: call.RecordedIntent(), key: keyOf(e)}
	if call.Session != nil {
		l.Session = call.Session.PublicID()
	}
	var err error
	if l.Policy, l.Judged, err = d.JudgedBy(call); err != nil {
		return nil, err
	}
	for _, f := range effects.Files {
		if f.Mutates() {
			l.Files = append(l.Files, letFile{
				Change: f.Bare(), Exists: f.Exists, Knowledge: f.Knowledge, Content: f.Before.Bytes,
				Known: f.After.Hash != "" || f.Op == change.Deleted,
			})
		}
	}
	return l, d.keep(l)
}

func (d *Desk) keep(l *letThrough) error {
	data, err := json.Marshal(l)
	if err == nil {
		err = d.inCalls(func(dir *os.Root) error { return d.place(dir, l.key+callSuffix, data) })
	}
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls[l.key] = l
	return nil
}

// place writes a file that is there whole or not at all.
func (d *Desk) place(dir *os.Root, name string, data []byte) error {
	_ = dir.Remove(name + partSuffix) // of a server that was killed
	if err := durable.WriteNew(dir, name+partSuffix, data, d.Clock(), false); err != nil {
		return err
	}
	return dir.Rename(name+partSuffix, name)
}

// inCalls works in the directory of the calls.
func (d *Desk) inCalls(work func(*os.Root) error) error {
	state, err := d.State()
	if err != nil {
		return err
	}
	defer state.Close()
	dir, err := durable.OpenOwn(state, callsDir, 0o700)
	if err != nil {
		return err
	}
	defer dir.Close()
	return work(dir)
}

// load takes over, once, what an earlier server has let through.
func (d *Desk) load() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.loaded {
		return
	}
	d.loaded = true
	_ = d.inJobs(d.removeOld) // of servers that are gone
	err := d.inCalls(func(dir *os.Root) error {
		names, err := fs.ReadDir(dir.FS(), ".")
		for _, name := range names {
			key, is := strings.CutSuffix(name.Name(), callSuffix)
			if !is {
				continue
			}
			var l letThrough
			data, err := durable.ReadRegularIn(dir, name.Name(), maxCall)
			if err == nil && json.Unmarshal(data, &l) == nil && l.Version == 1 {
				l.key = key
				d.calls[key] = &l
			}
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.Logger.Warn().Err(err).Msg("calls of clients that an earlier server let through could not be read")
	}
}

func (d *Desk) forget(l *letThrough) {
	d.mu.Lock()
	delete(d.calls, l.key)
	d.mu.Unlock()
	_ = d.inCalls(func(dir *os.Root) error { return dir.Remove(l.key + callSuffix) })
}
