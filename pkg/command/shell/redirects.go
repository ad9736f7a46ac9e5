package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

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
		r.redirected(target.Text, write, s.in)
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

// standardInput is the text that a shell without a script reads, "" for a file, which is its own matter. False: it is not
// known. Only a single redirection is understood.
func standardInput(list []*syntax.Redirect) (text string, ok bool) {
	one := false
	for _, d := range list {
		if d.N != nil && d.N.Value != "0" {
			continue
		}
		switch d.Op {
		case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			if one {
				return "", false
			}
			one = true
			text, ok = input(d)
		}
	}
	return text, ok
}

func input(d *syntax.Redirect) (text string, ok bool) {
	word := resolve(d.Word)
	switch d.Op {
	case syntax.WordHdoc:
		return word.Text, word.Exact
	case syntax.Hdoc:
		return document(d)
	}
	return "", d.Op == syntax.RdrIn && word.Exact && !word.Begins("/dev/ /proc/")
}

// document is the text of a here-document if it is literal.
func document(d *syntax.Redirect) (string, bool) {
	if d.Hdoc == nil {
		return "", true
	}
	quoted := slices.ContainsFunc(d.Word.Parts, func(part syntax.WordPart) bool {
		lit, ok := part.(*syntax.Lit)
		return !ok || strings.Contains(lit.Value, `\`)
	})
	var text strings.Builder
	for _, part := range d.Hdoc.Parts {
		lit, ok := part.(*syntax.Lit)
		switch {
		case !ok:
			return "", false
		case quoted:
			text.WriteString(lit.Value)
		default:
			text.WriteString(unescape(lit.Value, "$`\\"))
		}
	}
	return text.String(), true
}
