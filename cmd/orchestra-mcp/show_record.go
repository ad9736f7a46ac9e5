package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
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
	v.field("kind", strings.TrimSuffix(fmt.Sprintf("%s by %s", e.Kind, e.Call), " by "))
	v.field("intent", strings.TrimSpace(e.IntentID+"  "+v.names[e.IntentID]))
	v.field("class", classOf(e))
	v.field("who", contributorOf(e))
	v.field("session", e.Session)
	v.field("commit", e.Revision)
	if c := e.Command; c != nil {
		v.command(*c)
	}
	if d := e.Decision; d != nil {
		v.decision(*d)
	}
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

func (v *recordView) when(t time.Time) string {
	return t.In(v.now().Location()).Format("2006-01-02 15:04:05.000 -0700")
}

// classOf says the class and what stands behind it.
func classOf(e record.Entry) string {
	text := e.MutationClass
	if c := e.Class; c != nil {
		if c.Evidence != "" {
			text += ", " + c.Evidence
		}
		switch c.Declared {
		case "":
		case e.MutationClass:
			text += ", as declared"
		default:
			text += ", declared as " + c.Declared
		}
		if c.Reason != "" {
			text += ": " + c.Reason
		}
	}
	return text
}

func contributorOf(e record.Entry) string {
	parts := []string{e.Contributor.Type}
	if e.Contributor.ModelID != "" {
		model := "model " + e.Contributor.ModelID
		if source := e.Contributor.ModelSource; source != "" {
			model += " (from " + source + ")"
		}
		parts = append(parts, model)
	}
	if client := strings.TrimSpace(e.Client.Name + " " + e.Client.Version); client != "" {
		parts = append(parts, "client "+client)
	}
	if e.ToolVersion != "" {
		parts = append(parts, "recorded by orchestra-mcp "+e.ToolVersion)
	}
	return strings.TrimPrefix(strings.Join(parts, ", "), ", ")
}

func (v *recordView) command(c record.Command) {
	v.field("command", c.Command)
	if c.Redacted {
		v.field("", "what looked like a secret was left out of the line before it was recorded")
	}
	end := fmt.Sprintf("%d after %s", c.ExitCode, time.Duration(c.DurationMS)*time.Millisecond)
	if c.TimedOut {
		end += ", timed out"
	}
	if c.EndedBy != "" {
		end += ", " + c.EndedBy
	}
	if c.Started {
		end = "not known: this record is of the start"
	}
	v.field("exit code", end)
	if c.Background {
		v.field("job", strings.TrimSpace(c.Job+" in the background"))
	}
	v.field("programs", programsOf(c))
	v.field("directory", c.Cwd)
	v.field("sandbox", c.Sandbox)
	v.field("output", strings.TrimSpace(c.OutputHash+" "+c.Artifact))
}

// programsOf names what the line could run.
func programsOf(c record.Command) string {
	names := strings.Join(c.Programs, ", ")
	if c.Unjudged {
		names = strings.TrimPrefix(names+", and others that the line does not tell", ", ")
	}
	return names
}

func (v *recordView) decision(d record.Decision) {
	v.field("decision", strings.TrimSpace(d.Outcome+" "+d.ErrorType))
	v.field("reason", d.Reason)
	stopped := d.Hook
	if d.Step > 0 {
		stopped = strings.TrimSpace(fmt.Sprintf("step %d %s", d.Step, d.Hook))
	}
	v.field("check", stopped)
	v.field("also", strings.Join(d.Also, ", "))
	v.field("allowed", strings.Join(d.Allowed, ", "))
	v.field("paths", strings.Join(d.Paths, ", "))
	v.field("approval", d.Approval)
	v.field("answered", d.Principal)
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
	for _, key := range slices.Sorted(maps.Keys(detail)) {
		if key == brief.Undoes || key == brief.UndoesInPart || key == brief.Retracts {
			continue
		}
		text, isText := detail[key].(string)
		if !isText {
			encoded, err := json.Marshal(detail[key])
			if err != nil {
				encoded = []byte(err.Error())
			}
			text = string(encoded)
		}
		v.field("detail", key+": "+text)
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
