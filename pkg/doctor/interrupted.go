package doctor

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/orchdir"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/journal"
)

// Interrupted is a change whose server is gone, and of which the ledger does not tell yet: it waits to be settled.
type Interrupted struct {
	Began    time.Time `json:"began"`
	Tool     string    `json:"tool"` // "": its record cannot be read
	IntentID string    `json:"intent_id,omitempty"`
	Command  string    `json:"command,omitempty"` // without what looks like a secret
	Paths    []string  `json:"paths,omitempty"`   // of files that it was to change; of a command nobody knows them yet
	More     int       `json:"more_paths,omitempty"`
}

// maxInterruptedPaths bounds the paths of one.
const maxInterruptedPaths = 100

// FindInterrupted lists them, oldest first, without changing anything. A process counts as gone when none has its number,
// so one can be missing; and one that is being settled at the moment is among them.
func FindInterrupted(root *os.Root) ([]Interrupted, error) {
	found := []Interrupted{}
	state, err := orchdir.Open(root, false, "state")
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil
	}
	if err != nil {
		return nil, err
	}
	defer state.Close()
	entries, err := journal.Look(state)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Gone && !e.Torn && !e.Aside {
			found = append(found, interrupted(e.Entry))
		}
	}
	slices.SortStableFunc(found, func(a, b Interrupted) int { return a.Began.Compare(b.Began) })
	return found, nil
}

func interrupted(e journal.Entry) Interrupted {
	i := Interrupted{Began: e.Began}
	if draft, err := ledger.ParseDraft(e.Lines); err == nil {
		rec := draft.Record()
		i.Tool, i.IntentID = rec.Call, rec.IntentID
		if rec.Command != nil {
			i.Command = rec.Command.Command
		}
	}
	for _, f := range e.Files {
		if len(i.Paths) == maxInterruptedPaths {
			i.More++
			continue
		}
		i.Paths = append(i.Paths, f.Path)
	}
	return i
}

// What is the change in a few words. They are an agent's.
func (i Interrupted) What() string {
	switch {
	case i.Tool == "":
		return "a change whose record cannot be read"
	case i.Command != "":
		return i.Tool + " " + i.Command
	}
	return strings.TrimSpace(i.Tool + " " + strings.Join(i.Paths, " "))
}
