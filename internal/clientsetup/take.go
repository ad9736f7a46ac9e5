package clientsetup

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// take removes a member, and the objects that held nothing else, unless they stood there before; was is the document
// from then, nil if there was none or it is not known. Every other byte stays what it is.
func (d *document) take(was *document, path ...string) {
	above := path[:len(path)-1]
	if d.takeMember(path[len(path)-1], above...) {
		d.prune(was, above)
	}
}

// takeMember removes a member of an object, and nothing above it.
func (d *document) takeMember(name string, object ...string) bool {
	parent := d.find(object...)
	items, _ := contents(parent)
	i := slices.IndexFunc(items, func(of item) bool { return of.label != nil && of.label.String() == name })
	if i >= 0 {
		d.remove(parent, i)
	}
	return i >= 0
}

// takeElements removes the elements of a list that match. Of strings, which do not tell whose they are, those that
// stood there before stay.
func (d *document) takeElements(was *document, match func(hujson.Value) bool, path ...string) (taken []hujson.Value) {
	elements, before := d.elements(path...), was.elements(path...)
	for i, of := range slices.Backward(elements) {
		_, plain := of.value.Value.(hujson.Literal)
		if match(*of.value) && !(plain && slices.ContainsFunc(before, of.same)) {
			taken = append(taken, *of.value)
			d.remove(d.find(path...), i)
		}
	}
	slices.Reverse(taken)
	if len(taken) > 0 {
		d.prune(was, path)
	}
	return taken
}

// elements are those of the list at a path; none if it is none.
func (d *document) elements(path ...string) []item {
	items, _ := contents(d.find(path...))
	return slices.DeleteFunc(items, func(of item) bool { return of.label != nil })
}

// remove takes an item out, with what stood between it and the one before, except comments. What is the last one then
// ends as the one that is taken out did, with a comma or without.
func (d *document) remove(in *hujson.Value, i int) {
	items, next := contents(in)
	out, to := items[i], in.EndOffset-1-len(next)
	comments := len(bytes.TrimRight(out.before, " \t\r\n"))
	from := out.start - len(out.before) + comments
	if i+1 < len(items) {
		next = items[i+1].before
		to = items[i+1].start - len(next)
	}
	spaces := len(next) - len(bytes.TrimLeft(next, " \t\r"))
	first := i == 0 && comments == 0 && len(next) > 0 && !bytes.ContainsAny(next, "\n/")
	if first || comments > 0 && !bytes.HasPrefix(next[spaces:], []byte("\n")) { // what follows must not become a comment
		from, to = out.start, to+spaces
	}
	comma := from
	if i > 0 && i+1 == len(items) && out.value.AfterExtra == nil {
		last := items[i-1].value
		comma = last.EndOffset + len(last.AfterExtra)
	}
	d.replace(comma, to, string(d.text[min(comma+1, from):from]))
}

// prune removes what is empty at a path and above, unless it stood there before.
func (d *document) prune(was *document, path []string) {
	if len(path) == 0 {
		return
	}
	value := d.find(path...)
	if value == nil || !isEmpty(value) {
		return
	}
	if then := was.find(path...); then == nil {
		d.take(was, path...)
	} else if isEmpty(then) {
		d.replace(value.StartOffset, value.EndOffset, string(was.text[then.StartOffset:then.EndOffset]))
	}
}

func isEmpty(value *hujson.Value) bool {
	_, literal := value.Value.(hujson.Literal)
	items, end := contents(value)
	return !literal && len(items)+len(bytes.TrimSpace(end)) == 0
}

// isEmptyJSON reports whether nothing stands in a file but the braces.
func isEmptyJSON(text []byte) bool {
	doc, err := parseDocument(text)
	return err == nil && doc.standard && isEmpty(&doc.root)
}

// find is what stands at a path; nil if there is nothing.
func (d *document) find(path ...string) *hujson.Value {
	if d == nil {
		return nil
	}
	pointer := "" // RFC 6901
	for _, name := range path {
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	}
	return d.root.Find(pointer)
}

// sameText reports whether a value is written so.
func sameText(value hujson.Value, text string) bool {
	literal, ok := value.Value.(hujson.Literal)
	return ok && string(literal) == text
}

// isString reports whether a value is one of some strings.
func isString(value hujson.Value, strings []string) bool {
	literal, ok := value.Value.(hujson.Literal)
	return ok && literal.Kind() == '"' && slices.Contains(strings, literal.String())
}

// putBack puts an entry into an object as it stood there once, with every byte of it.
func (d *document) putBack(text []byte, key string, object ...string) error {
	var addition any = map[string]any{key: 0}
	for _, name := range slices.Backward(object) {
		addition = map[string]any{name: addition}
	}
	if err := d.merge(addition); err != nil {
		return err
	}
	place := d.find(append(slices.Clone(object), key)...)
	d.replace(place.StartOffset, place.EndOffset, string(text))
	return nil
}
