package journal

import (
	"encoding/json"
	"io/fs"

	"github.com/intentgov/orchestra-mcp/pkg/change"
)

// Files are what is about to happen to files, in the journal's own form: of permissions it has those that change alone.
type Files []change.Planned

type fileJSON struct {
	Op         string      `json:"op"` // create, modify, delete, move
	Path       string      `json:"path"`
	From       string      `json:"from,omitempty"`
	Before     string      `json:"before,omitempty"`
	After      string      `json:"after,omitempty"`
	BeforeMode fs.FileMode `json:"before_mode,omitempty"`
	AfterMode  fs.FileMode `json:"after_mode,omitempty"`
	Temp       string      `json:"temp,omitempty"`
	Gone       string      `json:"gone,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (files Files) MarshalJSON() ([]byte, error) {
	lines := make([]fileJSON, len(files))
	for i, f := range files {
		lines[i] = fileJSON{Op: f.Op.Verb(), Path: f.Path, From: f.From, Before: f.Before.Hash, After: f.After.Hash, Temp: f.Temp, Gone: f.Gone}
		if f.Op == change.Modified && f.Before.Mode != f.After.Mode {
			lines[i].BeforeMode, _ = f.Before.Mode.FileMode()
			lines[i].AfterMode, _ = f.After.Mode.FileMode()
		}
	}
	return json.Marshal(lines)
}

// UnmarshalJSON implements json.Unmarshaler.
func (files *Files) UnmarshalJSON(text []byte) error {
	var lines []fileJSON
	if err := json.Unmarshal(text, &lines); err != nil {
		return err
	}
	*files = make(Files, len(lines))
	for i, l := range lines {
		f := change.Planned{Change: change.Change{Op: change.OpOf(l.Op), Path: l.Path, From: l.From}, Temp: l.Temp, Gone: l.Gone}
		f.Before.Hash, f.After.Hash = l.Before, l.After
		if l.BeforeMode != l.AfterMode {
			f.Before.Mode, f.After.Mode = change.ModeOf(l.BeforeMode), change.ModeOf(l.AfterMode)
		}
		(*files)[i] = f
	}
	return nil
}
