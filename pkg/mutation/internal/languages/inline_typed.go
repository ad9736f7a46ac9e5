package languages

import (
	"slices"
	"strconv"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// typedInlining says how a language writes types: an expression is the same as
// a call only if it has the very type that the call has, and is no constant.
type typedInlining struct {
	// declares are the places that declare a function.
	declares set
	// modifiers are the words that a helper may have in front of it, of which
	// one must be private.
	modifiers set
	// whole, long, truth and text are the types that are known.
	whole, long, truth, text string
	// keeps is set where parentheses that group are part of the tree.
	keeps bool
	// typeOf is the type that a variable is declared with, "" if it is not known
	// or the variable a constant.
	typeOf func(s *side, leaf int) string
	// read takes a function apart, and fits tells whether its expression has the
	// type that it returns; nil for the rules of Java and its like.
	read func(h *helper, function *tree.Node) bool
	fits func(h *helper) bool
}

// readTyped takes a function apart whose types are written down.
func (h *helper) readTyped(function *tree.Node) bool {
	private := false
	for _, k := range function.Kids {
		switch {
		case strings.HasPrefix(k.Kind, "type parameter"):
			return false
		case k.Kind == "fun", k.Kind == ":", k.Kind == ";", k.Kind == "name identifier":
		case k.Kind == "modifiers", k.Kind == "modifier":
			for _, word := range wordsOf(k) {
				if !h.how.typed.modifiers[word] {
					return false
				}
				private = private || word == "private"
			}
		case strings.HasPrefix(k.Kind, "type "), strings.HasPrefix(k.Kind, "returns "), k.Kind == "user type":
			h.result = strings.Join(wordsOf(k), " ")
		case strings.HasSuffix(k.Kind, "parameters"), k.Kind == "parameters parameter list":
			if !h.typedParameters(k) {
				return false
			}
		case strings.HasPrefix(k.Kind, "body "), k.Kind == "function body":
			h.expr = returned(k)
		default:
			return false
		}
	}
	// In C# what has no modifier is private.
	return h.expr != nil && (private || h.object.member)
}

// wordsOf are the words of a node.
func wordsOf(n *tree.Node) (words []string) {
	n.Walk(func(k *tree.Node) bool {
		if len(k.Kids) == 0 {
			word := k.Text
			if k.Object != nil {
				word = "?" // no type that is known
			}
			words = append(words, word)
		}
		return true
	})
	return words
}

func (h *helper) typedParameters(n *tree.Node) bool {
	for _, k := range n.Kids {
		if k.Kind == "(" || k.Kind == ")" || k.Kind == "," {
			continue
		}
		if !strings.HasSuffix(k.Kind, "parameter") {
			return false
		}
		var name, written *tree.Node
		for _, part := range k.Kids {
			switch {
			case part.Kind == ":":
			case part.Object != nil && len(part.Kids) == 0 && name == nil:
				name = part
			case written == nil:
				written = part
			default:
				return false
			}
		}
		if name == nil || written == nil {
			return false
		}
		h.params = append(h.params, name.Object)
		h.types = append(h.types, strings.Join(wordsOf(written), " "))
	}
	return true
}

// returned is the expression that a body is or returns, or nil.
func returned(body *tree.Node) *tree.Node {
	var rest []*tree.Node
	value := false
	for _, k := range body.Kids {
		switch k.Kind {
		case "{", "}", ";":
		case "=>", "=":
			value = true
		default:
			rest = append(rest, k)
		}
	}
	switch {
	case len(rest) != 1:
		return nil
	case value:
		return rest[0]
	case rest[0].Kind == "block":
		return returned(rest[0])
	case rest[0].Kind != "return statement" && rest[0].Kind != "return expression":
		return nil
	}
	kids := slices.DeleteFunc(slices.Clone(rest[0].Kids), func(k *tree.Node) bool { return k.Kind == ";" })
	if len(kids) != 2 || kids[0].Kind != "return" {
		return nil
	}
	return kids[1]
}

// hasTypes tells whether the expression has the type that the function returns,
// and depends on a parameter.
func (h *helper) hasTypes() bool {
	fits := h.how.typed.fits
	if fits == nil {
		fits = (*helper).returnsIt
	}
	if !fits(h) {
		return false
	}
	return slices.ContainsFunc(h.params, func(p *tree.Object) bool { return h.count(p) > 0 })
}

func (h *helper) returnsIt() bool {
	of := h.typeOf(h.expr)
	return of != "" && (h.result == "" || h.result == of)
}

// typeOf is the type of an expression over the parameters and literals, or "".
func (h *helper) typeOf(n *tree.Node) string {
	t := h.how.typed
	switch base(n.Kind, h.how.expression) {
	case "identifier":
		if i := slices.Index(h.params, n.Object); n.Object != nil && i >= 0 && slices.Contains([]string{t.whole, t.long, t.truth, t.text}, h.types[i]) {
			return h.types[i]
		}
	case "decimal integer literal", "integer literal", "number literal":
		if _, err := strconv.ParseInt(n.Text, 10, 32); err == nil && (n.Text == "0" || n.Text[0] != '0') {
			return t.whole
		}
	case "string literal":
		if !slices.ContainsFunc(wordsOf(n), func(word string) bool { return strings.Contains(word, "$") }) {
			return t.text
		}
	case "parenthesized expression":
		if len(n.Kids) == 3 {
			return h.typeOf(n.Kids[1])
		}
	case "unary expression", "prefix unary expression":
		if len(n.Kids) == 2 {
			of := h.typeOf(n.Kids[1])
			switch operator := n.Kids[0].Text; {
			case operator == "!" && of == t.truth, operator == "-" && (of == t.whole || of == t.long):
				return of
			}
		}
	case "binary expression":
		if len(n.Kids) == 3 {
			return t.operation(n.Kids[1].Text, h.typeOf(n.Kids[0]), h.typeOf(n.Kids[2]))
		}
	case "ternary expression", "conditional expression":
		if len(n.Kids) == 5 && h.typeOf(n.Kids[0]) == t.truth && h.typeOf(n.Kids[2]) == h.typeOf(n.Kids[4]) {
			return h.typeOf(n.Kids[2])
		}
	}
	return ""
}

// operation is the type of an operation on two types, or "".
func (t *typedInlining) operation(operator, left, right string) string {
	number := func(of string) bool { return of == t.whole || of == t.long }
	switch operator {
	case "+", "-", "*", "/", "%":
		switch {
		case number(left) && left == right:
			return left
		case number(left) && number(right):
			return t.long
		case operator == "+" && left == t.text && right != "":
			return t.text
		}
	case "<", ">", "<=", ">=":
		if number(left) && number(right) {
			return t.truth
		}
	case "==", "!=":
		if left != "" && left == right {
			return t.truth
		}
	case "&&", "||":
		if left == t.truth && right == t.truth {
			return t.truth
		}
	}
	return ""
}

// binds is how closely operators bind.
var binds = map[string]int{"*": 6, "/": 6, "%": 6, "+": 5, "-": 5, "<": 4, ">": 4, "<=": 4, ">=": 4, "==": 3, "!=": 3, "&&": 2, "||": 1}

// grouped puts an expression in parentheses where it needs them to stand in
// place of a call.
func (t *typedInlining) grouped(parent, call, made *tree.Node) *tree.Node {
	inner := binds["||"] - 1 // a choice
	switch {
	case strings.HasSuffix(made.Kind, "binary expression"):
		inner = binds[made.Kids[1].Text]
	case !strings.HasSuffix(made.Kind, "ternary expression") && !strings.HasSuffix(made.Kind, "conditional expression"):
		return made
	}
	switch {
	case strings.HasSuffix(parent.Kind, "unary expression"):
	case t.keeps && strings.HasSuffix(parent.Kind, "binary expression"):
		outer := binds[parent.Kids[1].Text]
		if outer == 0 || inner > outer || inner == outer && parent.Kids[0] == call {
			return made
		}
	default:
		return made
	}
	open, end := token("(", made.Line), token(")", made.Line)
	return &tree.Node{Kind: "parenthesized expression", Literal: true, Line: made.Line, Kids: []*tree.Node{open, made, end}}
}

// steady tells whether an argument has the type of its parameter, and keeps its
// value while the expression is worked out: no function in between has it.
func steady(h *helper, o *object, at int) bool {
	around := h.side.kind(h.side.scopeAt(at).region().node)
	if o.Kind != "parameter" && o.Kind != "variable" || h.side.once("captured", o, func() bool { return h.captured(o) }) || around == "lambda_expression" || around == "anonymous_method_expression" {
		return false // a lambda of C# can be read as a text
	}
	return h.hasTypeOf(o, at)
}

// hasTypeOf tells whether a variable has the very type of the parameter that it
// is given for.
func (h *helper) hasTypeOf(o *object, at int) bool {
	of := h.how.typed.typeOf(h.side, h.homes[o][0])
	for i, arg := range h.side.argumentsAt(h.side.parent(at)) {
		if i < len(h.types) && arg >= 0 && h.side.declaredAt(arg) == o && h.types[i] != of {
			return false
		}
	}
	return of != ""
}

// captured tells whether a function in a function uses a variable of the outer
// one: it could be set while it is read.
func (h *helper) captured(o *object) bool {
	s := h.side
	for n := o.region.node; n < int(s.tree.Nodes[o.region.node].Next); n++ {
		if s.language.names[s.kind(n)] && s.tree.Source(n) == o.Name && s.declaredAt(n) == o && s.scopeAt(n).region() != o.region {
			return true
		}
	}
	return false
}

// declaredAt is what a name stands for.
func (s *side) declaredAt(n int) *object {
	if o := s.declared[n]; o != nil {
		return o
	}
	return s.lookup(s.scopeAt(n), s.tree.Source(n), s.tree.Nodes[n].Start)
}

// argumentsAt are the names that are given to a call; -1 for anything else.
func (s *side) argumentsAt(call int) (args []int) {
	for c := range s.tree.Children(call) {
		if kind := s.kind(c); kind != "argument_list" && kind != "value_arguments" && kind != "arguments" {
			continue
		}
		for arg := range s.tree.Children(c) {
			if kind := s.kind(arg); kind == "argument" || kind == "value_argument" {
				arg++
			}
			if s.kind(arg) == "identifier" {
				args = append(args, arg)
			} else if s.named(arg) {
				args = append(args, -1)
			}
		}
	}
	return args
}
