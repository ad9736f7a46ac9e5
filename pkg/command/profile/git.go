package profile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// errChanged: a file was replaced while it was copied.
var errChanged = errors.New("it changed at this moment")

// maxPacks bounds the files of packs that are looked at.
const maxPacks = 200

// sharedPacks are the packs of a git directory that another clone has too, as hard links that git makes when it clones
// a path: who writes one writes the other's. Where there are too many to look at, all are closed. Paths are absolute.
func sharedPacks(gitDir string) []sandbox.Frozen {
	packs := filepath.Join(gitDir, "objects", "pack")
	dir, err := durable.OpenDirectory(packs)
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(maxPacks + 1)
	if len(names) > maxPacks {
		return []sandbox.Frozen{{Path: packs, Directory: true}}
	}
	var shared []sandbox.Frozen
	for _, name := range names {
		info, err := os.Lstat(filepath.Join(packs, name))
		if err == nil && info.Mode().IsRegular() && durable.StatInfo(info).Links > 1 {
			shared = append(shared, sandbox.Frozen{Path: filepath.Join(packs, name)})
		}
	}
	return shared
}

// openGit lets git's own commands write. Files that another clone has too, by
// hard links, must not be among what they can write: see makePrivate.
func (m *Builder) openGit(r *Profile, req Request) {
	if req.Git == GitClosed {
		return
	}
	repo, why := findRepository(m.root)
	switch {
	case why != "":
		r.warn("The command cannot write .git: %s.", why)
	case repo == nil:
	case req.Level.Freezes():
		m.openRepository(r, repo)
	case req.Git == GitTrusted:
		r.Sandbox.Writable = append(r.Sandbox.Writable, repo.dirs()...)
		m.privateAsFarAsPossible(r, repo.common)
		if _, err := os.Lstat(filepath.Join(repo.common, "orchestra")); err == nil {
			r.warn("At sandbox level landlock commands.git: trust opens the ledger too, which stands in .git: what the command does to it is found afterwards. With ledger.git: tree a new workspace has it in .orchestration, which stays closed.")
		}
	default:
		r.warn("At sandbox level landlock git can read the repository and not change it (add, commit), because hooks and configuration " +
			"cannot be told apart there. The operator can set commands.git: trust.")
	}
}

func (m *Builder) openRepository(r *Profile, repo *repository) {
	large, err := m.private(repo.common, repo.closed)
	if err == nil && len(large) > maxPacks {
		err = errors.New("too many large files have other names")
	}
	if err != nil {
		r.warn("The command cannot write .git: another clone may share files of it (hard links), and they could not be replaced by copies: %v.", err)
		return
	}
	r.Sandbox.Frozen = slices.DeleteFunc(r.Sandbox.Frozen, func(f sandbox.Frozen) bool { return f.Path == repo.common })
	r.Sandbox.Writable = append(r.Sandbox.Writable, repo.dirs()...)
	r.Sandbox.Frozen = append(r.Sandbox.Frozen, repo.guarded()...)
	r.closeInGit(repo.common, large)
}

// closeInGit closes files that could not be replaced, and packs.
func (r *Profile) closeInGit(gitDir string, large []string) {
	r.Sandbox.Frozen = append(r.Sandbox.Frozen, sharedPacks(gitDir)...)
	for _, name := range large {
		r.Sandbox.Frozen = append(r.Sandbox.Frozen, sandbox.Frozen{Path: filepath.Join(gitDir, filepath.FromSlash(name))})
	}
}

// operatorsGit does for a git directory that the operator named what openGit
// does: that of a linked worktree is outside of its workspace.
func (m *Builder) operatorsGit(r *Profile, req Request, place string) {
	if req.Git == GitClosed {
		return
	}
	for _, name := range []string{"objects", "HEAD"} {
		if _, err := os.Lstat(filepath.Join(place, name)); err != nil {
			return
		}
	}
	large := m.privateAsFarAsPossible(r, place)
	if req.Level.Freezes() {
		r.closeInGit(place, large[:min(len(large), maxPacks)])
	}
}

func (m *Builder) privateAsFarAsPossible(r *Profile, gitDir string) []string {
	large, err := m.private(gitDir, func(string) bool { return false })
	if err != nil {
		r.warn("Another clone may share files of %s (hard links), which this command can write: they could not be replaced by copies: %v.", gitDir, err)
	}
	return large
}

// private is makePrivate for commands that begin at once.
func (m *Builder) private(gitDir string, skip func(name string) bool) (large []string, err error) {
	m.sharing.Lock()
	defer m.sharing.Unlock()
	for range 2 { // git may be at work there
		if large, err = makePrivate(gitDir, skip); !errors.Is(err, errChanged) {
			break
		}
	}
	return large, err
}
