package console

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/orchdir"
	"github.com/intentgov/orchestra-mcp/internal/presence"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
)

// lookEvery is how often the files of the workspaces are looked at while a page is open. A lock that the kernel has given
// back, as that of a killed server, shows at the next look.
const lookEvery = 300 * time.Millisecond

// area is a part of what is shown that can change by itself.
type area string

// The areas.
const (
	sessions area = "sessions" // servers, agents and what runs
	waiting  area = "waiting"  // requests, answers and grants
	records  area = "records"  // the ledger
	intents  area = "intents"  // what the operator declared
)

// watch tells the pages that are open what has changed, until ctx is done.
func (c *Console) watch(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	before := map[string]map[area]uint64{}
	told := map[string]bool{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !c.hub.listening() {
			clear(told)
			continue
		}
		all, _ := c.places.all() // what cannot be opened is said by the view
		if len(before) != len(all) {
			c.hub.tell(event{"change", news{Areas: []area{sessions, waiting, records, intents}}})
		}
		now := make(map[string]map[area]uint64, len(all))
		for _, p := range all {
			now[p.ID] = lookAt(p)
			if changed := difference(before[p.ID], now[p.ID]); len(changed) > 0 {
				c.hub.tell(event{"change", news{p.ID, changed}})
			}
		}
		c.ring(all, now, before, told)
		before = now
	}
}

// news is what an event says: which areas of which workspace; "" is all of them.
type news struct {
	Workspace string `json:"workspace"`
	Areas     []area `json:"areas"`
}

func difference(before, now map[area]uint64) (changed []area) {
	for a, mark := range now {
		if was, known := before[a]; known && was != mark {
			changed = append(changed, a)
		}
	}
	slices.Sort(changed)
	return changed
}

// lookAt gives a mark for each area, which is another where something there has changed.
func lookAt(p *place) map[area]uint64 {
	const state = ".orchestration/state/"
	return map[area]uint64{
		sessions: markOf(p.Root, state+"sessions", state+"inflight", state+"checks") ^ serversOf(p.Root),
		waiting:  markOf(p.Root, state+"approvals", state+"grants"),
		records:  ledgerMark(p),
		intents:  markOf(p.Root, ".orchestration/active_intents.yaml", ".orchestration/.intentignore", ".intentignore", ".orchestration/config.yaml"),
	}
}

// racy is how long after a change of a file its time may be that of a later change too: file systems count in ticks.
const racy = 100 * time.Millisecond

// markOf is made of the names, sizes and times of files, and of what is in directories. Where one has just changed, the mark
// is of this moment alone, so that a change in the same tick shows at the next look.
func markOf(root *os.Root, names ...string) uint64 {
	sum := fnv.New64a()
	for _, name := range names {
		info, err := root.Lstat(name)
		if err != nil {
			continue
		}
		note(sum, info)
		if !info.IsDir() {
			continue
		}
		entries, err := fs.ReadDir(root.FS(), name)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if info, err := e.Info(); err == nil {
				note(sum, info)
			}
		}
	}
	return sum.Sum64()
}

func note(to io.Writer, info fs.FileInfo) {
	fmt.Fprintf(to, "%s %d %d\n", info.Name(), info.Size(), info.ModTime().UnixNano())
	if now := time.Now(); now.Sub(info.ModTime()) < racy { // the real clock, as files have it
		fmt.Fprintln(to, now.UnixNano())
	}
}

// serversOf is a mark of the servers that are alive.
func serversOf(root *os.Root) uint64 {
	sum := fnv.New64a()
	state, err := orchdir.Open(root, false, "state")
	if err != nil {
		return 0
	}
	defer state.Close()
	servers, _ := presence.Servers(state)
	for _, s := range servers {
		fmt.Fprintln(sum, s.ID)
	}
	return sum.Sum64()
}

// ledgerMark is that of the ledger, in the tree or beside it.
func ledgerMark(p *place) uint64 {
	files := []string{"agent_trace.jsonl", "trace", "seals", "archive"}
	for i, name := range files {
		files[i] = path.Join(".orchestration", name)
	}
	mark := markOf(p.Root, files...)
	if beside, err := os.OpenRoot(p.beside); err == nil {
		mark ^= markOf(beside, files...)
		beside.Close()
	}
	return mark
}

// ringing is a request that waits, for the page to ring about.
type ringing struct {
	ID        string    `json:"id"`
	Workspace string    `json:"workspace"`
	Place     string    `json:"place"`
	Title     string    `json:"title"`
	Expires   time.Time `json:"expires"`
}

// ring tells what waits, whenever it has changed; told has the workspaces whose requests the pages know.
func (c *Console) ring(all []*place, now, before map[string]map[area]uint64, told map[string]bool) {
	changed := false
	for _, p := range all {
		if !told[p.ID] || now[p.ID][waiting] != before[p.ID][waiting] {
			changed, told[p.ID] = true, true
		}
	}
	if changed {
		c.hub.tell(event{"waiting", c.whatWaits(all)})
	}
}

// whatWaits lists the requests of all workspaces, the oldest first.
func (c *Console) whatWaits(all []*place) []ringing {
	found := []ringing{}
	for _, p := range all {
		pending, err := p.Inbox.Store.Pending()
		if err != nil {
			c.Logger.Warn().Err(err).Str("workspace", p.Dir).Msg("what waits cannot be read")
		}
		for _, r := range pending {
			found = append(found, ringing{r.ID, p.ID, p.Name(), approval.ViewOf(r).Title, r.ExpiresAt})
		}
	}
	return found
}
