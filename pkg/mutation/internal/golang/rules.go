package golang

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// predeclared are the names of the universe block. A package-level name that
// is one of them changes what other files of the package mean.
var predeclared = words(`any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string
	uint uint8 uint16 uint32 uint64 uintptr true false iota nil append cap clear close complex copy delete imag len make max min new
	panic print println real recover`)

func words(list string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for _, w := range strings.Fields(list) {
			set[w] = true
		}
		return set
	})
}

// rules say which renamings keep what a program does.
type rules struct {
	before, after *side
	// members are the fields and methods of both sides.
	members map[*tree.Object]*member
	became  map[*tree.Object]*tree.Object
	// methods gives for each name of a method before what it became, and
	// unnamed the same, both ways, for the shapes of types without a name.
	methods, unnamed map[string]map[string]bool
	// required are the names of the methods of interfaces, on either side.
	required map[string]bool
	// users are the types that a type is a part of.
	users map[*side]map[*typeInfo][]*typeInfo
}

func newRules(before, after *side) *rules {
	r := &rules{
		before: before, after: after, members: map[*tree.Object]*member{}, became: map[*tree.Object]*tree.Object{},
		methods: map[string]map[string]bool{}, unnamed: map[string]map[string]bool{}, required: map[string]bool{}, users: map[*side]map[*typeInfo][]*typeInfo{},
	}
	for _, s := range []*side{before, after} {
		users := map[*typeInfo][]*typeInfo{}
		for _, info := range s.allTypes() {
			for _, members := range []map[string]*member{info.fields, info.methods} {
				for _, m := range members {
					r.members[m.object] = m
					r.required[m.object.Name] = r.required[m.object.Name] || m.object.Kind == "interface method"
				}
			}
			list, _ := s.parts(info)
			for _, part := range list {
				users[part] = append(users[part], info)
			}
		}
		r.users[s] = users
	}
	return r
}

// check returns why a renaming is not one that keeps the meaning, or "".
func (r *rules) check(p *tree.Pairing) (why string, at *tree.Object) {
	for b, a := range p.Each {
		r.became[b] = a
		if isMethod(b) {
			note(r.methods, b.Name, a.Name)
		} else if mb, ma := r.members[b], r.members[a]; mb != nil && ma != nil && mb.owner.unnamed {
			note(r.unnamed, "was "+mb.owner.shape(), ma.owner.shape())
			note(r.unnamed, "is "+ma.owner.shape(), mb.owner.shape())
		}
	}
	for b, a := range p.Each {
		if b.Name == a.Name {
			continue
		}
		if why := r.object(b, a); why != "" {
			return fmt.Sprintf("the %s %q was renamed to %q, but %s", b.Kind, b.Name, a.Name, why), a
		}
	}
	return "", nil
}

func note(names map[string]map[string]bool, from, to string) {
	if names[from] == nil {
		names[from] = map[string]bool{}
	}
	names[from][to] = true
}

// shape is what two types without a name must share to be one type.
func (info *typeInfo) shape() string {
	if info.expr == nil {
		return ""
	}
	var b strings.Builder
	for _, field := range info.expr.Kids {
		name := field.Kids[0].Text
		if o := field.Kids[0].Object; o != nil {
			name = o.Name
		}
		b.WriteString(field.Kind + " " + name + field.Text + "\n")
	}
	return b.String()
}

func isMethod(o *tree.Object) bool { return o.Kind == "method" || o.Kind == "interface method" }

func (r *rules) object(b, a *tree.Object) string {
	switch {
	case b.Pinned != "":
		return b.Pinned
	case a.Pinned != "":
		return a.Pinned
	case b.Reach == tree.Member:
		return r.member(b, a)
	case b.Reach == tree.Shared && b.Kind != "local type":
		return r.global(b, a)
	}
	return ""
}

func (r *rules) global(b, a *tree.Object) string {
	for _, o := range []*tree.Object{b, a} {
		if predeclared()[o.Name] {
			return fmt.Sprintf("%q is predeclared, and means something else in the other files", o.Name)
		}
	}
	// Where names change hands, other files go on to compile and mean something
	// else.
	if r.before.pkg.names[a.Name] != nil || r.after.pkg.names[b.Name] != nil {
		return "the name stood for something else before, or does so now"
	}
	for _, f := range r.before.files {
		if f.isTest() && b.Kind == "function" && (testKind(b.Name) != testKind(a.Name) || testKind(b.Name) == "Example" || testKind(b.Name) == "Fuzz" || b.Name == "TestMain" || a.Name == "TestMain") {
			return "go test finds functions by their names"
		}
	}
	return r.mentioned(b, a)
}

func (r *rules) mentioned(b, a *tree.Object) string {
	for _, f := range slices.Concat(r.before.files, r.after.files) {
		if f.mentions(b.Name) || f.mentions(a.Name) {
			return "a directive names it"
		}
	}
	return ""
}

// shared tells whether something that other files could use was renamed.
func shared(o *tree.Object) bool { return o.Reach != tree.Local }
