package staging

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// How long layers are kept, how many, and how many bytes of files together.
const (
	KeptFor      = 24 * time.Hour
	MaxKept      = 20
	MaxKeptBytes = 4 << 30
)

// MaxBytes bounds what one command may write to its layers.
const MaxBytes = 16 << 30

// maxNote bounds what is read of a note, in bytes.
const maxNote = 4 << 20

var (
	// ErrUnknown: there are no layers of that id; they were taken over or thrown away, or were kept for too long.
	ErrUnknown = errors.New("no layers of this id are kept")
	// ErrHeld: somebody else uses them at the moment.
	ErrHeld = errors.New("these layers are being used at the moment")
)

// Kept are layers that nobody holds.
type Kept struct {
	ID string `json:"id"`
	// At is when they were made, Bytes what their files have together.
	At    time.Time `json:"at"`
	Bytes int64     `json:"bytes"`
	// Note is what their maker has said of them, as JSON.
	Note json.RawMessage `json:"note"`
}

func (k Kept) expired() bool { return time.Since(k.At) > KeptFor }

// Expires is when they go.
func (k Kept) Expires() time.Time { return k.At.Add(KeptFor) }

// Keep leaves them for a later time, with a note of them. bytes is what their files have together.
func (l *Layers) Keep(bytes int64, note any) error {
	kept := Kept{ID: l.name, At: time.Now().UTC(), Bytes: bytes}
	if was, err := readNote(l.all, l.name); err == nil {
		kept.At = was.At // to be kept again makes them no younger
	}
	var err error
	if kept.Note, err = json.Marshal(note); err != nil {
		return err
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	fresh := l.name + ".new"
	_ = l.all.Remove(fresh)
	f, err := l.all.Create(fresh, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = l.all.Replace(fresh, l.all, l.name+noteSuffix)
	}
	if err != nil {
		return err
	}
	l.makeRoom(bytes)
	return l.Leave()
}

// makeRoom removes the oldest that are too many.
func (l *Layers) makeRoom(bytes int64) {
	kept := list(l.all)
	count := 0
	for _, k := range slices.Backward(kept) {
		if k.ID == l.name {
			continue
		}
		if bytes, count = bytes+k.Bytes, count+1; bytes > MaxKeptBytes || count >= MaxKept {
			_ = l.all.IfFree(k.ID+lockSuffix, func() error { return remove(l.all, k.ID) })
		}
	}
}

// List gives those that are kept, the oldest first.
func List(w *workspace.Workspace) ([]Kept, error) {
	all, err := openAll(w)
	if err != nil {
		return nil, err
	}
	defer all.Close()
	return list(all), nil
}

func list(all *durable.Dir) (kept []Kept) {
	entries, _ := all.ReadDir()
	for _, e := range entries {
		name, is := strings.CutSuffix(e.Name(), noteSuffix)
		if !is {
			continue
		}
		if k, err := readNote(all, name); err == nil && !k.expired() {
			kept = append(kept, k)
		}
	}
	slices.SortFunc(kept, func(a, b Kept) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID)) })
	return kept
}

// Take holds kept layers, and gives what was said of them. Errors: ErrUnknown, ErrHeld.
func Take(w *workspace.Workspace, id string) (*Layers, Kept, error) {
	if !strings.HasPrefix(id, "stg_") || strings.ContainsAny(id, "/\\.\x00") {
		return nil, Kept{}, fmt.Errorf("%w: %q", ErrUnknown, id)
	}
	all, err := openAll(w)
	if err != nil {
		return nil, Kept{}, err
	}
	if k, err := readNote(all, id); err != nil || k.expired() {
		return nil, Kept{}, errors.Join(cmp.Or(err, fmt.Errorf("%w: %q", ErrUnknown, id)), all.Close())
	}
	lock, err := all.Claim(id + lockSuffix)
	if err != nil {
		return nil, Kept{}, errors.Join(fmt.Errorf("%w: %s", ErrHeld, id), all.Close())
	}
	l := &Layers{all, id, lock, at(w, id)}
	k, err := readNote(all, id) // once more: it may have gone meanwhile
	if err != nil {
		_ = all.Remove(id + lockSuffix)
		return nil, Kept{}, errors.Join(err, l.Leave())
	}
	return l, k, nil
}

func readNote(all *durable.Dir, name string) (Kept, error) {
	f, err := all.Open(name + noteSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return Kept{}, fmt.Errorf("%w: %q", ErrUnknown, name)
	}
	if err != nil {
		return Kept{}, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxNote))
	if err != nil {
		return Kept{}, err
	}
	var k Kept
	if err := json.Unmarshal(text, &k); err != nil || k.ID != name {
		return Kept{}, fmt.Errorf("%w: %q (its note cannot be read)", ErrUnknown, name)
	}
	return k, nil
}
