package review

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/history"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/seal"
)

// checkLedger compares the ledger with that of each parent, and checks its chain and its seals.
func (r *review) checkLedger() error {
	if err := r.checkHistory(); err != nil {
		return err
	}
	if err := r.checkChain(); err != nil {
		return err
	}
	for _, name := range r.head.odd {
		severity := Error
		if slices.Contains(r.base.odd, name) {
			severity = Warning
		}
		r.find(CheckLedger, severity, r.inRepository(name), "a link or a submodule stands where a governance file belongs", "Replace it by the regular file.")
	}
	return nil
}

func (r *review) checkHistory() error {
	compared, err := history.Verify(r.ctx, r.root, history.Options{Base: r.base.commit, Head: r.head.commit})
	if err != nil {
		return err
	}
	for _, p := range compared.Problems {
		// The line is one of the commit that still has it.
		p.Detail, p.Line = fmt.Sprintf("%s (line %d there)", p.Detail, p.Line), 0
		severity, advice := Error, "Bring it back: orchestra-mcp ledger restore, or merge the base again without dropping lines."
		if p.Kind == history.ProblemReverted || p.Kind == history.ProblemRevertedSeal {
			severity, advice = Warning, "A revert took it along with the change. Bring it back: orchestra-mcp ledger restore."
		}
		r.addProblem(p, severity, advice)
	}
	for _, sentence := range compared.Unproven {
		r.unproven("%s", sentence)
	}
	return nil
}

// checkChain counts only what the base has not: a broken chain there is not this range's work.
func (r *review) checkChain() error {
	now, err := seal.Verify(r.ctx, r.head.root, r.opts.Seals)
	if err != nil {
		return err
	}
	r.chain = now
	for _, sentence := range now.Unproven {
		r.unproven("%s", sentence)
	}
	if now.Records == 0 {
		r.unproven("commit %s has no ledger record: no change of the range is explained by one", short(r.head.commit))
	}
	for _, p := range history.CheckLostIn(r.ctx, r.root, r.head.commit, now.Report) {
		r.addProblem(p, Error, "Bring it back: orchestra-mcp ledger restore, or commit the ledger that these records are in.")
	}
	if len(r.opts.Seals.Required) > 0 && now.Unsealed > 0 {
		r.find(CheckLedger, Warning, r.inRepository(home+"/seals"), fmt.Sprintf("%d of %d records are under no seal of a trusted key", now.Unsealed, now.Records),
			"Seal them before the commit (orchestra-mcp seal, or orchestra-mcp git install-hooks): a seal covers only what was there.")
	}
	if len(now.Problems) == 0 {
		return nil
	}
	old, err := seal.Verify(r.ctx, r.base.root, r.opts.Seals)
	if err != nil {
		return err
	}
	known := map[ledger.Problem]bool{}
	for _, p := range old.Problems {
		p.Line = 0
		known[p] = p.Kind != seal.ProblemRequired
	}
	for _, p := range now.Problems {
		lineless := p
		lineless.Line = 0
		if known[lineless] {
			p.Detail += "; the base has it too"
			r.addProblem(p, Warning, "Repair the base: orchestra-mcp verify there says how.")
			continue
		}
		r.addProblem(p, Error, "Run orchestra-mcp verify on this branch, and bring back what was changed or removed.")
	}
	return nil
}

func (r *review) addProblem(p ledger.Problem, severity Severity, advice string) {
	f := Finding{Check: CheckLedger, Severity: severity, File: r.inRepository(home + "/" + p.Segment), Line: p.Line, End: p.Line,
		Message: string(p.Kind) + ": " + p.Detail, Advice: advice}
	if p.Record != "" {
		f.Records = []string{p.Record}
	}
	for _, other := range r.report.Findings {
		if other.Check == CheckLedger && other.File == f.File && other.Line == f.Line && f.Line > 0 {
			return // the same line, found by reading the records
		}
	}
	r.add(f)
}

// checkGovernance reports what the range changed of the rules by which agents work and this review judges.
func (r *review) checkGovernance() {
	if r.head.unreadable != nil {
		r.find(CheckIntent, Error, r.inRepository(intentsFile), "HEAD's intents cannot be read: "+r.head.unreadable.Error(), "Mend the file: orchestra-mcp intents validate.")
	}
	if r.base.unreadable != nil {
		r.find(CheckIntent, Error, r.inRepository(intentsFile), "BASE's intents cannot be read: "+r.base.unreadable.Error(), "Mend the file in the base first.")
	}
	if r.head.intents != nil {
		for _, in := range r.head.intents.All() {
			r.checkIntentChange(in)
		}
	}
	r.checkRemovedIntents()
	names := slices.AppendSeq(slices.Collect(maps.Keys(r.fork.ids)), maps.Keys(r.head.ids))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if what := ruleFile(name); what != "" && r.fork.ids[name] != r.head.ids[name] && r.base.ids[name] != r.head.ids[name] {
			r.find(CheckGovernance, Warning, r.inRepository(name), what+" "+verb(r.fork.ids[name], r.head.ids[name]),
				"Read the change as the operator: it decides what agents may do, or whose seals count.")
		}
	}
}

// ruleFile says what a governance file is; nothing for those that are records.
func ruleFile(name string) string {
	switch {
	case path.Base(name) == ignoreFile:
		return "the ignore rules were"
	case name == home+"/config.yaml":
		return "the settings were"
	case strings.HasPrefix(name, home+"/seals/keys/"):
		return "a public key was"
	}
	return ""
}

func verb(before, after string) string {
	switch {
	case before == "":
		return "added"
	case after == "":
		return "removed"
	}
	return "changed"
}

// checkIntentChange reports an intent that the range added or made wider.
func (r *review) checkIntentChange(now *intent.Intent) {
	old, had := r.fork.get(now.ID)
	if other, ok := r.base.get(now.ID); ok && other.Version() == now.Version() {
		return // it came with a merge of the base
	}
	what := "added in this range"
	if had {
		wider := widened(old, now)
		if len(wider) == 0 {
			return
		}
		what = "widened in this range: " + strings.Join(wider, "; ")
	} else if now.Scope().Unrestricted() {
		what += ", for all paths"
	} else {
		what += ", for " + strings.Join(quoted(now.OwnedScope), ", ")
	}
	by, records := r.lifecycle(now.ID)
	r.add(Finding{
		Check: CheckGovernance, Severity: Warning, File: r.inRepository(intentsFile), Line: now.Line, End: now.Line, Intent: now.ID, Records: records,
		Message: fmt.Sprintf("%s was %s, %s", now.ID, what, by), Advice: "Decide whether this work was meant to be allowed: the base does not say so.",
	})
}

// lifecycle tells whether records explain a change of an intent.
func (r *review) lifecycle(id string) (by string, records []string) {
	for _, rec := range r.records {
		if rec.IntentID == id && rec.Kind == record.KindLifecycle && len(records) < maxRecords {
			records = append(records, rec.name())
		}
	}
	if len(records) == 0 {
		return "by an edit of the file that no record tells of", nil
	}
	return "and records tell of changes of it", records
}

// widened lists what an intent allows now and did not allow before.
func widened(old, now *intent.Intent) (wider []string) {
	say := func(format string, args ...any) { wider = append(wider, fmt.Sprintf(format, args...)) }
	switch more := missing(now.OwnedScope, old.OwnedScope); {
	case old.Scope().Unrestricted():
	case now.Scope().Unrestricted():
		say("its scope is no longer restricted")
	case len(more) > 0:
		say("owned_scope has %s more", strings.Join(quoted(more), ", "))
	}
	if more := missing(now.Commands.Allow, old.Commands.Allow); len(more) > 0 {
		say("commands.allow has %s more", strings.Join(quoted(more), ", "))
	}
	if less := missing(old.Commands.Deny, now.Commands.Deny); len(less) > 0 {
		say("commands.deny lacks %s", strings.Join(quoted(less), ", "))
	}
	if less := missing(old.Commands.Ask, slices.Concat(now.Commands.Ask, now.Commands.Deny)); len(less) > 0 {
		say("commands.ask lacks %s", strings.Join(quoted(less), ", "))
	}
	if old.Commands.Network == "deny" && now.Commands.Network != "deny" {
		say("the network is no longer denied")
	}
	for _, rule := range old.Rules {
		if !slices.Contains(now.Rules, rule) {
			say("the rule %q was removed or changed", rule.Name)
		}
	}
	if less := missing(old.Verify, now.Verify); len(less) > 0 {
		say("no longer verified by %s", strings.Join(quoted(less), ", "))
	}
	if !old.Status.Selectable() && now.Status.Selectable() {
		say("it was reopened")
	}
	return wider
}

func (r *review) checkRemovedIntents() {
	if r.fork.intents == nil || r.head.unreadable != nil {
		return
	}
	for _, old := range r.fork.intents.All() {
		_, stays := r.head.get(old.ID)
		_, based := r.base.get(old.ID)
		if !stays && based {
			r.add(Finding{
				Check: CheckGovernance, Severity: Note, File: r.inRepository(intentsFile), Intent: old.ID,
				Message: old.ID + " was removed in this range", Advice: "The records under it remain; check that the work is done.",
			})
		}
	}
}

// missing are the elements of a that b has not.
func missing(a, b []string) (only []string) {
	for _, x := range a {
		if !slices.Contains(b, x) {
			only = append(only, x)
		}
	}
	return only
}

func quoted(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = fmt.Sprintf("%q", text)
	}
	return out
}
