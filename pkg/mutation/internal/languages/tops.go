package languages

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// tops renames what files declare for others, in the languages whose tables
// leave such names as they are: classes of Java, functions of C. It takes a name
// for renamed where the old one is gone from all files of the call, the new one
// was in none of them, and each use on either side is certain to mean the one
// declaration. Then the files are compared once more with the old name in place
// of the new one.
type tops struct {
	rules *topRules
	files []*file
	// moved are the files that went along with a class, with the paths from
	// which they came.
	moved map[*file]string
	read  verdict.Reader
	list  func(dir string) ([]string, error)
	// cpp are the classes of the call in C++, for each side of a file.
	cpp map[*side]cppClasses
}

// top is a declaration that other files can use.
type top struct {
	name, kind string
	// space is the package or namespace.
	space string
	file  *file
	leaf  int
}

// role says what a leaf is that has the name of a declaration.
type role int

const (
	// unclear: it may mean the declaration, or something else.
	unclear role = iota
	// apart: it is something else, in a space of names of its own.
	apart
	// meant: it is the declaration.
	meant
)

// topRules are those of a language.
type topRules struct {
	// declares tells of what kind the declaration is that a leaf names, and of
	// which package; "" if the leaf declares nothing for other files.
	declares func(s *side, leaf int) (kind, space string)
	// whole tells which of the declarations of a name there may be only one of;
	// nil for all.
	whole func(s *side, leaf int) bool
	// role tells what a leaf of the declaration's name is.
	role func(t *tops, f *file, s *side, leaf int, d top) role
	// keeps says why a name must not change.
	keeps func(s *side, leaf int) string
	// follows says that a file must be called as the declaration; nil where a
	// file may not even move with it.
	follows func(s *side, leaf int) bool
	// around says which file beside those of the call could have one of some names
	// in a way that counts; nil where it is not asked.
	around func(t *tops, names ...string) string
	// fold says that names are the same in upper and lower case.
	fold bool
	// reserved names cannot be taken.
	reserved set
	// bound says why the files of the call never tell about all uses.
	bound string
}

// maxTops bounds how many names one call renames.
const maxTops = 40

// renamedTops judges a call as one that renames top-level names; false if it is
// none that could be proven.
func (j *joint) renamedTops(ctx context.Context, files []verdict.File, of func(verdict.File) *language, limits verdict.Limits) (verdict.Verdict, bool) {
	t := &tops{rules: topRulesOf(of(files[0])), moved: map[*file]string{}, read: j.read, list: j.list}
	if t.rules == nil {
		return verdict.Verdict{}, false
	}
	for _, f := range t.paired(files) {
		from := f.From
		f.From = ""
		opened, _ := of(f).open(ctx, f, limits)
		if opened == nil || ctx.Err() != nil {
			return verdict.Verdict{}, false
		}
		t.files = append(t.files, opened)
		if from != "" && from != f.Path {
			if t.rules.follows == nil {
				return verdict.Verdict{}, false
			}
			t.moved[opened] = from
		}
	}
	gone, come := t.changed()
	if len(gone) == 0 || len(gone) != len(come) || len(gone) > maxTops {
		return verdict.Verdict{}, false
	}
	edits := map[*file]map[int]string{}
	for i := range gone {
		if why := t.renames(gone[i], come[i], edits); why != "" {
			return verdict.Unprovenf(come[i].file.path, come[i].file.after.line(come[i].leaf), "%s %q became %q: %s", gone[i].kind, gone[i].name, come[i].name, why), true
		}
	}
	if f := t.unexplained(gone); f != nil {
		return verdict.Verdict{}, false
	}
	again := make([]verdict.File, len(t.files))
	for i, f := range t.files {
		again[i] = verdict.File{Path: f.path, Before: f.before.tree.Text, After: f.restored(edits[f], gone, come)}
	}
	v := (&joint{read: j.read, exists: map[string]bool{}}).judge(ctx, again, of, limits)
	if v.Evidence != verdict.Proven && v.Evidence != verdict.ProvenLocal {
		return v, true
	}
	for i := range gone {
		v.Widen(fmt.Sprintf(t.rules.bound, gone[i].kind), gone[i].name, come[i].name)
		v.Renames = append(v.Renames, verdict.Rename{From: gone[i].name, To: come[i].name, Kind: gone[i].kind, Line: come[i].file.after.line(come[i].leaf)})
	}
	return v, true
}

// paired makes one file of one that was deleted and one that is new in the same
// directory, where files move with what they declare.
func (t *tops) paired(files []verdict.File) (list []verdict.File) {
	var deleted, created []verdict.File
	for _, f := range files {
		switch {
		case t.rules.follows != nil && f.Deleted():
			deleted = append(deleted, f)
		case t.rules.follows != nil && f.Created():
			created = append(created, f)
		default:
			list = append(list, f)
		}
	}
	if len(deleted) != 1 || len(created) != 1 || path.Dir(deleted[0].Path) != path.Dir(created[0].Path) {
		return files
	}
	return append(list, verdict.File{Path: created[0].Path, From: deleted[0].Path, Before: deleted[0].Before, After: created[0].After})
}

// changed are the declarations whose names are gone, and those whose names are
// new, in the order in which they stand.
func (t *tops) changed() (gone, come []top) {
	before, after := t.declared(func(f *file) *side { return f.before }), t.declared(func(f *file) *side { return f.after })
	without := func(list, other []top) []top {
		return slices.DeleteFunc(slices.Clone(list), func(d top) bool {
			return slices.ContainsFunc(other, func(o top) bool { return t.same(o.name, d.name) })
		})
	}
	return without(before, after), without(after, before)
}

// declared are the declarations of one side, the first of each name.
func (t *tops) declared(pick func(*file) *side) (list []top) {
	for _, f := range t.files {
		s := pick(f)
		for n := range s.tree.Nodes {
			if !s.isLeaf(n) || !s.named(n) {
				continue
			}
			kind, space := t.rules.declares(s, n)
			if d := (top{s.tree.Source(n), kind, space, f, n}); kind != "" && !slices.ContainsFunc(list, func(o top) bool { return o.name == d.name }) {
				list = append(list, d)
			}
		}
	}
	return list
}

func (t *tops) same(x, y string) bool { return x == y || t.rules.fold && strings.EqualFold(x, y) }

// renames tells why a declaration did not only get another name, or "". edits
// gets the places of the new name.
func (t *tops) renames(b, a top, edits map[*file]map[int]string) (why string) {
	if b.file != a.file || b.kind != a.kind || b.space != a.space {
		return "it is declared elsewhere, or as something else"
	}
	for _, at := range []struct {
		s *side
		d top
	}{{b.file.before, b}, {a.file.after, a}} {
		if t.rules.reserved[strings.ToLower(at.d.name)] || len(at.d.name) < 2 {
			return "the name has a meaning of its own"
		}
		if why := t.rules.keeps(at.s, at.d.leaf); why != "" {
			return why
		}
	}
	if why := t.placed(b, a); why != "" {
		return why
	}
	for _, f := range t.files {
		uses := map[*side][]int{}
		for _, s := range []*side{f.before, f.after} {
			for _, d := range []top{b, a} {
				list, why := t.uses(f, s, d, d == b && s == f.after)
				if why != "" {
					return why
				}
				if len(list) > 0 && (s == f.before) != (d == b) {
					return fmt.Sprintf("%s has %q, too", verdict.At(f.path, s.line(list[0])), d.name)
				}
				uses[s] = append(uses[s], list...)
			}
		}
		if edits[f] == nil {
			edits[f] = map[int]string{}
		}
		for _, leaf := range uses[f.after] {
			edits[f][leaf] = b.name
		}
	}
	if t.rules.around != nil {
		if why := t.rules.around(t, b.name, a.name); why != "" {
			return why
		}
	}
	return t.once(b, a)
}

// placed: a file that is called as what it declares goes along.
func (t *tops) placed(b, a top) string {
	if t.rules.follows == nil {
		return ""
	}
	from, moved := t.moved[b.file]
	if !moved {
		from = b.file.path
	}
	was, is := stem(from) == b.name, stem(b.file.path) == a.name
	switch {
	case moved && (!was || !is || path.Dir(from) != path.Dir(b.file.path) || path.Ext(from) != path.Ext(b.file.path)):
		return "its file did not move to the new name"
	case !moved && (t.rules.follows(b.file.before, b.leaf) && was || t.rules.follows(a.file.after, a.leaf) && stem(a.file.path) != a.name && was):
		return "its file has the old name"
	}
	return ""
}

func stem(name string) string { return strings.TrimSuffix(path.Base(name), path.Ext(name)) }

// unexplained is a file that moved without what it is called after.
func (t *tops) unexplained(gone []top) *file {
	for f := range t.moved {
		if !slices.ContainsFunc(gone, func(d top) bool { return d.file == f && stem(t.moved[f]) == d.name }) {
			return f
		}
	}
	return nil
}

// once holds a name to one declaration, on both sides.
func (t *tops) once(b, a top) string {
	for _, at := range []struct {
		d    top
		pick func(*file) *side
	}{{b, func(f *file) *side { return f.before }}, {a, func(f *file) *side { return f.after }}} {
		count := 0
		for _, f := range t.files {
			s := at.pick(f)
			for n := range s.tree.Nodes {
				if s.isLeaf(n) && t.same(s.tree.Source(n), at.d.name) {
					if kind, _ := t.rules.declares(s, n); kind != "" && (t.rules.whole == nil || t.rules.whole(s, n)) {
						count++
					}
				}
			}
		}
		if count != 1 && (t.rules.whole == nil || count > 1) {
			return "it is declared more than once"
		}
	}
	return ""
}

// uses are the leaves that mean a declaration, or why that is not certain.
// stale: it has the name no more.
func (t *tops) uses(f *file, s *side, d top, stale bool) (leaves []int, why string) {
	at := 0 // the end of the text that was looked at
	for n := 0; n < len(s.tree.Nodes); n++ {
		node := s.tree.Nodes[n]
		comment := s.language.comments[s.kind(n)]
		if !comment && !s.isLeaf(n) && !s.language.whole[s.kind(n)] {
			continue
		}
		if int(node.Start) > at && hasWord(string(s.tree.Text[at:node.Start]), d.name) {
			return nil, f.unclear(s, n, d)
		}
		at = max(at, int(node.End))
		text := s.tree.Source(n)
		next := int(node.Next) - 1
		switch {
		case comment:
			if kept := s.language.kept; stale && kept != nil && kept(s, n, text) && hasWord(text, d.name) {
				return nil, f.unclear(s, n, d) // what reads it finds the old name
			}
		case s.place(n) == "preproc_include.path":
		case s.language.grammar == treesitter.Kotlin && s.kotlinShort(n) == d.name:
			return nil, f.unclear(s, n, d)
		case isText(s.kind(n)):
			word := hasWord(text, d.name) || t.rules.fold && strings.Contains(text, `\`) && hasWord(strings.ToLower(text), strings.ToLower(d.name))
			if word && (!strings.ContainsAny(strings.Trim(text, space), space) || strings.ContainsAny(text, `{<>%$;()=\`) || s.above(n, setOf("gnu_asm_expression")) >= 0) {
				return nil, fmt.Sprintf("the text in %s has the word %s", verdict.At(f.path, s.line(n)), d.name)
			}
		case s.isLeaf(n) && t.same(text, d.name):
			switch t.rules.role(t, f, s, n, d) {
			case unclear:
				return nil, f.unclear(s, n, d)
			case meant:
				leaves = append(leaves, n)
			}
		case hasWord(text, d.name):
			return nil, f.unclear(s, n, d)
		}
		n = max(n, next)
	}
	if hasWord(string(s.tree.Text[at:]), d.name) {
		return nil, f.unclear(s, len(s.tree.Nodes)-1, d)
	}
	return leaves, ""
}

func (f *file) unclear(s *side, n int, d top) string {
	return fmt.Sprintf("%s in %s may be another one", d.name, verdict.At(f.path, s.line(n)))
}

// restored is the text after the change with the old names: at the places that
// mean a declaration, and in comments.
func (f *file) restored(edits map[int]string, gone, come []top) []byte {
	s := f.after
	var text strings.Builder
	at := 0
	for n := 0; n < len(s.tree.Nodes); n++ {
		node := s.tree.Nodes[n]
		name, isUse := edits[n]
		if s.language.comments[s.kind(n)] {
			name, isUse = s.tree.Source(n), true
			for i := range come {
				name = replaceWord(name, come[i].name, gone[i].name)
			}
		}
		if !isUse || int(node.Start) < at {
			continue
		}
		text.Write(s.tree.Text[at:node.Start])
		text.WriteString(name)
		at = int(node.End)
	}
	text.Write(s.tree.Text[at:])
	return []byte(text.String())
}
