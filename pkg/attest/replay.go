package attest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/gitread"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/review"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// Replay is what came of doing the records' changes again on the merge base's files.
type Replay struct {
	Tree  string     `json:"tree"`  // that came out
	Exact bool       `json:"exact"` // it is HEAD's, and all but governance files came to their state by records alone
	Files []Replayed `json:"files"`
	Taken []Taken    `json:"taken"` // from HEAD as they are: what the records do not lead to
}

// Replayed is a file that the records lead to.
type Replayed struct {
	Path    string `json:"path"`
	Changes int    `json:"changes"`
	// Checked counts those whose contents before and after are in the repository; the others are known by their hashes.
	Checked int `json:"checked"`
}

// Taken is a path and why it was not replayed.
type Taken struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// replay does the changes on each file's way, and takes the rest from HEAD.
func (s *source) replay() (r Replay, contradictions []string, err error) {
	r = Replay{Files: []Replayed{}, Taken: []Taken{}}
	gone, made := []string{}, map[string]entry{}
	for i := range s.evidence.Files {
		f := &s.evidence.Files[i]
		way, led := s.evidence.Ways[f.Path]
		if !led {
			continue
		}
		done, against, err := s.replayFile(f.Path, way)
		if err != nil {
			return r, nil, err
		}
		if against != "" {
			contradictions = append(contradictions, against)
			continue
		}
		r.Files = append(r.Files, done)
		gone = append(gone, way.From, f.Path)
		if e, there := s.head[f.Path]; there {
			content, err := s.read(e.id, "blob", maxText)
			if err != nil {
				return r, nil, err
			}
			made[f.Path] = entry{s.modeOf(way), idOf(content, "blob", len(e.id))}
		}
	}
	result := maps.Clone(s.base)
	for _, path := range gone {
		delete(result, path)
	}
	maps.Copy(result, made)
	r.Exact = true
	for _, path := range differing(result, s.head) {
		r.Exact = r.Exact && s.governance(path)
		r.Taken = append(r.Taken, Taken{path, s.reason(path, result)})
		delete(result, path)
		if e, there := s.head[path]; there {
			result[path] = e
		}
	}
	r.Tree = treeID(result, len(s.tree))
	if r.Tree != s.tree {
		r.Exact = false
		contradictions = append(contradictions, fmt.Sprintf("the files of HEAD's tree make the tree %s, not %s", r.Tree, s.tree))
	}
	return r, contradictions, nil
}

// modeOf is the mode of a file after its changes. Where the last of them does not tell, it is that which the file had, and an
// ordinary one for a new file.
func (s *source) modeOf(way review.Way) string {
	if mode, known := way.Changes[len(way.Changes)-1].After.Mode.FileMode(); known {
		return gitread.FileMode(mode)
	}
	if before, there := s.base[way.From]; there && before.regular() {
		return before.mode
	}
	return "100644"
}

// inWorkspace makes a path of the repository one of the workspace.
func (s *source) inWorkspace(path string) (inside string, ok bool) {
	if s.evidence.Workspace == "" {
		return path, true
	}
	return strings.CutPrefix(path, s.evidence.Workspace+"/")
}

// governance: people and the server itself write the file, and no tool for files.
func (s *source) governance(path string) bool {
	inside, ok := s.inWorkspace(path)
	return ok && (strings.HasPrefix(inside, ".orchestration/") || inside == ".intentignore")
}

func (s *source) reason(path string, result map[string]entry) string {
	e, there := s.head[path]
	if got, had := result[path]; there && had && got.id == e.id {
		return fmt.Sprintf("the records lead to its content, and not to its mode %s", e.mode)
	}
	switch _, ok := s.inWorkspace(path); {
	case !ok:
		return "it is not in the workspace"
	case s.governance(path):
		return "it is a governance file, which no tool for files writes"
	case there && !e.regular():
		return "it is a link or a submodule"
	}
	return "the records of the range do not lead from its content in the merge base to that at HEAD without a gap"
}

// replayFile follows a way from content to content, and checks each change whose contents are there. against says what
// contradicts a record.
func (s *source) replayFile(path string, way review.Way) (done Replayed, against string, err error) {
	done = Replayed{Path: path, Changes: len(way.Changes)}
	var at []byte
	known := true
	if e, there := s.base[way.From]; there {
		if at, err = s.read(e.id, "blob", maxText); err != nil {
			return done, "", err
		}
	}
	for i, c := range way.Changes {
		after, has := s.after(c, i == len(way.Changes)-1, path)
		if known && has {
			if why := contradicts(c, at, after); why != "" {
				return done, fmt.Sprintf("%s: change %d of %d by the range's records: %s", path, i+1, len(way.Changes), why), nil
			}
			done.Checked++
		}
		at, known = after, has
	}
	return done, "", nil
}

// after is the content that a change left, if it is here.
func (s *source) after(c record.Change, last bool, path string) ([]byte, bool) {
	e, there := s.head[path]
	switch {
	case c.After.Hash == "":
		return nil, true
	case last && there:
		content, err := s.read(e.id, "blob", maxText)
		return content, err == nil
	}
	return s.evidence.Content(c.After.OID)
}

// contradicts says what a record tells of two contents that is not so.
func contradicts(c record.Change, before, after []byte) string {
	switch {
	case c.Before.Hash != "" && c.Before.Hash != string(workspace.HashOf(before)):
		return "the content before it has another hash than the record says"
	case c.After.Hash != "" && c.After.Hash != string(workspace.HashOf(after)):
		return "the content after it has another hash than the record says"
	case c.Coarse || c.After.Hash == "" || len(c.Hunks) == 0:
		return ""
	}
	old, err := workspace.Decode(before)
	changed, errAfter := workspace.Decode(after)
	if err != nil || errAfter != nil || old.Encoding != changed.Encoding { // the same bytes would be other letters
		return ""
	}
	if !applies(c.Hunks, edit.RawLines(old.String), edit.RawLines(changed.String)) {
		return "the two contents differ in other lines than the record says"
	}
	lines := edit.Lines(changed.String)
	for _, r := range c.Ranges {
		if r.ContentHash == "" {
			continue
		}
		if r.StartLine < 1 || r.EndLine > len(lines) || r.StartLine > r.EndLine || edit.HashLines(lines[r.StartLine-1:r.EndLine]) != r.ContentHash {
			return fmt.Sprintf("lines %d to %d after it have another hash than the record says", r.StartLine, r.EndLine)
		}
	}
	return ""
}

// applies: taking the hunks' new lines from after, and all others from before, gives after.
func applies(hunks [][4]int, before, after []string) bool {
	var result []string
	at := 0 // lines of before that are done
	for _, h := range hunks {
		from, into := h[0]-min(h[1], 1), h[2]-min(h[3], 1) // a side without lines names the line before its place
		if from < at || from > len(before) || h[1] < 0 || h[1] > len(before)-from || into < 0 || into > len(after) || h[3] < 0 || h[3] > len(after)-into {
			return false
		}
		result = append(append(result, before[at:from]...), after[into:into+h[3]]...)
		at = from + h[1]
	}
	return slices.Equal(append(result, before[at:]...), after)
}
