package tools

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/fileclock"
	"github.com/intentgov/orchestra-mcp/pkg/command"
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
func (c *commandCall) direct(ctx context.Context) string {
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
	}
	if why := c.unstageable(ctx); why != "" {
		return why
	}
	return mountedBelow(c.Workspace.Dir())
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

// stageProbe remembers whether a workspace can have layers.
type stageProbe struct {
	once sync.Once
	why  string
}

// unstageable says why the workspace can have no layers; "" if it can. The first call tries.
func (d *Commands) unstageable(ctx context.Context) string {
	d.probe.once.Do(func() {
		if err := d.tryLayer(context.WithoutCancel(ctx)); err != nil {
			d.probe.why = fmt.Sprintf("the workspace can have no layer (%v)", err)
		}
	})
	return d.probe.why
}

// errNoLayer: what was written in a layer was not found in it, or was found below it.
var errNoLayer = errors.New("what was written on one did not stay there")

// tryLayer writes and renames a file on a layer over the workspace.
func (d *Commands) tryLayer(ctx context.Context) (err error) {
	if d.Runner == nil || d.Profiles == nil {
		return errors.New("there is no shell")
	}
	layers, err := staging.Open(d.Workspace)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, layers.Close()) }()
	over, err := layers.Over([]string{d.Workspace.Dir()})
	if err != nil {
		return err
	}
	made, err := d.Profiles.Rehearse(profile.Request{DenyNetwork: true, Hidden: d.Hidden}, over)
	if err != nil {
		return err
	}
	defer made.Close()
	dir, err := durable.OpenDirectoryIn(d.Workspace.Root(), ".")
	if err != nil {
		return err
	}
	defer dir.Close()
	const name = ".orchestra-probe"
	result, err := d.Runner.Run(ctx, command.Spec{
		Command: "echo " + name + " > " + name + ".new && mv " + name + ".new " + name + " && ls " + name, Dir: dir, Unkept: true,
		Timeout: time.Minute, Level: sandbox.Full, Profile: made.Sandbox, Env: made.Environment(command.FilterEnv(os.Environ())),
	})
	if err != nil {
		return err
	}
	if result.ExitCode != 0 {
		return fmt.Errorf("a trial ended with exit code %d: %s", result.ExitCode, clip(strings.TrimSpace(result.Output), 200))
	}
	text, err := durable.ReadRegular(filepath.Join(layers.Upper(0), name), 1<<10)
	if _, below := os.Lstat(filepath.Join(d.Workspace.Dir(), name)); err != nil || below == nil || strings.TrimSpace(string(text)) != name {
		return errNoLayer
	}
	return nil
}

// maxMounts bounds what is read of the table of mounts, in bytes.
const maxMounts = 4 << 20

// mountedBelow says what is mounted in a directory: a layer over it would not show that. It is "" where nothing is.
func mountedBelow(root string) string {
	table, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "the mounts are not known"
	}
	defer table.Close()
	lines := bufio.NewScanner(table)
	lines.Buffer(nil, maxMounts)
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 5 {
			continue
		}
		if inside, is := strings.CutPrefix(unescape.Replace(fields[4]), root+"/"); is {
			return fmt.Sprintf("another file system is mounted in the workspace (%s)", clip(inside, 100))
		}
	}
	if lines.Err() != nil {
		return "the mounts are not known"
	}
	return ""
}

// awaitTick returns the time of the file systems' clock, which lags, when it is later than that of the call's arrival: what was
// changed before the call has an earlier time of change then, also where these are finer than the clock (Linux 6.13).
func awaitTick(arrived time.Time) int64 {
	for {
		if now := fileclock.Now(); now > arrived.UnixNano() {
			return now
		}
		time.Sleep(time.Millisecond)
	}
}
