package history_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/history"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/mend"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// TestRandomGit drives git at random over a ledger that servers append to in between, and after each step compares what
// verification says with a model that reads the commits by itself. The usual form takes few steps, fewest in the second layout.
func TestRandomGit(t *testing.T) {
	for layout, usual := range map[ledger.Layout]int{ledger.LayoutSingle: 16, ledger.LayoutSessions: 8} {
		steps := check.Rounds(usual, 60)
		for seed := range uint64(check.Rounds(1, 20)) {
			t.Run(fmt.Sprintf("%s/%d", layout, seed), func(t *testing.T) { newGitDriver(t, layout, seed).drive(steps) })
		}
	}
}

// gitDriver has a repository, a server that lives through everything, and the script so far.
type gitDriver struct {
	*repository
	random *rand.Rand
	server *ledger.Ledger
	model  *commitModel
	script []string
	calls  int
}

var sessions = []string{session, "1f0c2f5e-7a39-4f0b-9f3e-3f1d2b6c8a01", "9b1d6c1e-0a5f-4a55-8f4e-6d2c1b0a9e02"}

func newGitDriver(t *testing.T, layout ledger.Layout, seed uint64) *gitDriver {
	d := &gitDriver{repository: newRepository(t, layout, ""), random: rand.New(rand.NewPCG(seed, 7))}
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(t.TempDir(), "none"))
	t.Setenv("GIT_EDITOR", "true")
	d.model = &commitModel{r: d.repository, blobs: map[string][]modelLine{}, commits: map[string]lineSet{}}
	if seed%3 == 2 { // as on a forge, or without init
		d.write(".gitattributes", "* -text\n")
	}
	d.server = d.open(-1)
	t.Cleanup(func() { check.OK(t, d.server.Close(context.Background())) })
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d, layout %s:\n%s", seed, layout, strings.Join(d.script, "\n"))
		}
	})
	d.git("config", "rerere.enabled", "false")
	for i := range 3 {
		d.write(fmt.Sprintf("f%d", i), strings.Repeat("line\n", 5))
	}
	d.append()
	d.git("checkout", "-q", "-b", "main")
	d.save("start")
	return d
}

func (d *gitDriver) open(segmentSize int64) *ledger.Ledger {
	l := check.Value(ledger.Open(d.root, ledger.Options{Durability: ledger.DurabilityOS, Layout: d.layout, SegmentSize: segmentSize}))(d.t)
	return l
}

const smallSegment = 4 << 10 // a dozen records

// rotate commits archives beside what they were taken from.
func (d *gitDriver) rotate() {
	for range 6 {
		d.append()
	}
	d.moveToArchive()
	d.save("rotated")
}

func (d *gitDriver) run(args ...string) error {
	d.script = append(d.script, "git "+strings.Join(args, " "))
	_, err := d.tryGit(args...)
	return err
}

func (d *gitDriver) must(args ...string) {
	d.t.Helper()
	err := d.run(args...)
	check.Must(d.t, err == nil, "git %v: %v", args, err)
}

// append adds some records, by the server or by another process that comes and goes, and changes a file.
func (d *gitDriver) append() {
	l := d.server
	if d.random.IntN(3) == 0 {
		l = d.open(-1)
		defer func() { check.OK(d.t, l.Close(context.Background())) }()
	}
	for range 1 + d.random.IntN(3) {
		d.calls++
		call := fmt.Sprintf("c%d", d.calls)
		r := record.Record{Kind: record.KindRead, Call: call, Session: sessions[d.random.IntN(len(sessions))]}
		if d.random.IntN(5) == 0 {
			r.Session = ""
		}
		check.Value(l.Append(context.Background(), r))(d.t)
		d.script = append(d.script, "append "+call)
	}
	if d.random.IntN(2) == 0 {
		name := fmt.Sprintf("f%d", d.random.IntN(3))
		lines := strings.SplitAfter(d.read(name), "\n")
		lines[d.random.IntN(len(lines))] = fmt.Sprintf("%d\n", d.calls)
		d.write(name, strings.Join(lines, ""))
		d.script = append(d.script, "change "+name)
	}
	if d.random.IntN(4) == 0 {
		d.moveToArchive()
	}
}

// moveToArchive rotates at once, not at a moment that no seed could repeat.
func (d *gitDriver) moveToArchive() {
	l := d.open(smallSegment)
	check.OK(d.t, l.Rotate(context.Background()))
	check.OK(d.t, l.Close(context.Background()))
	d.script = append(d.script, "rotate")
}

func (d *gitDriver) save(message string) {
	d.must("add", "-A")
	d.must("commit", "-q", "--allow-empty", "-m", message)
}

func (d *gitDriver) work() {
	d.append()
	d.save(fmt.Sprintf("work %d", d.calls))
}

func (d *gitDriver) branches() []string {
	return strings.Fields(d.git("for-each-ref", "--format=%(refname:short)", "refs/heads"))
}

func (d *gitDriver) pick(from []string) string { return from[d.random.IntN(len(from))] }

// steps are weighted by standing there several times.
func (d *gitDriver) steps() []func() {
	return []func(){
		d.work, d.work, d.work, d.work, d.branch, d.branch, d.switchClean, d.switchClean, d.switchDirty, d.merge, d.merge, d.merge, d.octopus,
		d.squash, d.rotate, d.rotate, d.rebase, d.rebaseInteractive, d.cherryPick, d.revert, d.stash, d.amend, d.reset, d.restore,
	}
}

func (d *gitDriver) drive(steps int) {
	for i := range steps {
		all := d.steps()
		all[d.random.IntN(len(all))]()
		d.check()
		check.Must(d.t, !d.t.Failed(), "after step %d", i+1)
	}
	d.restore()
	d.check()
}

func (d *gitDriver) branch() {
	d.must("switch", "-q", "-c", fmt.Sprintf("b%d", d.calls)+fmt.Sprint(len(d.script)))
	d.work()
}

func (d *gitDriver) switchClean() { d.must("switch", "-q", d.pick(d.branches())) }

// switchDirty leaves records that were not committed: git carries them along, or refuses.
func (d *gitDriver) switchDirty() {
	d.append()
	before := d.worktree()
	err := d.run("switch", "-q", d.pick(d.branches()))
	after := d.worktree()
	check.That(d.t, err == nil || len(after) >= len(before), "git refused the switch and lines are lost")
	d.save("dirty")
}

func (d *gitDriver) merge() { d.mergeOf([]string{d.pick(d.branches())}) }

func (d *gitDriver) octopus() {
	all := d.branches()
	d.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	d.mergeOf(all[:min(len(all), 3)])
}

// mergeOf requires that nothing is lost but what a side had dropped itself: git merges that as it merges any deletion.
func (d *gitDriver) mergeOf(branches []string) {
	want, dropped := lineSet{}, lineSet{}
	for _, side := range append([]string{"HEAD"}, branches...) {
		tip, past := d.model.commit(d.git("rev-parse", side)), d.past(side)
		maps.Copy(want, tip)
		maps.DeleteFunc(past, func(id string, _ modelLine) bool { _, kept := tip[id]; return kept })
		maps.Copy(dropped, past)
	}
	if d.run(append([]string{"merge", "-q", "--no-edit"}, branches...)...) != nil && !d.finishOrAbort("merge") {
		return
	}
	have := d.worktree()
	for id := range want {
		if _, was := dropped[id]; was {
			continue
		}
		_, ok := have[id]
		check.That(d.t, ok, "the merge of %v lost line %s", branches, id)
	}
}

func (d *gitDriver) squash() {
	if err := d.run("merge", "-q", "--squash", d.pick(d.branches())); err != nil {
		d.resolve("merge")
	}
	d.save("squashed")
}

func (d *gitDriver) rebase() {
	if d.run("rebase", "-q", d.pick(d.branches())) != nil {
		d.finishOrAbort("rebase")
	}
}

func (d *gitDriver) rebaseInteractive() {
	n := 2 + d.random.IntN(3)
	if d.run("rev-parse", "-q", "--verify", fmt.Sprintf("HEAD~%d", n)) != nil {
		return
	}
	editor := d.pick([]string{"sed -i.bak -e 1d", "sed -i.bak -e 2d", "sed -i.bak -e 1!G;h;$!d", "sed -i.bak -e 2s/^pick/fixup/", "sed -i.bak -e 2s/^pick/squash/"})
	d.t.Setenv("GIT_SEQUENCE_EDITOR", strings.Replace(editor, "-e ", "-e '", 1)+"'")
	d.script = append(d.script, "export GIT_SEQUENCE_EDITOR=\""+os.Getenv("GIT_SEQUENCE_EDITOR")+"\"")
	if d.run("rebase", "-q", "-i", fmt.Sprintf("HEAD~%d", n)) != nil {
		d.finishOrAbort("rebase")
	}
}

func (d *gitDriver) cherryPick() {
	commits := strings.Fields(d.git("rev-list", "--all", "--no-merges", "--min-parents=1"))
	if len(commits) > 0 && d.run("cherry-pick", d.pick(commits)) != nil {
		d.finishOrAbort("cherry-pick")
	}
}

func (d *gitDriver) revert() {
	commits := strings.Fields(d.git("rev-list", "--no-merges", "--min-parents=1", "HEAD"))
	if len(commits) > 0 && d.run("revert", "--no-edit", d.pick(commits)) != nil {
		d.finishOrAbort("revert")
	}
}

// stash puts records away, works on, and brings them back.
func (d *gitDriver) stash() {
	d.append()
	d.must("add", "-A") // git brings back no untracked file over another one
	before := d.worktree()
	d.must("stash", "push", "-q")
	d.check()
	d.work()
	for d.run("stash", "pop", "-q") != nil {
		if d.git("ls-files", "--unmerged") == "" { // refused, because the ledger is not as it was committed
			d.save("before the stash")
			continue
		}
		d.resolve("stash")
		d.must("add", "-A")
		d.must("stash", "drop", "-q")
		break
	}
	have := d.worktree()
	for id := range before {
		_, ok := have[id]
		check.That(d.t, ok, "the stash lost line %s", id)
	}
	d.save("unstashed")
}

func (d *gitDriver) amend() {
	d.append()
	d.must("add", "-A")
	d.must("commit", "-q", "--amend", "-m", "amended")
}

func (d *gitDriver) reset() {
	if d.run("rev-parse", "-q", "--verify", "HEAD~1") == nil {
		d.must("reset", "-q", "--hard", "HEAD~1")
	}
}

// restore must leave no dropped line.
func (d *gitDriver) restore() {
	var lines []mend.Line
	check.OK(d.t, history.Lost(context.Background(), d.root, nil, history.Visit{Line: func(l history.LostLine) error {
		lines = append(lines, mend.Line{Segment: l.Segment, Data: bytes.Clone(l.Data)})
		return nil
	}}))
	d.script = append(d.script, fmt.Sprintf("restore %d lines", len(lines)))
	check.OK(d.t, mend.PutBack(context.Background(), d.root, lines))
	d.save("restored")
	report := d.verify()
	check.That(d.t, len(report.Problems) == 0, "after restoring: %+v", report.Problems)
}

// finishOrAbort goes on with what stopped at conflicts, and reports whether it came to its end.
func (d *gitDriver) finishOrAbort(what string) bool {
	for range 12 {
		if d.git("ls-files", "--unmerged") == "" && !d.inProgress() {
			return what != "merge" // git had nothing left to do; an octopus that stops leaves nothing to go on from
		}
		d.resolve(what)
		d.must("add", "-A")
		if d.run(what, "--continue") == nil || what != "merge" && d.git("status", "--porcelain") == "" && d.run(what, "--skip") == nil {
			return true
		}
	}
	d.run(what, "--abort")
	d.must("reset", "-q", "--hard")
	return false
}

func (d *gitDriver) inProgress() bool {
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "sequencer"} {
		if _, err := os.Stat(filepath.Join(d.dir, ".git", name)); err == nil {
			return true
		}
	}
	return false
}

// resolve takes one side of the files, and the ledger as the command does; or as a person does who wants of a commit
// that is picked what the commit itself changed.
func (d *gitDriver) resolve(what string) {
	unmerged := check.Value(history.Unmerged(context.Background(), d.root))(d.t)
	if (what == "cherry-pick" || what == "rebase" || what == "revert") && d.random.IntN(2) == 0 {
		for _, u := range unmerged {
			d.resolveByHand(".orchestration/" + u.Segment)
		}
		unmerged = nil
	}
	done, err := mend.Conflicts(context.Background(), d.root, unmerged)
	check.Must(d.t, err == nil, "resolve: %v", err)
	if len(done) > 0 {
		d.script = append(d.script, "ledger merge")
	}
	for i := range 3 {
		name := fmt.Sprintf("f%d", i)
		if d.git("ls-files", "--unmerged", "--", name) != "" {
			d.must("checkout", d.pick([]string{"--ours", "--theirs"}), "--", name)
		}
	}
}

// resolveByHand applies to our version what changed between the common ancestor and the other version.
func (d *gitDriver) resolveByHand(name string) {
	version := func(stage string) []string {
		text, _ := d.tryGit("cat-file", "blob", ":"+stage+":"+name)
		return strings.Split(text, "\n")
	}
	base, ours, theirs := version("1"), version("2"), version("3")
	lines := slices.DeleteFunc(ours, func(l string) bool { return l == "" || slices.Contains(base, l) && !slices.Contains(theirs, l) })
	for _, l := range theirs {
		if l != "" && !slices.Contains(base, l) && !slices.Contains(lines, l) {
			lines = append(lines, l)
		}
	}
	d.write(name, strings.Join(lines, "\n")+"\n")
	d.script = append(d.script, "resolve by hand: "+name)
}
