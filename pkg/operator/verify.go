package operator

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/doctor"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/history"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/seal"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

// Verification is what a check of the ledger found.
type Verification struct {
	seal.Report
	// Unsettled are changes that a killed server has left without a record.
	Unsettled []doctor.Interrupted `json:"unsettled"`
}

// Verify checks the ledger's chain and its seals, with the keys that the user trusts beside those of the options.
func (w *Workspace) Verify(ctx context.Context, o seal.VerifyOptions) (v Verification, err error) {
	known, err := seal.KnownKeys(w.UserDir())
	if err != nil {
		return v, err
	}
	o.Trusted, o.Elsewhere = append(o.Trusted, known...), history.Elsewhere(w.Root)
	if v.Report, err = seal.Verify(ctx, w.Root, o); err != nil {
		return v, err
	}
	lost, note, err := CheckThere(ctx, w.Root, v.Report.Report)
	if err != nil {
		return v, err
	}
	if note != "" {
		v.Unproven = append(v.Unproven, note)
	}
	v.Problems = append(append(v.Problems, lost...), untold(w.Root)...)
	if v.Unsettled, err = doctor.FindInterrupted(w.Root); err != nil {
		v.Unsettled = []doctor.Interrupted{}
		v.Unproven = append(v.Unproven, fmt.Sprintf("what killed servers have left cannot be read (%v): changes may have no record yet", err))
	}
	return v, nil
}

// A check of a ledger that is not there must not look like one that found nothing. Without a workspace it could not run; a
// ledger that was lost is a problem; one that nothing was written to yet passes, with this note.
const nothingRecorded = "the ledger is empty: nothing has been recorded in this workspace yet, so there was nothing to check"

// CheckThere looks behind a report without problems: is there a ledger at all? note is a sentence for people, or "".
func CheckThere(ctx context.Context, root *os.Root, report verify.Report) (lost []ledger.Problem, note string, err error) {
	if report.Records+report.Foreign > 0 {
		return nil, "", nil
	}
	if lost = history.CheckLost(ctx, root, report); len(lost) > 0 || len(report.Problems) > 0 {
		return lost, "", nil
	}
	if !intent.Open(root).Initialized() {
		return nil, "", NoWorkspace(root)
	}
	return nil, nothingRecorded, nil
}

// NoWorkspace is the error for a directory where there is nothing to ask.
func NoWorkspace(root *os.Root) error {
	return fmt.Errorf("%s is no governed workspace: there is no ledger, and no .orchestration/active_intents.yaml, here or above; run orchestra-mcp init there, or give --workspace DIR",
		printable.Text(root.Name()))
}

// untold are the notes of servers about calls and decisions without a record that no record tells of yet.
func untold(root *os.Root) (found []ledger.Problem) {
	const gaps = "state/gaps"
	entries, err := durable.ReadDirectoryIn(root, path.Join(".orchestration", gaps))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || path.Ext(e.Name()) != ".gap" {
			continue
		}
		p := ledger.Problem{Kind: ledger.ProblemUnrecorded, Segment: path.Join(gaps, e.Name()),
			Detail: "calls or decisions have no record; the next change through a server records how many"}
		if content, err := durable.ReadRegularIn(root, path.Join(".orchestration", p.Segment), 16<<20); err == nil {
			p.Detail = fmt.Sprintf("%d "+p.Detail, bytes.Count(content, []byte("\n")))
		}
		found = append(found, p)
	}
	return found
}
