package syntax

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// part is a declaration or statement of a file: where it stands, and a digest of its tree.
type part struct {
	start, end uint32
	digest     uint64
}

// outlines are what is kept of the texts that were parsed last: not their trees, but where their parts are. An edit is
// then judged by the parts that it touches and one on either side, parsed alone. Their trees alone must be those that
// they have in the file, and the two beside them must come out again behind the edit: so what is left out means what it
// meant before.
type outlines struct {
	sync.Mutex
	byText map[[sha256.Size]byte][]part
	order  [][sha256.Size]byte
}

// keptOutlines is how many texts have one.
const keptOutlines = 64

var kept outlines

func (o *outlines) get(text []byte) []part {
	o.Lock()
	defer o.Unlock()
	return o.byText[sha256.Sum256(text)]
}

func (o *outlines) put(text []byte, parts []part) {
	o.Lock()
	defer o.Unlock()
	key := sha256.Sum256(text)
	if o.byText == nil {
		o.byText = map[[sha256.Size]byte][]part{}
	}
	if _, is := o.byText[key]; !is {
		o.order = append(o.order, key)
	}
	o.byText[key] = parts
	if len(o.order) > keptOutlines {
		delete(o.byText, o.order[0])
		o.order = o.order[1:]
	}
}

var seed = maphash.MakeSeed()

// outline gives the parts of a tree; nil if the parser did not understand all.
func outline(t *treesitter.Tree) (parts []part) {
	if _, faulty := t.Fault(); faulty {
		return nil
	}
	parts = []part{}
	var h maphash.Hash // nobody can make two trees of one digest
	h.SetSeed(seed)
	word := make([]byte, 0, 20)
	for c := range t.Children(0) {
		from := t.Nodes[c]
		h.Reset()
		for i := c; i < int(from.Next); i++ {
			n := t.Nodes[i]
			word = word[:0]
			for _, w := range [...]uint32{uint32(n.Symbol) | uint32(n.Field)<<16, uint32(n.Flags), n.Start - from.Start, n.End - from.Start, n.Next - uint32(c)} {
				word = binary.LittleEndian.AppendUint32(word, w)
			}
			h.Write(word)
		}
		parts = append(parts, part{from.Start, from.End, h.Sum64()})
	}
	return parts
}

// region is a stretch of a file around an edit.
type region struct {
	first, next   int    // the parts of before
	start         uint32 // on both sides
	before, after []byte
	grown         int // how much longer the file is
}

// regionOf finds the parts that an edit touches, and one on either side.
func regionOf(parts []part, before, after []byte) (r region, ok bool) {
	head := 0
	for head < min(len(before), len(after)) && before[head] == after[head] {
		head++
	}
	tail := 0
	for tail < min(len(before), len(after))-head && before[len(before)-1-tail] == after[len(after)-1-tail] {
		tail++
	}
	to := uint32(len(before) - tail)
	r = region{next: len(parts), grown: len(after) - len(before)}
	for r.first < len(parts) && parts[r.first].end < uint32(head) {
		r.first++
	}
	for r.next > 0 && parts[r.next-1].start > to {
		r.next--
	}
	r.first, r.next = max(r.first-1, 0), min(r.next+1, len(parts))
	end := uint32(len(before))
	if r.first > 0 {
		r.start = parts[r.first].start
	}
	if r.next < len(parts) {
		end = parts[r.next-1].end
	}
	if r.first >= r.next || 2*(end-r.start) > uint32(len(before)) || r.start > uint32(head) || end < to || r.start > 0 && before[r.start-1] != '\n' {
		return r, false
	}
	r.before, r.after = before[r.start:end], after[r.start:int(end)+r.grown]
	return r, true
}

// near judges an edit by the parts around it. ok is false where the whole file is needed.
func (c *call) near(ctx context.Context, t *table, f verdict.File, h *headers) (one *comparison, ok bool) {
	parts := kept.get(f.Before)
	if parts == nil || t.keepAll != nil && (t.keepAll.Match(f.Before) || t.keepAll.Match(f.After)) {
		return nil, false
	}
	r, ok := regionOf(parts, f.Before, f.After)
	if !ok {
		return nil, false
	}
	before, errBefore := t.parse(ctx, r.before)
	after, errAfter := t.parse(ctx, r.after)
	if errBefore != nil || errAfter != nil {
		return nil, false
	}
	old, now := outline(before), outline(after)
	if old == nil || now == nil || !r.fits(parts, old, now) {
		return nil, false
	}
	kept.put(f.After, r.spliced(parts, now))
	rules := rulesOf(t, before.Grammar)
	b, errBefore := newSide(rules, source{f.Path, before, f.Before, r.start, h, c}, c.limits.Depth)
	a, errAfter := newSide(rules, source{f.Path, after, f.After, r.start, h, c}, c.limits.Depth)
	if errBefore != nil || errAfter != nil {
		return nil, false
	}
	one = compare(ctx, b, a)
	return one, one.why != "" || one.isLocal()
}

// fits tells whether the parts of a region, parsed alone, are those of the file.
func (r region) fits(parts, old, now []part) bool {
	if len(old) != r.next-r.first || len(now) == 0 {
		return false
	}
	for i, p := range old {
		q := parts[r.first+i]
		if p.digest != q.digest || p.start+r.start != q.start || p.end+r.start != q.end {
			return false
		}
	}
	first, last := old[0], old[len(old)-1]
	begins := r.first == 0 || now[0] == first
	end := now[len(now)-1]
	last.start, last.end = uint32(int(last.start)+r.grown), uint32(int(last.end)+r.grown)
	return begins && (r.next == len(parts) || end == last)
}

// spliced are the parts of the file behind the edit.
func (r region) spliced(parts, now []part) []part {
	made := append([]part{}, parts[:r.first]...)
	for _, p := range now {
		made = append(made, part{p.start + r.start, p.end + r.start, p.digest})
	}
	for _, p := range parts[r.next:] {
		made = append(made, part{uint32(int(p.start) + r.grown), uint32(int(p.end) + r.grown), p.digest})
	}
	return made
}

// isLocal tells whether all names that changed are declared in a function of the region.
func (c *comparison) isLocal() bool {
	for _, n := range c.namings() {
		if c.before.source != nil && (quotes(c.before.whole, n.old, n.new) || quotes(c.after.whole, n.old, n.new)) {
			return false
		}
		for i := range n.changed {
			if !c.before.isLocal(i, n.old) {
				return false
			}
		}
	}
	return true
}

// quotes tells whether a line of a text could have one of the names in a literal.
func quotes(text []byte, names ...string) bool {
	for line := range bytes.Lines(text) {
		if slices.ContainsFunc(names, func(name string) bool { return hasWord(line, name) }) && bytes.ContainsAny(line, "'\"`/") {
			return true
		}
	}
	return false
}

func (s *side) isLocal(i int, name string) bool {
	for _, d := range s.defs {
		if d.name == name && d.definition != nil && !d.escaped && d.scope != 0 && !d.named && s.scopes[d.scope].kind != classScope && s.covers(&d, i) {
			return true
		}
	}
	return false
}
