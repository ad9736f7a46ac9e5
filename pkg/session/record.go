package session

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
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

const (
	handlePrefix   = "ses_"
	handleBytes    = 20 // 160 bits: above the 128 promised, and 32 characters without padding
	handleAlphabet = "abcdefghijklmnopqrstuvwxyz234567"
)

var handleEncoding = base32.NewEncoding(handleAlphabet).WithPadding(base32.NoPadding)

// digest is the SHA-256 of a handle, the only form in which one is looked up or stored. A look-up by
// it takes no time that depends on how much of a guess was right.
type digest [sha256.Size]byte

func (d digest) String() string        { return hex.EncodeToString(d[:]) }
func (d digest) selectionFile() string { return d.String() + selectionSuffix }
func (d digest) viewsFile() string     { return d.String() + viewsSuffix }

// orderKey is what calls of the session are put in order by.
func (d digest) orderKey() string { return "session:" + string(d[:]) }

func mintHandle() string {
	var raw [handleBytes]byte
	_, _ = rand.Read(raw[:]) // never fails
	return handlePrefix + handleEncoding.EncodeToString(raw[:])
}

// digestOf says no to what cannot be a handle, before anything is looked up for it.
func digestOf(handle string) (digest, bool) {
	text, ok := strings.CutPrefix(handle, handlePrefix)
	if !ok || len(text) != handleEncoding.EncodedLen(handleBytes) || strings.Trim(text, handleAlphabet) != "" {
		return digest{}, false
	}
	return sha256.Sum256([]byte(handle)), true
}

// principalMark is how a principal is kept in a file: it may be a credential.
func principalMark(principal string) string {
	if principal == "" {
		return ""
	}
	return digest(sha256.Sum256([]byte(principal))).String()
}
