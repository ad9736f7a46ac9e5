package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/orchdir"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/internal/shellword"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/journal"
)

const stateDir = orchdir.Name + "/state"

// maxListed bounds how many entries of a directory are looked at.
const maxListed = 10_000

func (e *examination) checkState() {
	state, err := orchdir.Open(e.root, false, "state")
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			e.fail(fmt.Sprintf("%s cannot be opened: %v.", stateDir, err), "Make it a directory that you can read and write.", "")
			return
		}
		e.ok("nothing is in flight")
		return
	}
	defer state.Close()
	before := len(e.report.Findings)
	running := e.checkInflight(state)
	e.checkGaps(state)
	e.checkAside()
	if len(e.report.Findings) == before {
		e.ok("%s in flight, nothing left over", number(running, "call", "calls"))
	}
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

// checkGaps tells of calls that went unrecorded while the ledger could not be written (ledger.on_failure: degraded).
func (e *examination) checkGaps(state *os.Root) {
	if n := len(listed(state, "gaps")); n > 0 {
		e.warn(fmt.Sprintf("Calls were let through while the ledger could not be written (%s).", number(n, "note", "notes")),
			"The next server that starts writes them into the ledger.", "")
	}
}

// checkAside tells of what was moved out of the way and waits for a person.
func (e *examination) checkAside() {
	for _, name := range listed(e.home, stateDir) {
		if strings.HasPrefix(name, "torn-") {
			e.aside(e.kept(path.Join("state", name)), "the end of a ledger file that a crash tore")
		}
	}
}

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
