package tools

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/fileclock"
	"github.com/intentgov/orchestra-mcp/pkg/command/profile"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/command/staging"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// Stage says which commands work on a layer of their own, which is taken over at their end.
type Stage string

// The choices of commands.stage.
const (
	StageAuto   Stage = "auto"   // those that can
	StageAlways Stage = "always" // all; what cannot is refused
	StageNever  Stage = "never"  // those that ask for it
)

// direct says why the command works on the workspace itself; "" is that it works on a layer.
func (c *commandCall) direct() string {
	switch {
	case c.Stage == StageNever && !c.args.Staged:
		return "commands.stage is never"
	case c.args.Background:
		return "it runs in the background"
	case c.client.Run != nil:
		return "the client runs it"
	case c.level() != sandbox.Full:
		return fmt.Sprintf("the sandbox level is %s", c.level())
	case runsGit(c.effect.Reading) && c.Git != profile.GitClosed:
		return "a git command stands in the line"
	case c.probe.crossed(c.lineKey()):
		return "this line failed on a layer"
	}
	return c.unstageable()
}

// cannotStage refuses a command that is to work on a layer and cannot; nil for any other.
func (c *commandCall) cannotStage(why string) error {
	switch {
	case why == "" || !c.args.Staged && c.Stage != StageAlways:
		return nil
	case c.args.Staged:
		return refusal.Newf(refusal.InvalidArguments, "staged: this command cannot work on a layer of its own, because %s. It was not run.", why).
			Suggest("Send it without staged to have it run on the workspace itself.").With("direct_because", why)
	}
	return refusal.Newf(refusal.CommandBlocked, "The settings have every command work on a layer of its own (commands.stage: always), and this one cannot, because %s. It was not run.", why).
		WithHint(refusal.HintAskUser).With("direct_because", why)
}

// stageProbe remembers why a workspace can have no layers, and which lines cannot do with one.
type stageProbe struct {
	once sync.Once
	why  error

	mu    sync.Mutex
	lines map[lineKey]bool
}

// lineKey stands for a line and the directory that it runs in.
type lineKey [sha256.Size]byte

func (c *commandCall) lineKey() lineKey {
	return sha256.Sum256([]byte(c.cwd.Path + "\x00" + c.args.Command))
}

// maxCrossed bounds the lines that are remembered. At one more all are forgotten, and fail once again.
const maxCrossed = 1000

// cross remembers a line of which a layer is in the way: it has to rename a directory of the workspace in one step, which is an
// error there (EXDEV) for which most programs copy instead; or the system lets nobody put in place what it did, as in a directory
// that only the command made writable, for a moment; or it writes to what another program works on, see besideOthers.
func (p *stageProbe) cross(line lineKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lines == nil || len(p.lines) >= maxCrossed {
		p.lines = map[lineKey]bool{}
	}
	p.lines[line] = true
}

func (p *stageProbe) crossed(line lineKey) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lines[line]
}

// sendAgain has the line work on the workspace itself the next time, and says so; "" where it must not.
func (c *commandCall) sendAgain() string {
	if c.Stage == StageAlways {
		return ""
	}
	c.probe.cross(c.lineKey())
	return "Send the same line again, without staged: it then works on the workspace itself."
}

// besideOthers reports whether another program may work on a file that the command changed: a database stands there, or it is open
// for writing. They can write both in the workspace itself only, where locks and files are the same for them; on a layer it would
// be a conflict each time.
func (c *commandCall) besideOthers() bool {
	found := c.stage.found
	return slices.ContainsFunc(found.conflicts, func(f layerConflict) bool { return f.database || c.openElsewhere(f.path) }) ||
		slices.ContainsFunc(found.files, func(f layerFile) bool { return c.openElsewhere(cmp.Or(f.from, f.path)) })
}

// openElsewhere reports whether somebody has a file of the workspace open for writing.
func (f *Files) openElsewhere(path string) bool {
	target, err := f.Workspace.ResolveExactly(path)
	if err != nil {
		return false
	}
	defer target.Close()
	file, err := target.Open()
	if err != nil {
		return false
	}
	defer file.Close()
	defer durable.DropLease(file)
	return errors.Is(durable.TakeLease(file), durable.ErrWriterOpen)
}

// crossed explains that a directory could not be renamed.
func (l *denials) crossed() denial {
	next := cmp.Or(l.sendAgain(), "Copy and remove the directory instead, as mv does. The settings have every command work on a layer (commands.stage: always).")
	return l.denied("move", "", refusal.HintRetry, "on a layer no program can rename a directory that was there in one step", next)
}

// unstageable says why the workspace can have no layers now; "" if it can. The first call tries.
func (d *Commands) unstageable() string {
	d.probe.once.Do(func() { d.probe.why = staging.Try(d.Workspace) })
	why := d.probe.why
	if why == nil {
		why = staging.Mounted(d.Workspace)
	}
	if why == nil {
		return ""
	}
	return "the workspace can have no layer: " + why.Error()
}

// awaitTick returns the time of the file systems' clock, which lags, when it is later than that of the call's arrival: what was
// changed before the call has an earlier time of change then, also where these are finer than the clock (Linux 6.13).
func awaitTick(arrived time.Time) int64 {
	for {
		if now := fileclock.Now(); now > arrived.UnixNano() {
			return now
		}
		time.Sleep(time.Millisecond / 5) // of a tick of 1 to 10 ms
	}
}
