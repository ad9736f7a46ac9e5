package observe

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/observe/outside"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
)

// governanceDir is where the governance files are.
const governanceDir = ".orchestration"

// look looks once more, at the end of a command, and makes violations of what changed.
type look func(ctx context.Context, f *findings)

// lookBeside looks before a command at what lies beside the files of the workspace, where the kernel does not keep it from that.
func (b *Baseline) lookBeside(ctx context.Context) error {
	began := time.Now()
	switch {
	case b.judge.Git:
		b.looks = append(b.looks, b.indexWritten(), treeChanges(b.Workspace.Dir()))
	case b.judge.free():
		b.looks = append(b.looks, b.index(began))
	}
	if b.judge.held() || b.judge.Apart {
		return nil
	}
	lost, err := b.Ledger.Guard(ctx)
	if err != nil {
		return err
	}
	b.governance, _ = durable.OpenDirectoryIn(b.Workspace.Root(), governanceDir) // where there is none, there is nothing to hold
	b.looks = append(b.looks, b.top(), governance, func(ctx context.Context, f *findings) {
		if gone := lost(ctx, f.Git); gone != "" {
			f.charge(governanceDir+"/agent_trace.jsonl", change.Modified, hooks.LedgerCut, gone)
		}
	}, b.gitStore(began), b.outside())
	return nil
}

// close lets go of what was held for a look.
func (b *Baseline) close() {
	if b.governance != nil {
		b.governance.Close()
		b.governance = nil
	}
}

// withhold makes a violation of what check finds, and has changes refused as long as it does.
func (f *findings) withhold(path string, check func(ctx context.Context) error) {
	if err := check(context.Background()); err != nil {
		f.charge(path, change.Moved, hooks.Place, err.Error())
		f.base.Ledger.Withhold(check)
	}
}

// top looks whether the directory that the server holds is the workspace still.
func (b *Baseline) top() look {
	root, was := b.Workspace, fs.FileMode(0)
	if info, err := root.Root().Stat("."); err == nil {
		was = info.Mode()
	}
	return func(_ context.Context, f *findings) {
		if info, err := root.Root().Stat("."); err == nil && info.Mode() != was && f.Scope != nil && !f.Scope.Unrestricted() {
			f.charge(".", change.Modified, hooks.Metadata, fmt.Sprintf("the permissions of the workspace itself: %v before, %v now", was, info.Mode()))
		}
		f.withhold(".", func(context.Context) error {
			held, err := root.Root().Stat(".")
			if err != nil {
				return fmt.Errorf("the workspace cannot be looked at: %w", err)
			}
			if now, err := os.Lstat(root.Dir()); err != nil || !os.SameFile(held, now) {
				return fmt.Errorf("the directory %s is not the workspace that this server opened: it was renamed or replaced. Ask the user to put it back, or to restart the server", root.Dir())
			}
			return nil
		})
	}
}

// governance looks whether .orchestration is the directory that it was.
func governance(_ context.Context, f *findings) {
	if f.base.governance == nil {
		return
	}
	was, err := f.base.governance.Stat()
	if err != nil {
		return
	}
	root := f.base.Workspace.Root()
	f.withhold(governanceDir, func(context.Context) error {
		if now, err := root.Lstat(governanceDir); err != nil || !os.SameFile(was, now) {
			return fmt.Errorf("a command renamed or replaced %s: what stands there now is not what the user declared. Ask the user to put the directory back, or to look at it and restart the server", governanceDir)
		}
		return nil
	})
}

const gitIndex = ".git/index"

// indexWritten finds whether git's index was written, where a git command may do that.
func (b *Baseline) indexWritten() look {
	was := b.Snapshots.IndexWritten()
	return func(_ context.Context, f *findings) {
		if b.Snapshots.IndexWritten() != was {
			f.gitChange(GitChange{Path: gitIndex, After: "written anew"})
		}
	}
}

// index finds what became of git's index where no git command may write it: what git remembers of times does not count.
func (b *Baseline) index(began time.Time) look {
	was := b.Snapshots.Index()
	return func(_ context.Context, f *findings) {
		switch {
		case b.Snapshots.Index() == was:
		case b.gits.since(began):
			f.note(detailGaps, gitIndex+gitRan)
		default:
			f.charge(gitIndex, change.Modified, hooks.History, f.Forbids(gitIndex))
		}
	}
}

// gitRan is why what changed is nobody's.
const gitRan = ": a git command of another call ran at the time"

// maxStoreChanges bounds the violations that are made of single objects.
const maxStoreChanges = 100

// gitStore makes violations of what is gone or changed of git's objects, logs and remote-tracking branches where no git
// command may write them; where one may, of packs that other clones have too.
func (b *Baseline) gitStore(began time.Time) look {
	const name = ".git/objects"
	store := b.Snapshots.GitStore()
	return func(_ context.Context, f *findings) {
		if store == nil {
			return
		}
		changes := store.Packs
		if !f.Git {
			if b.gits.since(began) {
				f.note(detailGaps, name+gitRan)
				return
			}
			changes = store.Changes
		}
		said := 0
		for _, c := range changes() {
			v, is := f.storeViolation(&c)
			switch {
			case !is, slices.ContainsFunc(f.outcome.Violations, func(other hooks.Violation) bool { return other.Path == v.Path }):
			case said == maxStoreChanges:
				f.charge(name, change.Modified, hooks.History, "more of it than is listed")
				return
			default:
				said++
				f.also(v)
			}
		}
		if store.Short && !f.Git {
			f.note(detailGaps, name+": so much is in it that not all was looked at (git gc makes it less)")
		}
	}
}

func (f *findings) storeViolation(c *snapshot.StoreChange) (v hooks.Violation, is bool) {
	v = hooks.Violation{Path: Shown(c.Path), Op: change.Modified, Kind: hooks.History, Reason: "it is part of git's store, which only a git command in the line may change"}
	if c.Gone {
		v.Op = change.Deleted
	}
	if c.Links > 1 {
		v.Kind = hooks.Outside
		v.Reason = fmt.Sprintf("%d other names of this file (hard links), as in another clone, changed with it; this server only looks whether it changed, and does not undo it", c.Links-1)
	}
	// Landlock lets no more than metadata be changed there, which git does too where it finds an object that it has.
	return v, f.free() || f.Git || !c.Gone && (c.Loose || c.Links > 1)
}

// touched makes violations of what was touched out of scope.
func (f *findings) touched(found *snapshot.Difference) {
	if f.held() {
		return
	}
	for _, t := range found.Touched {
		if inside := "/" + t.Path + "/"; gitState(t.Path) || t.Kind == snapshot.Directory && strings.Contains(inside, "/.git/") {
			continue // git makes its own anew
		}
		if t.Shared {
			f.note(detailShared, Shown(t.Path))
		}
		f.also(hooks.Violation{
			Path: Shown(t.Path), Op: change.Modified, Kind: hooks.Metadata,
			Reason: fmt.Sprintf("its metadata: %s; %s", t.What, f.Forbids(t.Path)), Wanted: f.Wanted(t.Path),
		})
	}
}

// outside makes violations of what changed outside of the workspace: of the watched places, and of what the line names.
func (b *Baseline) outside() look {
	places, line := outside.Look(b.Outside()), b.named()
	return func(_ context.Context, f *findings) {
		changes := outside.Look(b.Outside()).Changes(places)
		named, short := line.Changes()
		for _, c := range named {
			// Landlock lets nothing be made, removed, or made longer or shorter there.
			possible := f.Level != sandbox.Landlock || c.Op == change.Modified && c.Kept
			known := slices.ContainsFunc(changes, func(other outside.Change) bool { return other.Name == c.Name })
			if possible && !known {
				changes = append(changes, c)
			}
		}
		for _, c := range changes {
			reason := "it is outside of the workspace; this server only looks whether it changed, and does not undo it"
			if c.Metadata {
				reason = "its metadata; " + reason
			}
			f.charge(c.Name, c.Op, hooks.Outside, reason)
		}
		for _, dir := range short {
			f.note(detailGaps, Shown(dir)+": too much is in it to look at all of it")
		}
		if len(short) > 0 && f.free() {
			f.warn("Not all of %s, which the line names, was looked at: what the command changed there is not all known.", printable.Name(Shown(short[0])))
		}
	}
}

// otherNames makes violations of files in scope that were written in place and
// have names outside of the workspace: those changed with them.
func (f *findings) otherNames(found *snapshot.Difference) {
	linked := f.base.window.Linked()
	if linked == nil {
		return
	}
	type file struct{ dev, inode uint64 }
	inside, of := map[file]uint64{}, map[string]*snapshot.Linked{}
	for i := range linked.Files {
		one := &linked.Files[i]
		inside[file{one.Dev, one.Inode}]++
		of[one.Path()] = one
	}
	for i := range found.Changes {
		c := &found.Changes[i]
		one := of[c.Path]
		if one == nil || !c.InPlace || !f.Allows(c.Path) {
			continue
		}
		if more := one.Links - min(one.Links, inside[file{one.Dev, one.Inode}]); more > 0 {
			f.charge(c.Path, change.Modified, hooks.Outside,
				fmt.Sprintf("%d other names of this file (hard links) are outside of the workspace, or in parts of it that are not looked at, and changed with it", more))
		}
	}
}

// PackageWarnings says of the package directories that changed what the user has to know: what git would take for sources.
func (o *Observer) PackageWarnings(ctx context.Context, counts map[string]*Packaged) (warnings []string) {
	for _, place := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[place].ProgramConfig; n > 0 {
			warnings = append(warnings, fmt.Sprintf("The packages in %s have %d files that make other programs run code where that directory is opened by itself (.vscode, .mcp.json and their like).", printable.Name(place), n))
		}
		// An environment of Python can ignore itself.
		added, err := o.Git.Ask(ctx, "ls-files", "--others", "--exclude-standard", "--directory", "--no-empty-directory", "--", place)
		if err == nil && added != "" {
			warnings = append(warnings, fmt.Sprintf("git does not ignore %s, so git add would take the packages: add the line %q to .gitignore.", printable.Name(place), path.Base(place)+"/"))
		}
	}
	return warnings
}

// named is what the line names outside of the workspace.
func (b *Baseline) named() *outside.Named {
	c, root := b.command, b.Workspace.Dir()
	line := outside.Line{
		Workspace: root, Dir: filepath.Join(root, c.Cwd), Environ: os.Environ(), Text: c.Text,
		Open:   slices.DeleteFunc(slices.Clone(b.Git.Writable), func(p string) bool { return !filepath.IsAbs(p) }),
		Others: len(c.Reading.Unjudged) > 0,
	}
	git := slices.ContainsFunc(c.Reading.Programs, func(p shell.Program) bool { return p.Name == "git" })
	line.Words = slices.Concat(elsewhereInGit(root, git), c.Reading.Writes, c.Reading.Reads)
	for _, p := range c.Reading.Programs {
		// Programs that act by another user's rights.
		line.Others = line.Others || shell.Among("sudo su doas pkexec runuser docker podman systemd-run at crontab", p.Name)
		line.Words = append(line.Words, p.Path)
		for _, a := range p.Args {
			switch at := strings.LastIndex(a.Text, "/"); {
			case a.Exact:
				line.Words = append(line.Words, a.Text)
			case at >= 0: // of a pattern the directory
				line.Words = append(line.Words, a.Text[:at+1])
			}
		}
	}
	return outside.Name(line)
}

// elsewhereInGit are the files of git that stand outside of a linked worktree, or of a submodule: what makes git run
// something, and without a git command in the line what its history is.
func elsewhereInGit(root string, git bool) []string {
	own, common := gitElsewhere(root)
	if own == "" {
		return nil
	}
	names := []string{filepath.Join(common, "hooks"), filepath.Join(common, "config"), filepath.Join(own, "config.worktree")}
	if !git {
		names = append(names, filepath.Join(own, "HEAD"), filepath.Join(common, "packed-refs"), filepath.Join(common, "refs", "heads"), filepath.Join(common, "refs", "tags"))
	}
	return names
}
