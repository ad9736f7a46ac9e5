package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func (r *reader) redirects(list []*syntax.Redirect, s scope) {
	for _, redirect := range list {
		r.redirect(redirect, s)
	}
}

func (r *reader) redirect(d *syntax.Redirect, s scope) {
	if d.N != nil && strings.HasPrefix(d.N.Value, "{") {
		name, subscript, _ := strings.Cut(strings.Trim(d.N.Value, "{}"), "[")
		r.assignName(name)
		r.evaluated(subscript)
	}
	if d.Hdoc != nil {
		r.inside(d.Hdoc, s)
	}
	target := r.word(d.Word, s)
	write := d.Op != syntax.RdrIn
	switch {
	case d.Op == syntax.Hdoc, d.Op == syntax.DashHdoc, d.Op == syntax.WordHdoc, d.Op == syntax.DplIn, isProcess(d.Word):
	case d.Op == syntax.DplOut && target.Exact && isDescriptor(target.Text):
	case !target.Exact && write:
		r.unjudged("the target of the redirection %s is not literal", d.Op)
	case !target.Exact, target.Text == "", isDevice(target.Text):
	default:
		r.pending = append(r.pending, redirected{target.Text, write, s.in})
	}
}

// isDescriptor knows 1, - and 2- behind >&.
func isDescriptor(text string) bool {
	text = strings.TrimSuffix(text, "-")
	return strings.Trim(text, "0123456789") == ""
}

// isProcess reports whether a word is one process substitution: a pipe, no file.
func isProcess(w *syntax.Word) bool {
	if w == nil || len(w.Parts) != 1 {
		return false
	}
	_, ok := w.Parts[0].(*syntax.ProcSubst)
	return ok
}

// isDevice knows the devices whose use changes no file.
func isDevice(text string) bool {
	fd, ok := strings.CutPrefix(text, "/dev/fd/")
	return Among("/dev/null /dev/stdin /dev/stdout /dev/stderr /dev/tty /dev/zero /dev/full /dev/random /dev/urandom", text) ||
		ok && fd != "" && strings.Trim(fd, "0123456789") == ""
}

// input is what a command has as its standard input.
type input int

const (
	inherited input = iota
	literal         // a here-document or here-string
	file
	unknown
)

// standardInput tells what a shell without a script would read. Only a single redirection is understood.
func (r *reader) standardInput(list []*syntax.Redirect) (what input, text string) {
	for _, d := range list {
		if d.N != nil && d.N.Value != "0" || !reads(d.Op) {
			continue
		}
		if what != inherited {
			return unknown, ""
		}
		what, text = inputOf(d)
	}
	return what, text
}

func reads(op syntax.RedirOperator) bool {
	switch op {
	case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return true
	}
	return false
}

func inputOf(d *syntax.Redirect) (input, string) {
	switch d.Op {
	case syntax.WordHdoc:
		if word := resolve(d.Word); word.Exact {
			return literal, word.Text
		}
	case syntax.Hdoc:
		if text, ok := document(d); ok {
			return literal, text
		}
	case syntax.RdrIn:
		if word := resolve(d.Word); word.Exact && !word.Begins("/dev/ /proc/") {
			return file, ""
		}
	}
	return unknown, ""
}

// document is the text of a here-document if it is literal.
func document(d *syntax.Redirect) (string, bool) {
	quoted := false
	for _, part := range d.Word.Parts {
		lit, ok := part.(*syntax.Lit)
		quoted = quoted || !ok || strings.Contains(lit.Value, `\`)
	}
	if d.Hdoc == nil {
		return "", true
	}
	var b strings.Builder
	for _, part := range d.Hdoc.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			return "", false
		}
		if quoted {
			b.WriteString(lit.Value)
		} else {
			b.WriteString(unescape(lit.Value, "$`\\"))
		}
	}
	return b.String(), true
}
