package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

const (
	formatVersion = 1
	maxTime       = 1 << 62 // nanoseconds: leaves room to count on from
	maxFieldBytes = 256     // of an intent id, a client's name, a model id: what a client says of itself
)

// selection is what a session has selected, and who it is; a value that is replaced, never changed.
type selection struct {
	Version       int         `json:"version"`
	PublicID      uuid.UUID   `json:"public_id"`
	IntentID      string      `json:"intent_id"`
	Ended         bool        `json:"ended,omitempty"`
	MutationClass string      `json:"mutation_class,omitempty"`
	StartedAt     time.Time   `json:"started_at"`
	ClientName    string      `json:"client_name,omitempty"`
	ClientVersion string      `json:"client_version,omitempty"`
	ModelID       string      `json:"model_id,omitempty"`
	ModelSource   ModelSource `json:"model_source,omitempty"`
	Principal     string      `json:"principal,omitempty"`
	Server        string      `json:"server,omitempty"`
}

func parseSelection(data []byte) (selection, error) {
	var sel selection
	if err := json.Unmarshal(data, &sel); err != nil {
		return selection{}, err
	}
	switch {
	case sel.Version != formatVersion:
		return selection{}, fmt.Errorf("format version %d, this server reads %d", sel.Version, formatVersion)
	case sel.PublicID == uuid.Nil, sel.IntentID == "", sel.StartedAt.IsZero():
		return selection{}, errors.New("no public_id, intent_id or started_at")
	case sel.Principal != "" && len(sel.Principal) != 64:
		return selection{}, errors.New("principal is not a SHA-256")
	}
	return sel, nil
}

type viewsRecord struct {
	Version int          `json:"version"`
	Files   []fileRecord `json:"files"`
}

type fileRecord struct {
	Path string `json:"path"`
	View
}

// encodeViews leaves out what JSON cannot name exactly: it would come back under another path.
func encodeViews(files map[string]View) ([]byte, error) {
	record := viewsRecord{Version: formatVersion, Files: make([]fileRecord, 0, len(files))}
	for path, f := range files {
		if utf8.ValidString(path) {
			record.Files = append(record.Files, fileRecord{path, f})
		}
	}
	return json.Marshal(record)
}

// parseViews drops entries that no server of ours could have written: they count as not seen.
func parseViews(data []byte) (map[string]View, error) {
	var record viewsRecord
	if err := json.Unmarshal(data, &record); err != nil {
		return nil, err
	}
	if record.Version != formatVersion {
		return nil, fmt.Errorf("format version %d, this server reads %d", record.Version, formatVersion)
	}
	files := make(map[string]View, min(len(record.Files), maxSeenFiles))
	for _, r := range record.Files {
		if f, ok := r.view(); ok && len(files) < maxSeenFiles {
			files[r.Path] = f
		}
	}
	return files, nil
}

func (r fileRecord) view() (View, bool) {
	if !validPath(r.Path) || !validHash(r.Hash) || r.Total < 0 || r.At < 0 || r.At > maxTime || len(r.Lines) > maxRanges {
		return View{}, false
	}
	f := r.View
	f.Lines = nil
	for _, lines := range r.Lines {
		if lines[0] < 1 || lines[0] > lines[1] || lines[1] > r.Total {
			return View{}, false
		}
		f.Lines = addLines(f.Lines, lines[0], lines[1])
	}
	return f, true
}

// bounded cuts what a client says of itself.
func bounded(text string) string {
	if len(text) <= maxFieldBytes {
		return text
	}
	return strings.ToValidUTF8(text[:maxFieldBytes], "")
}
