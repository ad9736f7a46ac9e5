package syntax

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// imported holds the uses of a name of another file to an import of it: the
// changed name stands in an import of a file of the call that declares it, and
// nothing else in this file has the old or the new name.
func (n *naming) imported(all []*naming) error {
	linked := false
	for _, i := range n.foreign {
		from, ok := n.before.importAround(i)
		if !ok && !n.before.pkg {
			continue
		}
		declares := func(m *naming) bool {
			return m.comparison != n.comparison && m.old == n.old && m.new == n.new && m.shared != nil &&
				m.before.scopes[m.shared.scope].kind == fileScope && (n.before.pkg && path.Dir(n.before.path) == path.Dir(m.before.path) || n.before.leadsTo(from, m.before.path))
		}
		for _, m := range all {
			linked = linked || declares(m)
		}
		if !linked {
			break
		}
	}
	if !linked {
		return n.fail(n.changed[n.foreign[0]], "what it means here is not known")
	}
	return n.region(&def{definition: &definition{}, token: n.foreign[0]})
}

// forgotten looks for the names in the other files of the call.
func (n *naming) forgotten(files []*comparison, all []*naming, v *verdict.Verdict) (string, error) {
	for _, c := range files {
		if c == n.comparison {
			continue
		}
		with := false // the name changed there as well, and was held to its import
		for _, m := range all {
			with = with || m.comparison == c && m.old == n.old && m.new == n.new
		}
		if with {
			continue
		}
		for _, side := range []*side{c.before, c.after} {
			if side.pkg && slices.ContainsFunc(side.tokens, func(t token) bool { return t.flags&neutral != 0 && (side.text(&t) == n.old || side.text(&t) == n.new) }) {
				return side.path, &fault{0, fmt.Sprintf("%q became %q, and this file has the name", clip(n.old), clip(n.new))}
			}
			if !hasWord(side.src, n.old) && !hasWord(side.src, n.new) {
				continue
			}
			if side.pkg && path.Dir(side.path) == path.Dir(n.before.path) {
				if at := side.uses(n.old, n.new); at > 0 {
					return side.path, &fault{at, fmt.Sprintf("%q became %q, and this file of the package has the name", clip(n.old), clip(n.new))}
				}
				continue
			}
			for i := range side.tokens {
				if from, ok := side.importAround(i); ok && side.leadsTo(from, n.before.path) {
					return side.path, &fault{side.lineAt(side.tokens[i].start), fmt.Sprintf("%q became %q, and this file imports it", clip(n.old), clip(n.new))}
				}
			}
			v.Widen(fmt.Sprintf("%s has the name, too", side.path), n.old, n.new)
		}
	}
	return "", nil
}

// uses is a line in which a name is that of no declaration of the file's own; 0 if
// there is none.
func (s *side) uses(names ...string) int {
	for i := range s.tokens {
		t := &s.tokens[i]
		if t.flags&named == 0 || !slices.Contains(names, s.text(t)) {
			continue
		}
		if !slices.ContainsFunc(s.defs, func(d def) bool { return d.name == s.text(t) && d.scope != 0 && s.covers(&d, i) }) {
			return s.lineAt(t.start)
		}
	}
	return 0
}

// importAround is what the import around a token says that it imports from.
func (s *side) importAround(i int) (from string, ok bool) {
	open := i
	for open > 0 && !(s.tokens[open].flags&opens != 0 && s.kind(s.tokens[open].symbol)&isImport != 0) {
		if s.tokens[open].flags&closes != 0 && s.kind(s.tokens[open].symbol)&isImport != 0 || i-open > 200 {
			return "", false
		}
		open--
	}
	if s.tokens[open].flags&opens == 0 || s.kind(s.tokens[open].symbol)&isImport == 0 {
		return "", false
	}
	end := open
	for end < len(s.tokens) && (s.tokens[end].flags&closes == 0 || s.tokens[end].symbol != s.tokens[open].symbol) {
		end++
	}
	if end >= len(s.tokens) {
		return "", false
	}
	return string(s.src[s.tokens[open].start:s.tokens[end].start]), true
}

// leadsTo tells whether an import names a file, by the path or the dotted name
// in it.
func (s *side) leadsTo(statement, to string) bool {
	stem := strings.TrimSuffix(to, path.Ext(to))
	for _, index := range []string{"/index", "/__init__"} {
		stem = strings.TrimSuffix(stem, index)
	}
	if at := strings.IndexAny(statement, "'\""); at >= 0 {
		quote := statement[at : at+1]
		text, _, _ := strings.Cut(statement[at+1:], quote)
		if !strings.HasPrefix(text, ".") {
			return false
		}
		named := path.Join(path.Dir(s.path), text)
		return named == stem || named == to
	}
	fields := strings.Fields(statement)
	if len(fields) < 2 || !strings.HasPrefix(fields[1], ".") {
		return false // by its full name another directory could have it
	}
	name := strings.TrimLeft(fields[1], ".")
	dir := path.Dir(s.path)
	for range len(fields[1]) - len(name) - 1 {
		dir = path.Dir(dir)
	}
	return path.Join(dir, strings.ReplaceAll(name, ".", "/")) == stem
}
