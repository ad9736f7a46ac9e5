package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/orchdir"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/internal/shellword"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/journal"
)

const stateDir = orchdir.Name + "/state"

// maxListed bounds how many entries of a directory are looked at.
const maxListed = 10_000

func (e *examination) checkState() string {
	state, err := orchdir.Open(e.root, false, "state")
	if errors.Is(err, fs.ErrNotExist) {
		return "nothing is in flight"
	}
	if err != nil {
		return e.fail(fmt.Sprintf("%s cannot be opened: %v.", stateDir, err), "Make it a directory that you can read and write.", "")
	}
	defer state.Close()
	running := e.checkInflight(state)
	// Calls that went unrecorded while the ledger could not be written (ledger.on_failure: degraded).
	if n := len(listed(state, "gaps")); n > 0 {
		e.warn(fmt.Sprintf("Calls were let through while the ledger could not be written (%s).", number(n, "note", "notes")),
			"The next server that starts writes them into the ledger.", "")
	}
	for _, name := range listed(e.home, stateDir) {
		if strings.HasPrefix(name, "torn-") {
			e.aside(e.kept(path.Join("state", name)), "the end of a ledger file that a crash tore")
		}
	}
	return number(running, "call", "calls") + " in flight, nothing left over"
}

// checkInflight finds what a killed server left. The lock that tells for sure is not taken: for the moment in which it
// is held, a server would take the entry for a living process's.
func (e *examination) checkInflight(state *os.Root) (running int) {
	entries, err := journal.Look(state)
	if err != nil {
		e.fail(fmt.Sprintf("The journal of what is in flight cannot be read: %v; every change is refused.", err),
			"Move away what is named there.", "")
		return 0
	}
	left, first := 0, ""
	for _, each := range entries {
		switch {
		case each.Aside:
			e.aside(path.Join(stateDir, "inflight", each.Name), "an entry that a crash tore; its change had not begun")
		case each.Torn || each.Gone:
			left++
			if first == "" && !each.Torn {
				first = fmt.Sprintf(" (%q)", printable.Clip(interrupted(each.Entry).What(), 80))
			}
		default:
			running++
		}
	}
	if left > 0 {
		e.warn(fmt.Sprintf("%s of servers that are gone: killed in the middle of a change%s.", number(left, "entry", "entries"), first),
			"verify lists them. Nothing has to be done by hand: the next server that starts settles them, or one that runs before its next change.", "")
	}
	return running
}

// aside tells of what was moved out of the way and waits for a person.
func (e *examination) aside(name, what string) {
	e.warn(fmt.Sprintf("%s is kept for you: %s.", name, what), "Look at it, then delete it.", "rm "+shellword.Show(name))
}

func listed(root *os.Root, name string) []string {
	dir, err := durable.OpenDirectoryIn(root, name)
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(maxListed)
	return names
}

// checkApprovals counts the requests that wait. The store's own list would take away what has expired, and make a key.
func (e *examination) checkApprovals() string {
	const nobody = "nobody waits for an answer of yours"
	names := listed(e.root, stateDir+"/approvals")
	if len(names) == 0 {
		return nobody
	}
	if e.UserDir == "" {
		return "" // said with the settings
	}
	if _, err := os.Lstat(filepath.Join(e.UserDir, "approval.key")); err != nil {
		return e.warn(fmt.Sprintf("There are requests for approval, and the key that shows them to be genuine is not in %s: %v.", e.UserDir, err),
			"Requests and answers without it count for nothing; agents ask again.", "rm -rf "+stateDir+"/approvals")
	}
	store := approval.Open(e.root, approval.Options{UserDir: e.UserDir, Clock: e.Now})
	waiting := 0
	for _, name := range names {
		id, ok := strings.CutSuffix(name, ".json")
		if !ok || slices.Contains(names, id+".answer.json") {
			continue
		}
		switch _, err := store.Get(id); {
		case err == nil:
			waiting++
		case !errors.Is(err, approval.ErrUnknown):
			return e.fail(fmt.Sprintf("Nobody can be asked or answered: %v.", err), "Mend what is named there; agents ask again.", "")
		}
	}
	if waiting == 0 {
		return nobody
	}
	return e.warn(number(waiting, "request waits", "requests wait")+" for your answer.", "See them, and answer with approve or deny.", e.self("approvals list"))
}

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
		} else if u, is := rec.Upstream(); is {
			i.Command = u.Server + " " + u.Tool
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
