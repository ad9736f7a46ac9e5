package golang

import "github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"

// scope is a block of the language's specification.
type scope struct {
	parent *scope
	names  map[string]*tree.Object
}

func (s *scope) open() *scope { return &scope{parent: s} }

// declare adds an object. The blank identifier declares nothing. It returns
// what the block has of that name already, which no program that compiles has.
func (s *scope) declare(o *tree.Object) (twice *tree.Object) {
	if o.Name == "_" {
		return nil
	}
	twice = s.names[o.Name]
	if s.names == nil {
		s.names = map[string]*tree.Object{}
	}
	s.names[o.Name] = o
	return twice
}

// lookup finds what a name stands for here; nil for names that the program
// does not declare.
func (s *scope) lookup(name string) *tree.Object {
	for ; s != nil; s = s.parent {
		if o, ok := s.names[name]; ok {
			return o
		}
	}
	return nil
}
