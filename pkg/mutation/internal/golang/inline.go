package golang

import (
	"fmt"
	"go/token"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// helper is a function that is nothing but an expression over its parameters,
// so that a call of it and the expression are the same.
type helper struct {
	decl   *tree.Decl
	object *tree.Object
	params []*tree.Object // nil for a blank one
	expr   *tree.Node
}

// exactTypes are those of parameters and results for which nothing changes
// when a variable is passed: a variable that can be passed as one of them is
// of exactly this type, and no rounding takes place.
var exactTypes = map[string]bool{
	"bool": true, "string": true, "int": true, "int8": true, "int16": true, "int32": true, "int64": true, "uint": true, "uint8": true,
	"uint16": true, "uint32": true, "uint64": true, "uintptr": true, "byte": true, "rune": true,
}

// inlined returns the declarations of a side with calls of those helpers
// replaced by what they stand for that the other side does not have, and the
// helpers. It replaces all calls of a helper or none.
func (s *side) inlined(other *side) (decls []*tree.Decl, helpers []*helper) {
	decls = s.decls
	for _, d := range s.decls {
		h := s.helperOf(d)
		if h == nil || slices.ContainsFunc(other.decls, func(o *tree.Decl) bool { return o.Label == d.Label }) {
			continue
		}
		if without, ok := h.replaceCalls(decls); ok {
			decls, helpers = without, append(helpers, h)
		}
	}
	return decls, helpers
}

// helperOf recognises a helper: func name(a, b int) int { return expression }.
func (s *side) helperOf(d *tree.Decl) *helper {
	n := d.Node
	if n.Kind != "function" || len(n.Kids) != 3 || len(d.Objects) != 1 || n.Kids[1].Kind != "signature" || n.Kids[2].Kind != "body" {
		return nil
	}
	o := d.Objects[0]
	if token.IsExported(o.Name) || o.Pinned != "" || predeclared()[o.Name] || slices.ContainsFunc(s.files, func(f *source) bool { return f.mentions(o.Name) }) {
		return nil
	}
	in, out, body := n.Kids[1].Kids[0], n.Kids[1].Kids[1], n.Kids[2]
	if len(out.Kids) != 1 || len(out.Kids[0].Kids) != 1 || !isExact(out.Kids[0].Kids[0]) {
		return nil
	}
	if len(body.Kids) != 1 || body.Kids[0].Kind != "return" || len(body.Kids[0].Kids) != 1 {
		return nil
	}
	h := &helper{decl: d, object: o, expr: body.Kids[0].Kids[0]}
	for _, p := range in.Kids {
		if !isExact(p.Kids[1]) {
			return nil
		}
		h.params = append(h.params, p.Kids[0].Object)
	}
	if !h.isPlain() || !h.varies(h.expr, out.Kids[0].Kids[0].Text == "bool") {
		return nil
	}
	return h
}

func isExact(typ *tree.Node) bool {
	return typ != nil && typ.Kind == "name" && typ.Object == nil && exactTypes[typ.Text]
}

// isPlain: the expression does not call the helper, has no functions in it,
// and nothing that looks at the calls above it.
func (h *helper) isPlain() bool {
	plain := true
	h.expr.Walk(func(n *tree.Node) bool {
		switch {
		case n.Object == h.object, n.Kind == "function literal", n.Kind == "literal", n.Kind == "operator" && (n.Text == "&" || n.Text == "<-"),
			n.Kind == "name" && n.Object == nil && (n.Text == "recover" || n.Text == "runtime" || n.Text == "unsafe"):
			plain = false
		}
		return plain
	})
	return plain
}

// varies tells that an expression is surely no constant, so that its type is
// that of the result, and not made up where it stands.
func (h *helper) varies(n *tree.Node, truth bool) bool {
	if n == nil {
		return false
	}
	switch n.Kind {
	case "name":
		return n.Object != nil && (slices.Contains(h.params, n.Object) || n.Object.Kind == "variable")
	case "call":
		return h.callVaries(n, truth)
	case "index", "slice":
		return h.varies(n.Kids[0], false)
	case "operator":
		return h.operatorVaries(n, truth)
	}
	return false
}

func (h *helper) callVaries(n *tree.Node, truth bool) bool {
	callee := n.Kids[0]
	if callee == nil {
		return false
	}
	if callee.Kind == "name" && callee.Object == nil && predeclared()[callee.Text] && !exactTypes[callee.Text] {
		switch callee.Text {
		case "len":
			return len(n.Kids) == 2 && h.isText(n.Kids[1])
		case "min", "max":
			return slices.ContainsFunc(n.Kids[1:], func(k *tree.Node) bool { return h.varies(k, false) })
		}
		return false
	}
	// What has one argument may be a conversion.
	return len(n.Kids) != 2 || h.varies(n.Kids[1], truth)
}

// isText tells whether an expression is surely a string that is no constant, as
// a parameter is of which there is a length, or a part of one.
func (h *helper) isText(n *tree.Node) bool {
	if n != nil && n.Kind == "slice" {
		n = n.Kids[0]
	}
	return n != nil && n.Kind == "name" && n.Object != nil && slices.Contains(h.params, n.Object)
}

func (h *helper) operatorVaries(n *tree.Node, truth bool) bool {
	switch n.Text {
	case "==", "!=", "<", "<=", ">", ">=":
		return truth && (h.varies(n.Kids[0], false) || h.varies(n.Kids[1], false))
	case "<<", ">>":
		return h.varies(n.Kids[0], false)
	case "&", "<-":
		return false
	}
	return slices.ContainsFunc(n.Kids, func(k *tree.Node) bool { return h.varies(k, truth) })
}

// replaceCalls gives the declarations without the helper. It fails if the
// helper is used in any way that is not surely the same as its expression.
func (h *helper) replaceCalls(decls []*tree.Decl) ([]*tree.Decl, bool) {
	var kept []*tree.Decl
	calls := 0
	for _, d := range decls {
		if d == h.decl {
			continue
		}
		if uses := h.uses(d.Node); uses > 0 {
			if d.File != h.decl.File {
				return nil, false // its names could be imported from elsewhere there
			}
			r := &replacement{helper: h, stable: stableLocals(d.Node)}
			node := r.statement(d.Node)
			if r.done != uses {
				return nil, false
			}
			calls += uses
			changed := *d
			changed.Node = node
			d = &changed
		}
		kept = append(kept, d)
	}
	return kept, calls > 0
}

func (h *helper) uses(n *tree.Node) (count int) {
	n.Walk(func(k *tree.Node) bool {
		if k.Object == h.object {
			count++
		}
		return true
	})
	return count
}

// stableLocals are variables of a declaration that only its own statements
// change: no function literal uses them, and nobody has their address.
func stableLocals(n *tree.Node) map[*tree.Object]bool {
	home, stable := map[*tree.Object]*tree.Node{}, map[*tree.Object]bool{}
	var walk func(n, literal *tree.Node)
	walk = func(n, literal *tree.Node) {
		if n == nil {
			return
		}
		if o := n.Object; o != nil && o.Reach == tree.Local && (n.Kind == "name" || n.Kind == "new name") {
			if _, met := home[o]; !met {
				home[o] = literal
				stable[o] = o.Kind == "local variable" || o.Kind == "parameter"
			} else if home[o] != literal {
				stable[o] = false
			}
		}
		if n.Kind == "operator" && n.Text == "&" && len(n.Kids) == 1 {
			n.Kids[0].Walk(func(k *tree.Node) bool {
				if k.Object != nil {
					home[k.Object] = n // whoever meets it again finds it elsewhere
					stable[k.Object] = false
				}
				return true
			})
			return
		}
		inner := literal
		if n.Kind == "function literal" {
			inner = n
		}
		for _, k := range n.Kids {
			walk(k, inner)
		}
	}
	walk(n, nil)
	return stable
}

// replacement copies a declaration with calls replaced.
type replacement struct {
	helper *helper
	stable map[*tree.Object]bool
	done   int
}

// statement copies statements, and looks for calls in those where an
// expression is evaluated by itself.
func (r *replacement) statement(n *tree.Node) *tree.Node {
	if n == nil {
		return nil
	}
	clone := *n
	clone.Kids = make([]*tree.Node, len(n.Kids))
	for i, k := range n.Kids {
		clone.Kids[i] = r.statement(k)
	}
	switch n.Kind {
	case "return":
		r.within(clone.Kids)
	case "assignment", "variable declaration":
		values := clone.Kids[len(clone.Kids)-1]
		targets := clone.Kids[:len(clone.Kids)-1]
		if values.Kind == "values" && plainTargets(targets) && r.allPlain(targets, n.Text) {
			r.within(values.Kids)
		}
	case "if", "for", "switch":
		if len(clone.Kids) > 1 {
			r.within(clone.Kids[1:2])
		}
	}
	return &clone
}

func plainTargets(targets []*tree.Node) bool {
	return !slices.ContainsFunc(targets, func(t *tree.Node) bool { return t.Kind != "name" && t.Kind != "new name" && t.Kind != "of type" })
}

// allPlain: an assignment with an operator also reads its target.
func (r *replacement) allPlain(targets []*tree.Node, operator string) bool {
	if operator == "" || operator == "=" || operator == ":=" {
		return true
	}
	return len(targets) == 1 && targets[0].Kind == "name" && r.stable[targets[0].Object]
}

// within replaces the one call in expressions that hold nothing else that
// could be evaluated before or behind it with another result.
func (r *replacement) within(exprs []*tree.Node) {
	calls := 0
	for _, e := range exprs {
		if !r.harmless(e, &calls) {
			return
		}
	}
	if calls != 1 {
		return
	}
	for i, e := range exprs {
		exprs[i] = r.replaced(e)
	}
}

// harmless counts the calls of the helper in an expression, and tells whether
// all the rest are stable names, literals and operators that cannot panic.
func (r *replacement) harmless(n *tree.Node, calls *int) bool {
	if n == nil {
		return true
	}
	switch n.Kind {
	case "number", "string", "character":
		return true
	case "name":
		return r.stable[n.Object] || n.Object != nil && (n.Object.Kind == "constant" || n.Object.Kind == "local constant") ||
			n.Object == nil && (n.Text == "true" || n.Text == "false" || n.Text == "nil")
	case "operator":
		switch n.Text {
		case "/", "%", "<<", ">>", "<-", "&":
			return false
		}
		return !slices.ContainsFunc(n.Kids, func(k *tree.Node) bool { return !r.harmless(k, calls) })
	case "call":
		*calls++
		return r.isCall(n)
	}
	return false
}

// isCall tells whether a call is one of the helper, with stable variables.
func (r *replacement) isCall(n *tree.Node) bool {
	callee, args := n.Kids[0], n.Kids[1:]
	if n.Text != "" || callee == nil || callee.Object != r.helper.object || len(args) != len(r.helper.params) {
		return false
	}
	return !slices.ContainsFunc(args, func(a *tree.Node) bool { return a == nil || a.Kind != "name" || !r.stable[a.Object] })
}

func (r *replacement) replaced(n *tree.Node) *tree.Node {
	if n == nil {
		return nil
	}
	if n.Kind == "call" && r.isCall(n) {
		r.done++
		return r.substituted(r.helper.expr, n.Kids[1:])
	}
	clone := *n
	clone.Kids = make([]*tree.Node, len(n.Kids))
	for i, k := range n.Kids {
		clone.Kids[i] = r.replaced(k)
	}
	return &clone
}

func (r *replacement) substituted(n *tree.Node, args []*tree.Node) *tree.Node {
	if n == nil {
		return nil
	}
	if n.Object != nil {
		if i := slices.Index(r.helper.params, n.Object); i >= 0 {
			return args[i]
		}
	}
	clone := *n
	clone.Kids = make([]*tree.Node, len(n.Kids))
	for i, k := range n.Kids {
		clone.Kids[i] = r.substituted(k, args)
	}
	return &clone
}

// steps says in words what was found.
func steps(verb string, helpers []*helper) (list []string) {
	for _, h := range helpers {
		list = append(list, fmt.Sprintf("%s %s of line %d", verb, h.decl.Label, h.decl.Line()))
	}
	return list
}
