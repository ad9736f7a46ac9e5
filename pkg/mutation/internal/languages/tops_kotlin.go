package languages

import (
	"strings"
)

// kotlinTops are functions, properties, classes and objects at the top of a
// file. All declarations of a name in a package change together: which of them a
// call means is then the same.
var kotlinTops = &topRules{
	declares: kotlinDeclares, role: kotlinRole, keeps: kotlinKeeps, around: kotlinAround,
	bound:    "another file can have a %s of either name, or find it by its name at run time",
	reserved: kotlinTaken,
	whole:    func(s *side, leaf int) bool { return s.place(leaf) != "function_declaration.name" },
	follows:  func(*side, int) bool { return false },
}

// kotlinTaken are names that every file knows, in lower case: of functions and
// properties that anything has, and of types.
var kotlinTaken = setOf(strings.Fields(`abstract actual annotation as break by catch class companion const constructor continue crossinline data delegate do dynamic
	else enum expect external false field file final finally for fun get if import in infix init inline inner interface internal is it lateinit noinline null
	object open operator out override package param private property protected public receiver reified return sealed set setparam super suspend tailrec this
	throw true try typealias typeof val value var vararg when where while main equals hashcode tostring finalize clone compareto getclass javaclass notify
	notifyall wait values valueof entries name ordinal declaringclass declaringjavaclass invoke contains iterator next hasnext plus minus times div rem inc dec
	not unaryplus unaryminus rangeto rangeuntil getvalue setvalue providedelegate copy println print readln readline require requirenotnull check checknotnull
	error listof listofnotnull mapof setof run let with apply also to use takeif takeunless lazy repeat todo maxof minof arrayof assert buildstring buildlist
	synchronized runcatching coerceatleast coerceatmost coercein message cause localizedmessage stacktrace stacktracetostring printstacktrace
	suppressed suppressedexceptions addsuppressed getsuppressed initcause fillinstacktrace getmessage getcause getlocalizedmessage getstacktrace setstacktrace close call
	runnable callable sequence sequenceof iterate iterator emptylist emptymap emptyset
	int long short byte char boolean float double string any unit nothing list map set collection iterable array pair triple result number regex
	exception throwable comparable comparator enum function suppress deprecated override charsequence stringbuilder arraylist hashmap hashset
	mutablelist mutablemap mutableset intarray longarray bytearray chararray math system thread object integer`)...)

// kotlinDeclaration is what a leaf gives its name to at the top of a file, or -1.
func (s *side) kotlinDeclaration(leaf int) int {
	n := -1
	switch place := s.place(leaf); {
	case place == "function_declaration.name", place == "class_declaration.name", place == "object_declaration.name", place == "type_alias.type":
		n = s.parent(leaf)
	case s.parentKind(leaf) == "variable_declaration" && s.parentKind(s.parent(leaf)) == "property_declaration" && s.first(s.parent(leaf), "identifier") == leaf:
		n = s.parent(s.parent(leaf))
	}
	if n > 0 && s.parent(n) == 0 {
		return n
	}
	return -1
}

func kotlinDeclares(s *side, leaf int) (kind, in string) {
	n := s.kotlinDeclaration(leaf)
	if n < 0 {
		return "", ""
	}
	switch kind, _, _ = strings.Cut(s.kind(n), "_"); {
	case kind == "type":
		kind = "type alias"
	case s.has(n, "interface"):
		kind = "interface"
	}
	return kind, s.kotlinPackage()
}

// kotlinPath is a name of several parts, without the space between them.
func (s *side) kotlinPath(n int) string { return strings.Join(strings.Fields(s.tree.Source(n)), "") }

func (s *side) kotlinPackage() string {
	if path := s.first(s.first(0, "package_header"), "qualified_identifier"); path >= 0 {
		return s.kotlinPath(path)
	}
	if name := s.first(s.first(0, "package_header"), "identifier"); name >= 0 {
		return s.tree.Source(name)
	}
	return ""
}

// kotlinKnownFile are annotations of a file that do not look at its names.
var kotlinKnownFile = setOf("Suppress", "JvmName", "JvmMultifileClass", "OptIn")

func kotlinKeeps(s *side, leaf int) string {
	n := s.kotlinDeclaration(leaf)
	t := s.nominal
	if n < 0 || t == nil {
		return "it is no name of the file"
	}
	for c := range s.tree.Children(0) {
		if s.kind(c) == "file_annotation" && !kotlinKnownFile[kotlinAnnotation("@"+strings.TrimPrefix(s.kotlinPath(c), "@file:"))] {
			return "an annotation of the file may look at the name"
		}
	}
	head := t.kotlinHead(n)
	switch {
	case t.kotlinReceiver(n):
		return "it extends a type, whose members come first"
	case !t.kotlinAnnotated(n):
		return "an annotation may look at the name"
	case t.kotlinModifier(n, "external"), t.kotlinModifier(n, "actual"), t.kotlinModifier(n, "expect"), t.kotlinModifier(n, "operator"), t.kotlinModifier(n, "override"):
		return "it is known elsewhere"
	case s.has(n, "property_delegate"):
		return "what it is delegated to gets its name"
	case strings.Contains(head, "Serializable"), strings.Contains(head, "Externalizable"), strings.Contains(head, "Parcelable"):
		return "what is serialised has the name in it"
	case s.kind(n) != "function_declaration" && strings.HasSuffix(s.tree.Source(leaf), "Kt"):
		return "a file of functions can be a class of that name"
	}
	return ""
}

func kotlinRole(t *tops, f *file, s *side, leaf int, d top) role {
	switch {
	case s.kind(leaf) != "identifier" || s.nominal == nil || strings.HasSuffix(f.path, ".kts"),
		!sameProgram(sourceRoot(f.path, s.kotlinPackage()), sourceRoot(d.file.path, d.space)),
		s.above(leaf, setOf("annotation", "file_annotation", "package_header")) >= 0:
		return unclear
	case s.kotlinDeclaration(leaf) >= 0:
		return t.kotlinDeclaredRole(f, s, leaf, d)
	case s.above(leaf, setOf("import")) >= 0:
		return s.kotlinImportRole(leaf, d)
	case s.kotlinNamesArgument(leaf):
		return apart
	}
	switch parent, first := s.parentKind(leaf), s.parent(leaf)+1 == leaf; {
	case parent == "this_expression", s.place(leaf) == "return_expression.label":
		return s.kotlinLabelRole(leaf, d)
	case (parent == "user_type" || parent == "navigation_expression") && !first:
		return s.kotlinMemberRole(leaf, d)
	case parent == "user_type":
		if s.kotlinSees(d) && t.kotlinKnownBases(f, s, leaf, d) {
			return meant
		}
		return unclear
	case !s.kotlinValue(leaf), !s.kotlinSees(d), !t.kotlinKnownBases(f, s, leaf, d):
		return unclear
	}
	for n := s.parent(leaf); n > 0; n = s.parent(n) {
		if s.nominal.kotlinHides(n) {
			return unclear // it may be a member of what is given to a function
		}
	}
	if kind := d.kind; (kind == "function" || kind == "property") && s.kotlinImportsAll(d.space) {
		return unclear
	}
	return meant
}

// kotlinDeclaredRole is that of a declaration at the top of a file.
func (t *tops) kotlinDeclaredRole(f *file, s *side, leaf int, d top) role {
	if s.kotlinPackage() != d.space || kotlinKeeps(s, leaf) != "" {
		return unclear
	}
	if _, moves := t.moved[f]; moves {
		// Functions and properties are in a class that is called as the file.
		for c := range s.tree.Children(0) {
			if k := s.kind(c); k == "function_declaration" || k == "property_declaration" {
				return unclear
			}
		}
	}
	return meant
}

// kotlinImportRole is that of a part of an import's path.
func (s *side) kotlinImportRole(leaf int, d top) role {
	path := s.parent(leaf)
	if s.kind(path) != "qualified_identifier" || d.space == "" {
		return unclear
	}
	start := s.tree.Nodes[path].Start
	if strings.Join(strings.Fields(string(s.tree.Text[start:s.tree.Nodes[leaf].End])), "") == d.space+"."+d.name {
		return meant
	}
	return unclear
}

// kotlinNamesArgument: f(name = 1).
func (s *side) kotlinNamesArgument(leaf int) bool {
	_, after := s.siblings(leaf)
	return s.parentKind(leaf) == "value_argument" && s.kind(after) == "="
}

// kotlinMemberRole: what stands behind a dot is somebody's member, unless a
// package stands before it.
func (s *side) kotlinMemberRole(leaf int, d top) role {
	if before := s.siblingBefore(leaf); before != "." && before != "?." {
		return unclear
	}
	start := s.tree.Nodes[s.parent(leaf)].Start
	before := strings.Join(strings.Fields(string(s.tree.Text[start:s.tree.Nodes[leaf].Start])), "")
	if strings.TrimRight(before, ".?") == d.space {
		return unclear
	}
	return apart
}

// kotlinLabelRole: a label is called as the class, function or called function
// around it.
func (s *side) kotlinLabelRole(leaf int, d top) role {
	for n := s.parent(leaf); n > 0; n = s.parent(n) {
		switch s.kind(n) {
		case "call_expression":
			callee := n + 1
			if s.kind(callee) == "call_expression" {
				callee++
			}
			if s.kind(callee) == "identifier" && s.tree.Source(callee) == d.name {
				return meant
			}
			if s.kind(callee) == "navigation_expression" && hasWord(s.tree.Source(callee), d.name) {
				return unclear
			}
		case "infix_expression", "labeled_expression":
			return unclear
		}
		if name := s.child(n, "name"); name >= 0 && s.tree.Source(name) == d.name {
			if s.kotlinDeclaration(name) >= 0 {
				return meant
			}
			return unclear
		}
	}
	return unclear
}

// kotlinSees tells whether a name means the declaration where nothing nearer has
// it: in its package, or by an import of exactly that name.
func (s *side) kotlinSees(d top) bool {
	imported := false
	for n := range s.tree.Children(0) {
		path := s.first(n, "qualified_identifier")
		if s.kind(n) != "import" || path < 0 || s.kotlinStar(n) {
			continue
		}
		full := s.kotlinPath(path)
		name := full[strings.LastIndexByte(full, '.')+1:]
		if alias := s.first(n, "identifier"); alias >= 0 {
			name = s.tree.Source(alias)
		}
		if name != d.name {
			continue
		}
		if full != d.space+"."+d.name {
			return false
		}
		imported = true
	}
	return imported || s.kotlinPackage() == d.space
}

func (s *side) kotlinStar(n int) bool {
	return strings.HasSuffix(strings.TrimRight(s.kotlinPath(n), ";"), "*")
}

// kotlinImportsAll tells whether a file imports all of a package that can have
// functions. Packages of Java have none.
func (s *side) kotlinImportsAll(own string) bool {
	for n := range s.tree.Children(0) {
		if s.kind(n) != "import" || !s.kotlinStar(n) {
			continue
		}
		path := strings.TrimPrefix(s.kotlinPath(n), "import")
		if !strings.HasPrefix(path, "java.") && !strings.HasPrefix(path, "javax.") && path != own+".*" {
			return true
		}
	}
	return false
}

// kotlinValue tells whether a name is a value or a function where it stands.
func (s *side) kotlinValue(leaf int) bool {
	owner := s.parent(leaf)
	kind, first := s.kind(owner), owner+1 == leaf
	switch {
	case kind == "callable_reference":
		// ::name, and not what a program prints of it.
		return s.siblingBefore(leaf) == "::" && s.parentKind(owner) != "navigation_expression" && s.kind(owner+1) == "::"
	case kind == "call_expression", kind == "navigation_expression":
		return first
	case kind == "property_declaration", kind == "function_value_parameters", kind == "class_parameter":
		return s.siblingBefore(leaf) == "="
	}
	return kotlinValues[kind] || kotlinSides[kind] && s.field(leaf) != ""
}
