package syntax

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// headers are the macros of a file of C or C++ and of what it includes by quotes,
// also through others. A macro can use a name that it is not given.
type headers struct {
	macros map[string][]macro
	// missing is the first header that could not be read, or "".
	missing string
}

// macro is one definition.
type macro struct {
	at     string // path:line
	given  set    // its parameters
	words  []string
	plain  bool // it only computes with what it is given
	spaces bool // it makes texts of what it is given
}

// These bound what is read for one file.
const (
	maxHeaders     = 500
	maxHeaderLooks = 3000
)

var includes = lazy.Regexp(`(?m)^[ \t]*(?:#|%:)[ \t]*(?:include|include_next|import)[ \t]*(?:"([^"\n]+)"|([A-Za-z_]\w*))`)

// headersOf reads what a file includes. A path is looked for beside the file that has it, in each directory above, and
// in include and src of those; of several all are read. Those of the call are read on both sides.
func (c *call) headersOf(f verdict.File) *headers {
	type text struct {
		at      string
		content []byte
	}
	h := &headers{macros: map[string][]macro{}}
	waiting, seen, looks := []text{{f.Path, f.Before}, {f.Path, f.After}}, setOf(f.Path), 0
	for len(waiting) > 0 {
		next := waiting[0]
		waiting = waiting[1:]
		h.define(next.at, string(next.content))
		for _, include := range includes().FindAllSubmatch(next.content, -1) {
			name, found := string(include[1]), false
			for _, place := range headerPlaces(next.at, name) {
				if looks++; seen[place] || name == "" || looks > maxHeaderLooks || len(seen) > maxHeaders {
					found = found || seen[place]
					continue
				}
				for _, content := range c.contents(place) {
					found, seen[place] = true, true
					waiting = append(waiting, text{place, content})
				}
			}
			if !found && h.missing == "" {
				h.missing = name + string(include[2])
			}
		}
	}
	return h
}

// contents are those of a file: of one of the call on both sides.
func (c *call) contents(name string) [][]byte {
	for _, f := range c.files {
		if f.Path == name {
			return [][]byte{f.Before, f.After}
		}
	}
	if c.read != nil {
		if content, err := c.read(name); err == nil {
			return [][]byte{content}
		}
	}
	return nil
}

// headerPlaces are where a path that a file includes can be.
func headerPlaces(from, name string) (places []string) {
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

var computes = lazy.Regexp(`[\w)]\s*\(|#|"`)

// define notes the macros of a text.
func (h *headers) define(at, text string) {
	for _, m := range macroNames().FindAllStringSubmatchIndex(text, -1) {
		group := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return text[m[2*i]:m[2*i+1]]
		}
		name, body := group(1), group(3)
		h.macros[name] = append(h.macros[name], macro{at: fmt.Sprintf("%s:%d", at, 1+strings.Count(text[:m[0]], "\n")),
			given: setOf(macroWord().FindAllString(group(2), -1)...), words: macroWord().FindAllString(body, -1),
			plain: !computes().MatchString(body), spaces: strings.Contains(body, "#")})
	}
}

// of gives the definitions of a macro.
func (h *headers) of(name string) []macro {
	if h == nil {
		return nil
	}
	return h.macros[name]
}

// every tells whether a name is a macro, and all its definitions are such.
func (h *headers) every(name string, such func(macro) bool) bool {
	return len(h.of(name)) > 0 && !h.any(name, func(m macro) bool { return !such(m) })
}

// any tells whether a definition of a macro is such.
func (h *headers) any(name string, such func(macro) bool) bool {
	return slices.ContainsFunc(h.of(name), such)
}

// using says which macro stands in some words, or in a macro of them, and has one
// of the names in its own text; "" if there is none.
func (h *headers) using(words []string, names ...string) string {
	seen := set{}
	for len(words) > 0 {
		name := words[0]
		words = words[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		for _, m := range h.macros[name] {
			for _, word := range m.words {
				if slices.Contains(names, word) && !m.given[word] {
					return fmt.Sprintf("the macro %s of %s may use it", clip(name), m.at)
				}
			}
			words = append(words, m.words...)
		}
	}
	return ""
}

// heedMacros says why a name may not change in a region, or "".
func (n *naming) heedMacros(side *side, region int32) string {
	h := side.headers
	if h == nil {
		return ""
	}
	for _, name := range []string{n.old, n.new} {
		if list := h.macros[name]; len(list) > 0 {
			return "it is a macro of " + list[0].at
		}
	}
	var words []string
	for i := range side.tokens {
		if t := &side.tokens[i]; t.flags&(opens|closes) == 0 && side.within(t.scope, region) {
			words = append(words, macroWord().FindAllString(string(side.src[t.start:t.end]), -1)...)
		}
	}
	return h.using(words, n.old, n.new)
}

// isStatic tells whether a declaration keeps its name to its file.
func (s *side) isStatic(d *def) bool {
	for i := d.token; s.static != "" && i > 0; i-- {
		switch t := &s.tokens[i]; {
		case t.flags&(opens|closes) == 0 && s.text(t) == s.static:
			return true
		case t.flags&opens != 0 && (s.kind(t.symbol)&isStill != 0):
			return false
		}
	}
	return false
}
