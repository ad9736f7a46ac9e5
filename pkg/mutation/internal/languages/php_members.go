package languages

import "strings"

// phpClasses are the nodes with members of their own. Traits and interfaces
// have those of whoever uses them.
var phpClasses = setOf("class_declaration", "anonymous_class", "enum_declaration")

// phpAround are the nodes in which $this and self mean something else.
var phpAround = setOf("class_declaration", "anonymous_class", "enum_declaration", "trait_declaration", "interface_declaration")

// phpKeys are how a name is known among those of its class: fields, methods and
// constants can share one, and methods have no capitals.
var phpKeys = map[string]func(string) string{
	"field":    func(name string) string { return "$" + name },
	"method":   func(name string) string { return strings.ToLower(name) + "()" },
	"constant": func(name string) string { return name },
}

// phpFile is what the members of a PHP file are found with.
type phpFile struct {
	*families
	source *side
	// seen are the members that are not private; whyFields and whyMethods say why
	// these may not be renamed.
	seen                  []*object
	whyFields, whyMethods string
	// calls is set where the file calls what it is given.
	calls bool
	// named are the classes by their names in lower case, -1 for one that cannot
	// be told; open says why others may have the members of a class that are
	// not private.
	named map[string]int
	open  map[int]string
}

// phpMembers makes names of the members that the classes of the file declare,
// where each use is known to be one.
func phpMembers(s *side) {
	p := &phpFile{source: s, named: map[string]int{}, open: map[int]string{}}
	var classes []int
	for n := range s.tree.Nodes {
		if phpClasses[s.kind(n)] && s.named(n) && phpBody(s, n) >= 0 {
			classes = append(classes, n)
		}
	}
	p.names()
	p.families = newFamilies(s, classes, p.base)
	for _, class := range classes {
		if why := p.open[class]; why != "" {
			p.open[p.root(class)] = why
		}
	}
	for _, class := range classes {
		for c := range s.tree.Children(phpBody(s, class)) {
			p.declareIn(class, c)
		}
	}
	p.calls = p.callsWhatIsGiven()
	for n := range s.tree.Nodes {
		p.use(n)
		p.reflects(n)
	}
	p.settle()
	for _, o := range p.seen {
		switch {
		case o.Kind == "field" && p.whyFields != "":
			o.pin(p.whyFields)
		case o.Kind == "method" && p.whyMethods != "":
			o.pin(p.whyMethods)
		}
	}
}

func phpBody(s *side, class int) int { return s.child(class, "body") }

// names finds the classes that a name of the file means for certain.
func (p *phpFile) names() {
	s, spaces := p.source, 0
	for n := range s.tree.Nodes {
		switch kind := s.kind(n); {
		case kind == "namespace_definition":
			spaces++
		case phpAround[kind] && s.child(n, "name") >= 0:
			name := strings.ToLower(s.tree.Source(s.child(n, "name")))
			if _, twice := p.named[name]; twice || s.parentKind(n) != "program" || !phpClasses[kind] {
				n = -1 // it may be another one
			}
			p.named[name] = n
		}
	}
	if spaces > 1 {
		clear(p.named)
	}
}

// base is the class of the file that a class is made from, or why its members
// are not its own.
func (p *phpFile) base(f *families, class int) (own int, why string) {
	s := f.side
	own = -1
	if s.has(class, "attribute_list") || s.child(class, "attributes") >= 0 || phpAnnotated(s, class) {
		return -1, "an annotation may look at the members"
	}
	if clause := s.first(class, "base_clause"); clause >= 0 {
		base := s.first(clause, "name")
		if base >= 0 {
			own = p.classNamed(base)
		}
		if own < 0 {
			p.open[class] = "the class is made from one that is declared elsewhere"
		}
	}
	if s.has(class, "class_interface_clause") {
		p.open[class] = "an interface that the class implements may have it"
	}
	for c := range s.tree.Children(phpBody(s, class)) {
		switch s.kind(c) {
		case "use_declaration":
			return own, "a trait that the class uses may have it"
		case "method_declaration":
			name := strings.ToLower(s.tree.Source(s.child(c, "name")))
			if phpMagic[name] {
				return own, "the class finds members by their names"
			}
		}
	}
	return own, ""
}

// phpMagic methods are told the names of members.
var phpMagic = setOf("__get", "__set", "__isset", "__unset", "__call", "__callstatic")

// classNamed is the class of the file that a name means, or -1.
func (p *phpFile) classNamed(n int) int {
	if class, known := p.named[strings.ToLower(p.source.tree.Source(n))]; known {
		return class
	}
	return -1
}

func (p *phpFile) declareIn(class, n int) {
	s := p.side
	private, why := phpPrivate(s, n), ""
	switch {
	case s.has(n, "attribute_list") || s.child(n, "attributes") >= 0 || phpAnnotated(s, n):
		why = "an annotation may look at the name"
	case !private && p.open[p.root(class)] != "":
		why = p.open[p.root(class)]
	}
	switch s.kind(n) {
	case "property_declaration":
		for c := range s.tree.Children(n) {
			if s.kind(c) == "property_element" {
				p.member(class, s.child(c, "name"), "field", why, private)
			}
		}
	case "const_declaration":
		for c := range s.tree.Children(n) {
			if s.kind(c) == "const_element" {
				p.member(class, s.first(c, "name"), "constant", why, private)
			}
		}
	case "method_declaration":
		leaf := s.child(n, "name")
		if _, constructor := p.named[strings.ToLower(s.tree.Source(leaf))]; constructor {
			why = "it has the name of a class"
		}
		if text := strings.ToUpper(s.tree.Source(n)); strings.Contains(text, "__FUNCTION__") || strings.Contains(text, "__METHOD__") {
			why = "it knows its name"
		}
		p.member(class, leaf, "method", why, private)
		p.promoted(class, n)
	}
}

// promoted declares the members that are parameters of the constructor, too.
func (p *phpFile) promoted(class, method int) {
	s := p.side
	parameters := s.child(method, "parameters")
	for c := range s.tree.Children(max(parameters, 0)) {
		if parameters < 0 || s.kind(c) != "property_promotion_parameter" {
			continue
		}
		leaf, why := s.child(c, "name"), ""
		was := s.declared[leaf]
		private := s.tree.Source(max(s.child(c, "visibility"), 0)) == "private"
		switch {
		case was == nil:
			continue
		case s.child(c, "attributes") >= 0 || s.has(c, "attribute_list"):
			why = "an annotation may look at the name"
		case !private && p.open[p.root(class)] != "":
			why = p.open[p.root(class)]
		case was.Pinned != "" && was.Pinned != phpPromoted:
			why = was.Pinned
		}
		o := p.member(class, leaf, "field", why, private)
		for other, object := range s.declared {
			if object == was {
				s.declared[other] = o
			}
		}
		was.in.names[was.Name] = []*entry{{object: o}}
		if phpHides(s, method) {
			o.pin("the function finds variables by their names")
		}
	}
}

// phpHides tells whether a function finds variables by their names.
func phpHides(s *side, method int) bool {
	for n := method; n < int(s.tree.Nodes[method].Next); n++ {
		switch kind := s.kind(n); {
		case strings.HasPrefix(kind, "include") || strings.HasPrefix(kind, "require"), kind == "dynamic_variable_name",
			kind == "name" && phpByName[strings.ToLower(s.tree.Source(n))]:
			return true
		}
	}
	return false
}

func (p *phpFile) member(class, leaf int, kind, why string, private bool) *object {
	if leaf < 0 {
		return nil
	}
	bare := strings.TrimPrefix(p.side.tree.Source(leaf), "$")
	o := p.declareAs(class, leaf, phpKeys[kind](bare), bare, kind)
	o.key = phpKeys[kind]
	if !private {
		p.seen = append(p.seen, o)
	}
	switch {
	case strings.HasPrefix(bare, "__") || kind == "constant" && strings.EqualFold(bare, "class"):
		o.pin("the name has a meaning of its own")
	case bare != o.Name:
		o.pin("it is written in more than one way")
	case why != "":
		o.pin(why)
	}
	return o
}

// useAs makes a leaf a use of a member, if the class has it.
func (p *phpFile) useAs(class, leaf int, kind string) bool {
	name := strings.TrimPrefix(p.source.tree.Source(leaf), "$")
	if !p.families.use(class, leaf, phpKeys[kind](name)) {
		return false
	}
	if o := p.source.declared[leaf]; o.Name != name {
		o.pin("it is written in more than one way")
	}
	return true
}

func (p *phpFile) loosen(leaf int) {
	p.source.loose = append(p.source.loose, freeText{text: strings.TrimPrefix(p.source.tree.Source(leaf), "$"), at: p.source.tree.Nodes[leaf].Start})
}

func phpPrivate(s *side, n int) bool {
	modifier := s.first(n, "visibility_modifier")
	return modifier >= 0 && strings.EqualFold(s.tree.Source(modifier), "private")
}

// use finds out whose member a name is.
func (p *phpFile) use(n int) {
	s := p.side
	kind, leaf, object := "", s.child(n, "name"), s.child(n, "object")
	switch s.kind(n) {
	case "member_access_expression", "nullsafe_member_access_expression":
		kind = "field"
	case "member_call_expression", "nullsafe_member_call_expression":
		kind = "method"
	case "scoped_call_expression":
		kind, object = "method", s.child(n, "scope")
	case "scoped_property_access_expression":
		kind, object = "field", s.child(n, "scope")
	case "class_constant_access_expression":
		kind, object, leaf = "constant", n+1, int(s.tree.Nodes[n].Next)-1
	case "method_declaration", "property_element", "const_element", "enum_case":
		if leaf < 0 {
			leaf = s.first(n, "name")
		}
		if leaf >= 0 && s.declared[leaf] == nil {
			p.loosen(leaf) // of a trait or an interface
		}
		return
	case "argument":
		if s.kind(leaf) == "name" {
			p.loosen(leaf)
		}
		return
	default:
		return
	}
	if leaf < 0 || s.kind(leaf) != "name" && s.kind(n) != "scoped_property_access_expression" || s.kind(leaf) == "dynamic_variable_name" {
		p.none("the file finds members by their names")
		return
	}
	class := p.classOf(object)
	if class < 0 || s.parentKind(n) == "unset_statement" || !p.useAs(class, leaf, kind) {
		p.loosen(leaf)
	}
}
