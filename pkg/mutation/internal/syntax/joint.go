package syntax

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// imported holds the uses of a name of another file to an import of it: the changed name stands in an import of a file
// of the call that declares it, and nothing else in this file has the old or the new name.
func (n *naming) imported(all []*naming) error {
	linked := false
	for _, i := range n.foreign {
		from, ok := n.before.importAround(i)
		if n.before.overload || !ok && !n.before.pkg && !n.before.linked {
			continue
		}
		declares := func(m *naming) bool {
			return m.comparison != n.comparison && m.old == n.old && m.new == n.new && m.shared != nil &&
				m.before.scopes[m.shared.scope].kind == fileScope && (n.before.shares(m.before) || ok && n.before.leadsTo(from, m.before.path))
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

// usedIn tells whether a name is used in a file of the call, other than by imports.
func (n *naming) usedIn(m *naming) bool {
	if m.old != n.old || m.new != n.new {
		return false
	}
	for i := range m.changed {
		declares := slices.ContainsFunc(m.before.defs, func(d def) bool { return d.token == i })
		if _, is := m.before.importAround(i); !declares && !is {
			return true
		}
	}
	return false
}

// forgotten looks for the names in the other files of the call.
func (n *naming) forgotten(files []*comparison, all []*naming, v *verdict.Verdict) (string, error) {
	for _, c := range files {
		if c == n.comparison {
			continue
		}
		var with *naming // the name changed there as well, and was held to its import
		for _, m := range all {
			if m.comparison == c && m.old == n.old && m.new == n.new {
				with = m
			}
		}
		if with != nil {
			for _, of := range []struct {
				*side
				name string
			}{{c.before, n.new}, {c.after, n.old}} {
				if at := of.uses(with, n.old, n.new); at > 0 && of.shares(n.before) {
					return of.path, &fault{at, fmt.Sprintf("%q became %q, and not here", clip(n.old), clip(n.new))}
				}
				if hasWord(of.file(), of.name) {
					v.Widen(fmt.Sprintf("%s has the word %s", of.path, clip(of.name)), n.old, n.new)
				}
			}
			continue
		}
		for _, side := range []*side{c.before, c.after} {
			if (side.pkg || side.linked) && slices.ContainsFunc(side.tokens, func(t token) bool { return t.flags&neutral != 0 && (side.text(&t) == n.old || side.text(&t) == n.new) }) {
				return side.path, &fault{0, fmt.Sprintf("%q became %q, and this file has the name", clip(n.old), clip(n.new))}
			}
			if !hasWord(side.src, n.old) && !hasWord(side.src, n.new) {
				continue
			}
			if side.shares(n.before) {
				if at := side.uses(nil, n.old, n.new); at > 0 {
					return side.path, &fault{at, fmt.Sprintf("%q became %q, and this file has the name", clip(n.old), clip(n.new))}
				}
				continue
			}
			for i := range side.tokens {
				from, ok := side.importAround(i)
				if ok && (side.leadsTo(from, n.before.path) || hasWord([]byte(from), stem(path.Base(n.before.path))) && slices.Contains([]string{n.old, n.new}, side.text(&side.tokens[i]))) {
					return side.path, &fault{side.lineAt(side.tokens[i].start), fmt.Sprintf("%q became %q, and this file imports it", clip(n.old), clip(n.new))}
				}
			}
			v.Widen(fmt.Sprintf("%s has the name, too", side.path), n.old, n.new)
		}
	}
	return "", nil
}

// shares tells whether two files know each other's names.
func (s *side) shares(o *side) bool {
	return s.linked || s.pkg && path.Dir(s.path) == path.Dir(o.path)
}

// uses is a line in which a name is that of no declaration of the file's own, and
// that did not change; 0 if there is none.
func (s *side) uses(changed *naming, names ...string) int {
	for i := range s.tokens {
		t := &s.tokens[i]
		if t.flags&named == 0 || changed != nil && changed.has(s, i) || !slices.Contains(names, s.text(t)) {
			continue
		}
		if !slices.ContainsFunc(s.defs, func(d def) bool { return d.name == s.text(t) && d.scope != 0 && s.covers(&d, i) }) {
			return s.lineAt(t.start)
		}
	}
	return 0
}

// has tells whether a token of a side changed.
func (n *naming) has(s *side, i int) bool {
	if s == n.after {
		return n.back[i]
	}
	_, ok := n.changed[i]
	return ok
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

// stem is what an import can call a file.
func stem(name string) string {
	name = strings.TrimSuffix(name, path.Ext(name))
	for _, index := range []string{"/index", "/__init__"} {
		name = strings.TrimSuffix(name, index)
	}
	return name
}

// only tells whether a path without an extension can mean just one file.
func (s *side) only(stem, to string) bool {
	for _, extension := range []string{".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".json"} {
		for _, other := range []string{stem + extension, stem + "/index" + extension} {
			if other != to && len(s.call.contents(other)) > 0 {
				return false
			}
		}
	}
	return true
}

// leadsTo tells whether an import names a file, by the path or the dotted name in it.
func (s *side) leadsTo(statement, to string) bool {
	stem := stem(to)
	if at := strings.IndexAny(statement, "'\""); at >= 0 {
		quote := statement[at : at+1]
		text, _, _ := strings.Cut(statement[at+1:], quote)
		if !strings.HasPrefix(text, ".") {
			return false
		}
		named := path.Join(path.Dir(s.path), text)
		return named == to || named == stem && s.only(stem, to)
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
