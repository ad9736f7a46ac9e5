package insight

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// Options bound what is counted.
type Options struct {
	Cells int // numbers of one name on one day; 0 for 300,000, which take some 40 MB
	Paths int // different paths of all intents together; 0 for 300,000
	// Now is the clock of the ledger's writers; nil for time.Now.
	Now func() time.Time
}

// Collector counts the records of one ledger. It is safe for concurrent use.
type Collector struct {
	opts Options

	updating sync.Mutex
	tail     *ledger.Tail
	lately   map[string]struct{} // hashes of records that the first reading and the tail could both have

	mu     sync.Mutex
	counts *counts
}

// counts are what has been counted.
type counts struct {
	Options
	rows      map[row]map[int]*Counts // by day
	cells     int
	uncounted int
	uses      map[string]*use // by intent
	paths     int
}

// row is one name of a kind of names.
type row struct {
	of   kind
	name string
}

type kind byte

const (
	ofAll kind = iota
	ofIntent
	ofModel
	ofClass
	ofRefusal
)

// use is what was touched under an intent.
type use struct {
	records int // that changed files
	paths   map[string]struct{}
	full    bool // there was no room for all paths
}

// New counts from nothing.
func New(o Options) *Collector {
	o.Cells, o.Paths = cmp.Or(o.Cells, 300_000), cmp.Or(o.Paths, 300_000)
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Collector{opts: o, counts: newCounts(o)}
}

func newCounts(o Options) *counts {
	return &counts{Options: o, rows: map[row]map[int]*Counts{}, uses: map[string]*use{}}
}

// overlap is how much older than the tail a record can say to be that comes behind it.
const overlap = time.Hour

// Update counts the records that came since the last one: at first all, of which a million take some ten seconds. After an
// error the next one begins anew. It must always be given the same ledger.
func (c *Collector) Update(ctx context.Context, l *ledger.Ledger) error {
	c.updating.Lock()
	defer c.updating.Unlock()
	if c.tail == nil {
		return c.readAll(ctx, l)
	}
	err := c.tail.Next(ctx, record.Filter{}, func(e record.Entry) error {
		if _, known := c.lately[e.Hash]; !known {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.counts.add(e)
		}
		return nil
	})
	if err != nil {
		c.tail = nil
	}
	return err
}

func (c *Collector) readAll(ctx context.Context, l *ledger.Ledger) error {
	since := c.opts.Now().Add(-overlap)
	tail, err := l.Tail(ctx)
	if err != nil {
		return err
	}
	fresh, lately := newCounts(c.opts), map[string]struct{}{}
	_, err = l.Scan(ctx, func(e record.Entry) error {
		if fresh.add(e); !e.Time.Before(since) {
			lately[e.Hash] = struct{}{}
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.tail, c.lately = tail, lately
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts = fresh
	return nil
}

// Counts are numbers of records.
type Counts struct {
	Changes  int `json:"changes"` // that changed files
	Refused  int `json:"refused"`
	Asked    int `json:"asked"`    // of the operator
	Approved int `json:"approved"` //
	Denied   int `json:"denied"`   //
}

func (c *Counts) add(other Counts) {
	c.Changes += other.Changes
	c.Refused += other.Refused
	c.Asked += other.Asked
	c.Approved += other.Approved
	c.Denied += other.Denied
}

func (c Counts) all() int { return c.Changes + c.Refused + c.Asked + c.Approved + c.Denied }

// add counts one line. A record that was spread over several counts with its first, its paths where they stand.
func (c *counts) add(e record.Entry) {
	first := e.Part == nil || e.Part.Index <= 1
	changed := slices.ContainsFunc(e.Changes, func(one record.Change) bool { return one.Op != change.Unchanged })
	if changed {
		c.touch(e, first)
	}
	var n Counts
	switch {
	case e.Decision != nil:
		n = decided(e.Decision.Outcome)
	case changed && first:
		n.Changes = 1
	}
	if n == (Counts{}) {
		return
	}
	day := dayOf(e.Time)
	c.count(row{ofAll, ""}, day, n)
	c.count(row{ofIntent, e.IntentID}, day, n)
	c.count(row{ofClass, e.MutationClass}, day, n)
	if e.Contributor.Type != record.ContributorHuman {
		c.count(row{ofModel, e.Contributor.ModelID}, day, n)
	}
	if n.Refused > 0 {
		c.count(row{ofRefusal, e.Decision.ErrorType}, day, n)
	}
}

func decided(outcome string) (n Counts) {
	switch outcome {
	case "refused":
		n.Refused = 1
	case "asked":
		n.Asked = 1
	case "approved":
		n.Approved = 1
	case "denied":
		n.Denied = 1
	}
	return n
}

func (c *counts) count(r row, day int, n Counts) {
	days := c.rows[r]
	if days[day] == nil {
		if c.cells == c.Cells {
			c.uncounted++
			return
		}
		if days == nil {
			days = map[int]*Counts{}
			c.rows[r] = days
		}
		c.cells++
		days[day] = &Counts{}
	}
	days[day].add(n)
}

// touch notes the paths of a record. Build output and what git made of commits is no work of the intent's.
func (c *counts) touch(e record.Entry, first bool) {
	if e.Kind == record.KindBuild {
		return
	}
	u := c.uses[e.IntentID]
	if u == nil {
		u = &use{paths: map[string]struct{}{}}
		c.uses[e.IntentID] = u
	}
	if first {
		u.records++
	}
	for _, one := range e.Changes {
		if one.Op == change.Unchanged {
			continue
		}
		c.note(u, one.Path)
		if one.From != "" {
			c.note(u, one.From)
		}
	}
}

func (c *counts) note(u *use, path string) {
	if _, known := u.paths[path]; known {
		return
	}
	if c.paths == c.Paths {
		u.full = true
		return
	}
	c.paths++
	u.paths[path] = struct{}{}
}
