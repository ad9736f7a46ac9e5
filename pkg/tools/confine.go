package tools

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"github.com/intentgov/orchestra-mcp/pkg/command/profile"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/gate"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// confine works out what the command may read and write now.
func (c *commandCall) confine(ctx context.Context) (*profile.Profile, error) {
	level, err := c.Want.Level()
	if err != nil {
		return nil, refusal.Newf(refusal.SandboxUnavailable, "No command runs: %v.", err)
	}
	made, err := c.Profiles.Make(c.profileRequest(ctx, level))
	if err != nil {
		return nil, fmt.Errorf("confine the command: %w", err)
	}
	if why := c.Want.NoSeatbelt(); why != nil {
		made.Warnings = append(made.Warnings, fmt.Sprintf("Nothing held the command, though the settings want level seatbelt: %v.", why))
	}
	if made.Crowded {
		r := c.typed(refusal.Newf(refusal.CommandBlocked, "%s touches so many directories that the rest of what is out of the scope cannot be closed.", c.git.First))
		return nil, errors.Join(r, made.Close())
	}
	return made, nil
}

// weaker is confine for a command that may run where no more than Landlock is to be had; nil where it is held to that already,
// or must be held to more.
func (c *commandCall) weaker(ctx context.Context) (*profile.Profile, error) {
	if c.profile.Level != sandbox.Full || !sandbox.Landlock.AtLeast(c.Want.AtLeast) || !c.client.Nested {
		return nil, nil
	}
	return c.Profiles.Make(c.profileRequest(ctx, sandbox.Landlock))
}

func (c *commandCall) profileRequest(ctx context.Context, level sandbox.Level) profile.Request {
	req := profile.Request{
		Level: level, Dir: c.cwd.Path, Rules: c.rules(), Writable: c.Writable, Hidden: c.Hidden,
		DenyNetwork: gate.NetworkDenied(c.call, c.Policy), Named: c.named(), Background: c.args.Background || c.client.Lasting,
		Tracked: func(places []string) []string { return c.tracked.of(ctx, c.Commands, places) },
	}
	if c.install != nil {
		req.Open, req.Packages = c.install.Dirs, c.tracked.without(ctx, c.Commands, c.install.Packages)
	}
	if c.call.Intent != nil {
		req.Scope = c.call.Intent.Scope().Globs()
	}
	if runsGit(c.effect.Reading) {
		req.Git = c.Git
	}
	if c.stage != nil {
		req.Layers = c.stage.over
	}
	if c.rehearsal != nil {
		req.Touched = &c.rehearsal.touched
	}
	return req
}

// holdNames holds files by all their names, which the baseline has found: those of hidden ones are hidden, and where the
// level can, those of files in scope that have a name out of it are closed.
func (c *commandCall) holdNames(linked *snapshot.Links) {
	var names []profile.Name
	var more []string
	if linked != nil {
		names, more = make([]profile.Name, len(linked.Files)), linked.More
		for i, l := range linked.Files {
			names[i] = profile.Name(l)
		}
	}
	if c.profile.Level.Freezes() {
		c.profile.CloseShared(names, more)
	}
	c.profile.HideNames(names)
}

// level is what the command is held to, or would be.
func (c *commandCall) level() sandbox.Level {
	if c.profile != nil {
		return c.profile.Level
	}
	level, _ := c.Want.Level() // confine refuses
	return level
}

func (c *commandCall) rules() profile.Rules { return c.Rules(c.call.Ignore) }

// Rules are those of .intentignore and of the places that are protected, as far
// as there are any: each costs a look at the whole workspace.
func (d *Commands) Rules(ignore *intent.Ignore) profile.Rules {
	var rules profile.Rules
	kinds, walk := ignore.Kinds(), ignore.Walk()
	if places := d.Workspace.Inside(); len(places) > 0 {
		rules.Ignored = func(path string) bool {
			_, is := ignore.PathBlocked(path)
			return is || workspace.ProtectIn(places, strings.TrimSuffix(path, "/")) != workspace.ProtectNone
		}
	} else if kinds.Paths {
		rules.Ignored, rules.Below, rules.Names = walk.Blocked, walk.Below, walk.Names
	}
	if kinds.Secrets {
		rules.Secret = walk.Secret
	}
	if kinds.Unscoped {
		rules.Unscoped = func(path string) bool { _, is := ignore.Unscoped(path); return is }
	}
	return rules
}

// runsGit reports whether a git command stands in the line.
func runsGit(reading *shell.Reading) bool {
	return reading != nil && slices.ContainsFunc(reading.Programs, func(p shell.Program) bool { return p.Name == "git" })
}

// trackedPlaces remembers, for one state of git's index, which places for the output of tools hold files that git tracks.
type trackedPlaces struct {
	mu    sync.Mutex
	index string
	known map[string]bool
}

// of gives those of some places of which git tracks something, in its index or in the last commit: an index alone forgets
// with one git command. Where git gives no answer, it may track all.
func (t *trackedPlaces) of(ctx context.Context, d *Commands, places []string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	index := d.Observer.Snapshots.IndexWritten()
	if t.known == nil || t.index != index {
		t.index, t.known = index, map[string]bool{}
	}
	fresh := slices.DeleteFunc(slices.Clone(places), func(place string) bool { _, known := t.known[place]; return known })
	if len(fresh) > 0 {
		files, sure := d.filesInGit(ctx, fresh)
		for _, place := range fresh {
			t.known[place] = !sure || slices.ContainsFunc(files, func(f string) bool { return f == place || strings.HasPrefix(f, place+"/") })
		}
		if !sure {
			defer func() { t.known = nil }() // to be asked again
		}
	}
	return slices.DeleteFunc(slices.Clone(places), func(place string) bool { return !t.known[place] })
}

// without gives the other ones.
func (t *trackedPlaces) without(ctx context.Context, d *Commands, places []string) []string {
	tracked := t.of(ctx, d, places)
	return slices.DeleteFunc(slices.Clone(places), func(place string) bool { return slices.Contains(tracked, place) })
}

func (d *Commands) filesInGit(ctx context.Context, places []string) (files []string, sure bool) {
	git := d.Observer.Git
	index, err := git.Ask(ctx, append([]string{"ls-files", "-z", "--cached", "--"}, places...)...)
	if errors.Is(err, exec.ErrNotFound) || err != nil && strings.Contains(err.Error(), "not a git repository") {
		return nil, true
	}
	if err != nil {
		return nil, false
	}
	// Fails where there is no commit yet.
	commit, _ := git.Ask(ctx, append([]string{"ls-tree", "-z", "--name-only", "HEAD", "--"}, places...)...)
	return append(strings.Split(index, "\x00"), strings.Split(commit, "\x00")...), true
}
