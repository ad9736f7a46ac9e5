package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/operator"
	"github.com/intentgov/orchestra-mcp/pkg/undo"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"

	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// pageOfRecords is how many records are shown at once.
const pageOfRecords = 100

// timeline shows the records, newest first, a page at a time. The next page begins where this one ended: at a time, behind
// the record with a hash.
func (c *Console) timeline(r *http.Request, p *place) (page, error) {
	asked := r.URL.Query()
	filter := record.Filter{
		IntentID: asked.Get("intent"), Path: asked.Get("path"), Class: asked.Get("class"), Session: asked.Get("session"), Newest: true, Limit: pageOfRecords + 1,
	}
	if kind := asked.Get("kind"); kind != "" {
		filter.Kinds = []record.Kind{record.Kind(kind)}
	}
	var err error
	if filter.Since, err = dayOf(asked.Get("since")); err != nil {
		return page{}, err
	}
	if filter.Until, err = dayOf(asked.Get("until")); err != nil {
		return page{}, err
	}
	if !filter.Until.IsZero() {
		filter.Until = filter.Until.AddDate(0, 0, 1)
	}
	found, next, err := p.pageOf(r.Context(), filter, asked.Get("from"))
	if err != nil {
		return page{}, err
	}
	if next != "" {
		asked.Set("from", next)
		next = at(p, "timeline") + "?" + asked.Encode()
	}
	asked.Del("from")
	data := struct {
		Asked   map[string]string
		Kinds   []record.Kind
		Intents map[string]string
		Entries []record.Entry
		Next    string
	}{flat(asked), record.Kinds(), p.intentNames(), found, next}
	shown := page{Template: "timeline", Title: "Timeline", Tab: "timeline", Place: p, Live: []area{records}, Data: data}
	if r.URL.Query().Has("from") { // it is put behind the page before
		shown.Template, shown.Part, shown.Live = "entries", true, nil
	}
	return shown, nil
}

func flat(values map[string][]string) map[string]string {
	first := map[string]string{}
	for name, all := range values {
		first[name] = all[0]
	}
	return first
}

// dayOf reads a day in UTC; none is the zero time.
func dayOf(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return day, badRequest(fmt.Sprintf("%q is not a day; write it as 2026-01-31.", text))
	}
	return day, nil
}

// pageOf gives the records behind a place in the timeline, and the place behind them, "" at the end.
func (p *place) pageOf(ctx context.Context, filter record.Filter, from string) (found []record.Entry, next string, err error) {
	last := ""
	if from != "" {
		when, hash, _ := strings.Cut(from, " ")
		at, err := time.Parse(time.RFC3339Nano, when)
		if err != nil {
			return nil, "", badRequest("The timeline cannot go on there: begin at its top.")
		}
		// Records of one millisecond: all of it is asked for again, and what was shown is left out.
		last, filter.Until = hash, at.Add(time.Millisecond)
	}
	for {
		result, err := p.Ledger.Query(ctx, filter)
		if err != nil {
			return nil, "", err
		}
		found = result.Entries
		behind := slices.IndexFunc(found, func(e record.Entry) bool { return e.Hash == last }) + 1
		if last == "" || behind > 0 && len(found)-behind > pageOfRecords || len(found) < filter.Limit {
			found = found[behind:]
			break
		}
		filter.Limit *= 2
	}
	if len(found) > pageOfRecords {
		found = found[:pageOfRecords]
		end := found[pageOfRecords-1]
		next = end.Time.UTC().Format(time.RFC3339Nano) + " " + end.Hash
	}
	return found, next, nil
}

// record shows one record, with what it changed.
func (c *Console) record(r *http.Request, p *place) (page, error) {
	found, err := p.Record(r.Context(), r.PathValue("id"))
	if err != nil {
		return page{}, err
	}
	contents, err := p.Contents(r.Context())
	if err != nil {
		return page{}, err
	}
	defer contents.Close()
	data := struct {
		Entry      record.Entry
		Fields     []operator.Field
		Diffs      []fileDiff
		Violations []record.Violation
		Raw        string
		CanUndo    bool
		Output     string
	}{Entry: found.First()}
	if c := data.Entry.Command; c != nil && c.Artifact != "" {
		data.Output = p.Output(c.Artifact, data.Entry.Principal)
	}
	data.Fields = append(operator.Fields(data.Entry, p.intentNames()), operator.Details(data.Entry.Detail)...)
	data.Fields = append(data.Fields, operator.Field{Name: "hash", Text: data.Entry.Hash})
	for _, line := range found.Lines {
		data.Violations = append(data.Violations, line.Violations...)
		data.Raw += string(line.Raw) + "\n"
	}
	for _, ch := range found.Changes() {
		data.CanUndo = data.CanUndo || ch.Op != change.Unchanged
		data.Diffs = append(data.Diffs, changeDiff(contents, ch))
	}
	return page{Template: "record", Title: "Record " + r.PathValue("id"), Tab: "timeline", Place: p, Data: data}, nil
}

// changeDiff is what a record did to a file, as far as the contents are still to be had.
func changeDiff(contents *operator.Contents, ch record.Change) fileDiff {
	d := fileDiff{Path: ch.Path, Note: string(ch.Op)}
	if ch.From != "" {
		d.Path = ch.From + " → " + ch.Path
	}
	if ch.ExternalBefore {
		d.Note += "; somebody else had changed the file since its last record"
	}
	if ch.Op == change.Unchanged || ch.Before.Hash == ch.After.Hash {
		return d
	}
	before, after, err := contents.Texts(ch)
	if err != nil {
		added, removed := ch.Lines()
		d.Note += fmt.Sprintf(", +%d −%d lines; the difference is not available: %v", added, removed, err)
		return d
	}
	note := d.Note
	d = diffOf(d.Path, before, after)
	d.Note = note
	return d
}

// recordAfter is what became of a record, which takes a look through the ledger.
func (c *Console) recordAfter(r *http.Request, p *place) (page, error) {
	found, err := p.Record(r.Context(), r.PathValue("id"))
	if err != nil {
		return page{}, err
	}
	mentions, err := p.Mentions(r.Context(), []operator.Record{found})
	return page{Template: "after", Part: true, Place: p, Data: mentions[found.First().Hash]}, err
}

// undo shows what taking a record back would do.
func (c *Console) undo(r *http.Request, p *place) (page, error) {
	id := r.URL.Query().Get("record")
	data := struct {
		Record string
		Plan   *undo.Plan
		Diffs  []fileDiff
		Digest string
	}{Record: id}
	err := p.WithServer(func(srv *server.Server) (err error) {
		data.Plan, err = srv.PlanUndo(r.Context(), undo.Request{Records: []string{id}})
		return err
	})
	if err != nil {
		return page{}, undoError(err)
	}
	data.Digest = digestOf(data.Plan)
	for _, f := range data.Plan.Files {
		data.Diffs = append(data.Diffs, undoDiff(f))
	}
	return page{Template: "undo", Title: "Undo " + id, Tab: "timeline", Place: p, Data: data}, nil
}

func undoError(err error) error {
	for _, known := range []error{undo.ErrNoRecord, undo.ErrAmbiguous, undo.ErrIntents, undo.ErrNotYet} {
		if errors.Is(err, known) {
			return &problem{http.StatusConflict, err.Error()}
		}
	}
	return err
}

func undoDiff(f undo.File) fileDiff {
	before, err := workspace.Decode(f.Before.Bytes)
	after, other := workspace.Decode(f.After.Bytes)
	note := f.Op.Verb()
	if f.Merged {
		note += "; what was changed since stays"
	}
	if len(f.Notes) > 0 {
		note += "; " + strings.Join(f.Notes, "; ")
	}
	if err != nil || other != nil {
		return fileDiff{Path: f.Path, Note: note + "; binary"}
	}
	d := diffOf(f.Path, before.String, after.String)
	d.Note = note
	return d
}

// digestOf names what a plan would make of the files, so that what is done is what was shown.
func digestOf(plan *undo.Plan) string {
	var parts []string
	for _, f := range plan.Files {
		parts = append(parts, f.Op.Verb(), f.Path, f.From, f.Before.Hash, f.After.Hash)
	}
	return fmt.Sprintf("%x", hashOf(strings.Join(parts, "\x00")))
}

func (c *Console) doUndo(r *http.Request, p *place) (done, error) {
	var id string
	var warnings []string
	err := p.WithServer(func(srv *server.Server) error {
		ctx := context.WithoutCancel(r.Context())
		plan, err := srv.PlanUndo(ctx, undo.Request{Records: []string{r.PostForm.Get("record")}})
		switch {
		case err != nil:
			return undoError(err)
		case digestOf(plan) != r.PostForm.Get("digest"):
			return &problem{http.StatusConflict, "The files have changed since you looked: look again before you undo."}
		case len(plan.Conflicts) > 0 || !plan.Ready():
			return &problem{http.StatusConflict, "There is nothing that can be taken back as a whole."}
		}
		id, warnings, err = srv.Undo(ctx, plan)
		return err
	})
	if err != nil {
		return done{}, err
	}
	return done{Text: strings.Join(append([]string{"Undone."}, warnings...), "\n"), To: at(p, "records", id)}, nil
}
