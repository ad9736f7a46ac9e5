package mutation_test

import (
	"bytes"
	"go/ast"
	"go/types"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/mutation"
)

// memberPackages have embedding, interfaces and literals in many forms.
func memberPackages() []string {
	few := []string{"container/list", "text/tabwriter", "encoding/csv", "container/ring"}
	if !long() {
		return few
	}
	return append(few, "sort", "strings", "bufio", "net/url", "text/template/parse", "go/scanner", "encoding/json", "regexp/syntax",
		"compress/flate", "archive/tar", "encoding/xml", "go/printer", "go/constant", "math/big", "image/png", "image", "go/ast", "io",
		"context", "html/template", "archive/zip", "log", "flag", "mime/multipart", "net/textproto", "go/doc", "sync", "io/fs", "errors")
}

// memberSweep breaks members in the ways in which a careless renaming does.
type memberSweep struct {
	t     *testing.T
	r     *rand.Rand
	p     *program
	c     *checked
	tried map[string]int
	same  map[string]int
}

// TestMembersGo: what only looks like the renaming of a field or a method is
// never called a refactor.
func TestMembersGo(t *testing.T) {
	total := &memberSweep{tried: map[string]int{}, same: map[string]int{}}
	rounds := 5
	switch {
	case long():
		rounds = 30
	case testing.Short():
		rounds = 3
	}
	for _, importPath := range memberPackages() {
		p := loadProgram(t, importPath)
		c, err := p.check(nil)
		if err != nil || len(c.errs) > 0 {
			t.Logf("%s is left out: %v %v", importPath, err, c.errs)
			continue
		}
		s := &memberSweep{t: t, r: rand.New(rand.NewPCG(3, 4)), p: p, c: c, tried: total.tried, same: total.same}
		for _, name := range p.names {
			for range rounds {
				s.file(name)
			}
		}
	}
	sum := 0
	for _, how := range slices.Sorted(mapsKeys(total.tried)) {
		sum += total.tried[how]
		t.Logf("go members: %s: %d tried, %d are the same by the type checker", how, total.tried[how], total.same[how])
	}
	if sum < 60 {
		t.Errorf("only %d were tried", sum)
	}
}

func (s *memberSweep) file(name string) {
	content := s.p.contents[name]
	groups := renameGroups(s.c, name, renameMembers)
	if len(groups) > 0 {
		group := groups[s.r.IntN(len(groups))]
		s.never(name, "one use keeps its name", s.leaveOne(name, content, group))
		s.never(name, "one use gets the name", s.onlyOne(name, content, group))
		s.maybe(name, "the name of another member", s.collide(name, content, group))
		if len(group) > 1 {
			s.never(name, "an interface or a method of it stays", s.part(name, content, group))
		}
	}
	s.never(name, "a method that others look for", s.sought(name, content))
	s.never(name, "the order of fields", s.swapFields(name, content))
	s.never(name, "a pointer receiver", s.otherReceiver(name, content))
	s.never(name, "two keys of a literal", s.swapKeys(name, content))
}

// never holds that a change is no refactor.
func (s *memberSweep) never(name, how string, after []byte) {
	if after == nil || bytes.Equal(after, s.p.contents[name]) {
		return
	}
	s.tried[how]++
	if v := s.p.judge(s.t, name, s.p.contents[name], after); isRefactor(v) {
		s.t.Errorf("%s/%s: %s: it is %s (%s)", s.p.path, name, how, v.Evidence, v.Reason)
	}
}

// maybe holds that a change is no refactor unless the type checker calls it
// one, and all types have the interfaces that they had.
func (s *memberSweep) maybe(name, how string, after []byte) {
	if after == nil || bytes.Equal(after, s.p.contents[name]) {
		return
	}
	s.tried[how]++
	v := s.p.judge(s.t, name, s.p.contents[name], after)
	if !isRefactor(v) {
		return
	}
	s.same[how]++
	if err := s.p.sameMeaning(name, after, v.Evidence == mutation.ProvenLocal); err != nil {
		s.t.Errorf("%s/%s: %s: it is %s (%s), but %v", s.p.path, name, how, v.Evidence, v.Reason, err)
	}
	changed, err := s.p.check(map[string][]byte{name: after})
	if err != nil {
		s.t.Fatal(err)
	}
	if before, now := s.c.satisfaction(s.p.names), changed.satisfaction(s.p.names); !slices.Equal(before, now) {
		s.t.Errorf("%s/%s: %s: it is %s (%s), but types have other interfaces", s.p.path, name, how, v.Evidence, v.Reason)
	}
}

// satisfaction tells of every type of a program which of its interfaces it
// has, in the order of their declarations.
func (c *checked) satisfaction(files []string) (has []bool) {
	var list []types.Type
	for _, name := range files {
		ast.Inspect(c.files[name], func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && c.info.Defs[spec.Name] != nil {
				list = append(list, c.info.Defs[spec.Name].Type())
			} else if literal, ok := n.(*ast.InterfaceType); ok && c.info.Types[literal].Type != nil {
				list = append(list, c.info.Types[literal].Type)
			}
			return true
		})
	}
	for _, t := range list {
		i, ok := t.Underlying().(*types.Interface)
		for _, other := range list {
			has = append(has, ok && (types.Implements(other, i) || types.Implements(types.NewPointer(other), i)))
		}
	}
	return has
}

// uses are the names of a file that mean one of a group, as their place among
// its names.
func (s *memberSweep) uses(name string, group []types.Object) (list []int) {
	_, meant := s.c.bindings(name)
	for i, o := range meant {
		if o != nil && slices.Contains(group, o) {
			list = append(list, i)
		}
	}
	return list
}

// replaceNames gives other names to those at some places.
func (s *memberSweep) replaceNames(name string, content []byte, names map[int]string) []byte {
	var at, size []int
	ast.Inspect(s.c.files[name], func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			at, size = append(at, s.c.fset.PositionFor(id.Pos(), false).Offset), append(size, len(id.Name))
		}
		return true
	})
	order := slices.SortedFunc(mapsKeys2(names), func(x, y int) int { return at[x] - at[y] })
	var b bytes.Buffer
	end := 0
	for _, i := range order {
		b.Write(content[end:at[i]])
		b.WriteString(names[i])
		end = at[i] + size[i]
	}
	b.Write(content[end:])
	return b.Bytes()
}

func mapsKeys2(m map[int]string) func(func(int) bool) {
	return func(yield func(int) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func (s *memberSweep) leaveOne(name string, content []byte, group []types.Object) []byte {
	uses := s.uses(name, group)
	if len(uses) < 2 {
		return nil
	}
	names := map[int]string{}
	for _, i := range uses {
		names[i] = freshName(group[0].Name(), 0)
	}
	delete(names, uses[s.r.IntN(len(uses))])
	return s.replaceNames(name, content, names)
}

func (s *memberSweep) onlyOne(name string, content []byte, group []types.Object) []byte {
	uses := s.uses(name, group)
	if len(uses) < 2 {
		return nil
	}
	return s.replaceNames(name, content, map[int]string{uses[s.r.IntN(len(uses))]: freshName(group[0].Name(), 0)})
}

// part renames some of the methods that must have one name.
func (s *memberSweep) part(name string, content []byte, group []types.Object) []byte {
	return s.replaceAll(name, content, group[:1+s.r.IntN(len(group)-1)], freshName(group[0].Name(), 0))
}

func (s *memberSweep) replaceAll(name string, content []byte, group []types.Object, to string) []byte {
	names := map[int]string{}
	for _, i := range s.uses(name, group) {
		names[i] = to
	}
	return s.replaceNames(name, content, names)
}

// collide gives a group the name of another member of the file, of a type that
// it is a member of if there is one.
func (s *memberSweep) collide(name string, content []byte, group []types.Object) []byte {
	var near, far []string
	for _, m := range s.c.kin().all {
		if m.Name() == group[0].Name() || m.Exported() != group[0].Exported() || m.Name() == "_" || s.c.fset.Position(m.Pos()).Filename != name {
			continue
		}
		far = append(far, m.Name())
		if s.related(m, group[0]) {
			near = append(near, m.Name())
		}
	}
	slices.Sort(near)
	slices.Sort(far)
	if len(near) > 0 && s.r.IntN(4) > 0 {
		far = near
	}
	if len(far) == 0 {
		return nil
	}
	return s.replaceAll(name, content, group, far[s.r.IntN(len(far))])
}

// related tells whether a type has both members, of its own or promoted.
func (s *memberSweep) related(x, y types.Object) bool {
	for _, n := range s.c.pkg.Scope().Names() {
		t, ok := s.c.pkg.Scope().Lookup(n).(*types.TypeName)
		if !ok {
			continue
		}
		a, _, _ := types.LookupFieldOrMethod(t.Type(), true, s.c.pkg, x.Name())
		b, _, _ := types.LookupFieldOrMethod(t.Type(), true, s.c.pkg, y.Name())
		if a == x && b == y {
			return true
		}
	}
	return false
}

// sought renames a method by which a type has an interface of another package.
func (s *memberSweep) sought(name string, content []byte) []byte {
	var list []types.Object
	_, meant := s.c.bindings(name)
	for _, o := range meant {
		f, ok := o.(*types.Func)
		if ok && f.Signature().Recv() != nil && s.c.kin().standard[o] && s.c.fset.Position(o.Pos()).Filename == name && !slices.Contains(list, o) {
			list = append(list, o)
		}
	}
	if len(list) == 0 {
		return nil
	}
	o := list[s.r.IntN(len(list))]
	return s.replaceAll(name, content, []types.Object{o}, freshName(o.Name(), 0))
}

// swap exchanges two pieces of a file.
func swap(content []byte, from1, to1, from2, to2 int) []byte {
	if from2 < from1 {
		from1, to1, from2, to2 = from2, to2, from1, to1
	}
	return slices.Concat(content[:from1], content[from2:to2], content[to1:from2], content[from1:to1], content[to2:])
}

func (s *memberSweep) span(n ast.Node) (from, to int) {
	return s.c.fset.PositionFor(n.Pos(), false).Offset, s.c.fset.PositionFor(n.End(), false).Offset
}

// swapFields exchanges two fields of a struct.
func (s *memberSweep) swapFields(name string, content []byte) []byte {
	var structs []*ast.StructType
	ast.Inspect(s.c.files[name], func(n ast.Node) bool {
		if t, ok := n.(*ast.StructType); ok && len(t.Fields.List) > 1 {
			structs = append(structs, t)
		}
		return true
	})
	if len(structs) == 0 {
		return nil
	}
	fields := structs[s.r.IntN(len(structs))].Fields.List
	i := s.r.IntN(len(fields) - 1)
	a, b := s.bare(fields[i]), s.bare(fields[i+1])
	return swap(content, a[0], a[1], b[0], b[1])
}

// bare is a field without its comments.
func (s *memberSweep) bare(f *ast.Field) [2]int {
	from, to := s.span(f.Type)
	if len(f.Names) > 0 {
		from, _ = s.span(f.Names[0])
	}
	if f.Tag != nil {
		_, to = s.span(f.Tag)
	}
	return [2]int{from, to}
}

// otherReceiver makes a pointer receiver a value or the other way round.
func (s *memberSweep) otherReceiver(name string, content []byte) []byte {
	var receivers []ast.Expr
	for _, d := range s.c.files[name].Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
			receivers = append(receivers, f.Recv.List[0].Type)
		}
	}
	if len(receivers) == 0 {
		return nil
	}
	t := receivers[s.r.IntN(len(receivers))]
	from, _ := s.span(t)
	if _, ok := t.(*ast.StarExpr); ok {
		return slices.Concat(content[:from], content[from+1:])
	}
	return slices.Concat(content[:from], []byte("*"), content[from:])
}

// swapKeys exchanges the names of two fields in a literal.
func (s *memberSweep) swapKeys(name string, content []byte) []byte {
	var pairs [][2]ast.Expr
	ast.Inspect(s.c.files[name], func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		for i := 1; i < len(lit.Elts); i++ {
			x, isPair := lit.Elts[i-1].(*ast.KeyValueExpr)
			y, alsoPair := lit.Elts[i].(*ast.KeyValueExpr)
			if isPair && alsoPair {
				pairs = append(pairs, [2]ast.Expr{x.Key, y.Key})
			}
		}
		return true
	})
	if len(pairs) == 0 {
		return nil
	}
	pair := pairs[s.r.IntN(len(pairs))]
	from1, to1 := s.span(pair[0])
	from2, to2 := s.span(pair[1])
	return swap(content, from1, to1, from2, to2)
}
