package languages

import "strings"

// use finds out whose member a name is.
func (r *rubyFile) use(n int) {
	s := r.source
	switch s.kind(n) {
	case "instance_variable":
		name := s.tree.Source(n)
		if class, _ := r.self(n); class >= 0 && r.of[class] != nil {
			r.declareAs(class, n, name, name, "field")
		} else {
			s.loosen(n)
		}
	case "identifier":
		r.identifier(n)
	case "setter":
		s.loose = append(s.loose, freeText{text: strings.TrimSuffix(s.tree.Source(n), "="), at: s.tree.Nodes[n].Start})
	}
}

// identifier is a local variable, or a call of a method of self or another.
func (r *rubyFile) identifier(n int) {
	s, name := r.source, r.source.tree.Source(n)
	if o := s.declared[n]; o != nil {
		if !o.member {
			s.loosen(n) // g -1 is a difference if g is a variable
		}
		return
	}
	switch s.place(n) {
	case "call.method":
		call := s.parent(n)
		if receiver := s.child(call, "receiver"); receiver >= 0 && s.kind(receiver) != "self" {
			s.loosen(n)
			return
		}
	case "method.name", "singleton_method.name", "alias.name", "alias.alias", "undef.", "keyword_parameter.name", "block_parameter.name":
		s.loosen(n)
		return
	default:
		if s.lookupWithin(s.scopeAt(n), name, s.tree.Nodes[n].Start) != nil {
			s.loosen(n)
			return
		}
	}
	if class, static := r.self(n); class < 0 || !r.families.use(class, n, rubyKey(name, static)) {
		s.loosen(n)
	}
}

// reflects looks for what finds members by their names.
func (r *rubyFile) reflects(n int) {
	s := r.source
	switch s.kind(n) {
	case "simple_symbol", "bare_symbol", "delimited_symbol", "bare_string", "string_content", "heredoc_content":
		r.said(n)
	case "hash_key_symbol": // in the body of a class it may be what declares a member
		if s.above(n, setOf("method", "singleton_method")) < 0 {
			r.said(n)
		}
	case "symbol_array", "string_array":
		s.said = append(s.said, freeText{text: s.tree.Source(n), at: s.tree.Nodes[n].Start})
	case "identifier", "constant":
		name := s.tree.Source(n)
		switch {
		case rubyFinds[name]:
			r.none("the file finds members by their names")
		case rubyLists[name]:
			r.byName = true
		case rubyNamed[name] && s.place(n) == "call.method" && !r.givenNames(n):
			r.byName = true
			if strings.HasPrefix(name, "attr") || strings.HasSuffix(name, "_eval") {
				r.none("the file finds members by their names")
			}
		case name == "extend" && s.place(n) == "call.method" && s.child(s.parent(n), "receiver") >= 0:
			r.none("an object gets the members of a module")
		case rubyShows[name] && s.declared[n] == nil && s.lookupWithin(s.scopeAt(n), name, s.tree.Nodes[n].Start) == nil:
			r.noFields("the file shows objects with the names of their members")
		}
	}
}

// said notes texts and symbols of one word, and those that are code.
func (r *rubyFile) said(n int) {
	s := r.source
	text := s.tree.Source(n)
	if s.kind(n) == "string_content" && s.parentKind(n) == "string" || s.kind(n) == "heredoc_content" {
		s.say(n)
		if strings.Contains(text, "@") || strings.Contains(text, "def ") {
			s.said = append(s.said, freeText{text: text, at: s.tree.Nodes[n].Start})
		}
		return
	}
	s.said = append(s.said, freeText{text: text, at: s.tree.Nodes[n].Start})
}

// givenNames tells whether a call is given the names that it finds as they
// are: symbols and texts, which are looked at, or a method's declaration.
func (r *rubyFile) givenNames(n int) bool {
	s, call := r.source, r.source.parent(n)
	arguments := s.child(call, "arguments")
	if arguments < 0 {
		return s.child(call, "block") < 0 || !strings.Contains(s.tree.Source(n), "define")
	}
	for c := range s.tree.Children(arguments) {
		if !s.named(c) {
			continue
		}
		switch kind := s.kind(c); kind {
		case "simple_symbol", "method", "singleton_method":
		case "string", "delimited_symbol":
			if s.contains(c, setOf("interpolation")) {
				return false
			}
		case "call": // private attr_reader :a
			if !rubyNamed[s.tree.Source(max(s.child(c, "method"), 0))] || !r.givenNames(s.child(c, "method")) {
				return false
			}
		default:
			return s.siblingsBefore(arguments, c) && r.plainRest(n)
		}
	}
	return true
}

// siblingsBefore tells whether another part of a list stands before c.
func (s *side) siblingsBefore(list, c int) bool {
	for part := range s.tree.Children(list) {
		if part == c {
			return false
		}
		if s.named(part) {
			return true
		}
	}
	return false
}

// plainRest tells whether the first argument of a method alone is a name.
func (r *rubyFile) plainRest(n int) bool {
	switch r.source.tree.Source(n) {
	case "send", "__send__", "define_method", "define_singleton_method", "method", "instance_method":
		return true
	}
	return false
}
