package tools

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/orchdir"
	"github.com/intentgov/orchestra-mcp/internal/shellword"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/command/layer"
	"github.com/intentgov/orchestra-mcp/pkg/command/profile"
	"github.com/intentgov/orchestra-mcp/pkg/command/replay"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/command/staging"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/gate"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// rehearsal is what a line of git commands did to a layer, before it is let at the workspace: git must not be stopped midway,
// so what stands against the line has to be known before.
type rehearsal struct {
	*commandCall
	where  profile.Rehearsed
	views  []layer.View // the workspace's last
	before replay.Store
	after  replay.Store

	changes []layer.Touched // of the workspace but .git, what is no directory
	touched profile.Touched
	guarded []string          // of .git
	remotes map[string]string // remote-tracking branches that the line wrote, behind it
	// effects are changes for the gate, rewritten what is protected and was only written anew.
	effects   []*hooks.FileEffect
	rewritten []string
	// exempt are paths out of scope that say what git makes of people's commits.
	exempt map[string]bool
	exit   int
	output string
	// refs and branch are what git had before it; seen are the files out of scope that it changes, nil for none.
	refs   replay.Refs
	branch string
	seen   map[string]fs.FileInfo
}

// rehearses reports whether the line has to be rehearsed, or refuses it.
func (c *commandCall) rehearses() (where profile.Rehearsed, is bool, err error) {
	if !runsGit(c.effect.Reading) {
		return where, false, nil
	}
	line := replay.ReadLine(c.effect.Reading)
	if line.LedgerPush != "" {
		return where, false, c.typed(refusal.AtPath(refusal.ProtectedPath, ".git/refs/orchestra", "git push %s would take the refs of the ledger along (refs/orchestra), which only orchestra-mcp moves.", clip(line.LedgerPush, 100)))
	}
	if !line.Changes || !line.Alone || c.Git == profile.GitClosed || c.Runner == nil || c.Profiles == nil {
		return where, false, nil
	}
	where, err = c.Profiles.Rehearsable()
	switch {
	case err != nil || where.Common == "": // git cannot write there, and fails before it begins
		return where, false, nil
	case line.Tree != "":
		return where, false, c.typed(refusal.AtPath(refusal.ProtectedPath, ".git/worktrees", "%s would write in .git/worktrees, which no command may: a linked work tree is a workspace of its own, with its own intents and its own server, and a person makes, moves and removes it. On another branch you can work in this one (git switch).", line.Tree))
	case c.level() != sandbox.Full && line.Paths:
		return where, false, nil // as of any program, what it did is found afterwards
	case c.level() != sandbox.Full:
		return where, false, c.typed(refusal.Newf(refusal.CommandBlocked, "%s can change files out of the scope. At sandbox level %s nothing tells what people committed from what you changed; at level full it can run.", line.First, c.level()).
			With("sandbox", string(c.level())))
	case line.Pushes:
		return where, false, refusal.Newf(refusal.CommandBlocked, "%s is rehearsed before it runs, and a push cannot be.", line.First).Suggest("Send git push in a line of its own.")
	}
	c.git = line
	return where, true, nil
}

// refuse puts a refusal of the line before the gate, which records it.
func (c *commandCall) refuse(r *refusal.Refusal) {
	c.targets = append(c.targets, &hooks.FileEffect{
		Change:    change.Change{Op: change.Read, Path: c.cwd.Path},
		Requested: c.cwd.Requested, Rehearsed: true, Problem: r,
	})
}

// typed adds what a person would type to a refusal of the line.
func (c *commandCall) typed(r *refusal.Refusal) *refusal.Refusal {
	typed := c.byHand()
	return r.WithHint(refusal.HintAskUser).With("person_types", typed).Suggest("Nothing was changed. Ask the user to run it in a terminal: %s", clip(typed, 1000))
}

// never refuses a line that would do something to a path which is nobody's to change.
func (c *commandCall) never(path, format string, args ...any) error {
	return c.typed(refusal.New(refusal.ProtectedPath, c.git.First+" "+fmt.Sprintf(format, args...)).With("path", path))
}

// byHand is what a person types to run the line.
func (c *commandCall) byHand() string {
	dir := filepath.Join(c.Workspace.Dir(), filepath.FromSlash(c.cwd.Path))
	return clip("cd "+shellword.Quote(dir)+" && "+c.args.Command, 4000)
}

// rehearse runs the line on layers, and puts what the gate has to judge among the effects.
func (c *commandCall) rehearse(ctx context.Context) error {
	where, is, err := c.rehearses()
	if !is || err != nil {
		return err
	}
	c.effect.ByHand = c.byHand()
	r, err := c.rehearseOnce(ctx, where)
	if err == nil && len(r.rewritten) > 0 {
		// Git writes files anew, as they are, of which its index has another time.
		if err = c.refreshIndex(ctx); err == nil {
			r, err = c.rehearseOnce(ctx, where)
		}
	}
	switch {
	case err != nil:
		return c.unrehearsed(err)
	case len(r.rewritten) > 0:
		return r.protected(r.rewritten[0])
	}
	c.rehearsal = r
	c.targets = append(c.targets, r.effects...)
	return nil
}

func (c *commandCall) rehearseOnce(ctx context.Context, where profile.Rehearsed) (_ *rehearsal, err error) {
	refs, err := c.Observer.Git.Refs(ctx)
	if err != nil {
		return nil, err
	}
	trusted, err := c.Observer.Git.Trust().Trusted(ctx, refs.Tips)
	if err != nil {
		return nil, err
	}
	at, err := staging.Open(c.Workspace)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, at.Close()) }()
	over, err := at.Over(where.Outer())
	if err != nil {
		return nil, err
	}
	r := &rehearsal{
		commandCall: c, where: where, refs: refs, exempt: map[string]bool{}, remotes: map[string]string{}, seen: map[string]fs.FileInfo{},
		touched: profile.Touched{Files: map[string]bool{}, Dirs: map[string]bool{}},
	}
	uppers := map[string]string{}
	for _, one := range over {
		r.views = append(r.views, layer.View{Lower: one.Path, Upper: one.Upper})
		uppers[one.Path] = one.Upper
	}
	r.before, r.after = replay.NewStore(where.Common, where.Own, nil), replay.NewStore(where.Common, where.Own, uppers)
	r.branch = r.before.Branch()
	if err := r.run(ctx, over); err != nil {
		return nil, err
	}
	if err := r.list(); err != nil {
		return nil, err
	}
	if err := r.guards(); err != nil {
		return nil, err
	}
	scratch, err := at.Sub("scratch")
	if err != nil {
		return nil, err
	}
	trusted = append(trusted, c.Observer.Git.Fetched(ctx, c.git, refs.Remotes, r.remotes)...)
	return r, r.judgeChanges(ctx, scratch, trusted)
}

// refreshIndex has git compare the files with what its index says of their times, in a box as any command.
func (c *commandCall) refreshIndex(ctx context.Context) error {
	made, err := c.Profiles.Make(profile.Request{
		Level: sandbox.Full, Scope: []string{orchdir.Name + "/none"}, Rules: c.rules(), Hidden: c.Hidden, Dir: ".", Git: c.Git, DenyNetwork: true,
	})
	if err != nil {
		return err
	}
	defer made.Close()
	dir, err := durable.OpenDirectoryIn(c.Workspace.Root(), ".")
	if err != nil {
		return err
	}
	defer dir.Close()
	_, err = c.Runner.Run(ctx, command.Spec{
		Command: "git update-index -q --refresh", Dir: dir, Unkept: true, Timeout: c.timeout(), Env: c.environment(made), Level: sandbox.Full, Profile: made.Sandbox,
	})
	return err
}

// unrehearsed refuses a line that could not be rehearsed.
func (c *commandCall) unrehearsed(err error) error {
	if r, is := refusal.As(err); is {
		return r
	}
	if short := refusal.Exhausted(err); short != nil {
		return short
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return c.typed(refusal.Newf(refusal.CommandBlocked, "What %s would change could not be found out before it runs (%v).", c.git.First, err))
}

// gitSettings are for a line with git commands. Git gives its new objects their place by a rename and not by a link and the removal
// of the first name: files that get more names have the whole workspace looked at afterwards. If the line changes files, it is
// kept from what has nothing to do with that and would be stopped: git writes its configuration for a new branch, and tidies up
// behind some commands.
func (c *commandCall) gitSettings() (env []string) {
	if !runsGit(c.effect.Reading) {
		return nil
	}
	settings := []string{"core.createObject", "rename"}
	if c.git.Changes {
		settings = append(settings, "gc.auto", "0", "maintenance.auto", "false", "branch.autoSetupMerge", "false")
	}
	for i := 0; i < len(settings); i += 2 {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i/2, settings[i]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i/2, settings[i+1]))
	}
	return append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings)/2))
}

// environment is that of the command in a box.
func (c *commandCall) environment(in *profile.Profile) []string {
	return append(in.Environment(command.FilterEnv(os.Environ(), c.KeepEnv...)), c.gitSettings()...)
}

// run runs the line.
func (r *rehearsal) run(ctx context.Context, over []sandbox.Layer) error {
	made, err := r.Profiles.Rehearse(profile.Request{
		Rules: r.rules(), Hidden: r.Hidden, DenyNetwork: !r.git.Fetches || gate.NetworkDenied(r.call, r.Policy),
	}, over)
	if err != nil {
		return r.unrehearsed(err)
	}
	defer made.Close()
	dir, err := r.dir.OpenDir()
	if err != nil {
		return readProblem(r.cwd.Path, err)
	}
	defer dir.Close()
	env := append(r.environment(made), "GIT_TRACE2_EVENT="+filepath.Join(r.where.Own, gitEvents))
	result, err := r.Runner.Run(ctx, command.Spec{
		Command: r.args.Command, Dir: dir, Owner: r.call.Caller.Principal, Unkept: true, Timeout: r.timeout(), Env: env, Level: sandbox.Full, Profile: made.Sandbox,
	})
	switch {
	case errors.Is(err, command.ErrNotStarted), err == nil && result.Cancelled:
		return notStarted()
	case err != nil:
		return r.unrehearsed(err)
	case result.TimedOut:
		return r.typed(refusal.Newf(refusal.CommandBlocked, "%s took longer than its timeout of %v when it was rehearsed.", r.git.First, r.timeout()))
	}
	r.exit, r.output = result.ExitCode, result.Output
	return nil
}

// list finds what the line touched.
func (r *rehearsal) list() error {
	for i, view := range r.views {
		all, err := view.Touched()
		if err != nil {
			return err
		}
		inTree := i == len(r.views)-1
		for _, t := range all {
			inGit, is := strings.CutPrefix(t.Path, ".git/")
			switch {
			case !inTree:
				r.inGit(t.Path, t)
			case is:
				r.inGit(inGit, t)
			case t.Path == ".git" && isDir(t):
			default:
				r.inTree(t)
			}
		}
	}
	return nil
}

func isDir(t layer.Touched) bool {
	return (!t.Before.There || t.Before.Mode.IsDir()) && (!t.After.There || t.After.Mode.IsDir())
}

// inGit notes what stays closed of the git directory, and its remote-tracking branches.
func (r *rehearsal) inGit(name string, t layer.Touched) {
	if strings.HasPrefix(name, "refs/remotes/") && t.After.There && t.After.Mode.IsRegular() {
		r.remotes[name] = r.after.Ref(name)
	}
	if r.where.Own != r.where.Common {
		own, err := filepath.Rel(r.where.Common, r.where.Own)
		if way, is := strings.CutPrefix(name, filepath.ToSlash(own)+"/"); err == nil && is {
			name = way
		}
	}
	if !isDir(t) && profile.GuardedInGit(name) && !same(t) {
		r.guarded = append(r.guarded, name)
	}
}

// same reports whether a small file was only written anew: git does that to its
// configuration to look for what it has to remove.
func same(t layer.Touched) bool {
	if !t.Before.There || !t.After.There || !t.Before.Mode.IsRegular() || !t.After.Mode.IsRegular() {
		return false
	}
	was, err := durable.ReadRegular(t.Before.At, 1<<20)
	now, errNow := durable.ReadRegular(t.After.At, 1<<20)
	return err == nil && errNow == nil && bytes.Equal(was, now)
}

// inTree notes a path of the work tree.
func (r *rehearsal) inTree(t layer.Touched) {
	r.touched.Dirs[path.Dir(t.Path)] = true
	if isDir(t) {
		r.touched.Dirs[t.Path] = true
		return
	}
	r.touched.Files[t.Path] = true
	r.changes = append(r.changes, t)
}

// effectOf is a change of the rehearsal for the gate.
func (r *rehearsal) effectOf(t layer.Touched) *hooks.FileEffect {
	return &hooks.FileEffect{
		Change:    change.Change{Op: change.Between(t.Before.There, t.After.There), Path: t.Path},
		Requested: t.Path, Exists: t.Before.There, Rehearsed: true, Purpose: cmp.Or(r.git.First, "git"),
		Protection: workspace.ProtectIn(r.Workspace.Inside(), t.Path),
	}
}
