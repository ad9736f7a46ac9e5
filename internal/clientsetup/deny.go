package clientsetup

import (
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// denyStep denies a client its own tools, because its hooks can only fail open.
func (p *planner) denyStep(tools []string, path ...string) step {
	take := func(doc, was *document) (string, error) { return p.takeDenials(doc, was, tools, path...), nil }
	return step{
		func(doc, was *document) (string, error) {
			if p.KeepTools {
				return take(doc, was)
			}
			missing := slices.DeleteFunc(slices.Clone(tools), func(tool string) bool { return slices.Contains(doc.strings(path...), tool) })
			return describeDenials(missing), doc.merge(nested(tools, path...))
		}, take,
	}
}

// undenyStep takes back what an earlier setup denied where there are hooks now: all of sure, with which more may stand. What
// stands beside our hooks is the operator's.
func (p *planner) undenyStep(h hookFile, sure, more []string, path ...string) step {
	take := func(doc, was *document) (string, error) {
		denied := doc.strings(path...)
		if len(p.hooksOf(doc, h)) > 0 || slices.ContainsFunc(sure, func(tool string) bool { return !slices.Contains(denied, tool) }) {
			return "", nil
		}
		return p.takeDenials(doc, was, slices.Concat(sure, more), path...), nil
	}
	return step{take, take}
}

// tellDenied tells what a denial closes, or what is lost without it.
func (p *planner) tellDenied(way string, broken []string) {
	if p.KeepTools {
		p.leaves("Its own tools stay (--keep-tools): only the hook stands before them, and what stops or slows the hook lets them pass unjudged.")
		return
	}
	p.closes(broken, way+" --keep-tools leaves them to the hook alone.")
}

// takeDenials takes denials out. They do not tell whose they are: where nothing is known of the file before, they are
// ours if our server stands beside them.
func (p *planner) takeDenials(doc, was *document, ours []string, path ...string) string {
	if was == nil && !p.wasSetUp {
		return ""
	}
	var names []string
	for _, value := range doc.takeElements(was, func(v hujson.Value) bool { return isString(v, ours) }, path...) {
		names = append(names, value.Value.(hujson.Literal).String())
	}
	if len(names) == 0 {
		return ""
	}
	return "no longer denies " + strings.Join(names, ", ")
}

func describeDenials(missing []string) string {
	if len(missing) == 0 {
		return "the denials are there"
	}
	return "denies " + strings.Join(missing, ", ")
}

// strings are the elements of a list of strings.
func (d *document) strings(path ...string) (texts []string) {
	for _, of := range d.elements(path...) {
		if literal, ok := of.value.Value.(hujson.Literal); ok && literal.Kind() == '"' {
			texts = append(texts, literal.String())
		}
	}
	return texts
}
