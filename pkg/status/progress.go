package status

import (
	"context"
	"slices"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// Bounds of the newest records that Progress looks at: of all intents together, and of one.
const (
	progressRecords = 20_000
	leastProgress   = 200
	mostProgress    = 2000
)

// Progress is how far an intent is.
type Progress struct {
	ID       string        `json:"id"`
	Name     string        `json:"name"`
	Status   intent.Status `json:"status"`
	Criteria []string      `json:"acceptance_criteria"`
	Verify   []Verified    `json:"verify"`

	Changes  int       `json:"changes"`  // records that changed files
	Files    int       `json:"files"`    // different paths in them
	Refusals int       `json:"refusals"` //
	First    time.Time `json:"first,omitzero"`
	Last     time.Time `json:"last,omitzero"` // change
	// Partly: there are more records of the intent than were looked at, so the counts are of the newest.
	Partly bool `json:"partly,omitempty"`

	Waiting  int `json:"waiting"`  // requests to the operator
	Sessions int `json:"sessions"` // that are live
}

// Verified is a verify command with its last run.
type Verified struct {
	Command  string     `json:"command"`
	Outcome  RunOutcome `json:"outcome"`
	ExitCode int        `json:"exit_code"`
	RecordID string     `json:"record_id,omitempty"`
	At       time.Time  `json:"at,omitzero"`
}

// RunOutcome is how a verify command has ended.
type RunOutcome string

// The outcomes. Never: no run is among the records that were looked at.
const (
	Passed RunOutcome = "passed"
	Failed RunOutcome = "failed"
	Never  RunOutcome = "never"
)

// Counts are numbers by the id of an intent.
type Counts map[string]int

// ProgressOf tells of each intent how far it is, in the order of the file. It looks, by the ledger's index, at the newest 2,000
// changes, commands and decisions of an intent, or fewer where there are more than ten intents: 20,000 of all together, but at
// least 200 of each.
func ProgressOf(ctx context.Context, records *ledger.Ledger, set *intent.Set, waiting, sessions Counts) ([]Progress, error) {
	all := set.All()
	limit := min(mostProgress, max(leastProgress, progressRecords/max(1, len(all))))
	list := make([]Progress, 0, len(all))
	for _, in := range all {
		p := Progress{
			ID: in.ID, Name: in.Name, Status: in.Status, Criteria: append([]string{}, in.AcceptanceCriteria...), Verify: []Verified{},
			Waiting: waiting[in.ID], Sessions: sessions[in.ID],
		}
		if err := p.read(ctx, records, in, limit); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

func (p *Progress) read(ctx context.Context, records *ledger.Ledger, in *intent.Intent, limit int) error {
	filter := record.Filter{IntentID: in.ID, Kinds: append(record.ChangeKinds(), record.KindDecision), Newest: true, Limit: limit + 1}
	found, err := records.Query(ctx, filter)
	if err != nil {
		return err
	}
	newest := found.Entries[:min(limit, len(found.Entries))]
	p.count(newest)
	for _, line := range in.Verify {
		p.Verify = append(p.Verify, verified(in.ID, line, newest))
	}
	if p.Partly = len(found.Entries) > limit; p.Partly {
		return p.findFirst(ctx, records, in.ID)
	}
	return nil
}

func verified(intentID, line string, newest []record.Entry) Verified {
	v := Verified{Command: line, Outcome: Never}
	if e, ran := lastRun(intentID, line, newest); ran {
		v.Outcome, v.ExitCode, v.RecordID, v.At = Passed, e.Command.ExitCode, e.ID, e.Time
		if failed(e) {
			v.Outcome = Failed
		}
	}
	return v
}

func (p *Progress) count(newest []record.Entry) {
	files := map[string]struct{}{}
	for _, e := range newest {
		if e.Decision != nil && e.Decision.Outcome == "refused" {
			p.Refusals++
		}
		if !changes(e) {
			continue
		}
		for _, c := range e.Changes {
			files[c.Path] = struct{}{}
		}
		if e.Part == nil || e.Part.Index <= 1 {
			p.Changes++
		}
		if p.First = e.Time; p.Last.IsZero() {
			p.Last = e.Time
		}
	}
	p.Files = len(files)
}

// changes reports whether a record changed files.
func changes(e record.Entry) bool {
	return slices.ContainsFunc(e.Changes, func(c record.Change) bool { return c.Op != change.Unchanged })
}

// findFirst looks for the first change among the oldest records of an intent.
func (p *Progress) findFirst(ctx context.Context, records *ledger.Ledger, intentID string) error {
	oldest, err := records.Query(ctx, record.Filter{IntentID: intentID, Kinds: record.ChangeKinds(), Limit: leastProgress})
	if i := slices.IndexFunc(oldest.Entries, changes); err == nil && i >= 0 {
		p.First = oldest.Entries[i].Time
	}
	return err
}
