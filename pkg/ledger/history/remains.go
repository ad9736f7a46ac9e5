package history

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

// ProblemLost: the ledger has no line, and something shows that it had some.
const ProblemLost ledger.ProblemKind = "lost_ledger"

// trailerKey begins the line of a commit message that names an intent; package trailer writes it.
const trailerKey = "Orchestra-Intent"

// CheckLost tells an empty ledger, which is a new workspace's, from one that is gone: it is the problem ProblemLost, or
// nothing. report is that of a verification of the workspace at root.
//
// What shows it: a commit of HEAD's history with ledger lines or seals; a commit with an intent's trailer while the
// workspace was initialised; a seal; an index of ledger lines, kept contents of recorded changes, the selection of an
// intent, or lines that a crash tore, among the files that stay on the machine. Who wants to begin anew has to remove
// these, and cannot remove the commits.
func CheckLost(ctx context.Context, root *os.Root, report verify.Report) []ledger.Problem {
	if hasLines(report) {
		return nil
	}
	return lost(append(fileRemains(root), commitRemains(ctx, root, "HEAD")...))
}

// CheckLostIn is CheckLost for a commit alone, whatever the work tree has; report is that of the commit's ledger.
func CheckLostIn(ctx context.Context, root *os.Root, commit string, report verify.Report) []ledger.Problem {
	if hasLines(report) {
		return nil
	}
	return lost(commitRemains(ctx, root, commit))
}

// hasLines: there is something, be it damaged: that is reported as what it is.
func hasLines(report verify.Report) bool {
	return report.Records+report.Foreign > 0 || slices.ContainsFunc(report.Problems, func(p ledger.Problem) bool {
		return slices.Contains([]ledger.ProblemKind{
			ledger.ProblemMalformed, ledger.ProblemTorn, ledger.ProblemTooLong, ledger.ProblemUnreadable, ledger.ProblemArchive,
		}, p.Kind)
	})
}

func lost(remains []string) []ledger.Problem {
	if len(remains) == 0 {
		return nil
	}
	return []ledger.Problem{{Kind: ProblemLost, Segment: segment.SingleName,
		Detail: "the ledger has no record, and there were some: " + strings.Join(remains, "; ")}}
}

// fileRemains looks at what stays on this machine, and at the seals.
func fileRemains(root *os.Root) []string {
	var found []string
	for _, sign := range []struct {
		dir, says string
		is        func(name string) bool
	}{
		{sealsDir, "is a seal of records", func(name string) bool { return strings.HasSuffix(name, sealSuffix) }},
		{"cache/index", "indexes records", func(string) bool { return true }},
		{"cache/images", "keeps the contents of recorded changes", func(name string) bool { return strings.HasSuffix(name, ".pack") }},
		{"state/sessions", "is a session that selected an intent", func(name string) bool { return selected(root, name) }},
		{"state", "has lines of a record that a crash tore", func(name string) bool { return strings.HasPrefix(path.Base(name), "torn-") }},
	} {
		dir := path.Join(segment.Home, sign.dir)
		entries, _ := durable.ReadDirectoryIn(root, dir) // what is not there or cannot be read shows nothing
		for _, e := range entries {
			if name := path.Join(dir, e.Name()); e.Type().IsRegular() && sign.is(name) {
				found = append(found, name+" "+sign.says)
				break
			}
		}
	}
	return found
}

// maxState bounds a session's state, in bytes.
const maxState = 16 << 20

// selected: a session's state names an intent. Each selection is a record.
func selected(root *os.Root, name string) bool {
	var session struct {
		IntentID string `json:"intent_id"`
	}
	content, err := durable.ReadRegularIn(root, name, maxState)
	return err == nil && json.Unmarshal(content, &session) == nil && session.IntentID != ""
}

// commitRemains asks git about the commits up to one. Without git, a repository or a commit they show nothing.
func commitRemains(ctx context.Context, root *os.Root, commit string) []string {
	if _, err := exec.LookPath("git"); err != nil {
		return nil
	}
	r := repositoryAt(root)
	var found []string
	if id := r.withLedger(ctx, commit); id != "" {
		found = append(found, fmt.Sprintf("commit %s has ledger lines or seals", id))
	}
	// In a repository with several workspaces the trailer is another one's, if this one was not there yet.
	if id := r.newest(ctx, commit, "--grep=^"+trailerKey+": ", "--", "."); id != "" {
		if _, err := r.Ask(ctx, "rev-parse", "--verify", "--quiet", id+":./"+segment.Home+"/active_intents.yaml"); err == nil {
			found = append(found, fmt.Sprintf("the message of commit %s names the intent of recorded changes", id))
		}
	}
	return found
}

// newest is the abbreviated id of the newest commit that a selection finds, or "".
func (r repository) newest(ctx context.Context, commit string, selection ...string) string {
	id, err := r.Ask(ctx, append([]string{"log", "-1", "--format=%h", "--no-show-signature", commit}, selection...)...)
	if err != nil {
		return ""
	}
	return id
}

// HasLedger reports whether one of the given revisions, or a commit before it, has ledger lines or seals; without a
// revision HEAD is asked.
func HasLedger(ctx context.Context, root *os.Root, revisions ...string) bool {
	if len(revisions) == 0 {
		revisions = []string{"HEAD"}
	}
	return slices.ContainsFunc(revisions, func(revision string) bool {
		id, err := repositoryAt(root).resolve(ctx, revision)
		return err == nil && repositoryAt(root).withLedger(ctx, id) != ""
	})
}

// withLedger is the newest commit up to one that put ledger lines or seals there: a file that was always empty is none.
// A merge may have dropped them, so every side is looked at.
func (r repository) withLedger(ctx context.Context, commit string) string {
	return r.newest(ctx, commit, "-G.", "--text", "--full-history", "--",
		segment.Home+"/"+segment.SingleName, segment.Home+"/"+segment.TraceDir, segment.Home+"/"+segment.ArchiveDir, segment.Home+"/"+sealsDir)
}
