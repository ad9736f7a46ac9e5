package languages

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// inlining says how a language writes a function that is nothing but an
// expression, so that a call of it and the expression are the same.
type inlining struct {
	// function, call and name are the kinds of these nodes.
	function, call, name string
	// expression are the kinds of nodes of which the expression may be made,
	// around those in which a call may stand.
	expression, around set
	// tested are those of around that ask for the truth of a call, where
	// objects can tell.
	tested set
	// forbidden are the names and tokens that see where they stand.
	forbidden set
	// usable tells whether the file can be judged in this way at all, helper
	// whether a function of it is no more than it seems.
	usable func(s *side) bool
	helper func(s *side, o *object, list []*item, at int) bool
	// stable tells whether a variable keeps its value while the expression is
	// worked out.
	stable func(h *helper, o *object, at int) bool
	// typed is set where types are written down, and conversions go by them.
	typed *typedInlining
	// leads tells whether what stands in front of a helper may go with it, and
	// place whether the call at a leaf may give way to the expression; nil where
	// the nodes tell.
	leads func(n *tree.Node) bool
	place func(h *helper, at int) bool
	// grouping are the nodes in which brackets around a part of an expression say
	// no more than its tree; nil where the brackets are told by the operators.
	grouping set
	// known tells whether what is called is no macro, to which brackets are text;
	// nil where there are none.
	known func(callee *tree.Node) bool
	// methods is set where helpers are private methods without fixed types.
	methods *methodInlining
}

// helper is a function that is nothing but an expression over its parameters.
type helper struct {
	side   *side
	how    *inlining
	item   *item
	object *object
	params []*tree.Object
	expr   *tree.Node
	// homes are the places that declare an object, known the objects by what the
	// trees have of them.
	homes map[*object][]int
	known map[*tree.Object]*object
	sites []site
	// leaves are the names of the helper in its calls.
	leaves []int
	// types are those of the parameters, result that of the function, as they are
	// written, in languages in which they are.
	types  []string
	result string
	// tested is set where only the truth of a call is that of the expression.
	tested bool
}

// site is a call of a helper: the node in which it stands, and where.
type site struct {
	parent *tree.Node
	index  int
}

// inlined compares two programs of which one has functions that the other has
// not, with these put in place of their calls.
func inlined(ctx context.Context, path string, before, after *side, wasBuilt, isBuilt *tree.Node) (verdict.Verdict, bool) {
	how := before.language.inlining
	if how == nil || sameLabels(before.labels(wasBuilt), after.labels(isBuilt)) || !how.usable(before) || !how.usable(after) {
		return verdict.Verdict{}, false
	}
	before.origin, after.origin = map[*tree.Node]int{}, map[*tree.Node]int{}
	b, a := before.build(), after.build()
	wasLabels, isLabels := before.labels(b), after.labels(a)
	gone, come := before.helpers(ctx, b, isLabels), after.helpers(ctx, a, wasLabels)
	if len(gone)+len(come) == 0 || ctx.Err() != nil {
		return verdict.Verdict{}, false
	}
	how.ungroup(b)
	how.ungroup(a)
	pairing := tree.NewPairing()
	arranged := &arrangement{ctx: ctx, before: before, after: after}
	if pairing.Compare(b, a) != nil {
		arranged.align(b, a)
		pairing = tree.NewPairing()
		if pairing.Compare(b, a) != nil || arranged.broken != nil {
			return verdict.Verdict{}, false
		}
	}
	v := renames(path, before, after, pairing)
	if v.Evidence == verdict.Unproven {
		return v, true
	}
	v.Moves = arranged.moves
	for verb, helpers := range map[string][]*helper{"inlined": gone, "extracted": come} {
		for _, h := range helpers {
			v.Steps = append(v.Steps, fmt.Sprintf("%s %s of line %d", verb, h.item.label, h.item.line))
			switch {
			case h.object.hidden:
			case h.object.Reach == tree.Member:
				v.Widen("a member can be found by its name while the program runs", h.object.Name)
			case h.object.Reach != tree.Local:
				v.Widen("", h.object.Name)
			case before.language.grammar == treesitter.C:
				v.Enclose(path, h.object.Name)
			}
		}
	}
	slices.Sort(v.Steps)
	return v, true
}

// helperOf recognises a helper among the declarations of a file.
func (s *side) helperOf(list []*item, i int, homes map[*object][]int) *helper {
	it, how := list[i], s.language.inlining
	last := len(it.kids) - 1
	lead := func(n *tree.Node) bool { return how.leads == nil || !how.leads(n) }
	if last < 0 || slices.ContainsFunc(it.kids[:last], lead) || it.kids[last].Kind != how.function || it.leaf < 0 || it.fence || it.order == tree.Effect {
		return nil
	}
	o := s.declared[it.leaf]
	if o == nil || o.Pinned != "" || len(homes[o]) != 1 || !how.helper(s, o, list, i) || s.disturbs(o, o.Name, o.Name) != "" {
		return nil
	}
	h := &helper{side: s, how: how, item: it, object: o, homes: homes}
	read := h.read
	if how.typed != nil {
		read = h.readTyped
		if how.typed.read != nil {
			read = func(function *tree.Node) bool { return how.typed.read(h, function) }
		}
	}
	if !read(it.kids[last]) || !h.plain(h.expr) || how.typed != nil && !h.hasTypes() {
		return nil
	}
	return h
}

// read takes a function apart: its name, plain parameters, types, and a body
// that returns an expression.
func (h *helper) read(function *tree.Node) bool {
	for _, k := range function.Kids {
		switch {
		case k.Kind == "function", k.Kind == "def", k.Kind == ":", k.Kind == "->", k.Kind == "name identifier", strings.HasPrefix(k.Kind, "return type "):
		case strings.HasPrefix(k.Kind, "parameters "):
			if !h.parameters(k) {
				return false
			}
		case strings.HasPrefix(k.Kind, "body "):
			var rest []*tree.Node
			for _, part := range k.Kids {
				if part.Kind != "{" && part.Kind != "}" {
					rest = append(rest, part)
				}
			}
			if len(rest) != 1 || rest[0].Kind != "return statement" || len(rest[0].Kids) != 2 {
				return false
			}
			h.expr = rest[0].Kids[1]
		default:
			return false
		}
	}
	return h.expr != nil
}

func (h *helper) parameters(n *tree.Node) bool {
	for _, k := range n.Kids {
		leaf := k
		switch k.Kind {
		case "(", ")", ",":
			continue
		case "required parameter", "typed parameter":
			leaf = k.Kids[0]
		}
		if leaf.Object == nil || len(leaf.Kids) > 0 || !strings.HasSuffix(leaf.Kind, "identifier") {
			return false
		}
		h.params = append(h.params, leaf.Object)
	}
	return true
}

// base is a node's kind without the name under which its parent knows it.
func base(kind string, known set) string {
	for {
		if known[kind] {
			return kind
		}
		_, rest, found := strings.Cut(kind, " ")
		if !found {
			return ""
		}
		kind = rest
	}
}

// plain tells whether an expression means the same wherever it stands.
func (h *helper) plain(n *tree.Node) bool {
	word := n.Text
	if n.Object != nil {
		word = n.Object.Name
	}
	// The parts of a tagged template are one object for each place.
	if n.Object == h.object.Object || h.how.forbidden[word] || strings.HasPrefix(word, "__") || n.Kind == "arguments template string" {
		return false
	}
	token := len(n.Kids) == 0 && n.Kind == label(n.Text, "") || len(n.Kids) == 0 && strings.HasSuffix(n.Kind, " "+n.Text)
	if !token && base(n.Kind, h.how.expression) == "" {
		return false
	}
	return !slices.ContainsFunc(n.Kids, func(k *tree.Node) bool { return !h.plain(k) })
}

// find collects the calls of a helper. It fails if the helper is used in any
// way that is not surely the same as its expression.
func (h *helper) find(root *tree.Node) bool {
	uses := 0
	root.Walk(func(n *tree.Node) bool {
		if slices.Contains(h.item.kids, n) || uses > len(h.sites) || len(h.sites) > maxSites {
			return false
		}
		if n.Object == h.object.Object {
			uses++
		}
		for i, k := range n.Kids {
			if k != nil && h.isCall(k) && h.fits(n, k) {
				h.sites = append(h.sites, site{n, i})
			}
		}
		return true
	})
	return uses > 0 && uses == len(h.sites) && len(h.sites) <= maxSites
}

// fits tells whether a call stands where its value is worked out as a whole.
func (h *helper) fits(parent, call *tree.Node) bool {
	if h.how.place != nil {
		return h.how.place(h, h.side.origin[call.Kids[0]])
	}
	around := base(parent.Kind, h.how.around)
	switch {
	case around == "", strings.HasPrefix(call.Kind, "function "), strings.HasPrefix(call.Kind, "left ") && strings.HasSuffix(parent.Kind, "assignment expression"):
		return false
	case around == "parenthesized expression", around == "member expression", around == "attribute":
		// What is taken out of something may keep it in mind.
		return slices.ContainsFunc([]string{"binary expression", "binary operator", "call expression", "call", "template string"},
			func(kind string) bool { return base(h.expr.Kind, h.how.expression) == kind })
	case h.how.tested[around]:
		return !h.tests()
	}
	return true
}

// tests tells whether the truth of a part of the expression is asked for, which
// may happen once less where the truth of the whole is asked for as well.
func (h *helper) tests() bool {
	kind := base(h.expr.Kind, h.how.expression)
	return kind == "boolean operator" || kind == "conditional expression" || kind == "comparison operator" && len(h.expr.Kids) > 3
}

// isCall tells whether a node is a call of the helper with variables that keep
// their values, and literals.
func (h *helper) isCall(n *tree.Node) bool {
	if !strings.HasSuffix(n.Kind, h.how.call) || len(n.Kids) != 2 || n.Kids[0].Object != h.object.Object || len(n.Kids[1].Kids) == 0 || n.Kids[1].Kids[0].Kind != "(" {
		return false
	}
	args := arguments(n)
	if len(args) != len(h.params) {
		return false
	}
	at, known := h.side.origin[n.Kids[0]]
	return known && h.side.scopeAt(at).region().kind == function && h.side.above(at, parameterLists) < 0 && !slices.ContainsFunc(args, func(a *tree.Node) bool { return !h.keeps(a, at) })
}

// parameterLists are where calls stand that give parameters their defaults.
var parameterLists = setOf("formal_parameters", "parameters", "lambda_parameters", "function_value_parameters", "parameter_list", "class_parameters")

func arguments(call *tree.Node) (args []*tree.Node) {
	for _, k := range call.Kids[1].Kids {
		if (k.Kind == "argument" || k.Kind == "value argument") && len(k.Kids) == 1 {
			k = k.Kids[0]
		}
		if k.Kind != "(" && k.Kind != ")" && k.Kind != "," {
			args = append(args, k)
		}
	}
	return args
}

// keeps tells whether an argument is the same when it is read later.
func (h *helper) keeps(arg *tree.Node, at int) bool {
	if arg.Object == nil || arg.Kind != h.how.name {
		return false
	}
	leaf, known := h.side.origin[arg]
	if !known {
		return false
	}
	o := h.known[arg.Object]
	return o != nil && len(h.homes[o]) == 1 && !o.member && o.region.kind == function && h.side.scopeAt(leaf).region() == o.region && h.how.stable(h, o, at)
}

// replaced is the expression in place of a call.
func (h *helper) replaced(parent, call *tree.Node) *tree.Node {
	h.leaves = append(h.leaves, h.side.origin[call.Kids[0]])
	args := arguments(call)
	made := h.substituted(h.expr, args)
	if h.how.typed != nil && h.how.grouping == nil {
		made = h.how.typed.grouped(parent, call, made)
	}
	made.Kind = strings.TrimSuffix(call.Kind, h.how.call) + made.Kind
	return made
}

func (h *helper) substituted(n *tree.Node, args []*tree.Node) *tree.Node {
	made := *n
	if i := slices.Index(h.params, n.Object); n.Object != nil && i >= 0 {
		made.Object = args[i].Object
		return &made
	}
	made.Kids = make([]*tree.Node, len(n.Kids))
	for i, k := range n.Kids {
		made.Kids[i] = h.substituted(k, args)
	}
	return &made
}

// count is how often a parameter stands in the expression.
func (h *helper) count(o *tree.Object) (times int) {
	h.expr.Walk(func(n *tree.Node) bool {
		if n.Object == o {
			times++
		}
		return true
	})
	return times
}
