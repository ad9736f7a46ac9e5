package languages

import (
	"fmt"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// clangAround says which header, that a file of the call includes by quotes and
// that is not one of them, has one of some names: as a macro, or as a function
// that fits a call better.
func clangAround(t *tops, names ...string) string {
	if t.read == nil {
		return ""
	}
	j, why := &joint{read: t.read, files: t.files}, ""
	for _, f := range t.files {
		j.eachHeader(f, func(place string, content []byte) bool {
			if j.at(place) != nil {
				return true
			}
			if i := slices.IndexFunc(names, func(name string) bool { return hasWord(string(content), name) }); i >= 0 {
				why = fmt.Sprintf("%s, which did not change, has the name %s", place, names[i])
			}
			return why == ""
		})
		if why != "" {
			return why
		}
	}
	return ""
}

// clangTorn refuses what gives a name that files of C or C++ share another one
// in some of them only, or two.
func (j *joint) clangTorn() *verdict.Verdict {
	type shared struct {
		name string
		f    *file
	}
	became, was := map[string]shared{}, map[string]shared{}
	for _, f := range j.files {
		if g := f.language.grammar; g != treesitter.C && g != treesitter.CPlusPlus || len(j.files) == 1 {
			return nil
		}
		for b, a := range f.before.pairing.Each {
			if b.Reach != tree.Shared || a.Reach != tree.Shared {
				continue
			}
			o := f.before.objectBehind(b)
			if o == nil || f.before.clangOwnFile(o) {
				continue
			}
			at := f.before.cppSpace(o.leaf) + "::"
			old, new := at+b.Name, at+a.Name
			for _, met := range []struct {
				seen        map[string]shared
				name, other string
			}{{became, old, new}, {was, new, old}} {
				known, ok := met.seen[met.name]
				if ok && known.name != met.other {
					v := verdict.Unprovenf(f.path, a.Line, "%s %q became %q, and in %s it is another one", b.Kind, b.Name, a.Name, known.f.path)
					return &v
				}
				met.seen[met.name] = shared{met.other, f}
			}
			if b.Name == a.Name {
				continue
			}
			if v := j.clangLeft(f, b.Name, a.Name); v != nil {
				return v
			}
		}
	}
	return nil
}

// clangLeft refuses a renaming if another file of the call goes on to use the
// old name, which it does not declare, or had used the new one.
func (j *joint) clangLeft(f *file, old, new string) *verdict.Verdict {
	for _, other := range j.files {
		if other == f {
			continue
		}
		for _, at := range []struct {
			s    *side
			name string
		}{{other.after, old}, {other.before, new}} {
			for _, free := range at.s.free {
				if free.text == at.name {
					v := verdict.Unprovenf(other.path, at.s.lineAt(free.at), "%q became %q in %s, and %q is used here", old, new, f.path, at.name)
					return &v
				}
			}
		}
	}
	return nil
}

// clangOwnFile tells whether a function or variable is its file's alone.
func (s *side) clangOwnFile(o *object) bool {
	owner := s.above(o.leaf, setOf("declaration", "function_definition"))
	return owner >= 0 && s.hidden(o.leaf, owner)
}
