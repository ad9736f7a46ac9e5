package languages

// pythonKeywords finds the parameters that calls in the file name. Where it is
// certain which function is called, the name goes along with the parameter;
// else all parameters of that name are fixed.
func pythonKeywords(s *side) {
	homes := map[*object][]int{}
	for leaf, o := range s.declared {
		homes[o] = append(homes[o], leaf)
	}
	named, known := set{}, map[int]*object{}
	spread, stars := false, false
	for n := range s.tree.Nodes {
		switch {
		case s.kind(n) == "identifier" && s.place(n) == "keyword_argument.name":
			if o := pythonNamed(s, n, homes); o != nil {
				known[n] = o
			} else {
				named[s.tree.Source(n)] = true
			}
		case s.kind(n) == "wildcard_import":
			stars = true
		case s.kind(n) == "dictionary_splat" && s.parentKind(n) == "argument_list":
			spread = true
		}
	}
	for _, o := range s.declared {
		if o.Kind != "parameter" {
			continue
		}
		if named[o.Name] {
			o.pin("a call names it")
		}
		// Only a dictionary of arguments could have the name as a text.
		o.spelled = spread
	}
	for leaf, o := range known {
		s.declared[leaf] = o
		o.share()
		if spread || stars {
			o.pin("a call names it")
		}
	}
}

// pythonNamed is the parameter that an argument names: of a function of the
// file that nothing else is called by the name of. nil if it is not certain.
func pythonNamed(s *side, n int, homes map[*object][]int) *object {
	call := s.parent(s.parent(s.parent(n)))
	callee := s.child(call, "function")
	if s.kind(call) != "call" || s.kind(callee) != "identifier" {
		return nil
	}
	o := s.lookup(s.scopeAt(callee), s.tree.Source(callee), s.tree.Nodes[callee].Start)
	if o == nil || o.Pinned != "" || o.Kind != "function" || o.in.kind == class || len(homes[o]) != 1 {
		return nil
	}
	definition := s.parent(homes[o][0])
	if s.kind(definition) != "function_definition" || s.parentKind(definition) == "decorated_definition" || s.place(homes[o][0]) != "function_definition.name" {
		return nil
	}
	for c := range s.tree.Children(s.child(definition, "parameters")) {
		leaf := c
		switch s.kind(c) {
		case "typed_parameter":
			leaf = c + 1
		case "default_parameter", "typed_default_parameter":
			leaf = s.child(c, "name")
		case "positional_separator":
			return nil // what stands before it cannot be named
		}
		if s.kind(leaf) == "identifier" && s.tree.Source(leaf) == s.tree.Source(n) {
			if found := s.declared[leaf]; found != nil && found.Kind == "parameter" && len(homes[found]) >= 1 {
				return found
			}
		}
	}
	return nil
}
