package languages

import "strings"

// kotlinClasses are the classes and objects of a file.
func kotlinClasses(s *side) *nominal {
	t := newNominal(s)
	t.declaredType, t.expression = t.kotlinDeclared, t.kotlinExpression
	t.has[0] = set{}
	for n := range s.tree.Nodes {
		switch kind := s.kind(n); {
		case kind == "class_declaration", kind == "object_declaration":
			t.enter(n, s.tree.Source(max(s.child(n, "name"), 0)))
		case kotlinClassNodes[kind]:
			t.enter(n, "")
		case kind == "type_parameter":
			t.vague[s.tree.Source(max(s.first(n, "identifier"), 0))] = true
		case kind == "type_alias":
			t.vague[s.tree.Source(max(s.child(n, "type"), 0))] = true
		case kind == "import":
			t.kotlinImport(n)
		}
	}
	for n := range s.tree.Nodes {
		switch s.kind(n) {
		case "delegation_specifier":
			t.kotlinBase(n)
		case "enum_entry":
			class := s.above(n, setOf("class_declaration"))
			if name := s.first(n, "identifier"); class >= 0 && name >= 0 {
				t.has[class][s.tree.Source(name)] = true
				t.bases[n] = append(t.bases[n], class)
			}
		}
	}
	return t
}

// kotlinImport notes names that an import gives another meaning.
func (t *nominal) kotlinImport(n int) {
	last := ""
	for i := n; i < int(t.tree.Nodes[n].Next); i++ {
		if t.kind(i) == "identifier" {
			last = t.tree.Source(i)
		}
	}
	t.vague[last] = true
}

func (t *nominal) kotlinBase(n int) {
	class := t.parent(t.parent(n))
	if !t.classes[class] {
		return
	}
	base := n + 1
	if kind := t.kind(base); kind == "constructor_invocation" {
		base++
	}
	if of := t.kotlinType(base); of.class > 0 && of.class != class {
		t.bases[class] = append(t.bases[class], of.class)
		return
	}
	t.open[class] = true
}

// companion is the object that goes with a class, or -1.
func (t *nominal) companion(class int) int {
	body := t.first(class, "class_body")
	if body < 0 {
		body = t.first(class, "enum_class_body")
	}
	if body < 0 {
		return -1
	}
	return t.first(body, "companion_object")
}

// kotlinFinal types are made from by none, and have none of the file's members.
var kotlinFinal = setOf("Int", "Long", "Short", "Byte", "Char", "Boolean", "Float", "Double", "String", "IntArray", "LongArray", "ByteArray", "CharArray", "DoubleArray",
	"FloatArray", "BooleanArray", "Array", "Unit")

// kotlinType is the type that a node names. What is of a type that the file
// does not declare may be known to be of one that it does.
func (t *nominal) kotlinType(n int) typed {
	switch t.kind(n) {
	case "nullable_type":
		return t.kotlinType(n + 1)
	case "user_type":
		names := 0
		for c := range t.tree.Children(n) {
			if t.kind(c) == "identifier" {
				names++
			}
		}
		name := t.tree.Source(n + 1)
		of := t.called(name, n)
		switch {
		case names != 1:
		case of.class > 0:
			return of
		case of.class == otherType && kotlinFinal[name]:
			return of
		}
	}
	return typed{class: anyType}
}

// kotlinDeclared is the type of the variable, or of the function's result, that
// a leaf declares.
func (t *nominal) kotlinDeclared(leaf int) typed {
	declaration := t.parent(leaf)
	for c := range t.tree.Children(declaration) {
		if kind := t.kind(c); c > leaf && (kind == "user_type" || kind == "nullable_type") {
			return t.kotlinType(c)
		}
	}
	if t.kind(declaration) == "variable_declaration" && t.parentKind(declaration) == "property_declaration" {
		equals := false
		for c := range t.tree.Children(t.parent(declaration)) {
			if equals {
				return t.typeOf(c)
			}
			equals = t.kind(c) == "="
		}
	}
	return typed{class: anyType}
}

// kotlinExpression is the type of an expression.
func (t *nominal) kotlinExpression(n int) typed {
	switch t.kind(n) {
	case "this_expression":
		return t.kotlinThis(n)
	case "identifier":
		name, at := t.tree.Source(n), t.tree.Nodes[n].Start
		if o := t.lookup(t.scopeAt(n), name, at); o != nil {
			return t.typeOfObject(o)
		}
		if o := t.kotlinBare(n, name, false); o != nil {
			return t.typeOfObject(o)
		}
		if of := t.called(name, n); of.class > 0 && t.kotlinMakes(n) {
			if t.kind(of.class) == "object_declaration" {
				return of
			}
			if c := t.companion(of.class); c > 0 {
				return typed{class: c}
			}
		}
	case "navigation_expression":
		of, last := t.typeOf(n+1), -1
		for c := range t.tree.Children(n) {
			last = c
		}
		if before := t.siblingBefore(last); of.class > 0 && (before == "." || before == "?.") {
			return t.typeOfObject(t.find(of.class, t.tree.Source(last)))
		}
	case "call_expression":
		return t.kotlinResult(n)
	case "parenthesized_expression":
		return t.typeOf(t.sole(n))
	case "unary_expression":
		if strings.HasSuffix(t.tree.Source(n), "!!") {
			return t.typeOf(t.child(n, "argument"))
		}
	case "as_expression":
		return t.kotlinType(t.child(n, "right"))
	}
	return typed{class: anyType}
}

// kotlinThis is the class that `this` is of.
func (t *nominal) kotlinThis(n int) typed {
	label := strings.TrimPrefix(t.tree.Source(n), "this")
	for p := t.parent(n); p > 0; p = t.parent(p) {
		if t.classes[p] {
			if name := t.child(p, "name"); label == "" || name >= 0 && label == "@"+t.tree.Source(name) {
				return typed{class: p}
			}
		}
		if label == "" && t.kotlinHides(p) {
			break
		}
	}
	return typed{class: anyType}
}

// kotlinResult is the type of what a call returns.
func (t *nominal) kotlinResult(n int) typed {
	callee := n + 1
	if t.kind(callee) == "identifier" {
		name := t.tree.Source(callee)
		if o := t.kotlinBare(callee, name, true); o != nil {
			return t.typeOfObject(o)
		}
		if of := t.called(name, callee); of.class > 0 && t.kind(of.class) == "class_declaration" && t.kotlinMakes(callee) {
			return of
		}
	}
	return typed{class: anyType}
}

// kotlinPassed are functions whose lambdas are given something, and have no
// receiver, kotlinRun those whose lambdas have neither.
var kotlinPassed = setOf(strings.Fields(`let also forEach forEachIndexed map mapIndexed mapNotNull mapTo flatMap filter filterNot filterNotNull filterIndexed any all none
	first firstOrNull last lastOrNull find findLast single singleOrNull takeIf takeUnless takeWhile dropWhile associate associateBy associateWith groupBy sortedBy
	sortedByDescending sortBy sumOf sumBy maxByOrNull minByOrNull maxOf minOf fold foldIndexed reduce count partition getOrPut computeIfAbsent removeIf removeAll
	indexOfFirst indexOfLast joinToString distinctBy zip onEach mapValues mapKeys use getOrElse`)...)

var kotlinRun = setOf(strings.Fields(`lazy repeat require check requireNotNull checkNotNull synchronized ifEmpty ifBlank getOrPut`)...)

// kotlinHides tells whether a node may bring a receiver of its own, which names
// in it may be members of.
func (t *nominal) kotlinHides(n int) bool {
	switch t.kind(n) {
	case "function_declaration", "anonymous_function":
		return t.kotlinReceiver(n)
	case "property_declaration":
		return t.kotlinReceiver(n)
	case "lambda_literal":
		return !t.kotlinPlainLambda(n)
	case "annotation", "constructor_delegation_call":
		return true
	}
	return false
}

func (t *nominal) kotlinPlainLambda(n int) bool {
	call := t.parent(n)
	for kind := t.kind(call); kind == "annotated_lambda" || kind == "value_argument" || kind == "value_arguments"; kind = t.kind(call) {
		call = t.parent(call)
	}
	if t.kind(call) != "call_expression" {
		return false
	}
	callee := call + 1
	if t.kind(callee) == "call_expression" {
		callee++ // f(x) { }
	}
	name := ""
	switch t.kind(callee) {
	case "identifier":
		name = t.tree.Source(callee)
	case "navigation_expression":
		for c := range t.tree.Children(callee) {
			name = t.tree.Source(c)
		}
	}
	if t.vague[name] {
		return false // an import of that name
	}
	for class, has := range t.has {
		if has[name] || t.find(class, name) != nil {
			return false
		}
	}
	return kotlinRun[name] || kotlinPassed[name] && (t.side.has(n, "lambda_parameters") || t.usesIt(n))
}

// usesIt tells whether a lambda uses what it is given without a name.
func (t *nominal) usesIt(n int) bool {
	for i := n; i < int(t.tree.Nodes[n].Next); i++ {
		if t.kind(i) == "identifier" && t.tree.Source(i) == "it" {
			return true
		}
	}
	return false
}

// kotlinBare is the member, or name of the file, that a name without a
// receiver stands for.
func (t *nominal) kotlinBare(n int, name string, called bool) *object {
	at := t.tree.Nodes[n].Start
	for child, p := n, t.parent(n); p >= 0; child, p = p, t.parent(p) {
		switch {
		case t.localIn(p, name, at), p > 0 && t.kotlinHides(p):
			return nil
		case p == 0:
			if t.vague[name] || t.has[0][name] {
				return nil
			}
			return t.find(0, name)
		case !t.classes[p], t.kind(child) == "modifiers":
			continue
		}
		if kind := t.kind(child); kind == "delegation_specifiers" || kind == "primary_constructor" {
			// There is no object yet, but what its constructor is given.
			if o := t.find(p, name); o != nil && !t.has[p][name] && len(t.homes[o]) == 1 && t.parentKind(t.homes[o][0]) == "class_parameter" {
				return o
			}
			return nil
		}
		o, sure := t.kotlinHas(p, name)
		if o != nil && called && t.kotlinElsewhere(name, p) {
			return nil
		}
		if o != nil || !sure {
			return o
		}
	}
	return nil
}

// kotlinHas is the member that a name is in a class, or none; sure is false if
// that is not known.
func (t *nominal) kotlinHas(class int, name string) (o *object, sure bool) {
	for _, c := range []int{class, t.companion(class)} {
		switch {
		case c < 0:
		case t.has[c][name]:
			return nil, false
		case t.find(c, name) != nil && o != nil:
			return nil, false
		case t.find(c, name) != nil:
			o = t.find(c, name)
		case o == nil && t.some(c, func(b int) bool {
			return t.open[b] || t.has[b][name] || t.find(b, name) != nil || t.companion(b) != c && t.companion(b) > 0 && b != class
		}):
			return nil, false
		}
	}
	return o, true
}

// kotlinElsewhere tells whether a call may mean a function outside of a class:
// that is taken if none of the class can be called like this.
func (t *nominal) kotlinElsewhere(name string, class int) bool {
	if t.vague[name] || t.has[0][name] || t.find(0, name) != nil {
		return true
	}
	for c := t.above(class, kotlinClassNodes); c >= 0; c = t.above(c, kotlinClassNodes) {
		if o, sure := t.kotlinHas(c, name); o != nil && o != t.find(t.companion(class), name) || !sure {
			return true
		}
	}
	return false
}
