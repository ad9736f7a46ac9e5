package replay

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/gitread"
	"github.com/intentgov/orchestra-mcp/pkg/command/layer"
)

// Store is where git keeps what it knows of a work tree: Common is shared by all
// of a repository, Own is this one's. In a plain clone they are the same.
type Store struct{ Common, Own layer.View }

// State is what git has a work tree at.
type State struct {
	// Head is the commit; "" before the first.
	Head string
	// Under are the commits of what is under way, by the names of git's files, and the last stash by the name of its ref.
	Under map[string]string
}

const (
	stash      = "refs/stash"
	maxPacked  = 64 << 20
	maxPointer = 4 << 10
)

// State reads it.
func (s Store) State() State {
	state := State{Head: s.id(s.Own, "HEAD"), Under: map[string]string{}}
	if ref := s.Branch(); ref != "" {
		state.Head = s.Ref(ref)
	}
	for name := range strings.FieldsSeq("MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD REBASE_HEAD") {
		if id := s.id(s.Own, name); id != "" {
			state.Under[name] = id
		}
	}
	if id := s.Ref(stash); id != "" {
		state.Under[stash] = id
	}
	return state
}

// Branch is the full name of the ref that HEAD names; "" if it names none.
func (s Store) Branch() string {
	text, _ := s.Own.Read("HEAD", maxPointer)
	if ref, is := strings.CutPrefix(strings.TrimSpace(string(text)), "ref: "); is {
		return ref
	}
	return ""
}

// Locks are the files, absolute, by which git keeps others off the index and the branch. One that stays is of a git that was killed.
func (s Store) Locks() (found []string) {
	at := []layer.Node{s.Own.Find("index.lock"), s.Own.Find("HEAD.lock"), s.Common.Find("packed-refs.lock")}
	if ref := s.Branch(); strings.HasPrefix(ref, "refs/") {
		at = append(at, s.Common.Find(ref+".lock"))
	}
	for _, n := range at {
		if n.There {
			found = append(found, n.At)
		}
	}
	return found
}

// id is the commit that a file names first.
func (s Store) id(in layer.View, name string) string {
	text, err := in.Read(name, maxPointer)
	first, _, _ := strings.Cut(string(text), "\n")
	if err != nil || !gitread.IsID(first) {
		return ""
	}
	return first
}

// Ref is what a ref with a full name says; "" if there is none.
func (s Store) Ref(name string) string {
	if strings.HasPrefix(name, "refs/") {
		if id := s.id(s.Common, name); id != "" {
			return id
		}
	}
	return s.packed()[name]
}

func (s Store) packed() map[string]string {
	refs := map[string]string{}
	text, _ := s.Common.Read("packed-refs", maxPacked)
	for line := range strings.Lines(string(text)) {
		if id, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok && gitread.IsID(id) {
			refs[name] = id
		}
	}
	return refs
}

// Ledger are the refs of the ledger with what they say, as far as these are of the packed ones and of names.
func (s Store) Ledger(names ...string) map[string]string {
	refs := s.packed()
	maps.DeleteFunc(refs, func(name, _ string) bool { return !strings.HasPrefix(name, "refs/orchestra/") })
	for _, name := range names {
		if id := s.Ref(name); id != "" {
			refs[name] = id
		}
	}
	return refs
}

// Standing tells what a work tree may say out of scope.
type Standing struct {
	judge   *Judge
	sources []source
}

// With is the state with the stash that stood there before: one that was popped is on no ref any more.
func (s State) With(before State) State {
	if id := before.Under[stash]; id != "" {
		s.Under = maps.Clone(s.Under)
		s.Under[stash] = id
	}
	return s
}

// Standing makes it: of the state, and of commits that the line names and leaves
// what it makes of uncommitted. What cannot be replayed explains nothing.
func (j *Judge) Standing(ctx context.Context, s State, uncommitted []string) *Standing {
	standing := &Standing{judge: j}
	if s.Head == "" {
		return standing
	}
	standing.sources = append(standing.sources, source{s.Head, []string{s.Head}})
	add := func(all []source, err error) {
		if err == nil {
			standing.sources = append(standing.sources, all...)
		}
	}
	addRevert := func(of string) {
		made, err := j.revert(ctx, s.Head, of, "")
		add([]source{made}, err)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Under)) {
		id := s.Under[name]
		switch name {
		case "MERGE_HEAD":
			add(j.merges(ctx, []string{s.Head, id}))
		case "REVERT_HEAD":
			addRevert(id)
		case stash:
			all, err := j.pick(ctx, s.Head, id)
			add(all[:min(1, len(all))], err)
		default:
			add(j.pick(ctx, s.Head, id))
		}
	}
	for _, id := range uncommitted {
		add(j.merges(ctx, []string{s.Head, id}))
		add(j.pick(ctx, s.Head, id))
		addRevert(id)
	}
	return standing
}

// Has reports whether what stands at a path is explained. content is asked where markers have to be compared.
func (s *Standing) Has(ctx context.Context, path string, entry Entry, content func() (string, error)) (bool, error) {
	is, err := s.judge.madeBy(ctx, s.sources, path, entry)
	if is || err != nil || entry.ID == "" {
		return is, err
	}
	for _, from := range s.sources[min(1, len(s.sources)):] {
		made, err := s.judge.entry(ctx, from.tree, path)
		if err != nil {
			return false, err
		}
		if made.Mode != entry.Mode || made.ID == "" {
			continue
		}
		blob, err := s.judge.blob(ctx, made.ID, maxMarked)
		if err != nil || !strings.Contains("\n"+blob, "\n"+marker) {
			continue
		}
		if text, err := content(); err != nil || unnamed(text) != unnamed(blob) {
			continue
		}
		// That is what the replay has there: it is as explained as that.
		if is, err := s.judge.madeBy(ctx, []source{from}, path, made); is || err != nil {
			return is, err
		}
	}
	return false, nil
}

// Committed reports whether some trusted commit has a blob at a path: then it is not lost where the file is
// overwritten. A commit of the agent's own does not count, which could be dropped behind it.
func (j *Judge) Committed(ctx context.Context, path, id string) (bool, error) {
	if err := j.keepTrusted(ctx); err != nil || len(j.trusted) == 0 {
		return false, err
	}
	out, err := j.ask(ctx, j.trusted, "rev-list --objects --no-object-names --stdin --", path)
	return err == nil && slices.Contains(strings.Fields(out), id), err
}

const (
	// maxMarked bounds a file whose markers are compared, in bytes.
	maxMarked = 16 << 20
	marker    = "<<<<<<< "
	// maxLabel bounds the name behind a marker, in bytes.
	maxLabel = 300
)

// unnamed is a text without the names behind its conflict markers: git takes them from the words of a line.
func unnamed(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		for _, mark := range []string{marker, "||||||| ", ">>>>>>> "} {
			if strings.HasPrefix(line, mark) && len(line) <= len(mark)+maxLabel {
				line = mark + "\n"
			}
		}
		b.WriteString(line)
	}
	return b.String()
}
