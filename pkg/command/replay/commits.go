package replay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
)

const (
	// maxUnknown bounds the commits that are looked at one by one.
	maxUnknown = 1000
	// maxHistory bounds the commits among which an original is looked for.
	maxHistory = 50_000
)

// commit is one that nobody vouches for.
type commit struct {
	id, author, subject, body string
	parents                   []string
}

// Unexplained are the paths of a commit that are not explained; none means that the commit is.
func (j *Judge) Unexplained(ctx context.Context, id string) (map[string]bool, error) {
	if bad, known := j.bad[id]; known {
		return bad, nil
	}
	if err := j.keepTrusted(ctx); err != nil {
		return nil, err
	}
	unknown, err := j.unknown(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, c := range unknown {
		if _, known := j.bad[c.id]; known {
			continue
		}
		if j.looking[c.id] {
			return nil, errCircle
		}
		if err := j.look(ctx, c); err != nil {
			return nil, err
		}
	}
	if _, known := j.bad[id]; !known {
		j.bad[id] = nil // it is among what is trusted
	}
	return j.bad[id], nil
}

// Explained reports whether what a commit has at a path is explained.
func (j *Judge) Explained(ctx context.Context, id, path string) (bool, error) {
	if j.looking[id] {
		return false, nil
	}
	bad, err := j.Unexplained(ctx, id)
	if errors.Is(err, errCircle) {
		return false, nil
	}
	return err == nil && !bad[path], err
}

// errCircle: a commit would be explained by one that comes of it.
var errCircle = errors.New("a commit that comes of another does not explain it")

// keepTrusted drops what is gone of what is trusted: branches are deleted, and their commits in the end too.
func (j *Judge) keepTrusted(ctx context.Context) error {
	if j.trusted != nil {
		return nil
	}
	out, err := j.ask(ctx, j.explains, "cat-file", "--batch-check=%(objectname) %(objecttype)")
	if err != nil {
		return err
	}
	j.trusted = []string{}
	for line := range strings.Lines(out) {
		if id, is := strings.CutSuffix(line, " commit\n"); is {
			j.trusted = append(j.trusted, id)
		}
	}
	return nil
}

// unknown are the commits that a commit comes of and that are not trusted, the oldest first.
func (j *Judge) unknown(ctx context.Context, id string) ([]commit, error) {
	of := []string{id}
	for _, trusted := range j.trusted {
		of = append(of, "^"+trusted)
	}
	all, err := j.log(ctx, of, "%H%x00%P%x00%an <%ae> %ad%x00%s%x00%b", maxUnknown+1, "--topo-order", "--reverse")
	if err == nil && len(all) > maxUnknown {
		err = fmt.Errorf("more than %d commits are neither known from before nor from a configured remote", maxUnknown)
	}
	return all, err
}

// log asks git for commits. The format has the fields of a commit, of which those that nobody needs can be empty.
func (j *Judge) log(ctx context.Context, of []string, format string, most int, args ...string) (all []commit, err error) {
	out, err := j.ask(ctx, of, "log --stdin --no-show-signature --date=raw --encoding=UTF-8",
		append(args, "--format=tformat:"+format+"%x00%x1e", fmt.Sprint("--max-count=", most))...)
	for entry := range strings.SplitSeq(out, "\x00\x1e\n") {
		if parts := strings.SplitN(entry, "\x00", 5); len(parts) == 5 {
			all = append(all, commit{id: parts[0], parents: strings.Fields(parts[1]), author: parts[2], subject: parts[3], body: parts[4]})
		}
	}
	return all, err
}

// look finds what of a commit is not explained, its parents being looked at.
func (j *Judge) look(ctx context.Context, c commit) error {
	// Two commits that are copies of each other do not explain each other.
	j.looking[c.id] = true
	defer delete(j.looking, c.id)
	bad := map[string]bool{}
	first := j.empty
	if len(c.parents) > 0 {
		first = c.parents[0]
	}
	changed, err := j.diff(ctx, first, c.id)
	if err != nil {
		return err
	}
	maps.DeleteFunc(changed, func(path string, _ Entry) bool { return j.allowed(path) })
	// What came unexplained from the first parent stays so.
	for path := range j.bad[first] {
		if _, differs := changed[path]; !differs && !j.allowed(path) {
			bad[path] = true
		}
	}
	var sources []source
	if len(changed) > 0 {
		if sources, err = j.sources(ctx, c); err != nil {
			return err
		}
	}
	for path, entry := range changed {
		is, err := j.madeBy(ctx, sources, path, entry)
		if err != nil {
			return err
		}
		if !is {
			bad[path] = true
		}
	}
	j.bad[c.id] = bad
	return nil
}

// diff are the paths at which a tree differs from another, with what it has.
func (j *Judge) diff(ctx context.Context, from, to string) (map[string]Entry, error) {
	out, err := j.ask(ctx, nil, "diff-tree -r -z --no-renames --raw --no-abbrev --end-of-options", from, to)
	if err != nil {
		return nil, err
	}
	return changedIn(out)
}

// changedIn reads what git says of paths that differ (--raw -z).
func changedIn(out string) (map[string]Entry, error) {
	changed := map[string]Entry{}
	fields := strings.Split(out, "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		words := strings.Fields(fields[i])
		if len(words) != 5 {
			return nil, fmt.Errorf("%w: git says of a difference %.100q", errNoAnswer, fields[i])
		}
		entry := Entry{words[1], words[3]}
		if entry.Mode == "000000" {
			entry = Entry{}
		}
		changed[fields[i+1]] = entry
	}
	return changed, nil
}

// source is a tree that a replay made, of commits that have to be explained.
type source struct {
	tree string
	of   []string
}

// sources are the replays that a commit can be.
func (j *Judge) sources(ctx context.Context, c commit) (all []source, err error) {
	if len(c.parents) != 1 {
		return j.merges(ctx, c.parents)
	}
	parent := c.parents[0]
	if found := revertOf().FindStringSubmatch(c.body); found != nil {
		if made, err := j.revert(ctx, parent, found[1], found[2]); err == nil {
			all = append(all, made)
		}
	}
	originals, err := j.originals(ctx, c)
	if err != nil {
		return nil, err
	}
	for _, original := range originals {
		made, err := j.pick(ctx, parent, original)
		if err != nil {
			return nil, err
		}
		all = append(all, made...)
	}
	return all, nil
}

// merges is the replay of a merge of two; one of more is not replayed.
func (j *Judge) merges(ctx context.Context, parents []string) ([]source, error) {
	if len(parents) != 2 {
		return nil, nil
	}
	tree, err := j.mergeOf(ctx, parents[0], parents[1])
	if err != nil {
		return nil, err
	}
	return []source{{tree, parents}}, nil
}

// revertOf finds the commit that a message says it takes back, and of a merge the parent that is gone back to.
var revertOf = lazy.Regexp(`(?m)^This reverts commit ([0-9a-f]{40,64})(?:, reversing\nchanges made to ([0-9a-f]{40,64}))?\.`)

// revert is the replay of taking back a commit.
func (j *Judge) revert(ctx context.Context, on, original, to string) (source, error) {
	if to == "" {
		parents, err := j.parents(ctx, original)
		if err != nil || len(parents) != 1 {
			return source{}, fmt.Errorf("%w: a revert of %s", errNoAnswer, original)
		}
		to = parents[0]
	}
	tree, err := j.mergeWithBase(ctx, original, on, to)
	return source{tree, []string{on, original, to}}, err
}

// pick are the replays of a commit onto another, of a merge one for each parent.
func (j *Judge) pick(ctx context.Context, on, original string) (all []source, err error) {
	parents, err := j.parents(ctx, original)
	if err != nil {
		return nil, err
	}
	if len(parents) == 0 {
		parents = []string{j.empty}
	}
	for _, base := range parents {
		tree, err := j.mergeWithBase(ctx, base, on, original)
		if err != nil {
			return nil, err
		}
		all = append(all, source{tree, []string{on, original}})
	}
	return all, nil
}

func (j *Judge) parents(ctx context.Context, id string) ([]string, error) {
	out, err := j.ask(ctx, nil, "rev-list --max-count=1 --parents --end-of-options", id)
	if err != nil {
		return nil, err
	}
	words := strings.Fields(out)
	return words[min(1, len(words)):], nil
}

// maxOriginals bounds the commits that one can be a copy of.
const maxOriginals = 8

// originals are other commits by the same author at the same time, those with the same subject first.
func (j *Judge) originals(ctx context.Context, c commit) ([]string, error) {
	if j.authors == nil {
		history, err := j.log(ctx, slices.Concat(j.trusted, slices.Sorted(maps.Keys(j.bad))), "%H%x00%x00%an <%ae> %ad%x00%s%x00", maxHistory)
		if err != nil {
			return nil, err
		}
		j.authors = map[string][]commit{}
		for _, one := range history {
			j.authors[one.author] = append(j.authors[one.author], one)
		}
	}
	var likely, others []string
	for _, other := range j.authors[c.author] {
		switch {
		case other.id == c.id:
		case other.subject == c.subject:
			likely = append(likely, other.id)
		default:
			others = append(others, other.id)
		}
	}
	likely = append(likely, others...)
	return likely[:min(len(likely), maxOriginals)], nil
}

// madeBy reports whether one of some replays makes an entry, of what is explained there.
func (j *Judge) madeBy(ctx context.Context, sources []source, path string, entry Entry) (bool, error) {
	for _, s := range sources {
		has, err := j.entry(ctx, s.tree, path)
		if err != nil {
			return false, err
		}
		if has != entry {
			continue
		}
		explained := true
		for _, of := range s.of {
			is, err := j.Explained(ctx, of, path)
			if err != nil {
				return false, err
			}
			explained = explained && is
		}
		if explained {
			return true, nil
		}
	}
	return false, nil
}
