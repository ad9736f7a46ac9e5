package languages

// pythonElsewhere takes the name of a global or nonlocal statement out of the
// function.
func pythonElsewhere(s *side, n int) {
	name := s.tree.Source(n)
	here := s.scopes[0]
	if f := s.above(n, setOf("function_definition", "class_definition")); f >= 0 {
		here = s.scopes[f]
	}
	for _, e := range here.names[name] {
		e.object.pin("it is declared global or nonlocal")
	}
	to := s.scopes[0]
	if s.parentKind(n) == "nonlocal_statement" {
		to = here.parent
	}
	if o := s.lookup(to, name, 0); o != nil {
		o.pin("it is declared global or nonlocal")
	} else {
		s.addNamed(s.scopes[0], n, name, "variable", 0).pin("it is declared global or nonlocal")
	}
}

// pythonMatch pins what the patterns of a match statement may capture.
func pythonMatch(s *side, match int) {
	for n := match; n < int(s.tree.Nodes[match].Next); n++ {
		if s.kind(n) == "identifier" && s.above(n, setOf("case_pattern")) >= 0 {
			name := s.tree.Source(n)
			if o := s.lookup(s.scopeAt(n), name, 0); o != nil {
				o.pin("a pattern has that name")
			}
			s.opaque = append(s.opaque, freeText{name, s.tree.Nodes[n].Start, s.scopeAt(n).region(), false})
		}
	}
}

// scopeAt is the scope around a node.
func (s *side) scopeAt(n int) *scope {
	for ; n >= 0; n = s.parent(n) {
		if sc := s.scopes[n]; sc != nil {
			return sc
		}
	}
	return s.scopes[0]
}
