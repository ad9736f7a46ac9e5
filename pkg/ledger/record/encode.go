package record

import (
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/intentgov/orchestra-mcp/pkg/change"
)

const (
	TraceVersion = "0.1.0" // of Agent Trace
	toolName     = "orchestra-mcp"
	timeFormat   = "2006-01-02T15:04:05.000Z07:00"

	unknownModel    = "unknown"
	maxModelIDRunes = 250 // Agent Trace's bound for model_id
)

// The line as JSON, in the order of its keys; `prev` stands before them and is written by link.
type lineJSON struct {
	Version       string       `json:"version"`
	ID            string       `json:"id"`
	Timestamp     string       `json:"timestamp"`
	IntentID      string       `json:"intent_id,omitzero"`
	MutationClass string       `json:"mutation_class,omitzero"`
	VCS           *vcsJSON     `json:"vcs,omitzero"`
	Tool          toolJSON     `json:"tool"`
	Files         []fileJSON   `json:"files"`
	Metadata      metadataJSON `json:"metadata"`
}

type vcsJSON struct {
	Type       string `json:"type"`
	Revision   string `json:"revision"`
	RevisionID string `json:"revision_id"`
}

type toolJSON struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type fileJSON struct {
	Path          string             `json:"path"`
	RelativePath  string             `json:"relative_path"`
	Conversations []conversationJSON `json:"conversations"`
}

type conversationJSON struct {
	URL         string          `json:"url,omitzero"`
	Contributor contributorJSON `json:"contributor"`
	Ranges      []Range         `json:"ranges"`
	Related     []relatedJSON   `json:"related,omitempty"`
}

type contributorJSON struct {
	Type            string `json:"type"`
	ModelID         string `json:"model_id,omitzero"`
	EntityType      string `json:"entity_type"`
	ModelIdentifier string `json:"model_identifier,omitzero"`
}

type relatedJSON struct {
	Type  string `json:"type"`
	Value string `json:"value,omitzero"`
	URL   string `json:"url"`
}

type metadataJSON struct {
	Ours *oursJSON `json:"orchestra-mcp,omitzero"`
}

type oursJSON struct {
	Kind        Kind             `json:"kind"`
	Call        string           `json:"call,omitzero"`
	Changes     []changeJSON     `json:"changes,omitempty"`
	Class       *Class           `json:"class,omitzero"`
	Session     string           `json:"session,omitzero"`
	Contributor *contributorJSON `json:"contributor,omitzero"` // only where no file carries it
	Client      Client           `json:"client,omitzero"`
	ModelSource string           `json:"model_source,omitzero"`
	Principal   string           `json:"principal,omitzero"`
	Decision    *Decision        `json:"decision,omitzero"`
	Command     *Command         `json:"command,omitzero"`
	Violations  []Violation      `json:"violations,omitempty"`
	Policy      string           `json:"policy,omitzero"`
	Judged      *Judged          `json:"judged,omitzero"`
	Part        *Part            `json:"part,omitzero"`
	Detail      detail           `json:"detail,omitempty"`
}

type changeJSON struct {
	Path           string      `json:"path"`
	From           string      `json:"from,omitzero"`
	Op             change.Op   `json:"op"`
	Before         string      `json:"before,omitzero"`
	After          string      `json:"after,omitzero"`
	BeforeOID      string      `json:"before_oid,omitzero"`
	AfterOID       string      `json:"after_oid,omitzero"`
	BeforeMode     change.Mode `json:"before_mode,omitzero"`
	AfterMode      change.Mode `json:"after_mode,omitzero"` // where it is another one
	Hunks          [][4]int    `json:"hunks,omitempty"`
	Marks          LineMarks   `json:"marks,omitempty"`
	Anchors        []Anchor    `json:"anchors,omitempty"`
	ExternalBefore bool        `json:"external_before,omitzero"`
	Coarse         bool        `json:"coarse,omitzero"`
}

// Encode gives the line of an entry, without a newline. It uses Record, ID, Time, Prev, Revision and ToolVersion;
// Hash, Raw, Files and the position are what reading gives. A record that the format cannot hold unchanged is
// ErrInvalidRecord: nothing is replaced or shortened silently.
func Encode(e Entry) ([]byte, error) {
	prev := make([]Hash, len(e.Prev))
	for i, p := range e.Prev {
		if n, err := hex.Decode(prev[i][:], []byte(p)); err != nil || n != len(prev[i]) || len(p) != 2*n {
			return nil, fmt.Errorf("%w: prev %q is not 64 hex digits", ErrInvalidRecord, p)
		}
	}
	body, err := EncodeBody(e)
	if err != nil {
		return nil, err
	}
	return Link(nil, prev, body), nil
}

// EncodeBody gives the line from its `version` on. The chain is put before it under the lock, so that the work of
// encoding is done outside.
func EncodeBody(e Entry) ([]byte, error) {
	if err := e.Check(); err != nil {
		return nil, err
	}
	line := lineJSON{
		Version:       TraceVersion,
		ID:            e.ID,
		Timestamp:     e.Time.UTC().Format(timeFormat),
		IntentID:      e.IntentID,
		MutationClass: e.MutationClass,
		Tool:          toolJSON{Name: toolName, Version: e.ToolVersion},
		Files:         filesOf(e.Record),
		Metadata:      metadataJSON{Ours: oursOf(e.Record)},
	}
	if e.Revision != "" {
		line.VCS = &vcsJSON{Type: "git", Revision: e.Revision, RevisionID: e.Revision}
	}
	body, err := json.Marshal(line, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrInvalidRecord, err)
	}
	return body[1:], nil
}

// Link appends to dst the line that has body after prev.
func Link(dst []byte, prev []Hash, body []byte) []byte {
	dst = append(dst, PrevKey...)
	for i, p := range prev {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '"')
		dst = hex.AppendEncode(dst, p[:])
		dst = append(dst, '"')
	}
	dst = append(dst, "],"...)
	return append(dst, body...)
}

func filesOf(r Record) []fileJSON {
	files := []fileJSON{}
	for _, c := range r.Changes {
		if c.Op == change.Unchanged {
			continue
		}
		talk := conversationJSON{Contributor: contributorOf(r.Contributor), Ranges: c.Ranges}
		if r.Session != "" {
			talk.URL = "urn:uuid:" + r.Session
		}
		if r.IntentID != "" {
			link := "urn:orchestra:intent:" + url.PathEscape(r.IntentID)
			talk.Related = []relatedJSON{{Type: "specification", Value: r.IntentID, URL: link}}
		}
		files = append(files, fileJSON{Path: c.Path, RelativePath: c.Path, Conversations: []conversationJSON{talk}})
	}
	return files
}

// contributorOf keeps model_id within Agent Trace's bound; model_identifier always has the whole of it.
func contributorOf(c Contributor) contributorJSON {
	kind := c.Type
	if kind == "" {
		kind = ContributorUnknown
	}
	out := contributorJSON{Type: kind, EntityType: strings.ToUpper(kind), ModelIdentifier: c.ModelID}
	if c.ModelID == "" && kind != ContributorHuman {
		out.ModelIdentifier = unknownModel
	}
	if utf8.RuneCountInString(c.ModelID) <= maxModelIDRunes && c.ModelID != unknownModel {
		out.ModelID = c.ModelID
	}
	return out
}

func oursOf(r Record) *oursJSON {
	ours := &oursJSON{
		Kind: r.Kind, Call: r.Call, Class: r.Class, Session: r.Session, Client: r.Client, ModelSource: r.Contributor.ModelSource, Principal: r.Principal, Decision: r.Decision,
		Command: r.Command, Violations: r.Violations, Policy: r.Policy, Judged: r.Judged, Part: r.Part, Detail: r.Detail,
	}
	carried := false
	for _, c := range r.Changes {
		carried = carried || c.Op != change.Unchanged
		ours.Changes = append(ours.Changes, changeJSON{
			Path: c.Path, From: c.From, Op: c.Op, Before: c.Before.Hash, After: c.After.Hash, BeforeOID: c.Before.OID,
			AfterOID: c.After.OID, BeforeMode: c.Before.Mode, AfterMode: c.newMode(), Hunks: c.Hunks, Marks: c.Marks, Anchors: c.Anchors, ExternalBefore: c.ExternalBefore, Coarse: c.Coarse,
		})
	}
	if !carried {
		who := contributorOf(r.Contributor)
		ours.Contributor = &who
	}
	return ours
}

// coarsen covers all hunks of a change by one and all its ranges by one, without a content hash, and says so.
func coarsen(c Change) Change {
	if n := len(c.Hunks); n > 1 {
		first, last := c.Hunks[0], c.Hunks[n-1]
		c.Marks, c.Anchors = nil, nil // of lines between two hunks there are none
		c.Hunks = [][4]int{{first[0], last[0] + last[1] - first[0], first[2], last[2] + last[3] - first[2]}}
		c.Coarse = true
	}
	if n := len(c.Ranges); n > 1 {
		byEnd := func(a, b Range) int { return a.EndLine - b.EndLine }
		c.Ranges = []Range{{StartLine: c.Ranges[0].StartLine, EndLine: slices.MaxFunc(c.Ranges, byEnd).EndLine}}
		c.Coarse = true
	}
	return c
}

// MaxLine bounds the body of a line that is written, in bytes.
const MaxLine = 8 << 20

// Spread writes a record with very many changes or violations as several lines, which are appended together. Each
// carries its share and says which part it is; command, decision and detail stand in the first.
func Spread(e Entry, limit int, newID func() string) ([][]byte, error) {
	parts, err := parts(e, 0, len(e.Changes)+len(e.Violations), limit)
	if err != nil {
		return nil, err
	}
	bodies := make([][]byte, len(parts))
	for i, part := range parts {
		part.Part = &Part{Of: e.ID, Index: i + 1, Count: len(parts)}
		if i > 0 {
			part.ID = newID()
		}
		if bodies[i], err = EncodeBody(part); err != nil {
			return nil, err
		}
	}
	return bodies, nil
}

// parts halves the changes and violations from lo to hi until each part fits.
func parts(whole Entry, lo, hi, limit int) ([]Entry, error) {
	part := slicePart(whole, lo, hi)
	body, err := EncodeBody(part)
	if err == nil && len(body) > limit && hi-lo <= 1 && len(part.Changes) == 1 {
		part.Changes = []Change{coarsen(part.Changes[0])}
		body, err = EncodeBody(part)
	}
	switch {
	case err != nil:
		return nil, err
	case len(body) <= limit:
		return []Entry{part}, nil
	case hi-lo <= 1:
		return nil, fmt.Errorf("%w: %d bytes of at most %d", ErrTooLarge, len(body), limit)
	}
	mid := lo + (hi-lo)/2
	left, err := parts(whole, lo, mid, limit)
	if err != nil {
		return nil, err
	}
	right, err := parts(whole, mid, hi, limit)
	return append(left, right...), err
}

func slicePart(whole Entry, lo, hi int) Entry {
	part, n := whole, len(whole.Changes)
	part.Changes = whole.Changes[min(lo, n):min(hi, n)]
	part.Violations = whole.Violations[max(lo-n, 0):max(hi-n, 0)]
	part.Part = &Part{Of: whole.ID, Index: 1 << 20, Count: 1 << 20} // room for the real numbers
	if lo > 0 {
		part.Command, part.Decision, part.Judged, part.Detail = nil, nil, nil, nil
	}
	return part
}
