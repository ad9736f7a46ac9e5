package fleet

import (
	"context"
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/intentgov/orchestra-mcp/internal/foreignschema"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/catalogue"
)

// Times of the lists.
const (
	// firstUseTime is how long the first list of tools waits for the servers that are not known yet, together.
	firstUseTime = 10 * time.Second
	// pinsEvery is how often the pin files are looked at: the operator trusts a tool in another process.
	pinsEvery = 3 * time.Second
)

// shelf has what the pin files say.
type shelf struct {
	now atomic.Pointer[view]
	mu  sync.Mutex // of who makes a new one
}

// view is what the pin files said at one time.
type view struct {
	stamps    []stamp // of the pin files, by server
	parts     []catalogue.Part
	tools     []catalogue.Tool
	byName    map[string]catalogue.Tool
	prompts   list
	resources list
	templates list
	schemas   sync.Map // of results, by the hash of their tool: *foreignschema.Schema
}

// schema is what the result of a tool has to fulfil.
func (v *view) schema(t catalogue.Tool) (*foreignschema.Schema, error) {
	if known, ok := v.schemas.Load(t.Hash); ok {
		return known.(*foreignschema.Schema), nil
	}
	schema, err := foreignschema.Read(t.Output)
	if err == nil && v.byName[t.Name].Hash == t.Hash { // no more than there are tools
		v.schemas.Store(t.Hash, schema)
	}
	return schema, err
}

// stamp tells one state of a pin file from another.
type stamp struct {
	is   os.FileInfo
	size int64
	at   int64
}

func stampOf(name string) stamp {
	info, err := os.Stat(name)
	if err != nil {
		return stamp{}
	}
	return stamp{is: info, size: info.Size(), at: info.ModTime().UnixNano()}
}

func (s stamp) same(other stamp) bool {
	if s.is == nil || other.is == nil {
		return s.is == other.is
	}
	return s.size == other.size && s.at == other.at && os.SameFile(s.is, other.is)
}

// current is what the pin files say now.
func (f *Fleet) current() *view {
	if v := f.shelf.now.Load(); v != nil && f.upToDate(v) {
		return v
	}
	return f.refresh()
}

func (f *Fleet) upToDate(v *view) bool {
	for i, s := range f.servers {
		if !v.stamps[i].same(stampOf(s.files.Pins)) {
			return false
		}
	}
	return true
}

// refresh reads the pin files.
func (f *Fleet) refresh() *view {
	f.shelf.mu.Lock()
	defer f.shelf.mu.Unlock()
	v := &view{byName: map[string]catalogue.Tool{}}
	for _, s := range f.servers {
		v.stamps = append(v.stamps, stampOf(s.files.Pins)) // before it is read: what changes meanwhile is read again
	}
	f.readBooks()
	for _, s := range f.servers {
		part := catalogue.Part{Definition: s.def}
		part.Entries, part.Err = s.book.Entries(s.def)
		s.unusable(part.Err)
		v.parts = append(v.parts, part)
	}
	catalogue.Together(v.parts, f.o.Ours)
	v.tools = catalogue.Offered(v.parts)
	for _, t := range v.tools {
		v.byName[t.Name] = t
	}
	for _, s := range f.servers {
		beside, problems, err := s.book.Beside(s.def)
		s.unusable(err)
		for _, problem := range problems {
			s.note(problem)
		}
		v.prompts.add(s, "name", (*server).namePrefix, beside.Prompts)
		v.resources.add(s, "uri", (*server).uriPrefix, beside.Resources)
		v.templates.add(s, "uriTemplate", (*server).uriPrefix, beside.Templates)
	}
	f.shelf.now.Store(v)
	return v
}

// readBooks has the books read what is new in their files, side by side: most of the time goes into looking at the texts.
func (f *Fleet) readBooks() {
	var reading errgroup.Group
	reading.SetLimit(runtime.GOMAXPROCS(0))
	for _, s := range f.servers {
		reading.Go(func() error {
			_, _ = s.book.Known() // an error comes again
			return nil
		})
	}
	_ = reading.Wait()
}

// unusable notes why the pins of a server cannot be used: none of its tools is offered.
func (s *server) unusable(err error) {
	if err != nil {
		s.note(s.text(err))
	}
}

// Tools are those that are trusted, in the order of the definitions. The first call has the servers started of which nothing is known
// yet, all at once, and waits for them for ten seconds together; who is later announces itself by Options.Changed. Otherwise nothing is
// started for it: the list is what the pins say.
func (f *Fleet) Tools(ctx context.Context) []catalogue.Tool {
	v := f.current() // reads what is there side by side
	if f.meet(ctx, v) {
		v = f.current()
	}
	return v.tools
}

// Parts is the whole catalogue, with what is not offered and why. It starts nothing.
func (f *Fleet) Parts() []catalogue.Part { return f.current().parts }

// Tool is the trusted tool of a name.
func (f *Fleet) Tool(name string) (catalogue.Tool, bool) {
	v := f.shelf.now.Load()
	if v == nil {
		v = f.current()
	}
	t, ok := v.byName[name]
	if !ok {
		return t, false
	}
	for i, s := range f.servers {
		if s.def.Name == t.Server && !v.stamps[i].same(stampOf(s.files.Pins)) {
			t, ok = f.refresh().byName[name]
		}
	}
	return t, ok
}

// Listed reports whether a name was that of a trusted tool when the pin files were read last. It looks at none.
func (f *Fleet) Listed(name string) bool {
	v := f.shelf.now.Load()
	if v == nil {
		return false
	}
	_, listed := v.byName[name]
	return listed
}

// Unmet reports whether a name may be that of a tool of a server of which nothing is known yet. Tools makes it known.
func (f *Fleet) Unmet(name string) bool {
	for _, s := range f.servers {
		if !strings.HasPrefix(name, s.def.Prefix) {
			continue
		}
		if known, err := s.book.Known(); !known && err == nil {
			return true
		}
	}
	return false
}

// meet starts the servers of which nothing is known, and reports whether there are any. The first time it waits for them.
func (f *Fleet) meet(ctx context.Context, v *view) bool {
	var unknown []*attempt
	for i, s := range f.servers {
		if v.stamps[i].is != nil { // with each list: no file is opened that is there
			continue
		}
		if known, err := s.book.Known(); known || err != nil {
			continue
		}
		if a, err := s.attempt(); err == nil {
			unknown = append(unknown, a)
		}
	}
	f.first.Do(func() {
		late := time.After(firstUseTime)
		for _, a := range unknown {
			select {
			case <-a.done:
			case <-late:
				return
			case <-ctx.Done():
				return
			}
		}
	})
	return len(unknown) > 0
}

// watchPins notices what other processes write into the pin files.
func (f *Fleet) watchPins() {
	tick := time.NewTicker(pinsEvery)
	defer tick.Stop()
	for {
		select {
		case <-f.ctx.Done():
			return
		case <-tick.C:
		}
		old := f.shelf.now.Load()
		if old == nil || f.upToDate(old) {
			continue
		}
		fresh := f.refresh()
		if !old.sameTools(fresh) {
			f.o.Changed("tools")
		}
		if !old.prompts.same(fresh.prompts) {
			f.o.Changed("prompts")
		}
		if !old.resources.same(fresh.resources) || !old.templates.same(fresh.templates) {
			f.o.Changed("resources")
		}
	}
}

func (v *view) sameTools(other *view) bool {
	if len(v.tools) != len(other.tools) {
		return false
	}
	for i, t := range v.tools {
		if o := other.tools[i]; t.Name != o.Name || t.Hash != o.Hash || t.Server != o.Server {
			return false
		}
	}
	return true
}

// Prompts, Resources and Templates are as the servers listed them last. Prompts are named like tools.
func (f *Fleet) Prompts(context.Context) []json.RawMessage { return f.current().prompts.entries }

// Resources are named NAME+URI, those of a server without a prefix as they are.
func (f *Fleet) Resources(context.Context) []json.RawMessage { return f.current().resources.entries }

// Templates are named like resources.
func (f *Fleet) Templates(context.Context) []json.RawMessage { return f.current().templates.entries }
