package languages

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// headers are the macros of what a file of C or C++ includes by quotes, also
// through others.
type headers struct {
	macros map[string][]headerMacro
	// missing is the first one that could not be read, or "".
	missing string
}

// maxHeaderLooks bounds how many paths are asked about for one file.
const maxHeaderLooks = 3000

// anyInclude is what a file includes by quotes, or by a name that is a macro.
var anyInclude = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^[ \t]*(?:#|%:)[ \t]*(?:include|include_next|import)[ \t]*(?:"([^"\n]+)"|([A-Za-z_]\w*))`)
})

// headerMacro is one definition of a macro.
type headerMacro struct {
	at     string // path:line
	params set
	words  []string
}

// heedHeaders holds what was renamed in a file to the macros that may stand in
// its text: one of them can use a name that it is not given. A header that is
// not found could have such a macro.
func (j *joint) heedHeaders(f *file, v *verdict.Verdict) *verdict.Verdict {
	if f.language.grammar != treesitter.C && f.language.grammar != treesitter.CPlusPlus || len(v.Renames)+len(f.before.folded)+len(f.after.folded) == 0 || f.before.pairing == nil {
		return nil
	}
	h := &headers{macros: map[string][]headerMacro{}}
	j.readHeaders(h, f)
	for b, a := range f.before.pairing.Each {
		if b.Name == a.Name {
			continue
		}
		for _, side := range []*side{f.before, f.after} {
			o := a
			if side == f.before {
				o = b
			}
			if name, m := h.using(side.regionWords(side.objectOf(o)), b.Name, a.Name); m != nil {
				bad := verdict.Unprovenf(f.path, a.Line, "%s %q became %q: the macro %s of %s may use it", b.Kind, b.Name, a.Name, name, m.at)
				return &bad
			}
		}
		if h.missing != "" && f.before.asksOthers(f.before.objectOf(b)) {
			v.Widen(fmt.Sprintf("a macro of %q, which was not found, could use the name", h.missing))
		}
	}
	return h.heedFolded(f, v)
}

// regionWords are the words of the text in which an object is known.
func (s *side) regionWords(o *object) []string {
	n := s.tree.Nodes[o.region.node]
	if o.region.parent == nil {
		return words(string(s.tree.Text))
	}
	return words(string(s.tree.Text[n.Start:n.End]))
}

// asksOthers tells whether there is a name in an object's region that the file
// does not declare: it could be a macro.
func (s *side) asksOthers(o *object) bool {
	for _, f := range s.free {
		if s.within(o.region, f.at) {
			return true
		}
	}
	return false
}

// using finds a macro that stands in a text, or in a macro of it, and has one
// of two names in its own.
func (h *headers) using(text []string, old, new string) (string, *headerMacro) {
	seen := set{}
	for len(text) > 0 {
		name := text[0]
		text = text[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		for i := range h.macros[name] {
			m := &h.macros[name][i]
			for _, word := range m.words {
				if (word == old || word == new) && !m.params[word] {
					return name, m
				}
			}
			text = append(text, m.words...)
		}
	}
	return "", nil
}

// readHeaders reads the macros of what a file includes.
func (j *joint) readHeaders(h *headers, f *file) {
	missing := j.eachHeader(f, func(place string, content []byte) bool {
		h.define(place, content)
		return true
	})
	if h.missing == "" {
		h.missing = missing
	}
}

// eachHeader visits what a file includes, and what that does, until visit
// returns false. A path is looked for beside the file that has it, in each
// directory above, and in include and src of those; of several all are visited.
// It gives the first that was not found, with its last quote.
func (j *joint) eachHeader(f *file, visit func(place string, content []byte) bool) (missing string) {
	waiting := []headerText{{f.path, f.before.tree.Text}, {f.path, f.after.tree.Text}}
	seen, looks := set{f.path: true}, 0
	for len(waiting) > 0 {
		next := waiting[0]
		waiting = waiting[1:]
		for _, include := range anyInclude().FindAllSubmatch(next.content, -1) {
			name, found := string(include[1]), false
			for _, candidate := range headerPlaces(next.at, name) {
				if looks++; seen[candidate] || name == "" || looks > maxHeaderLooks || len(seen) > maxHeaders {
					found = found || seen[candidate]
					continue
				}
				for _, content := range j.contents(candidate) {
					found, seen[candidate] = true, true
					if !visit(candidate, content) {
						return missing
					}
					waiting = append(waiting, headerText{candidate, content})
				}
			}
			if !found && missing == "" {
				missing = name + string(include[2])
			}
		}
	}
	return missing
}

// headerText is a file of which it is to be read what it includes.
type headerText struct {
	at      string
	content []byte
}

// contents are those of a file: of one of the call on both sides.
func (j *joint) contents(name string) [][]byte {
	if f := j.at(name); f != nil {
		return [][]byte{f.before.tree.Text, f.after.tree.Text}
	}
	if j.read == nil {
		return nil
	}
	content, err := j.read(name)
	if err != nil {
		return nil
	}
	return [][]byte{content}
}

// headerPlaces are where a path that a file includes can be.
func headerPlaces(from, name string) []string {
	var places []string
	for dir := path.Dir(from); ; dir = path.Dir(dir) {
		for _, below := range []string{"", "include", "src"} {
			if p := path.Join(dir, below, name); !strings.HasPrefix(p, "../") {
				places = append(places, p)
			}
		}
		if dir == "." || dir == "/" {
			return places
		}
	}
}

// define notes the macros of a header.
func (h *headers) define(at string, content []byte) {
	content = bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
	lines := strings.Split(string(content), "\n")
	for i := 0; i < len(lines); i++ {
		first, line := i, lines[i]
		for strings.HasSuffix(line, "\\") && i+1 < len(lines) {
			i++
			line = strings.TrimSuffix(line, "\\") + lines[i]
		}
		rest, isDirective := strings.CutPrefix(strings.Replace(strings.TrimLeft(line, space), "%:", "#", 1), "#")
		rest, isDefine := strings.CutPrefix(strings.TrimLeft(rest, space), "define")
		if isDirective && isDefine {
			h.note(fmt.Sprintf("%s:%d", at, first+1), strings.TrimLeft(rest, space))
		}
	}
}

// note takes what stands behind #define. A list of parameters begins right
// behind the name.
func (h *headers) note(at, definition string) {
	end := strings.IndexFunc(definition, func(r rune) bool { return r != '_' && !isLetter(r) })
	if end < 0 {
		return // it stands for nothing
	}
	m := headerMacro{at: at, params: set{}}
	name, body := definition[:end], definition[end:]
	if list, isFunction := strings.CutPrefix(body, "("); isFunction {
		params, rest, _ := strings.Cut(list, ")")
		m.params, body = setOf(words(params)...), rest
	}
	m.words = words(body)
	h.macros[name] = append(h.macros[name], m)
}
