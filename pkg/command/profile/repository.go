package profile

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/gitdir"
	"github.com/intentgov/orchestra-mcp/internal/placeholder"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
)

// repository is where git keeps what it knows of a workspace.
type repository struct {
	// common is what all work trees of the repository share; own is the part of
	// a linked work tree, a directory in common/worktrees, else "".
	common, own string
	// others are the names in common that are the main work tree's alone, as its HEAD and its index, where this is a linked one.
	others []sandbox.Frozen
}

// maxOthers bounds the names of another work tree. Git has about twenty.
const maxOthers = 200

// guardedInGit is what makes git run programs, or look in another place, and the ledger with the refs that carry it,
// which are the server's to write. Writing commondir alone makes the operator's own git run a foreign alias.
const guardedInGit = "hooks/ config config.worktree commondir modules/ worktrees/ info/attributes objects/info/alternates orchestra/ refs/orchestra/"

// guardedInOwn is the same of the directory that a linked work tree has for itself.
const guardedInOwn = "config.worktree commondir gitdir modules/"

// sharedInGit are the names in a git directory that belong to all its work
// trees (gitrepository-layout(5), the places that $GIT_COMMON_DIR stands for).
const sharedInGit = "branches info logs lost-found objects refs remotes rr-cache svn lfs gc.pid gc.log packed-refs shallow"

// findRepository finds it, and says why what stands at .git cannot be opened:
// then there can still be one. Neither is given where there is no .git.
func findRepository(root string) (repo *repository, why string) {
	dot := filepath.Join(root, ".git")
	info, err := os.Lstat(dot)
	if err != nil {
		return nil, ""
	}
	if info.IsDir() {
		repo = &repository{common: dot}
	} else if repo, why = linked(dot); why != "" {
		return repo, why
	}
	for _, f := range repo.guarded() {
		for name := f.Path; name != repo.common && name != repo.own; name = filepath.Dir(name) {
			if info, err := os.Lstat(name); err == nil && info.Mode()&os.ModeSymlink != 0 {
				return repo, repo.shown(name) + " is a link, which nothing can guard"
			}
		}
	}
	return repo, ""
}

// linked follows the pointer of a linked work tree. A file of the workspace must not say what is writable outside of
// it: the place that it names has to point back, from where only git and the operator write.
func linked(dot string) (*repository, string) {
	const stays = "it points to a directory elsewhere, which stays closed; the operator can name that one in commands.writable"
	own, err := filepath.EvalSymlinks(gitdir.PointedPlainly(dot, "gitdir: "))
	if err != nil || filepath.Base(filepath.Dir(own)) != "worktrees" {
		return nil, stays // a submodule, or a git directory that was moved away
	}
	repo := &repository{common: filepath.Dir(filepath.Dir(own)), own: own}
	if common, err := filepath.EvalSymlinks(gitdir.PointedPlainly(filepath.Join(own, "commondir"), "")); err != nil || common != repo.common {
		return nil, stays
	}
	if back, err := filepath.EvalSymlinks(gitdir.PointedPlainly(filepath.Join(own, "gitdir"), "")); err != nil || back != dot {
		return nil, fmt.Sprintf("it points to %s, which is the linked work tree of another directory; git worktree repair, run by the operator, mends one that was moved", own)
	}
	if within(repo.common, dot) {
		return nil, fmt.Sprintf("the workspace lies in the git directory that it belongs to, %s, where nothing tells them apart", repo.common)
	}
	return repo, repo.findOthers()
}

// findOthers finds what is the main work tree's alone. It says why that cannot be told.
func (g *repository) findOthers() (why string) {
	entries, err := durable.ReadDirectory(g.common)
	if err != nil {
		return fmt.Sprintf("%s cannot be read: %v", g.common, err)
	}
	for _, e := range entries {
		name := e.Name()
		if name == "reftable" {
			return "its branches are in the format reftable, where the HEAD of the other work trees cannot be told apart; the operator can name " + g.common + " in commands.writable"
		}
		// What comes and goes within a moment would get a stand-in, and sockets are hidden.
		passing := strings.HasSuffix(name, ".lock") || placeholder.Temporary(name)
		kind := e.Type() &^ (os.ModeDir | os.ModeSymlink)
		if !passing && kind == 0 && !shell.Among(sharedInGit, name) && !isGuarded(name) {
			g.others = append(g.others, sandbox.Frozen{Path: filepath.Join(g.common, name), Directory: e.IsDir()})
		}
	}
	for _, name := range []string{"logs/HEAD", "info/sparse-checkout"} {
		at := filepath.Join(g.common, filepath.FromSlash(name))
		if _, err := os.Lstat(at); err == nil {
			g.others = append(g.others, sandbox.Frozen{Path: at})
		}
	}
	if len(g.others) > maxOthers {
		return fmt.Sprintf("%s has more than %d files that are not git's", g.common, maxOthers)
	}
	return ""
}

// dirs are what a command may write of it.
func (g *repository) dirs() []string {
	return slices.DeleteFunc([]string{g.common, g.own}, func(dir string) bool { return dir == "" })
}

// guarded are the paths to freeze.
func (g *repository) guarded() []sandbox.Frozen {
	return slices.Concat(guardedIn(g.common, guardedInGit), guardedIn(g.own, guardedInOwn), g.others)
}

// guardedIn places names in a git directory. Where the directory of one is missing, that directory must not come into being.
func guardedIn(gitDir, names string) []sandbox.Frozen {
	if gitDir == "" {
		return nil
	}
	all := frozen(names)
	for i := range all {
		for dir := path.Dir(all[i].Path); dir != "."; dir = path.Dir(dir) {
			if _, err := os.Lstat(filepath.Join(gitDir, filepath.FromSlash(dir))); err != nil {
				all[i] = sandbox.Frozen{Path: dir, Directory: true}
			}
		}
	}
	return placed(gitDir, all)
}

// closed reports whether a path in the common directory cannot be written.
func (g *repository) closed(name string) bool {
	at := filepath.Join(g.common, filepath.FromSlash(name))
	if g.own != "" && strings.HasPrefix(name, "worktrees") {
		way, inside := below(g.own, at)
		return !within(at, g.own) && !inside || inside && slices.ContainsFunc(frozen(guardedInOwn), func(f sandbox.Frozen) bool { return f.Path == way })
	}
	return isGuarded(name) || slices.ContainsFunc(g.others, func(f sandbox.Frozen) bool { return f.Path == at })
}

// shown is a path as the command's line would name it.
func (g *repository) shown(at string) string {
	if way, is := below(g.common, at); is && g.own == "" {
		return ".git/" + way
	}
	return at
}

// isGuarded reports whether a path in a git directory stays closed.
func isGuarded(name string) bool { return guarded()[name] }

var guarded = sync.OnceValue(func() map[string]bool {
	paths := map[string]bool{}
	for _, f := range frozen(guardedInGit) {
		paths[f.Path] = true
	}
	return paths
})

// guardedNames are the names that must not come into being at the top of a workspace: its governance, its repository,
// and the files that make other programs run code.
const guardedNames = ".orchestration/ .intentignore .git/ .mcp.json .envrc .roomodes .cursor/ .roo/ .vscode/ .claude/"

// frozen are names with blanks between them, those of directories with a slash at their end.
func frozen(names string) (all []sandbox.Frozen) {
	for name := range strings.FieldsSeq(names) {
		path, directory := strings.CutSuffix(name, "/")
		all = append(all, sandbox.Frozen{Path: path, Directory: directory})
	}
	return all
}

// placed are names of a directory as absolute paths.
func placed(dir string, names []sandbox.Frozen) []sandbox.Frozen {
	for i := range names {
		names[i].Path = filepath.Join(dir, filepath.FromSlash(names[i].Path))
	}
	return names
}

// Sweep removes what commands left standing where guarded files were to stay absent, when they and their server were killed.
func (m *Builder) Sweep() {
	all := placed(m.root, frozen(guardedNames))
	if repo, _ := findRepository(m.root); repo != nil {
		all = append(all, repo.guarded()...)
	}
	sandbox.Sweep(all)
}

// absent are the guarded names that do not exist. Those that do are found by the walk.
func absent(root string) []sandbox.Frozen {
	return slices.DeleteFunc(frozen(guardedNames), func(f sandbox.Frozen) bool {
		_, err := os.Lstat(filepath.Join(root, f.Path))
		return !os.IsNotExist(err)
	})
}
