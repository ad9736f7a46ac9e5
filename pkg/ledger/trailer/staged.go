package trailer

import (
	"context"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/gitdir"
	"github.com/intentgov/orchestra-mcp/internal/gitread"
	"github.com/intentgov/orchestra-mcp/internal/lazy"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// Repository is where git runs, with the environment that a hook gets: the index there may be one of its own.
type Repository struct {
	Dir    string // the top of the work tree
	Prefix string // of the workspace below it, slash-separated, with a final slash; empty at the top
}

const (
	home       = ".orchestration/"
	fewPaths   = 8        // are asked for one by one; for more all records are read once
	maxContent = 16 << 20 // of a file that is looked into
)

func (r Repository) git(ctx context.Context, input string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"--literal-pathspecs"}, args...)...)
	cmd.Dir = r.Dir
	cmd.Stdin = strings.NewReader(input)
	return gitread.Output(cmd, args[0])
}

// staged is a path of the workspace that the index has in another state than a commit.
type staged struct {
	path     string // relative to the workspace
	old, new string // blob ids; empty if there is no file
}

// Staged gives the intents whose recorded changes are in the staged content, sorted.
func Staged(ctx context.Context, root *os.Root, r Repository) ([]string, error) {
	changes, err := r.changes(ctx)
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	steps, err := readSteps(ctx, root, changes)
	if err != nil {
		return nil, err
	}
	var intents []string
	for _, c := range changes {
		counted, err := r.counted(ctx, c, steps[c.path])
		if err != nil {
			return nil, err
		}
		for _, s := range counted {
			if isTrailerValue(s.intent) {
				intents = append(intents, s.intent)
			}
		}
	}
	slices.Sort(intents)
	return slices.Compact(intents), nil
}

// isTrailerValue keeps text that no intent has out of a message: a ledger can come from anybody.
func isTrailerValue(intent string) bool {
	return intent != "" && len(intent) <= 64 && !strings.ContainsFunc(intent, func(c rune) bool {
		return !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-", c)
	})
}

// changes are those against HEAD, and in a merge against every other parent too.
func (r Repository) changes(ctx context.Context) ([]staged, error) {
	parents := []string{"HEAD"}
	if _, err := r.git(ctx, "", "rev-parse", "--verify", "--quiet", "HEAD"); err != nil {
		tree, err := r.git(ctx, "", "hash-object", "-t", "tree", "--stdin") // of no commit: the empty tree
		if err != nil {
			return nil, err
		}
		parents = []string{strings.TrimSpace(tree)}
	}
	parents = append(parents, r.mergeHeads(ctx)...)
	changes, err := r.changesSince(ctx, parents[0])
	for _, parent := range parents[1:] {
		if err != nil {
			return nil, err
		}
		var own []staged
		own, err = r.changesSince(ctx, parent)
		changes = slices.DeleteFunc(changes, func(c staged) bool {
			return !slices.ContainsFunc(own, func(o staged) bool { return o.path == c.path })
		})
	}
	return changes, err
}

func (r Repository) mergeHeads(ctx context.Context) []string {
	file, err := r.git(ctx, "", "rev-parse", "--git-path", "MERGE_HEAD")
	if err != nil {
		return nil
	}
	name := strings.TrimSuffix(file, "\n")
	if !path.IsAbs(name) {
		name = r.Dir + "/" + name
	}
	content, _ := durable.ReadRegular(name, maxMessage)
	return strings.Fields(string(content))
}

func (r Repository) changesSince(ctx context.Context, parent string) ([]staged, error) {
	pathspec := r.Prefix
	if pathspec == "" {
		pathspec = "."
	}
	raw, err := r.git(ctx, "", "diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", "--no-ext-diff", parent, "--", pathspec)
	if err != nil {
		return nil, err
	}
	var changes []staged
	items := strings.Split(raw, "\x00")
	for i := 0; i+1 < len(items); i += 2 {
		about := strings.Fields(strings.TrimPrefix(items[i], ":")) // old mode, new mode, old id, new id, status
		name, inside := strings.CutPrefix(items[i+1], r.Prefix)
		if len(about) != 5 || !inside || strings.HasPrefix(name, home) || isSubmodule(about[0]) || isSubmodule(about[1]) {
			continue
		}
		changes = append(changes, staged{path: name, old: blobOrNone(about[2]), new: blobOrNone(about[3])})
	}
	return changes, nil
}

func isSubmodule(mode string) bool { return mode == "160000" }

func blobOrNone(id string) string {
	if strings.Trim(id, "0") == "" {
		return ""
	}
	return id
}

// readSteps gives the recorded steps of each path, oldest first.
func readSteps(ctx context.Context, root *os.Root, changes []staged) (map[string][]step, error) {
	l, err := ledger.Open(root, ledger.Options{})
	if err != nil {
		return nil, err
	}
	defer l.Close(ctx)
	steps := make(map[string][]step, len(changes))
	for _, c := range changes {
		steps[c.path] = nil
	}
	if len(changes) > fewPaths {
		return steps, scanSteps(ctx, l, steps)
	}
	for name := range steps {
		result, err := l.Query(ctx, record.Filter{Path: name, Kinds: record.ChangeKinds()})
		if err != nil {
			return nil, err
		}
		for _, e := range result.Entries {
			steps[name] = append(steps[name], stepsOf(e, name)...)
		}
	}
	return steps, nil
}

func scanSteps(ctx context.Context, l *ledger.Ledger, steps map[string][]step) error {
	_, err := l.Scan(ctx, func(e record.Entry) error {
		var names []string
		for _, c := range e.Changes {
			names = append(names, c.Path, c.From)
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			if _, wanted := steps[name]; wanted {
				steps[name] = append(steps[name], stepsOf(e, name)...)
			}
		}
		return nil
	})
	return err
}

// counted are the steps of a change. The ledger has ids of contents as they are in the work tree, before git's filters
// (line endings, LFS): where it does not know git's ids, it is asked for those of the filtered contents.
func (r Repository) counted(ctx context.Context, c staged, steps []step) ([]step, error) {
	if len(steps) == 0 {
		return nil, nil
	}
	from, to := []string{c.old}, []string{c.new}
	counted, exact := between(steps, from, to)
	if exact && len(counted) > 0 {
		return counted, nil
	}
	full := r.Prefix + c.path
	content, err := r.worktreeForm(ctx, c.new, full)
	if err != nil {
		return nil, err
	}
	before, err := r.worktreeForm(ctx, c.old, full)
	if err != nil {
		return nil, err
	}
	git := gitdir.New(r.Dir)
	if c.old != "" {
		from = append(from, git.BlobID([]byte(before)))
	}
	if c.new != "" {
		to = append(to, git.BlobID([]byte(content)))
	}
	if counted, exact = between(steps, from, to); exact {
		return counted, nil
	}
	if c.new == "" {
		return nil, nil
	}
	lines, added := edit.Lines(content), addedLines(before, content)
	return slices.DeleteFunc(slices.Clone(counted), func(s step) bool { return !s.standsIn(lines, added) }), nil
}

// worktreeForm is a blob's content as a checkout would write it; of a large one nothing.
func (r Repository) worktreeForm(ctx context.Context, id, name string) (string, error) {
	if id == "" {
		return "", nil
	}
	size, err := r.git(ctx, "", "cat-file", "-s", id)
	if err != nil || len(strings.TrimSpace(size)) > len("16777216") {
		return "", err
	}
	content, err := r.git(ctx, "", "cat-file", "--filters", "--path="+name, id)
	if err == nil && len(content) > maxContent {
		content = ""
	}
	return content, err
}

// Key is that of the trailers.
const Key = "Orchestra-Intent"

// Trailer is one line at the end of a message.
type Trailer struct{ Key, Value string }

// maxMessage bounds a message and what is compared with it, in bytes.
const maxMessage = 16 << 20

// scissors begins what git commit --verbose shows and takes out again; the comment character is the user's.
var scissors = lazy.Regexp(`(?m)^\S{1,8} -{24} >8 -{24}$`)

// Add puts trailers into the message in a file, each unless it is there.
func Add(ctx context.Context, r Repository, file string, trailers []Trailer) error {
	if len(trailers) == 0 {
		return nil
	}
	content, err := durable.ReadRegular(file, maxMessage)
	if err != nil {
		return err
	}
	message, err := r.stripped(ctx, string(content))
	if err != nil || message == "" || r.isTemplate(ctx, message) {
		return err
	}
	args := []string{"interpret-trailers", "--in-place", "--no-divider", "--where", "end", "--if-exists", "addIfDifferent", "--if-missing", "add"}
	for _, t := range trailers {
		args = append(args, "--trailer", t.Key+": "+t.Value)
	}
	_, err = r.git(ctx, "", append(args, file)...)
	return err
}

// stripped is the message as git sees it when it asks whether there is one.
func (r Repository) stripped(ctx context.Context, content string) (string, error) {
	if cut := scissors().FindStringIndex(content); cut != nil {
		content = content[:cut[0]]
	}
	return r.git(ctx, content, "stripspace", "--strip-comments")
}

// isTemplate reports whether nobody has touched the template that git began with: git gives up such a commit.
func (r Repository) isTemplate(ctx context.Context, message string) bool {
	name, err := r.git(ctx, "", "config", "--type=path", "commit.template")
	if err != nil {
		return false
	}
	name = strings.TrimSuffix(name, "\n")
	if !strings.HasPrefix(name, "/") {
		name = r.Dir + "/" + name
	}
	content, err := durable.ReadRegular(name, maxMessage)
	if err != nil {
		return false
	}
	template, err := r.stripped(ctx, string(content))
	return err == nil && template == message
}
