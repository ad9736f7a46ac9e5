package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/change"
)

// Entry is one mutation in flight.
type Entry struct {
	PID int `json:"pid"`
	// Place is where PID means something; "": nobody knows.
	Place string    `json:"place,omitempty"`
	Began time.Time `json:"began"`
	// Files is empty for a command, of which nobody knows beforehand what it will change.
	Files Files `json:"files,omitempty"`
	// Before is what the changes of a command are told from after a crash. It means nothing here.
	Before []byte `json:"before,omitempty"`
	// Ends are the last lines of the ledger when a command began. They mean nothing here.
	Ends []string `json:"ends,omitempty"`
	// Lines are those of the record, as ledger.Draft gives them.
	Lines [][]byte `json:"-"`
}

// The header of a slot.
const (
	magic       = "inflight 1 "
	stateAt     = len(magic)
	careAt      = stateAt + 1
	lengthAt    = careAt + 2
	sumAt       = lengthAt + lengthSize + 1
	headerSize  = sumAt + 2*sha256.Size + 1
	lengthSize  = 10
	maxBody     = 64 << 20
	reserved    = 16 << 10 // bytes that a new slot has, so that most entries change no metadata
	trimmedFrom = 1 << 20  // a slot that grew beyond is cut back
)

// States and care of a slot.
const (
	inFlight = 'P'
	inDoubt  = 'D'
	standing = 'R'
	doubly   = 'B' // in doubt and standing
	nothing  = '-'
	settling = 'S'
)

var errTorn = errors.New("the entry was not written to its end")

// encode gives a slot's bytes.
func encode(e Entry) ([]byte, error) {
	head, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	body := append(head, '\n')
	for _, line := range e.Lines {
		body = append(append(body, line...), '\n')
	}
	if len(body) > maxBody {
		return nil, fmt.Errorf("the entry has %d bytes, at most %d are possible", len(body), maxBody)
	}
	out := fmt.Appendf(nil, "%s%c%c %010d %x\n", magic, inFlight, nothing, len(body), sha256.Sum256(body))
	return append(out, body...), nil
}

// blank is the content of a slot with nothing in flight.
func blank() []byte {
	out := fmt.Appendf(nil, "%s%c%c %010d %x\n", magic, nothing, nothing, 0, sha256.Sum256(nil))
	return append(out, make([]byte, reserved-len(out))...)
}

// decode reads a slot. errTorn: its last entry was never flushed.
func decode(f io.ReaderAt, size int64) (state byte, e Entry, err error) {
	header := make([]byte, headerSize)
	if _, err := f.ReadAt(header, 0); err != nil {
		if errors.Is(err, io.EOF) {
			err = errTorn
		}
		return 0, e, err
	}
	if bytes.HasPrefix(header, []byte(magic)) && header[stateAt] == nothing {
		return nothing, e, nil
	}
	length, err := strconv.ParseInt(string(header[lengthAt:lengthAt+lengthSize]), 10, 64)
	if !bytes.HasPrefix(header, []byte(magic)) || err != nil || length < 0 || length > maxBody || int64(headerSize)+length > size {
		return 0, e, errTorn
	}
	body := make([]byte, length)
	if _, err := f.ReadAt(body, int64(headerSize)); err != nil && !errors.Is(err, io.EOF) {
		return 0, e, err
	}
	if string(header[sumAt:headerSize-1]) != fmt.Sprintf("%x", sha256.Sum256(body)) {
		return 0, e, errTorn
	}
	head, lines, _ := bytes.Cut(body, []byte("\n"))
	if err := json.Unmarshal(head, &e); err != nil {
		return 0, e, errTorn
	}
	for line := range bytes.Lines(lines) {
		e.Lines = append(e.Lines, bytes.TrimSuffix(line, []byte("\n")))
	}
	return header[stateAt], e, nil
}

// mark overwrites one byte of the header, which no crash can tear.
func mark(f *os.File, at int, value byte) error {
	_, err := f.WriteAt([]byte{value}, int64(at))
	return err
}

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
	Link       bool        `json:"link,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (files Files) MarshalJSON() ([]byte, error) {
	lines := make([]fileJSON, len(files))
	for i, f := range files {
		lines[i] = fileJSON{Op: f.Op.Verb(), Path: f.Path, From: f.From, Before: f.Before.Hash, After: f.After.Hash, Temp: f.Temp, Gone: f.Gone, Link: f.Link}
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
		f := change.Planned{Change: change.Change{Op: change.OpOf(l.Op), Path: l.Path, From: l.From}, Temp: l.Temp, Gone: l.Gone, Link: l.Link}
		f.Before.Hash, f.After.Hash = l.Before, l.After
		if l.BeforeMode != l.AfterMode {
			f.Before.Mode, f.After.Mode = change.ModeOf(l.BeforeMode), change.ModeOf(l.AfterMode)
		}
		(*files)[i] = f
	}
	return nil
}
