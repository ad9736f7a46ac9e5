package languages

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

var clangTops = &topRules{
	declares: clangDeclares, role: clangRole, around: clangAround, bound: "the linker knows the name of the %s, and libraries can",
	reserved: setOf(append(clangKeywords, "main")...),
	whole: func(s *side, leaf int) bool {
		definition := s.above(leaf, setOf("function_definition", "declaration"))
		return s.kind(definition) == "function_definition" || s.hasText(definition, "storage_class_specifier", "static")
	},
	keeps: func(s *side, leaf int) string {
		switch o := s.declared[leaf]; {
		case o == nil:
			return "it is no function of the file"
		case o.Pinned != "":
			return o.Pinned
		case splicedName(string(s.tree.Text)):
			return "the file breaks lines in names"
		}
		return ""
	},
}

// clangDeclares: functions, of which a header says what another file defines.
func clangDeclares(s *side, leaf int) (kind, in string) {
	if o := s.declared[leaf]; o != nil && o.Kind == "function" && o.in == s.scopes[0] {
		return o.Kind, ""
	}
	return "", ""
}

// splicedName tells whether a line goes on in the next one in the midst of a
// name.
func splicedName(text string) bool {
	text = strings.ReplaceAll(text, "\\\r\n", "\\\n")
	for {
		before, after, found := strings.Cut(text, "\\\n")
		if !found {
			return false
		}
		if before != "" && after != "" && isNameByte(before[len(before)-1]) && isNameByte(after[0]) {
			return true
		}
		text = after
	}
}

func clangRole(t *tops, f *file, s *side, leaf int, d top) role {
	switch s.kind(leaf) {
	case "field_identifier", "statement_identifier":
		return apart
	case "type_identifier":
		switch s.place(leaf) {
		case "struct_specifier.name", "union_specifier.name", "enum_specifier.name":
			return apart
		}
		return unclear
	case "identifier":
	default:
		return unclear
	}
	if strings.HasPrefix(s.parentKind(leaf), "preproc") || s.parentKind(leaf) == "enumerator" || s.inMacro(leaf) {
		return unclear
	}
	o := s.declared[leaf]
	if o == nil {
		o = s.lookup(s.scopeAt(leaf), d.name, s.tree.Nodes[leaf].Start)
	}
	switch {
	case o != nil && (o.in != s.scopes[0] || o.Kind != "function" || o.Pinned != ""):
		return unclear
	case !t.includes(f, s, d.name, map[string]bool{}):
		return unclear
	}
	return meant
}

// inMacro tells whether a leaf is among the arguments of what looks like a
// macro, which may do anything with its name.
func (s *side) inMacro(leaf int) bool {
	for n := s.parent(leaf); n > 0; n = s.parent(n) {
		if s.kind(n) != "call_expression" {
			continue
		}
		callee := s.child(n, "function")
		if callee < 0 || callee == leaf || s.kind(callee) != "identifier" {
			continue
		}
		name := s.tree.Source(callee)
		known := name == "assert" || name == "offsetof" || name == "container_of" || strings.Contains(name, "_entry") || strings.Contains(name, "foreach") || strings.Contains(name, "for_each")
		if known || s.macros()[name] || strings.ToUpper(name) == name && strings.ContainsFunc(name, isUpper) {
			return true
		}
	}
	return false
}

// maxHeaders bounds how many files are looked at for what they include.
const maxHeaders = 200

// includes tells whether a file declares a function, or includes by quotes, also
// through others, a file of the call that does. Such a path is first looked for
// beside the file that has it.
func (t *tops) includes(f *file, s *side, name string, seen map[string]bool) bool {
	seen[f.path] = true
	for _, e := range s.scopes[0].names[name] {
		if e.object.Kind == "function" {
			return true
		}
	}
	return t.includedBy(f.path, s.tree.Text, s == f.after, name, seen)
}

var quotedInclude = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"`) })

func (t *tops) includedBy(at string, text []byte, after bool, name string, seen map[string]bool) bool {
	for _, found := range quotedInclude().FindAllSubmatch(text, -1) {
		header := path.Join(path.Dir(at), string(found[1]))
		if seen[header] || len(seen) > maxHeaders {
			continue
		}
		seen[header] = true
		if i := slices.IndexFunc(t.files, func(f *file) bool { return f.path == header }); i >= 0 {
			if t.includes(t.files[i], t.files[i].side(after), name, seen) {
				return true
			}
		} else if t.read != nil {
			if content, err := t.read(header); err == nil && t.includedBy(header, content, after, name, seen) {
				return true
			}
		}
	}
	return false
}
