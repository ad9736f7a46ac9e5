package catalogue

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/upstream"
)

// Book is what is known of one server, in a file of the user, which several processes may share. It is safe for concurrent use.
type Book struct {
	file string

	mu   sync.Mutex
	last *reading
}

// Open returns the book in a file, which need not exist and is not read yet.
func Open(file string) *Book { return &Book{file: file} }

// reading is the file as it was read once.
type reading struct {
	stat   durable.Stat
	pins   *pins
	tools  []parsed // of pins.Listed.Tools
	gone   []parsed // pinned and not listed, by name
	others map[string][]inspected
	// What was read and looked at, by definition: what did not change is not looked at again.
	seen   map[[sha256.Size]byte]parsed
	looked map[[sha256.Size]byte][]Finding
}

// inspected is a prompt, a resource or a template.
type inspected struct {
	definition jsontext.Value
	findings   []Finding
}

// read returns what the file has, nil where there is none.
func (b *Book) read() (*reading, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	file, info, err := durable.OpenRegular(b.file)
	if errors.Is(err, fs.ErrNotExist) {
		b.last = nil
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	defer file.Close()
	stat := durable.StatInfo(info)
	if b.last != nil && durable.Unchanged(b.last.stat, stat) && b.last.stat.Changed.Equal(stat.Changed) {
		return b.last, nil
	}
	pins, err := readPins(file, info)
	if err != nil {
		b.last = nil
		return nil, fmt.Errorf("%w: %s: %w; none of the server's tools is offered until you have looked at the file, or moved it away to have the tools pinned anew", ErrDamaged, b.file, err)
	}
	b.last = parseAll(pins, stat, b.last)
	return b.last, nil
}

func parseAll(p *pins, stat durable.Stat, before *reading) *reading {
	r := &reading{stat: stat, pins: p, others: map[string][]inspected{}, seen: map[[sha256.Size]byte]parsed{}, looked: map[[sha256.Size]byte][]Finding{}}
	if before == nil {
		before = new(reading)
	}
	look := &budget{left: maxInspectedOfServer}
	is := map[string]bool{}
	for _, definition := range p.Listed.Tools {
		key := sha256.Sum256(definition)
		tool, known := before.seen[key]
		if !known {
			tool = parse(json.RawMessage(definition), look, &p.Clean)
		}
		r.seen[key] = tool
		r.tools = append(r.tools, tool)
		is[tool.tool.Own] = true
	}
	for _, own := range slices.Sorted(maps.Keys(p.Pinned)) {
		if !is[own] {
			r.gone = append(r.gone, parse(json.RawMessage(p.Pinned[own].Definition), nil, new(clean)))
		}
	}
	for name, list := range map[string][]jsontext.Value{"prompt": p.Listed.Prompts, "resource": p.Listed.Resources, "template": p.Listed.Templates} {
		for _, definition := range list {
			key := sha256.Sum256(definition)
			findings, known := before.looked[key]
			if _, isClean := p.Clean.known(hash(definition)); !known && !isClean {
				findings = inspect(definition, look).findings
			}
			r.looked[key] = findings
			r.others[name] = append(r.others[name], inspected{definition, findings})
		}
	}
	return r
}

// Known reports whether the server has been looked at. An error wraps ErrDamaged.
func (b *Book) Known() (bool, error) {
	r, err := b.read()
	return r != nil, err
}

// Observe takes what a server lists. The first time that it lists tools, these are pinned. The error wraps ErrDamaged, ErrBusy, or
// is that of a file operation; nothing has changed then.
func (b *Book) Observe(d upstream.Definition, l Listing) (Report, error) {
	b.mu.Lock()
	last := b.last
	b.mu.Unlock()
	// The long part, before the lock: other servers of the user wait for that.
	seen := &pins{Listed: bounded(l, listed{})}
	if last != nil {
		seen.Clean = last.pins.Clean
	}
	ahead := parseAll(seen, durable.Stat{}, last)
	h, err := b.hold()
	if err != nil {
		return Report{}, err
	}
	defer h.close()
	before, err := b.read()
	if err != nil {
		return Report{}, err
	}
	now, old := &pins{Pinned: map[string]pin{}}, []byte(nil)
	if before != nil {
		now.Is, now.Pinned, now.Listed = before.pins.Is, maps.Clone(before.pins.Pinned), before.pins.Listed
		if old, err = before.pins.encode(); err != nil {
			return Report{}, err
		}
	}
	was := now.Listed
	now.Listed = bounded(l, was)
	after := parseAll(now, durable.Stat{}, ahead)
	report := Report{Lists: lists(was, now.Listed), Listed: hashes(after.tools)}
	if len(now.Pinned) == 0 {
		report.First = pinAll(now, after.tools)
	}
	now.Clean = after.clean()
	content, err := now.encode()
	if err != nil {
		return Report{}, err
	}
	if len(content) > maxFile {
		return Report{}, fmt.Errorf("%s would have more than %d bytes: forget the server to have its tools pinned anew", b.file, maxFile)
	}
	if !bytes.Equal(content, old) {
		if err := h.write(content); err != nil {
			return Report{}, err
		}
	}
	after = parseAll(now, durable.Stat{}, after)
	b.mu.Lock()
	b.last = after // the file is read again, and what is in it not looked at again
	b.mu.Unlock()
	report.take(d, after)
	return report, nil
}

// pinAll pins each tool that is clear, and reports whether there is one.
func pinAll(p *pins, tools []parsed) bool {
	times := timesOf(tools)
	for _, t := range tools {
		if t.err == nil && times[t.tool.Own] == 1 {
			p.Pinned[t.tool.Own] = pin{Hash: t.tool.Hash, Definition: jsontext.Value(t.tool.Definition)}
		}
	}
	p.Is = p.Listed.Is
	return len(p.Pinned) > 0
}

// hashes are those of the tools that are clear, by their names.
func hashes(tools []parsed) map[string]string {
	all, times := make(map[string]string, len(tools)), timesOf(tools)
	for _, t := range tools {
		if t.err == nil && times[t.tool.Own] == 1 {
			all[t.tool.Own] = t.tool.Hash
		}
	}
	return all
}

func timesOf(tools []parsed) map[string]int {
	times := map[string]int{}
	for _, t := range tools {
		times[t.tool.Own]++
	}
	return times
}

// take says what of a reading the operator should know.
func (r *Report) take(d upstream.Definition, now *reading) {
	r.Problems = slices.Clone(now.pins.Listed.Problems)
	for _, e := range now.entries(d) {
		switch e.State {
		case New:
			r.New = append(r.New, e.Own)
		case Changed:
			r.Changed = append(r.Changed, e.Own)
		case Gone:
			r.Gone = append(r.Gone, e.Own)
		case LeftOut, Suspicious:
			r.Problems = append(r.Problems, e.Own+": "+e.Reason)
		}
	}
}

// Entries are the tools of the server in the order in which it lists them, those that are gone last. It looks at one server
// alone; Together looks at what is between them. Without a file there are none. The error wraps ErrDamaged.
func (b *Book) Entries(d upstream.Definition) ([]Entry, error) {
	r, err := b.read()
	if r == nil || err != nil {
		return nil, err
	}
	return r.entries(d), nil
}

func (r *reading) entries(d upstream.Definition) []Entry {
	times := timesOf(r.tools)
	entries := make([]Entry, 0, len(r.tools)+len(r.gone))
	for _, t := range r.tools {
		e := t.entry(d)
		switch pin, pinned := r.pins.Pinned[e.Own]; {
		case t.err != nil:
			e.State, e.Reason = LeftOut, t.err.Error()
		case times[e.Own] > 1:
			e.State, e.Reason = LeftOut, "the server lists two tools of that name"
		case !isName(e.Name):
			e.State, e.Reason = LeftOut, fmt.Sprintf("its name with the prefix has more than %d bytes", MaxName)
		case !d.Offers(e.Own):
			e.State, e.Reason = Unchosen, "the setting tools leaves it out"
		case !pinned:
			e.State, e.Reason = New, "it came after the tools of the server were pinned"
		case pin.Hash != e.Hash:
			e.State, e.Reason, e.Was = Changed, "it is another than was pinned", json.RawMessage(pin.Definition)
		default:
			e.State, e.Reviewed = Trusted, pin.Reviewed
		}
		e.judge(d.Findings)
		entries = append(entries, e)
	}
	for _, t := range r.gone {
		e := t.entry(d)
		e.State, e.Reason = Gone, "the server no longer lists it"
		entries = append(entries, e)
	}
	return entries
}

// entry is a tool under the settings of its server.
func (t parsed) entry(d upstream.Definition) Entry {
	e := Entry{Tool: t.tool, mentions: t.mentions}
	e.Server, e.Name, e.Safe = d.Name, d.Prefix+e.Own, d.IsSafe(e.Own)
	e.Findings = slices.Clone(e.Findings)
	return e
}

// judge lets the policy decide on a tool with findings.
func (e *Entry) judge(p upstream.Policy) {
	offered := e.State == Trusted || e.State.Quarantined()
	switch {
	case len(e.Findings) == 0 || !offered || p == upstream.Warn:
	case p == upstream.Refuse:
		e.State, e.Reason = LeftOut, "the setting findings refuses it: "+e.Findings[0].String()
	case e.State == Trusted && !e.Reviewed:
		e.State, e.Reason = Suspicious, e.Findings[0].String()
	}
}

// Beside is the rest of what the server listed last, without what has a finding if the policy is not to warn. The error wraps
// ErrDamaged.
func (b *Book) Beside(d upstream.Definition) (l Listing, problems []string, err error) {
	r, err := b.read()
	if r == nil || err != nil {
		return Listing{}, nil, err
	}
	l = Listing{Identity: r.pins.Listed.Is, Capabilities: json.RawMessage(r.pins.Listed.Capabilities)}
	problems = slices.Clone(r.pins.Listed.Problems)
	if why := renamed(r.pins.Is, r.pins.Listed.Is); why != "" {
		problems = append(problems, why)
	}
	for _, list := range []struct {
		name string
		to   *[]json.RawMessage
	}{{"prompt", &l.Prompts}, {"resource", &l.Resources}, {"template", &l.Templates}} {
		for _, entry := range r.others[list.name] {
			if len(entry.findings) > 0 {
				problems = append(problems, fmt.Sprintf("the %s %q: %v", list.name, nameIn(json.RawMessage(entry.definition)), entry.findings[0]))
			}
			if len(entry.findings) == 0 || d.Findings == upstream.Warn {
				*list.to = append(*list.to, json.RawMessage(entry.definition))
			}
		}
	}
	return l, problems, nil
}

// Trust pins tools as they were shown to the operator, and returns those that are new among the trusted. If one of them cannot
// be trusted (ErrName), or the server lists another definition meanwhile (ErrStale), nothing is pinned. Only the operator's own
// commands call it.
func (b *Book) Trust(d upstream.Definition, shown ...Entry) ([]string, error) {
	h, err := b.hold()
	if err != nil {
		return nil, err
	}
	defer h.close()
	r, err := b.read()
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, fmt.Errorf("%w: nothing is known of %s", ErrName, d.Name)
	}
	now := *r.pins
	now.Pinned, now.Is, now.Clean = maps.Clone(now.Pinned), now.Listed.Is, r.clean()
	current := r.entries(d)
	var trusted []string
	for _, s := range shown {
		at := slices.IndexFunc(current, func(e Entry) bool { return e.Own == s.Own && e.State != Gone })
		switch {
		case at < 0, current[at].State != Trusted && !current[at].State.Quarantined():
			return nil, fmt.Errorf("%w: %s of %s", ErrName, forPeople(s.Own), d.Name)
		case current[at].Hash != s.Hash:
			return nil, fmt.Errorf("%w: %s of %s", ErrStale, s.Own, d.Name)
		}
		now.Pinned[s.Own] = pin{Hash: s.Hash, Definition: jsontext.Value(current[at].Definition), Reviewed: true}
		if s.State != Trusted && !slices.Contains(trusted, s.Own) {
			trusted = append(trusted, s.Own)
		}
	}
	content, err := now.encode()
	if err != nil {
		return nil, err
	}
	return trusted, h.write(content)
}

// Forget removes the file: the next look is the first.
func (b *Book) Forget() error {
	h, err := b.hold()
	if err != nil {
		return err
	}
	defer h.close()
	return h.remove()
}
