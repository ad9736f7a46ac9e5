package review_test

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/review"
)

// onMain does something on the branch that is merged into, and comes back.
func (r *repo) onMain(do func()) {
	r.t.Helper()
	r.git("switch", "-q", "main")
	do()
	r.git("switch", "-q", "work")
}

// branchShapes are what git does with branches.
func branchShapes() []shape {
	written := lines(1, 20) + by("agent", 1, 10)
	work := func(r *repo) {
		r.agent("src/a.txt", written)
		r.commit("work")
	}
	mainGoesOn := func(r *repo) {
		r.onMain(func() {
			r.write("src/a.txt", by("main", 1, 3)+lines(1, 20))
			r.traced("INT-002", "docs/manual.txt", "manual\nof the base\n")
			r.commit("main goes on")
		})
	}
	conflict := func(r *repo) {
		r.onMain(func() {
			r.write("src/a.txt", lines(1, 20)+by("main", 1, 3))
			r.commit("main goes on")
		})
		_, err := r.try("merge", "-q", "main")
		check.Must(r.t, err != nil, "there is no conflict")
	}
	return []shape{
		{name: "the base merged into the branch", changed: 10, traced: 10, found: "nothing", do: func(r *repo) {
			work(r)
			mainGoesOn(r)
			r.git("merge", "-q", "--no-edit", "main")
		}},
		{name: "the test merge of a forge", opts: review.Options{Head: "merged", MinTraced: 100}, tree: true, changed: 10, traced: 10, found: "nothing", do: func(r *repo) {
			work(r)
			r.git("switch", "-q", "main")
			check.OK(r.t, r.ledger.Close(r.t.Context()))
			r.openLedger()
			r.traced("INT-002", "docs/manual.txt", "manual\nof the base\n")
			r.commit("main goes on")
			r.git("switch", "-qc", "merged")
			r.git("merge", "-q", "--no-edit", "work")
		}},
		{name: "another branch of the same machine merged first", changed: 10, traced: 10, found: "nothing", do: func(r *repo) {
			work(r)
			r.onMain(func() {
				r.agent("src/a.txt", by("other", 1, 3)+lines(1, 20))
				r.commit("main goes on")
			})
		}},
		{name: "another branch of the same machine changes the same file", changed: 10, traced: 10, found: "nothing", do: func(r *repo) {
			r.git("switch", "-qc", "other")
			r.write(intentsPath, baseIntents+"  - {id: INT-003, name: More, status: IN_PROGRESS, owned_scope: [\"src/**\"]}\n")
			r.traced("INT-003", "src/a.txt", by("other", 1, 3)+lines(1, 20))
			r.commit("other work")
			r.git("switch", "-q", "work")
			work(r)
		}},
		{name: "a conflict resolved by a person", changed: 11, traced: 10, found: "1 note untraced", do: func(r *repo) {
			work(r)
			conflict(r)
			r.write("src/a.txt", written+by("person", 1, 1)+by("main", 1, 3))
			r.commit("merged")
		}},
		{name: "a conflict resolved by an agent", changed: 12, traced: 12, found: "nothing", do: func(r *repo) {
			work(r)
			conflict(r)
			r.agent("src/a.txt", written+by("agent", 11, 12)+by("main", 1, 3))
			r.commit("merged")
		}},
		{name: "rebased", changed: 10, traced: 10, found: "nothing", do: func(r *repo) {
			work(r)
			mainGoesOn(r)
			r.git("rebase", "-q", "main")
		}},
		{name: "squashed by a forge, the messages kept", opts: review.Options{Base: "main^", Head: "main"}, changed: 20, traced: 20, found: "nothing",
			do: func(r *repo) {
				work(r)
				r.agent("src/b.txt", by("agent", 1, 10))
				r.commit("more work")
				messages := r.git("log", "--format=* %B", "main..work")
				r.git("switch", "-q", "main")
				r.git("merge", "-q", "--squash", "work")
				r.git("commit", "-q", "-m", "work (#1)", "-m", messages)
			}},
		{name: "squashed by a forge, the messages lost", opts: review.Options{Base: "main^", Head: "main"}, changed: 10, traced: 10, found: "nothing",
			says: "no commit of the range names the ledger", do: func(r *repo) {
				work(r)
				r.git("switch", "-q", "main")
				r.git("merge", "-q", "--squash", "work")
				r.git("commit", "-q", "-m", "work (#1)")
			}},
		{name: "cherry-picked from another branch", changed: 10, traced: 10, found: "nothing", do: func(r *repo) {
			r.git("switch", "-qc", "other")
			r.agent("src/b.txt", by("other", 1, 10))
			r.commit("other work")
			work(r)
			r.git("switch", "-q", "work")
			r.git("cherry-pick", "other")
		}},
		{name: "amended", changed: 15, traced: 15, found: "nothing", do: func(r *repo) {
			work(r)
			r.agent("src/a.txt", written+by("agent", 11, 15))
			r.git("commit", "-qa", "--amend", "-m", "work"+r.trailer())
		}},
		{name: "a fixup squashed", changed: 12, traced: 12, found: "nothing", do: func(r *repo) {
			work(r)
			r.agent("src/b.txt", by("agent", 1, 3))
			r.commit("more")
			r.agent("src/a.txt", lines(1, 20)+by("agent", 1, 9))
			r.commit("fixup! work")
			r.git("-c", "sequence.editor=true", "rebase", "-q", "-i", "--autosquash", "main")
		}},
		{name: "two branches merged crosswise", changed: 13, traced: 10, found: "1 note untraced", says: "2 merge bases", do: func(r *repo) {
			r.agent("src/b.txt", by("first", 1, 3))
			r.commit("first")
			first := r.git("rev-parse", "HEAD")
			mainGoesOn(r)
			r.git("merge", "-q", "--no-edit", "main")
			r.onMain(func() { r.git("merge", "-q", "--no-edit", first) })
			r.agent("src/a.txt", by("main", 1, 3)+written)
			r.commit("work")
		}},
		{name: "a work tree", changed: 10, traced: 10, found: "nothing", do: func(r *repo) {
			dir := r.t.TempDir()
			r.git("worktree", "add", "-q", "-b", "elsewhere", dir)
			r.moveTo(dir)
			work(r)
		}},
		{name: "a workspace below the top", below: "services/api", changed: 10, traced: 10, found: "nothing", says: "1 changed files are outside", do: func(r *repo) {
			r.agent("src/a.txt", written)
			r.writeTop("Makefile", "all:\n")
			r.commit("work")
		}},
		{name: "no commit", err: review.ErrEmptyRange, do: func(r *repo) {}},
		{name: "an unknown base", opts: review.Options{Base: "nothing"}, err: review.ErrUnknownRevision, do: work},
		{name: "an option for a base", opts: review.Options{Base: "--all"}, err: review.ErrUnknownRevision, do: work},
		{name: "an unknown head", opts: review.Options{Head: "nothing"}, err: review.ErrUnknownRevision, do: work},
		{name: "no history in common", err: review.ErrUnrelated, do: func(r *repo) {
			r.git("switch", "-q", "--orphan", "other")
			r.git("commit", "-q", "--allow-empty", "-m", "other")
		}},
		{name: "an empty commit", found: "nothing", do: func(r *repo) { r.commit("nothing") }},
	}
}

// returnShapes are what comes back.
func returnShapes() []shape {
	written := lines(1, 20) + by("agent", 1, 10)
	work := func(r *repo) {
		r.agent("src/a.txt", written)
		r.commit("work")
	}
	merged := func(r *repo) {
		work(r)
		r.git("switch", "-q", "main")
		r.git("merge", "-q", "--no-ff", "-m", "merge work", "work")
		r.git("switch", "-qc", "next")
	}
	return []shape{
		{name: "a merged pull request reverted", changed: 10, found: "1 note untraced", do: func(r *repo) {
			merged(r)
			r.git("revert", "--no-edit", "-m", "1", "HEAD")
		}},
		{name: "a merged pull request reverted, with the ledger in the tree", tree: true, changed: 10, found: "1 warning ledger, 1 note untraced", says: "reverted_line", do: func(r *repo) {
			merged(r)
			r.git("revert", "--no-edit", "-m", "1", "HEAD")
		}},
		{name: "the revert reverted", changed: 10, found: "1 note untraced", do: func(r *repo) {
			merged(r)
			r.git("revert", "--no-edit", "-m", "1", "HEAD")
			r.git("branch", "-qf", "main")
			r.git("revert", "--no-edit", "HEAD")
		}},
		{name: "a commit of the branch reverted by a person", changed: 3, traced: 3, found: "nothing", do: func(r *repo) {
			work(r)
			r.agent("src/b.txt", by("agent", 1, 3))
			r.commit("more")
			r.git("revert", "--no-edit", "HEAD^")
		}},
		{name: "an earlier commit of the branch reverted, with the ledger in the tree", tree: true, changed: 3, traced: 3, found: "nothing", do: func(r *repo) {
			work(r)
			r.agent("src/b.txt", by("agent", 1, 3))
			r.commit("more")
			r.git("revert", "--no-edit", "HEAD^")
		}},
		{name: "the last commit of the branch reverted, with the ledger in the tree", tree: true, changed: 10, traced: 10, found: "1 warning ledger", says: "reverted_line",
			do: func(r *repo) {
				work(r)
				r.agent("src/b.txt", by("agent", 1, 3))
				r.commit("more")
				r.git("revert", "--no-edit", "HEAD")
			}},
		{name: "records dropped by what only says that it is a revert", tree: true, changed: 13, traced: 10, found: "1 error ledger, 1 note untraced", says: "dropped_line",
			do: func(r *repo) {
				work(r)
				r.agent("src/b.txt", by("agent", 1, 3))
				r.commit("more")
				more := r.git("rev-parse", "HEAD")
				r.git("checkout", "HEAD^", "--", ".orchestration")
				r.commit("Revert \"more\"\n\nThis reverts commit " + more + ".")
			}},
		{name: "a commit with its seal reverted", changed: 10, traced: 10, found: "1 warning ledger", says: "reverted_seal", do: func(r *repo) {
			work(r)
			r.agent("src/b.txt", by("agent", 1, 3))
			r.seal()
			r.commit("more")
			r.git("revert", "--no-edit", "HEAD")
		}},
		{name: "a commit of the branch taken back by an agent", changed: 3, traced: 3, found: "nothing", do: func(r *repo) {
			work(r)
			r.agent("src/b.txt", by("agent", 1, 3))
			r.commit("more")
			r.agent("src/a.txt", lines(1, 20))
			r.commit("taken back")
		}},
		{name: "an agent's deletion of its lines reverted by a person", changed: 10, found: "1 note untraced", do: func(r *repo) {
			work(r)
			r.agent("src/a.txt", lines(1, 20))
			r.commit("removed")
			r.git("revert", "--no-edit", "HEAD")
		}},
		{name: "removed by an agent, restored by hand", changed: 13, traced: 8, found: "1 note untraced", do: func(r *repo) {
			work(r)
			r.agent("src/a.txt", lines(1, 20)+by("agent", 1, 5))
			r.commit("removed")
			r.write("src/a.txt", written)
			r.commit("by hand")
			r.agent("src/a.txt", written+by("agent", 11, 13))
			r.commit("more")
		}},
		{name: "the same before one commit", changed: 10, traced: 5, found: "1 note untraced", do: func(r *repo) {
			r.agent("src/a.txt", written)
			r.agent("src/a.txt", lines(1, 20)+by("agent", 1, 5))
			r.write("src/a.txt", written)
			r.commit("all")
		}},
		{name: "removed by a person, restored by a person", changed: 10, traced: 5, found: "1 note untraced", do: func(r *repo) {
			work(r)
			r.write("src/a.txt", lines(1, 20)+by("agent", 1, 5))
			r.commit("removed")
			r.write("src/a.txt", written)
			r.commit("restored")
		}},
		{name: "removed by a person, written again by an agent", changed: 10, traced: 10, found: "nothing", do: func(r *repo) {
			work(r)
			r.write("src/a.txt", lines(1, 20))
			r.commit("removed")
			work(r)
		}},
		{name: "an agent's change discarded before the commit", changed: 11, traced: 11, found: "nothing", do: func(r *repo) {
			work(r)
			r.agent("src/a.txt", by("bad", 1, 3))
			r.git("checkout", "-q", "--", "src/a.txt")
			r.agent("src/b.txt", by("agent", 1, 1))
			r.commit("more")
		}},
		{name: "stashed and brought back", changed: 13, traced: 13, found: "nothing", do: func(r *repo) {
			r.agent("src/a.txt", written)
			r.git("stash", "-q")
			r.agent("src/b.txt", by("agent", 1, 3))
			r.commit("first")
			r.git("stash", "pop", "-q")
			r.named = false
			r.commit("second")
		}},
		{name: "lines of an earlier pull request restored by hand", changed: 10, found: "1 note untraced", do: func(r *repo) {
			merged(r)
			r.write("src/a.txt", lines(1, 20))
			r.commit("removed by hand")
			r.git("branch", "-qf", "main")
			r.write("src/a.txt", written)
			r.commit("restored by hand")
		}},
		{name: "lines of the base removed by an agent, restored by a person", found: "nothing", do: func(r *repo) {
			r.agent("src/a.txt", lines(1, 10))
			r.commit("removed")
			r.write("src/a.txt", lines(1, 20))
			r.commit("restored")
		}},
		{name: "the same, and removed again by the person", changed: 10, found: "1 note untraced", do: func(r *repo) {
			r.agent("src/a.txt", lines(1, 10))
			r.commit("removed")
			r.write("src/a.txt", lines(1, 20))
			r.commit("restored")
			r.write("src/a.txt", strings.TrimSuffix(lines(1, 10), "\n")+"\n")
			r.commit("removed again")
		}},
	}
}
