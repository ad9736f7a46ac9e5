package review_test

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/gitref"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/seal"
	"github.com/intentgov/orchestra-mcp/pkg/review"
)

// moveTo goes on in another work tree or clone.
func (r *repo) moveTo(dir string) {
	r.top, r.dir = dir, dir
	root := check.Value(os.OpenRoot(dir))(r.t)
	check.OK(r.t, r.ledger.Close(r.t.Context()))
	check.OK(r.t, r.root.Close())
	r.root = root
	r.openLedger()
}

func (r *repo) writeTop(path, content string) {
	check.OK(r.t, os.WriteFile(filepath.Join(r.top, path), []byte(content), 0o644))
}

// seal seals the ledger, as the pre-commit hook does.
func (r *repo) seal() {
	r.t.Helper()
	key := check.Value(seal.CreateKey(r.t.TempDir(), "tester"))(r.t)
	check.Value(seal.Create(r.t.Context(), r.root, key, seal.CreateOptions{Now: func() time.Time { return r.clock }}))(r.t)
}

// recordShapes are what records say.
func recordShapes() []shape {
	commitAs := func(intent string) func(r *repo) {
		return func(r *repo) {
			r.traced(intent, "src/b.txt", by("agent", 1, 5))
			r.commit("work")
		}
	}
	return []shape{
		{name: "out of the intent's scope", changed: 5, traced: 5, found: "1 error scope", do: commitAs("INT-002")},
		{name: "an intent that nobody declared", changed: 5, traced: 5, found: "1 error intent", do: commitAs("INT-009")},
		{name: "no intent", changed: 5, traced: 5, found: "1 error intent", do: commitAs("UNTRACKED")},
		{name: "an intent declared with the work", changed: 5, traced: 5, found: "1 warning governance", do: func(r *repo) {
			r.write(intentsPath, baseIntents+"  - {id: INT-003, name: More, status: IN_PROGRESS, owned_scope: [\"src/b.txt\"]}\n")
			commitAs("INT-003")(r)
		}},
		{name: "an intent widened in the range", changed: 5, traced: 5, found: "1 warning scope, 1 warning governance", do: func(r *repo) {
			r.write(intentsPath, strings.Replace(baseIntents, `"docs/**"`, `"docs/**", "src/**"`, 1))
			commitAs("INT-002")(r)
		}},
		{name: "out of scope, taken back by an agent", changed: 5, traced: 5, found: "1 error scope", do: func(r *repo) {
			r.traced("INT-001", "docs/manual.txt", "manual\nthat an agent wrote\n")
			r.commit("out of scope")
			r.traced("INT-002", "docs/manual.txt", "manual\n")
			commitAs("INT-001")(r)
		}},
		{name: "an undo", changed: 10, traced: 10, found: "nothing", do: func(r *repo) {
			r.agent("src/b.txt", by("agent", 1, 10))
			r.commit("work")
			r.traced("INT-001", "src/b.txt", by("agent", 1, 5), func(rec *record.Record) { rec.Call = "apply_diff" })
			r.commit("shorter")
			id := check.Value(r.ledger.Query(r.t.Context(), record.Filter{Newest: true, Limit: 1}))(r.t).Entries[0].ID
			r.traced("INT-001", "src/b.txt", by("agent", 1, 10), func(rec *record.Record) { rec.Detail = map[string]any{"undoes": []string{id}} })
			r.commit("undone")
		}},
	}
}

// ledgerShapes are what becomes of the ledger, which stands beside the tree.
func ledgerShapes() []shape {
	work := func(r *repo) {
		r.agent("src/b.txt", by("agent", 1, 5))
		r.commit("work")
	}
	forget := func(r *repo) {
		check.OK(r.t, r.ledger.Close(r.t.Context()))
		check.OK(r.t, os.RemoveAll(filepath.Join(r.top, ".git/orchestra")))
		r.openLedger()
	}
	missing := "\n\n" + gitref.TrailerKey + ": " + strings.Repeat("ab", 32)
	clone := func(r *repo, args ...string) {
		dir := filepath.Join(r.t.TempDir(), "clone")
		r.git(append(append([]string{"clone", "-q"}, args...), "file://"+r.top, dir)...)
		r.moveTo(dir)
	}
	return []shape{
		{name: "a record that a commit names is missing", changed: 5, traced: 5, found: "1 error ledger", says: "missing_anchor", do: func(r *repo) {
			work(r)
			r.git("commit", "-q", "--allow-empty", "-m", "more"+missing)
		}},
		{name: "a record that the base names is missing", changed: 5, traced: 5, found: "1 warning ledger", says: "the base relies on it too", do: func(r *repo) {
			r.onMain(func() { r.git("commit", "-q", "--allow-empty", "-m", "more"+missing) })
			r.git("rebase", "-q", "main")
			work(r)
		}},
		{name: "a record that no commit names explains nothing", changed: 10, traced: 5, found: "1 note untraced", do: func(r *repo) {
			work(r)
			r.write("src/c.txt", by("person", 1, 5))
			r.commit("by hand")
			check.OK(r.t, os.Remove(filepath.Join(r.dir, "src/c.txt")))
			r.agent("src/c.txt", by("person", 1, 5)) // said afterwards
		}},
		{name: "a person's work, while an agent works on another branch", changed: 3, found: "1 note untraced", do: func(r *repo) {
			r.git("switch", "-qc", "other")
			r.write(intentsPath, baseIntents+"  - {id: INT-003, name: More, status: IN_PROGRESS, owned_scope: [\"lib/**\"]}\n")
			r.traced("INT-003", "lib/x.txt", by("agent", 1, 5))
			r.commit("other work")
			r.git("switch", "-q", "work")
			r.write("src/b.txt", by("person", 1, 3))
			r.commit("by hand")
		}},
		{name: "the ledger was not fetched", broken: true, err: review.ErrNoLedger, do: func(r *repo) {
			work(r)
			forget(r)
		}},
		{name: "the ledger was asked for, and there is none", broken: true, opts: review.Options{Fetched: true}, changed: 5, found: "2 error ledger, 1 note untraced", says: "missing_anchor",
			do: func(r *repo) {
				work(r)
				forget(r)
			}},
		{name: "a fork, its records in a bundle", opts: review.Options{Base: "origin/main"}, changed: 5, traced: 5, found: "nothing", do: func(r *repo) {
			work(r)
			check.Value(gitref.Export(r.t.Context(), r.root, gitref.Withheld{}))(r.t)
			bundle := filepath.Join(r.t.TempDir(), "records.bundle")
			r.git("bundle", "create", "-q", bundle, gitref.Ref)
			clone(r)
			check.Value(gitref.Fetch(r.t.Context(), r.root, bundle))(r.t)
		}},
		{name: "a shallow clone", err: review.ErrShallow, do: func(r *repo) {
			work(r)
			clone(r, "--depth=1")
		}},
		{name: "records dropped from the tree", tree: true, changed: 5, found: "1 error ledger, 1 note untraced", says: "dropped_line", do: func(r *repo) {
			work(r)
			r.git("checkout", "main", "--", ".orchestration")
			r.commit("dropped")
		}},
	}
}
