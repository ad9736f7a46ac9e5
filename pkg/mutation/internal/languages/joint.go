package languages

import (
	"context"
	"path"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// joint compares the files of one call that are in languages which can import
// each other. A name that one file imports from another is an object of both
// its trees; at the end it must have become what the other file's own comparison
// made of the name there.
type joint struct {
	read  verdict.Reader
	list  func(dir string) ([]string, error)
	files []*file
	// exists remembers which paths something stands at.
	exists map[string]bool
}

// file is one file of the call with its two programs.
type file struct {
	path          string
	language      *language
	before, after *side
}

func (f *file) sides() []*side { return []*side{f.after, f.before} }

// side is the text of the file before or after the call.
func (f *file) side(after bool) *side {
	if after {
		return f.after
	}
	return f.before
}

// link is the meaning of a name in an import: a name that another file of the
// call gives to others.
type link struct {
	target *file
	name   string
	line   int
}

func (j *joint) judge(ctx context.Context, files []verdict.File, of func(verdict.File) *language, limits verdict.Limits) verdict.Verdict {
	for _, f := range files {
		opened, v := of(f).open(ctx, f, limits)
		if opened == nil {
			return v
		}
		j.files = append(j.files, opened)
	}
	for _, f := range j.files {
		j.link(f)
	}
	verdicts := make([]verdict.Verdict, len(j.files))
	for i, f := range j.files {
		v := compare(ctx, f.path, f.before, f.after)
		if v.Evidence != verdict.Proven && v.Evidence != verdict.ProvenLocal {
			return v
		}
		verdicts[i] = v
	}
	if v := j.clangTorn(); v != nil {
		return *v
	}
	total := verdict.Verdict{Evidence: verdict.Proven}
	for i, f := range j.files {
		v := verdicts[i]
		for _, why := range []*verdict.Verdict{f.check(), f.passOn(&v), j.idle(f), j.heedHeaders(f, &v)} {
			if why != nil {
				return *why
			}
		}
		if v.Bound == "" && len(v.Outward) > 0 {
			v.Bound = j.bound(ctx, f, v.Outward)
		}
		total.Add(v)
	}
	return total
}

// isHeader tells whether a file is included by others, as far as its name says.
func (l *language) isHeader(name string) bool {
	switch l.grammar {
	case treesitter.C:
		return path.Ext(name) != ".c"
	case treesitter.CPlusPlus:
		return !slices.Contains([]string{".cc", ".cpp", ".cxx"}, path.Ext(name))
	}
	return false
}

// open reads both programs of a file; nil and a verdict if they cannot be
// compared.
func (l *language) open(ctx context.Context, f verdict.File, limits verdict.Limits) (*file, verdict.Verdict) {
	if v, unpaired := f.Unpaired("what uses"); unpaired {
		return nil, v
	}
	was, is := l.parse(ctx, f)
	before, v := l.side(f.Path, "before the change", was, limits)
	if before == nil {
		return nil, v
	}
	after, v := l.side(f.Path, "after the change", is, limits)
	if after == nil {
		return nil, v
	}
	opened := &file{f.Path, l, before, after}
	for _, s := range opened.sides() {
		s.links, s.imported = map[int]*tree.Object{}, map[*tree.Object]link{}
		// What a header declares is declared in whatever includes it.
		if l.isHeader(f.Path) {
			for _, o := range s.declared {
				if o.in.kind == module || s.kind(o.in.node) == "namespace_definition" {
					o.share()
				}
				if o.member && !o.private {
					o.pin("what includes the header can use it")
				}
			}
		}
	}
	return opened, verdict.Verdict{}
}

// link finds what the imports of a file mean.
func (j *joint) link(f *file) {
	for _, s := range f.sides() {
		switch {
		case isScript(f.language):
			j.linkScript(f, s)
		case f.language.grammar == treesitter.Python:
			j.linkPython(f, s)
		}
	}
}

func isScript(l *language) bool {
	return l.grammar == treesitter.JavaScript || l.grammar == treesitter.TypeScript || l.grammar == treesitter.TSX
}

// linkTo makes an object of a leaf that names what another file declares. All
// have one name, for that of the leaf is the other file's to change.
func (s *side) linkTo(leaf int, target *file) {
	name := s.tree.Source(leaf)
	for o, known := range s.imported {
		if known.target == target && known.name == name {
			s.links[leaf] = o
			return
		}
	}
	o := &tree.Object{Name: path.Base(target.path), Kind: "name of " + target.path, Line: s.line(leaf)}
	s.links[leaf], s.imported[o] = o, link{target, name, s.line(leaf)}
}

// gives are the names that a program gives to others, each with the object that
// it stands for; nil for one that is no object of the program's.
func (f *file) gives(s *side) map[string]*tree.Object {
	if s.given == nil {
		s.given = map[string]*tree.Object{}
		switch {
		case isScript(f.language):
			scriptGives(s)
		case f.language.grammar == treesitter.Python:
			for name, entries := range s.scopes[0].names {
				s.given[name] = entries[len(entries)-1].object.Object
			}
		}
	}
	return s.given
}

// becomes tells whether the name that this file gives to others is the other
// name now.
func (f *file) becomes(from, to string) bool {
	b, before := f.gives(f.before)[from]
	a, after := f.gives(f.after)[to]
	if b == nil || a == nil || !before || !after {
		return b == nil && a == nil && before == after && from == to
	}
	partner, met := f.before.pairing.Partner(b)
	return met && partner == a
}

// check holds what a file imports to what became of it in the other file.
func (f *file) check() *verdict.Verdict {
	for b, a := range f.before.pairing.Each {
		before, linked := f.before.imported[b]
		if !linked {
			continue
		}
		after := f.after.imported[a]
		if before.target != after.target || !before.target.becomes(before.name, after.name) {
			v := verdict.Unprovenf(f.path, after.line, "%q of %s became %q, which is another one", before.name, before.target.path, after.name)
			return &v
		}
	}
	return nil
}

// passOn notes the names that a file gives to others without declaring them. A
// verdict says that one changes hands.
func (f *file) passOn(v *verdict.Verdict) *verdict.Verdict {
	given, now := f.gives(f.before), f.gives(f.after)
	for from, b := range given {
		if _, linked := f.before.imported[b]; !linked {
			continue
		}
		partner, _ := f.before.pairing.Partner(b)
		for to, a := range now {
			if a != partner || to == from {
				continue
			}
			_, stood := given[to]
			_, stands := now[from]
			if stood || stands {
				why := verdict.Unprovenf(f.path, b.Line, "%q became %q, which stood for something else before, or does so now", from, to)
				return &why
			}
			v.Widen("", from, to)
		}
	}
	return nil
}

// maxLooks bounds how many paths one comparison asks about.
const maxLooks = 5000

// stands tells whether something stands at a path.
func (j *joint) stands(name string) bool {
	if there, known := j.exists[name]; known {
		return there
	}
	there := j.at(name) != nil
	if len(j.exists) > maxLooks {
		return true // so that nothing is certain any more
	}
	if !there && j.read != nil {
		_, err := j.read(name)
		there = !verdict.IsMissing(err)
	}
	j.exists[name] = there
	return there
}

// at is the file of the call at a path.
func (j *joint) at(name string) *file {
	for _, f := range j.files {
		if f.path == name {
			return f
		}
	}
	return nil
}
