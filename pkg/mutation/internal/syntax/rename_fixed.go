package syntax

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// isText tells literals from other tokens that are not taken apart.
func (s *side) isText(t *token) bool { return s.texts && s.isLiteral(t) }

func (s *side) isLiteral(t *token) bool {
	if int(t.symbol) >= len(s.tree.Grammar.Symbols) {
		return false
	}
	kind := s.tree.Grammar.Symbols[t.symbol]
	return strings.Contains(kind, "string") || strings.Contains(kind, "literal") || strings.Contains(kind, "regex") || kind == "jsx_text"
}

// disturbs says why a token could mean one of two names; gone only counts in the region of the declaration.
func (s *side) disturbs(t *token, gone, fresh string, inRegion bool, when string) string {
	text := s.src[t.start:t.end]
	if t.flags&keyword != 0 {
		text = append([]byte(s.sigil), text...)
	}
	isName := t.flags&(named|neutral|member) != 0
	if isName {
		text = bytes.Trim(bytes.TrimPrefix(text, []byte("r#")), "`")
	}
	if isName {
		if string(text) == fresh || inRegion && string(text) == gone {
			return fmt.Sprintf("%q in line %d %s may be another one", clip(string(text)), s.lineAt(t.start), when)
		}
		if inRegion && bytes.IndexByte(text, '\\') >= 0 {
			return fmt.Sprintf("a name in line %d is written with an escape", s.lineAt(t.start))
		}
		return ""
	}
	if hasWord(text, fresh) || inRegion && hasWord(text, gone) {
		return fmt.Sprintf("the text in line %d has the name", s.lineAt(t.start))
	}
	return ""
}

// hasWord finds a name in a text that is not taken apart.
func hasWord(text []byte, name string) bool {
	for from := 0; ; {
		i := bytes.Index(text[from:], []byte(name))
		if i < 0 {
			return false
		}
		i += from
		end := i + len(name)
		if (i == 0 || !inWord(rune(text[i-1])) || text[i-1] > 127) && (end == len(text) || !inWord(rune(text[end])) || text[end] > 127) {
			return true
		}
		from = i + 1
	}
}

// afterScope is the scope of the same declaration on the other side.
func (n *naming) afterScope(d *def) int32 {
	at := n.changed[d.token]
	for _, o := range n.after.defs {
		if o.token == at {
			return o.scope
		}
	}
	return 0
}

// spelling says why a name may not become another by how they are spelled.
func (s *side) spelling(names ...string) string {
	for _, name := range names {
		switch {
		case s.reserved[name]:
			return fmt.Sprintf("%q has a meaning of its own", clip(name))
		case s.macros[name]:
			return fmt.Sprintf("a macro has %q in it", clip(name))
		case s.pinned != nil && s.pinned.MatchString(name):
			return fmt.Sprintf("%q has a meaning by its spelling", clip(name))
		}
		for _, r := range name {
			if r > 127 || r == '\\' {
				return "letters beyond ASCII can be written in several ways"
			}
		}
	}
	return ""
}

// looks tells whether a program could look for a text in that of a function.
func (s *side) looks(text []byte) bool {
	return s.source != nil && (bytes.ContainsAny(text, "({=") || s.source.Match(s.file()))
}

// anyFinds says why no name of a file may change, or "".
func (s *side) anyFinds() string {
	if s.source != nil && hasWord(s.file(), "toString") {
		return "a program can read the text of its functions, and the file asks for one"
	}
	if s.whole != nil {
		for name := range s.dynamic {
			if hasWord(s.whole, name) {
				return fmt.Sprintf("%q in the file can find names by their spelling", name)
			}
		}
		if s.table.fixed != nil && s.table.fixed.Match(s.whole) {
			return "the file could find it by its spelling"
		}
	}
	if s.table.fixed != nil {
		if at := s.table.fixed.FindIndex(s.src); at != nil {
			return fmt.Sprintf("line %d could find it by its spelling", s.lineAt(uint32(at[0])))
		}
	}
	for i := range s.tokens {
		t := &s.tokens[i]
		if t.flags&(named|neutral|member) != 0 && s.dynamic[string(s.src[t.start:t.end])] {
			return fmt.Sprintf("%q in line %d can find names by their spelling", clip(s.text(t)), s.lineAt(t.start))
		}
	}
	return ""
}

// known notes who else can know a name.
func (n *naming) known(v *verdict.Verdict, d *def) error {
	at := n.changed[d.token]
	kind := n.before.scopes[d.scope].kind
	if d.guarded && (d.named || n.before.scopes[d.scope].kind != functionScope || d.kind == "parameter") {
		return n.fail(at, "what stands around it may look at the name")
	}
	if d.chosen {
		return n.fail(at, "it may not be declared")
	}
	if (kind == fileScope || kind == classScope) && (n.before.found[n.old] || n.before.found[n.new]) {
		return n.fail(at, "it can be found without being declared here")
	}
	if d.pinned {
		return n.fail(at, "a %s keeps its name", d.kind)
	}
	for _, e := range n.before.defs {
		if e.escaped && e.name == n.old && kind != fileScope && kind != classScope {
			return n.fail(at, "it may be a variable of the file")
		}
	}
	if kind == fileScope || kind == classScope {
		if why := cmp.Or(n.before.reads(), n.after.reads()); why != "" {
			return n.fail(at, "%s", why)
		}
	}
	if n.text != "" {
		v.Widen(n.text, n.old, n.new)
	}
	if kind == fileScope || kind == classScope || d.named {
		n.shared = d
	}
	switch {
	case kind == classScope:
		v.Widen("members can be found by their names", n.old, n.new)
	case kind == fileScope && n.before.isStatic(d) && n.after.isStatic(&def{token: at}):
		v.Enclose(n.before.path, n.old, n.new)
	case kind == fileScope && n.before.private && !(n.before.module && n.after.module):
		v.Widen("all scripts of a page share their names", n.old, n.new)
	case kind == fileScope && (!n.before.private || d.exported):
		n.outward = n.before.called
		v.Widen(n.before.bound, n.old, n.new)
	case d.named:
		v.Widen("callers can name a parameter, also by a text", n.old, n.new)
	}
	if h := n.before.headers; h != nil && h.missing != "" {
		v.Widen(fmt.Sprintf("a macro of %q, which was not found, could use the name", clip(h.missing)), n.old, n.new)
	}
	if d.shown {
		v.Widen("programs can print the name", n.old, n.new)
	}
	kindName := d.kind
	if kindName == "variable" && kind != fileScope && kind != classScope {
		kindName = "local variable"
	}
	r := verdict.Rename{From: n.old, To: n.new, Kind: kindName, Line: n.after.lineAt(n.after.tokens[at].start)}
	if !slices.ContainsFunc(v.Renames, func(o verdict.Rename) bool { return o.From == r.From && o.To == r.To && o.Kind == r.Kind }) {
		v.Renames = append(v.Renames, r)
	}
	return nil
}

// isSet tells whether a token is a member that is given a value.
func (s *side) isSet(i int) bool {
	leaf := func(i, step int) string {
		for i += step; i > 0 && i < len(s.tokens) && s.tokens[i].flags&(opens|closes) != 0; i += step {
		}
		return s.text(&s.tokens[max(min(i, len(s.tokens)-1), 0)])
	}
	return leaf(i, -1) == "." && leaf(i, 1) == "="
}

// reads says what in the file can find out what a function or a class is
// called, or "".
func (s *side) reads() string {
	for i := range s.tokens {
		t := &s.tokens[i]
		declared := func(d def) bool {
			return d.token == i || t.flags&named != 0 && d.name == s.text(t) && d.scope != 0 && s.covers(&d, i)
		}
		if t.flags&(opens|closes) == 0 && t.end-t.start < quoted && s.readers[string(s.src[t.start:t.end])] && !slices.ContainsFunc(s.defs, declared) && !s.isSet(i) {
			return fmt.Sprintf("%q in line %d can find what it is called", clip(s.text(t)), s.lineAt(t.start))
		}
	}
	return ""
}
