package replay

import (
	"context"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/gitread"
	"github.com/intentgov/orchestra-mcp/pkg/command/layer"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// Repository is git's of a workspace, as the server asks it.
type Repository struct {
	gitread.Repository
	Workspace *workspace.Workspace
	// NewBlobHash makes ids of blobs, as the repository has them.
	NewBlobHash func(size int64) hash.Hash
	// Writable are places beside the workspace that commands can write, absolute or relative to it.
	Writable []string
}

// Trust is what is remembered of the repository's commits.
func (r *Repository) Trust() *Trust {
	return &Trust{Open: func() (*durable.Dir, error) { return r.Workspace.OpenOwn("state", "git") }}
}

// Refs are what the refs of a repository say.
type Refs struct {
	Tips    []string          // of all, HEAD included, each once, sorted
	Remotes map[string]string // remote-tracking branches, by their full names
	Ledger  map[string]string // refs/orchestra
	Text    string            // all but those of the ledger, as git shows them
}

// Refs asks git for them.
func (r *Repository) Refs(ctx context.Context) (Refs, error) {
	refs := Refs{Remotes: map[string]string{}, Ledger: map[string]string{}}
	out, err := r.Ask(ctx, "show-ref", "--head", "--dereference")
	if err != nil {
		// Without any ref it answers with 1, and nothing; without a commit there is none.
		if _, plain := r.Ask(ctx, "rev-parse", "--git-dir"); plain == nil && strings.HasSuffix(err.Error(), "exit status 1: ") {
			return refs, nil
		}
		return refs, err
	}
	var others strings.Builder
	for line := range strings.Lines(out) {
		id, name, ok := strings.Cut(strings.TrimRight(line, "\n"), " ")
		switch {
		case !ok:
		case strings.HasPrefix(name, "refs/orchestra/"):
			refs.Ledger[name] = id
			continue // which says nothing of the work tree
		case strings.HasPrefix(name, "refs/remotes/"):
			refs.Remotes[name] = id
		}
		refs.Tips = append(refs.Tips, id)
		others.WriteString(line)
	}
	refs.Text = others.String()
	slices.Sort(refs.Tips)
	refs.Tips = slices.Compact(refs.Tips)
	return refs, nil
}

// LedgerBack puts a ref of the ledger back that a command took away or moved to
// what does not come of it. sync may bring it on: then there is nothing to do.
func (r *Repository) LedgerBack(ctx context.Context, name, was, is string) (wrong, back bool) {
	if is != "" {
		if _, err := r.Ask(ctx, "merge-base", "--is-ancestor", "--end-of-options", was, is); err == nil {
			return false, false
		}
	}
	return true, r.Command(ctx, "update-ref", "--no-deref", name, was).Run() == nil
}

// Fetched are what a line that can only fetch has moved of the remote-tracking
// branches of remotes that the operator configured elsewhere than in the workspace.
func (r *Repository) Fetched(ctx context.Context, line Line, before, after map[string]string) (ids []string) {
	if !line.Remotes {
		return nil
	}
	remotes := r.remotes(ctx)
	if slices.ContainsFunc(line.Named, func(named string) bool { return !remotes[named] }) {
		return nil // a path or a URL, or a remote in the workspace
	}
	for name, id := range after {
		remote, _, _ := strings.Cut(strings.TrimPrefix(name, "refs/remotes/"), "/")
		if before[name] != id && remotes[remote] {
			ids = append(ids, id)
		}
	}
	return ids
}

// remotes are the configured ones, by what a fetch from them may explain.
func (r *Repository) remotes(ctx context.Context) map[string]bool {
	out, err := r.Ask(ctx, "config", "--null", "--get-regexp", `^remote\..*\.url$`)
	if err != nil {
		return nil
	}
	remotes := map[string]bool{}
	for entry := range strings.SplitSeq(out, "\x00") {
		key, url, ok := strings.Cut(entry, "\n")
		if !ok {
			continue
		}
		name := strings.TrimSuffix(strings.TrimPrefix(key, "remote."), ".url")
		was, known := remotes[name]
		remotes[name] = r.elsewhere(url) && (was || !known)
	}
	return remotes
}

// elsewhere reports whether a URL of git's leads to where no command writes.
func (r *Repository) elsewhere(url string) bool {
	if scheme, rest, is := strings.Cut(url, "://"); is {
		if scheme != "file" {
			return true
		}
		url = rest
	} else if host, _, is := strings.Cut(url, ":"); is && !strings.Contains(host, "/") {
		return true // host:path
	}
	absolute := func(path string) string {
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(r.Workspace.Dir(), path)
	}
	real, err := filepath.EvalSymlinks(absolute(url))
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(append(slices.Clone(r.Writable), "."), func(place string) bool {
		way, err := filepath.Rel(absolute(place), real)
		return err == nil && filepath.IsLocal(way)
	})
}

// maxWords bounds the words of a line that are looked up, maxCommits the commits that Between names.
const (
	maxWords   = 20
	maxCommits = 100
)

// Commits are those that some words name.
func (r *Repository) Commits(ctx context.Context, words []string) (ids []string) {
	var names strings.Builder
	for _, word := range words[:min(len(words), maxWords)] {
		if !strings.Contains(word, "\n") {
			names.WriteString(word + "^{commit}\n")
		}
	}
	if names.Len() == 0 || r.Plain() != nil {
		return nil
	}
	cmd := r.Command(ctx, "cat-file", "--batch-check=%(objectname)")
	cmd.Stdin = strings.NewReader(names.String())
	out, err := cmd.Output()
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(out)) {
		if id := strings.TrimSuffix(line, "\n"); gitread.IsID(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Between are the commits that came under HEAD, the latest first; 100 at most.
func (r *Repository) Between(ctx context.Context, before, after string) []string {
	if after == "" || before == after {
		return nil
	}
	args := []string{"rev-list", fmt.Sprint("--max-count=", maxCommits), after}
	if before != "" {
		args = append(args, "^"+before)
	}
	out, _ := r.Ask(ctx, args...)
	return strings.Fields(out)
}

// Staged are the blobs that the index has and a commit has not, by path.
func (r *Repository) Staged(ctx context.Context, head string) (map[string]string, error) {
	out, err := r.Ask(ctx, "diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", head)
	if err != nil {
		return nil, err
	}
	changed, err := changedIn(out)
	staged := map[string]string{}
	for path, entry := range changed {
		if strings.Trim(entry.ID, "0") != "" {
			staged[path] = entry.ID
		}
	}
	return staged, err
}

// Indexed is the blob that an index file has at a path; "" for none.
func (r *Repository) Indexed(ctx context.Context, index, path string) (string, error) {
	cmd := r.Command(ctx, "ls-files", "--stage", "-z", "--full-name", "--", path)
	cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+index)
	out, err := cmd.Output()
	words := strings.Fields(string(out))
	if err != nil || len(words) < 2 {
		return "", err
	}
	return words[1], nil
}

// Entry is what git would have of what stands at a place.
func (r *Repository) Entry(n layer.Node) (Entry, error) {
	if !n.There || n.Mode.IsDir() {
		return Entry{}, nil
	}
	if n.Mode&fs.ModeSymlink != 0 {
		text, err := os.Readlink(n.At)
		if err != nil {
			return Entry{}, err
		}
		return r.entry("120000", int64(len(text)), strings.NewReader(text))
	}
	if !n.Mode.IsRegular() {
		return Entry{Mode: "special", ID: n.Mode.String()}, nil
	}
	file, info, err := durable.OpenRegular(n.At)
	if err != nil {
		return Entry{}, err
	}
	defer file.Close()
	return r.entry(gitread.FileMode(info.Mode()), info.Size(), file)
}

func (r *Repository) entry(mode string, size int64, content io.Reader) (Entry, error) {
	sum := r.NewBlobHash(size)
	_, err := io.Copy(sum, content)
	return Entry{Mode: mode, ID: fmt.Sprintf("%x", sum.Sum(nil))}, err
}

// NewStore is the store of two git directories, with layers over those of uppers, which names the upper directory by the one below it.
func NewStore(common, own string, uppers map[string]string) Store {
	view := func(dir string) layer.View {
		v := layer.View{Lower: dir}
		for lower, upper := range uppers {
			if way, err := filepath.Rel(lower, dir); err == nil && filepath.IsLocal(way) {
				v.Upper = filepath.Join(upper, way)
			}
		}
		return v
	}
	return Store{Common: view(common), Own: view(own)}
}
