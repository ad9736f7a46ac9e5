package record

import (
	"encoding/hex"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/change"

	"github.com/go-json-experiment/json"
)

// object is a JSON object of which nothing is certain.
type object map[string]any

// foreignEntry reads a line of another tool, of which any field may be missing or be something else: the forms that
// docs/departures.md lists.
func foreignEntry(line []byte) (e Entry, ok bool) {
	var top object
	if json.Unmarshal(line, &top) != nil || top.object("metadata").object("orchestra-mcp") != nil {
		return Entry{}, false
	}
	e.ID = top.text("id", "req_id", "requestId", "trace_id")
	e.Time = foreignTime(top.text("timestamp", "created_at"))
	e.IntentID = top.text("intent_id", "intentId", "active_intent_id")
	e.MutationClass = top.text("mutation_class", "mutationClass")
	e.Call = top.text("tool", "tool_name", "toolName")
	e.ToolVersion = top.object("tool").text("version")
	e.Revision = top.object("vcs").text("revision", "revision_id")
	if e.Revision == "" {
		e.Revision = top.text("git_sha", "git_hash")
	}
	e.Contributor = top.contributor()
	e.addTraced(top, top["ranges"])
	for _, file := range top.list("files") {
		switch f := file.(type) {
		case string:
			e.addTraced(object{"path": f}, nil)
		case map[string]any:
			e.addFile(f)
		}
	}
	return e, true
}

// addFile takes one element of files, in the nested form.
func (e *Entry) addFile(file object) {
	var ranges []any
	for _, talk := range objects(file.list("conversations")) {
		ranges = append(ranges, talk.list("ranges")...)
		if e.Contributor == (Contributor{}) {
			e.Contributor = talk.object("contributor").contributor()
		}
		if e.MutationClass == "" {
			e.MutationClass = talk.object("meta").text("mutation_class")
		}
		for _, related := range objects(talk.list("related")) {
			if id := related.text("value"); id != "" {
				e.Related = append(e.Related, id)
			}
		}
	}
	if e.IntentID == "" && len(e.Related) > 0 {
		e.IntentID = e.Related[0]
	}
	e.addTraced(file, ranges)
}

// addTraced takes a path with what is said of its content.
func (e *Entry) addTraced(from object, ranges any) {
	name := from.text("path", "relative_path", "relativePath", "file_path", "filePath", "file")
	if name == "" {
		return
	}
	if !strings.Contains(name, "/") {
		name = strings.ReplaceAll(name, `\`, "/")
	}
	name = path.Clean(name)
	list, isList := ranges.([]any)
	if !isList {
		list = []any{ranges}
	}
	c := Change{
		Change: change.Change{
			Op: change.Modified, Path: name, After: change.Version{Hash: foreignHash(from.text("content_hash", "contentHash"))},
		},
	}
	for _, r := range objects(list) {
		first, last := r.number("start_line", "startLine"), r.number("end_line", "endLine")
		if first >= 1 && last >= first {
			c.Ranges = append(c.Ranges, Range{StartLine: first, EndLine: last, ContentHash: foreignHash(r.text("content_hash", "contentHash"))})
		}
	}
	if !slices.Contains(e.Files, name) {
		e.Files = append(e.Files, name)
	}
	e.Traced = append(e.Traced, c)
}

// foreignHash gives a hash our form, if it is a SHA-256.
func foreignHash(text string) string {
	digits := strings.ToLower(strings.TrimPrefix(text, "sha256:"))
	if raw, err := hex.DecodeString(digits); err != nil || len(raw) != 32 {
		return ""
	}
	return "sha256:" + digits
}

// foreignTime reads a time; one without a zone is UTC.
func foreignTime(text string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", time.DateTime, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

func (o object) contributor() Contributor {
	c := Contributor{Type: strings.ToLower(o.text("type", "entity_type")), ModelID: o.text("model_id", "model_identifier", "model")}
	switch c.Type {
	case ContributorAI, ContributorHuman, ContributorMixed:
	default:
		c.Type = ""
	}
	if c.ModelID == unknownModel {
		c.ModelID = ""
	}
	return c
}

// text is the first of the members that is a text, and not an empty one.
func (o object) text(names ...string) string {
	for _, name := range names {
		if value, ok := o[name].(string); ok && value != "" {
			return value
		}
	}
	return ""
}

// number is the first of the members that is a whole number of lines, else 0.
func (o object) number(names ...string) int {
	for _, name := range names {
		if value, ok := o[name].(float64); ok && value == float64(int32(value)) {
			return int(value)
		}
	}
	return 0
}

func (o object) object(name string) object {
	value, _ := o[name].(map[string]any)
	return value
}

// objects are the elements of a list; one that is no object is an empty one.
func objects(list []any) (all []object) {
	for _, each := range list {
		value, _ := each.(map[string]any)
		all = append(all, value)
	}
	return all
}

func (o object) list(name string) []any {
	value, _ := o[name].([]any)
	return value
}
