package languages

// Part is a declaration in a list, with what belongs to it in front of it, for
// tests that change the order.
type Part struct {
	Start, End int
	// List is the place of the list, Kind the kind of the declaration.
	List int
	Kind string
}

// Parts are the declarations of a text, list by list; nil if the parser does
// not understand it.
func Parts(name string, text []byte) (parts []Part) {
	s := understood(name, text)
	if s == nil {
		return nil
	}
	l, t := s.language, s.tree
	for n := range t.Nodes {
		if !l.holds(s, n) {
			continue
		}
		start := -1
		for c := range t.Children(n) {
			if start < 0 {
				start = int(t.Nodes[c].Start)
			}
			comment := l.comments[s.kind(c)]
			if l.leads != nil && l.leads(s, c) && (!comment || l.kept(s, c, t.Source(c))) {
				continue
			}
			if s.named(c) && !comment {
				parts = append(parts, Part{Start: start, End: int(t.Nodes[c].End), List: n, Kind: s.kind(c)})
			}
			start = -1
		}
	}
	return parts
}

// ordered are the kinds of parts that do something, or have a number, by where
// they stand among their kind.
var ordered = setOf("expression_statement", "assignment", "enumerator", "enum_constant", "enum_variant", "enum_entry", "enum_member_declaration", "enum_case",
	"enum_assignment", "field_declaration", "field_definition", "public_field_definition", "property_declaration", "if_statement", "let_declaration",
	"call", "call_expression", "static_initializer", "anonymous_initializer", "field_initializer", "formal_parameter", "required_parameter",
	"parameter_declaration", "simple_parameter", "preproc_def", "preproc_include")

// Ordered are parts that have an order, list by list.
func Ordered(name string, text []byte) (parts []Part) {
	s := understood(name, text)
	if s == nil {
		return nil
	}
	t := s.tree
	for n := range t.Nodes {
		for c := range t.Children(n) {
			if ordered[s.kind(c)] {
				parts = append(parts, Part{Start: int(t.Nodes[c].Start), End: int(t.Nodes[c].End), List: n, Kind: s.kind(c)})
			}
		}
	}
	return parts
}
