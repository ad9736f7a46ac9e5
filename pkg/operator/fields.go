package operator

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// Field is something that a record says, under a name. One without a name belongs to the field before it.
type Field struct{ Name, Text string }

type fields []Field

// add adds what there is.
func (fs *fields) add(name, text string) {
	if text != "" {
		*fs = append(*fs, Field{name, text})
	}
}

// Fields are what a record says beside its time, its changes and its details, in the order in which a person reads them.
// names are those of the intents, by their ids.
func Fields(e record.Entry, names map[string]string) []Field {
	var fs fields
	fs.add("kind", strings.TrimSuffix(fmt.Sprintf("%s by %s", e.Kind, e.Call), " by "))
	fs.add("intent", strings.TrimSpace(e.IntentID+"  "+names[e.IntentID]))
	fs.add("class", classOf(e))
	fs.add("who", contributorOf(e))
	fs.add("principal", e.Principal)
	fs.add("session", e.Session)
	fs.add("commit", e.Revision)
	if c := e.Command; c != nil {
		fs.command(*c)
	}
	if u, is := e.Upstream(); is {
		fs.upstream(u)
	}
	if d := e.Decision; d != nil {
		fs.decision(*d)
	}
	return fs
}

// upstream is a call that another server carried out. Its digests are among the details.
func (fs *fields) upstream(u record.Upstream) {
	fs.add("server", u.Server)
	fs.add("its tool", u.Tool)
	switch {
	case u.Problem != "":
		fs.add("its answer", u.Problem)
	case u.IsError:
		fs.add("its answer", "it failed")
	}
}

// Details are what a record has beyond the fields of its kind, by their keys; what is no text is JSON.
func Details(detail map[string]any) []Field {
	var fs fields
	for _, key := range slices.Sorted(maps.Keys(detail)) {
		text, isText := detail[key].(string)
		if !isText {
			encoded, err := json.Marshal(detail[key])
			if err != nil {
				encoded = []byte(err.Error())
			}
			text = string(encoded)
		}
		fs = append(fs, Field{key, text})
	}
	return fs
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

func (fs *fields) command(c record.Command) {
	fs.add("command", c.Command)
	if c.Redacted {
		fs.add("", "what looked like a secret was left out of the line before it was recorded")
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
	fs.add("exit code", end)
	if c.Background {
		fs.add("job", strings.TrimSpace(c.Job+" in the background"))
	}
	fs.add("programs", programsOf(c))
	fs.add("directory", c.Cwd)
	fs.add("sandbox", c.Sandbox)
	fs.add("output", strings.TrimSpace(c.OutputHash+" "+c.Artifact))
}

// programsOf names what the line could run.
func programsOf(c record.Command) string {
	names := strings.Join(c.Programs, ", ")
	if c.Unjudged {
		names = strings.TrimPrefix(names+", and others that the line does not tell", ", ")
	}
	return names
}

func (fs *fields) decision(d record.Decision) {
	fs.add("decision", strings.TrimSpace(d.Outcome+" "+d.ErrorType))
	fs.add("reason", d.Reason)
	stopped := d.Hook
	if d.Step > 0 {
		stopped = strings.TrimSpace(fmt.Sprintf("step %d %s", d.Step, d.Hook))
	}
	fs.add("check", stopped)
	fs.add("also", strings.Join(d.Also, ", "))
	fs.add("allowed", strings.Join(d.Allowed, ", "))
	fs.add("paths", strings.Join(d.Paths, ", "))
	fs.add("approval", d.Approval)
	fs.add("answered", d.Principal)
}
