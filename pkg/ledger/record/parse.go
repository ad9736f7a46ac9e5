package record

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/change"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Parse reads one line, without its newline. A line of another tool parses if it is one JSON object; its Kind is empty
// then, and what it says in the forms of docs/departures.md is in the fields that are ours. Encode(Parse(x)) is x for every line that this
// package wrote. Any other line is ErrMalformed.
func Parse(line []byte) (Entry, error) {
	line = bytes.TrimSuffix(line, []byte("\r"))
	prev, kind := Classify(line)
	if !kind.Linked() {
		return Entry{}, fmt.Errorf("%w: not a JSON object", ErrMalformed)
	}
	if kind == LineForeign {
		if e, ok := foreignEntry(line); ok {
			e.Hash, e.Raw = Identity(line).String(), bytes.Clone(line)
			return e, nil
		}
	}
	if of, is := StandsFor(line); is {
		return Entry{Record: Record{Kind: KindWithheld}, Hash: of.String(), Raw: bytes.Clone(line), Prev: texts(prev)}, nil
	}
	var decoded lineJSON
	if err := json.Unmarshal(line, &decoded); err != nil {
		return Entry{}, fmt.Errorf("%w: %v", ErrMalformed, err)
	}
	e := Entry{
		ID: decoded.ID, ToolVersion: decoded.Tool.Version, Hash: Identity(line).String(), Raw: bytes.Clone(line),
	}
	e.Prev = texts(prev)
	if decoded.VCS != nil {
		e.Revision = decoded.VCS.Revision
	}
	var err error
	if e.Time, err = time.Parse(time.RFC3339Nano, decoded.Timestamp); err != nil && kind == LineRecord {
		return Entry{}, fmt.Errorf("%w: timestamp %q", ErrMalformed, decoded.Timestamp)
	}
	e.Time = e.Time.UTC()
	e.Record = recordOf(&decoded)
	for _, f := range decoded.Files {
		e.Files = append(e.Files, f.Path)
	}
	return e, nil
}

func texts(hashes []Hash) (list []string) {
	for _, h := range hashes {
		list = append(list, h.String())
	}
	return list
}

func recordOf(line *lineJSON) Record {
	r := Record{IntentID: line.IntentID, MutationClass: line.MutationClass}
	r.Contributor = readContributor(line)
	ours := line.Metadata.Ours
	if ours == nil {
		return r
	}
	r.Kind, r.Call, r.Class, r.Session, r.Client = ours.Kind, ours.Call, ours.Class, ours.Session, ours.Client
	r.Decision, r.Command, r.Violations, r.Part, r.Detail = ours.Decision, ours.Command, ours.Violations, ours.Part, ours.Detail
	r.Policy, r.Judged, r.Principal = ours.Policy, ours.Judged, ours.Principal
	for i := range ours.Changes {
		c := &ours.Changes[i]
		r.Changes = append(r.Changes, Change{
			Change: change.Change{
				Op: c.Op, Path: c.Path, From: c.From, Before: change.Version{Hash: c.Before, OID: c.BeforeOID, Mode: c.BeforeMode}, After: change.Version{Hash: c.After, OID: c.AfterOID, Mode: c.modeAfter()}, Hunks: c.Hunks,
			},
			Marks: c.Marks, Anchors: c.Anchors, ExternalBefore: c.ExternalBefore, Coarse: c.Coarse,
		})
	}
	readRanges(r.Changes, line.Files)
	return r
}

// readRanges gives the changes their ranges back: files has one element for each change that changed something, in
// the same order.
func readRanges(changes []Change, files []fileJSON) {
	for i := range changes {
		if changes[i].Op == change.Unchanged {
			continue
		}
		if len(files) == 0 || files[0].Path != changes[i].Path {
			return
		}
		for _, talk := range files[0].Conversations {
			changes[i].Ranges = append(changes[i].Ranges, talk.Ranges...)
		}
		files = files[1:]
	}
}

func readContributor(line *lineJSON) Contributor {
	var from *contributorJSON
	for _, f := range line.Files {
		if len(f.Conversations) > 0 {
			from = &f.Conversations[0].Contributor
			break
		}
	}
	if ours := line.Metadata.Ours; from == nil && ours != nil {
		from = ours.Contributor
	}
	if from == nil {
		return Contributor{}
	}
	c := Contributor{Type: from.Type, ModelID: from.ModelID}
	if c.Type == ContributorUnknown {
		c.Type = ""
	}
	if c.ModelID == "" && from.ModelIdentifier != unknownModel {
		c.ModelID = from.ModelIdentifier
	}
	if ours := line.Metadata.Ours; ours != nil {
		c.ModelSource = ours.ModelSource
	}
	return c
}

// detail is a Record's Detail on a line.
type detail map[string]any

// UnmarshalJSONFrom leaves the other members of a line to the decoder as it is, which has less to look for then.
func (d *detail) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	return json.UnmarshalDecode(dec, (*map[string]any)(d), json.WithUnmarshalers(exactNumbers))
}

// exactNumbers makes numbers in Detail come back as the Go number that encodes to the same text: int64, else uint64,
// else float64. There is one for all lines: it keeps what it has found out about types.
var exactNumbers = json.UnmarshalFromFunc(exactNumber)

func exactNumber(dec *jsontext.Decoder, into *any) error {
	if dec.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	token, err := dec.ReadToken()
	if err != nil {
		return err
	}
	text := token.String()
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && text != "-0" {
		*into = n
		return nil
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		*into = n
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return fmt.Errorf("number %s is out of range", text)
	}
	*into = f
	return nil
}
