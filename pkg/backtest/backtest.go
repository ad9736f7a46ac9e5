// Package backtest judges the ledger's calls again, under other intents, rules and settings: what would they have decided?
//
// # Promise
//
// The checks are the gate's own, in its order. Under the policy that a call was judged by, each recorded decision comes out
// again. What a record does not say, or what is gone, is counted as unknown, with the reason, and never guessed: on a ledger of
// this version nothing is unknown to the checks of intent, path, scope, .intentignore and commands, but for calls over more
// than 1 MiB of paths, and lines of which a rule names what was left out as a secret. Nothing is changed.
//
// # Non-promise
//
// What hangs on the session's state, and not on the policy, is carried over from the record: what it had selected and seen, the
// class that was found, whether the ledger could be written, and what the operator's programs, an embedder's hooks and the
// user's rules in a client's settings said. A call that was refused before these were looked at is taken to pass them, and so
// is a tool's own refusal of what does not fit the file. A question and the call that its answer let through are one call, which
// was asked about. What an operator did is no agent's call, and is not judged. Rules do not see what was left out of a command
// line as a secret. What a command did is not judged again: only what it was let do.
package backtest

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/hooks/policies"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// Options are what is judged, and by what.
type Options struct {
	// Dir is the workspace, absolute, with slashes.
	Dir    string
	Ledger *ledger.Ledger
	Book   policies.Book
	// Policy is what the calls are judged by; nil is each by its own.
	Policy *policies.Policy
	// Content gives what a git blob id stands for, where it is kept; nil: no content is.
	Content func(id string) ([]byte, bool)
	// Since and Until bound the records' times; zero is no bound.
	Since, Until time.Time
	// Most bounds the changes that are listed; 0 is DefaultMost.
	Most int
}

// DefaultMost is how many changed decisions are listed if nobody says.
const DefaultMost = 1000

// What is decided about a call.
const (
	Allowed = "allowed"
	Asked   = "asked" // the operator is
	Refused = "refused"
)

// Report is what came of it. As JSON it is what orchestra-mcp replay --json prints.
type Report struct {
	Calls int `json:"calls"` // that were judged again, the unknown ones too
	// Same counts those that are decided as they were; Counts has all that are known, the greatest count first.
	Same   int     `json:"same"`
	Counts []Count `json:"counts"`
	// Changes are the calls that are decided otherwise, the newest first; More counts those that are left out.
	Changes []Change  `json:"changes"`
	More    int       `json:"more"`
	Unknown []Unknown `json:"unknown"`
	// Problems are what of the ledger could not be read.
	Problems []ledger.Problem `json:"-"`
}

// Count is how many calls were decided one way and are another way now.
type Count struct {
	Recorded string `json:"recorded"`
	Now      string `json:"now"`
	Calls    int    `json:"calls"`
}

// Change is a call that is decided otherwise.
type Change struct {
	Record   string    `json:"record"` // its id
	Time     time.Time `json:"time"`
	Tool     string    `json:"tool"`
	Intent   string    `json:"intent,omitempty"`
	Paths    []string  `json:"paths,omitempty"` // at most 20
	Command  string    `json:"command,omitempty"`
	Recorded Decision  `json:"recorded"`
	Now      Decision  `json:"now"`
}

// Decision is one decision.
type Decision struct {
	Decision  string `json:"decision"` // allowed, asked, refused
	ErrorType string `json:"error_type,omitempty"`
	Check     string `json:"check,omitempty"` // of the gate
	Reason    string `json:"reason,omitempty"`
}

// same: two refusals are for the same reason, two questions about the same.
func (d Decision) same(other Decision) bool {
	switch {
	case d.Decision != other.Decision:
		return false
	case d.Decision == Refused:
		return d.ErrorType == other.ErrorType
	case d.Decision == Asked:
		return d.Check == other.Check
	}
	return true
}

// Unknown counts the calls of which it cannot be known how they would be decided.
type Unknown struct {
	Reason string `json:"reason"`
	Calls  int    `json:"calls"`
}

// Newly counts the calls that have another decision now, by that.
func (r *Report) Newly() map[string]int {
	newly := map[string]int{}
	for _, n := range r.Counts {
		if n.Recorded != n.Now {
			newly[n.Now] += n.Calls
		}
	}
	return newly
}

// Changed counts the calls that are decided otherwise.
func (r *Report) Changed() int { return len(r.Changes) + r.More }

// Run judges the calls of the ledger.
func Run(ctx context.Context, o Options) (*Report, error) {
	o.Most = cmp.Or(o.Most, DefaultMost)
	laws := newLaws(&o)
	if o.Policy != nil {
		var err error
		if laws.given, err = laws.compile(o.Policy); err != nil {
			return nil, err
		}
	}
	found := make(chan []record.Entry, 2*runtime.GOMAXPROCS(0))
	tallies := make([]*tally, runtime.GOMAXPROCS(0))
	var workers sync.WaitGroup
	for i := range tallies {
		tallies[i] = newTally(o.Most)
		workers.Go(func() {
			w := newWorker(ctx, &o, laws)
			for entries := range found {
				for _, e := range entries {
					tallies[i].add(w.call(e))
				}
			}
		})
	}
	problems, err := calls(ctx, &o, func(batch []record.Entry) { found <- batch })
	close(found)
	workers.Wait()
	if err != nil {
		return nil, err
	}
	report := merged(tallies, o.Most).report()
	report.Problems = problems
	return report, nil
}

// tally is what one worker has found.
type tally struct {
	most    int
	calls   int
	same    int
	counts  map[[2]string]int
	unknown map[string]int
	changes []Change
	changed int
}

func newTally(most int) *tally {
	return &tally{most: most, counts: map[[2]string]int{}, unknown: map[string]int{}}
}

func (t *tally) add(c Change, unknown string) {
	t.calls++
	if unknown != "" {
		t.unknown[unknown]++
		return
	}
	t.counts[[2]string{c.Recorded.Decision, c.Now.Decision}]++
	if c.Recorded.same(c.Now) {
		t.same++
		return
	}
	t.changed++
	if t.changes = append(t.changes, c); len(t.changes) > 2*t.most {
		t.cut()
	}
}

// cut keeps the newest.
func (t *tally) cut() {
	slices.SortFunc(t.changes, func(a, b Change) int {
		return cmp.Or(b.Time.Compare(a.Time), strings.Compare(a.Record, b.Record))
	})
	t.changes = t.changes[:min(len(t.changes), t.most)]
}

func merged(tallies []*tally, most int) *tally {
	all := newTally(most)
	for _, t := range tallies {
		all.calls, all.same, all.changed = all.calls+t.calls, all.same+t.same, all.changed+t.changed
		all.changes = append(all.changes, t.changes...)
		for key, n := range t.counts {
			all.counts[key] += n
		}
		for reason, n := range t.unknown {
			all.unknown[reason] += n
		}
	}
	all.cut()
	return all
}

func (t *tally) report() *Report {
	r := &Report{Calls: t.calls, Same: t.same, Counts: []Count{}, Changes: t.changes, More: t.changed - len(t.changes), Unknown: []Unknown{}}
	if r.Changes == nil {
		r.Changes = []Change{}
	}
	for key, n := range t.counts {
		r.Counts = append(r.Counts, Count{key[0], key[1], n})
	}
	slices.SortFunc(r.Counts, func(a, b Count) int {
		return cmp.Or(b.Calls-a.Calls, strings.Compare(a.Recorded+a.Now, b.Recorded+b.Now))
	})
	for reason, n := range t.unknown {
		r.Unknown = append(r.Unknown, Unknown{reason, n})
	}
	slices.SortFunc(r.Unknown, func(a, b Unknown) int { return cmp.Or(b.Calls-a.Calls, strings.Compare(a.Reason, b.Reason)) })
	return r
}
