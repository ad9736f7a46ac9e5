package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/brief"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/operator"
)

// maxField bounds a text of a record that is shown to a person; --json has all of it.
const maxField = 2000

// recordView prints records in full.
type recordView struct {
	*question
	ctx      context.Context
	names    map[string]string // of intents
	contents *operator.Contents
	noDiff   bool
}

// field prints what a record has under a name; nothing if it has nothing.
func (v *recordView) field(name, value string) { v.Field("", name, printable.Clip(value, maxField)) }

func (v *recordView) record(r operator.Record, mentions []operator.Mention) {
	e := r.First()
	v.Println(v.Bold("record    " + printable.Clip(operator.NameOf(e), maxField)))
	v.field("time", v.when(e.Time))
	v.fields(e)
	v.references(e, mentions)
	v.detail(e.Detail)
	v.field("follows", strings.Join(e.Prev, " "))
	for _, part := range r.Lines {
		v.place(part)
	}
	for _, part := range r.Lines {
		for _, x := range part.Violations {
			v.violation(x)
		}
	}
	for _, part := range r.Lines {
		for _, c := range part.Changes {
			v.change(c)
		}
		if part.Kind == "" {
			v.field("files", strings.Join(part.Files, ", "))
		}
	}
}

// fields prints what a record says beside its time, its changes and its details.
func (v *recordView) fields(e record.Entry) {
	for _, f := range operator.Fields(e, v.names) {
		v.field(f.Name, f.Text)
	}
}

func (v *recordView) when(t time.Time) string {
	return t.In(v.now().Location()).Format("2006-01-02 15:04:05.000 -0700")
}

func (v *recordView) references(e record.Entry, mentions []operator.Mention) {
	for _, key := range []string{brief.Undoes, brief.UndoesInPart, brief.Retracts} {
		for _, id := range brief.References(e, key) {
			v.field(key, id)
		}
	}
	for _, m := range mentions {
		v.Println(v.Amber(fmt.Sprintf("%s %s  %s  %s", m.How, printable.Clip(operator.NameOf(m.Entry), 80), v.when(m.Entry.Time), brief.Line(m.Entry))))
	}
}

// detail prints what a record has beyond the fields of its kind.
func (v *recordView) detail(detail map[string]any) {
	for _, f := range operator.Details(detail) {
		if f.Name != brief.Undoes && f.Name != brief.UndoesInPart && f.Name != brief.Retracts {
			v.field("detail", f.Name+": "+f.Text)
		}
	}
}

// place says where a line of the record stands, and its hash, which verify and the chain name.
func (v *recordView) place(e record.Entry) {
	where := ".orchestration/" + e.Segment
	if n, err := v.Ledger.LineNumber(v.ctx, e.Segment, e.Offset); err == nil {
		where = fmt.Sprintf("%s:%d", where, n)
	}
	if e.Part != nil {
		where += fmt.Sprintf(", part %d of %d", e.Part.Index, e.Part.Count)
	}
	v.field("line", where)
	v.field("hash", e.Hash)
}

func (v *recordView) violation(x record.Violation) {
	text := strings.TrimSpace(string(x.Op) + " " + x.Path)
	if x.Kind != "" {
		text += " (" + x.Kind + ")"
	}
	if x.Reason != "" {
		text += ": " + x.Reason
	}
	if x.Reverted {
		text += " (taken back)"
	}
	v.field("violation", text)
}
