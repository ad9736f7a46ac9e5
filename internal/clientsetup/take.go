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
	above, name := path[:len(path)-1], path[len(path)-1]
	parent := composite[*hujson.Object](d, above)
	if parent == nil {
		return
	}
	i := slices.IndexFunc(parent.Members, func(m hujson.ObjectMember) bool { return m.Name.Value.(hujson.Literal).String() == name })
	if i >= 0 {
		parent.Members = removeAt(parent.Members, i, &parent.AfterExtra, memberParts)
		d.prune(was, above)
	}
}

// takeElements removes the elements of a list that match. Of strings, which do not tell whose they are, those that
// stood there before stay.
func (d *document) takeElements(was *document, match func(hujson.Value) bool, path ...string) (taken []hujson.Value) {
	list, before := composite[*hujson.Array](d, path), composite[*hujson.Array](was, path)
	if list == nil {
		return nil
	}
	for i := len(list.Elements) - 1; i >= 0; i-- {
		element := list.Elements[i]
		_, plain := element.Value.(hujson.Literal)
		if !match(element) || plain && before != nil && containsJSON(before, element) {
			continue
		}
		taken = append(taken, element)
		list.Elements = removeAt(list.Elements, i, &list.AfterExtra, elementParts)
	}
	slices.Reverse(taken)
	if len(taken) > 0 {
		d.prune(was, path)
	}
	return taken
}

// removeAt takes an item out, and joins what stood before it to what comes next: comments stay. What is the last one then
// ends as the one that is taken out did, with a comma or without. end is what stands before the closing bracket.
func removeAt[T any](items []T, i int, end *hujson.Extra, of parts[T]) []T {
	before, taken := of(&items[i])
	next, last := end, (*hujson.Value)(nil)
	if i+1 < len(items) {
		next, _ = of(&items[i+1])
	} else if i > 0 {
		_, last = of(&items[i-1])
	}
	comments := bytes.TrimRight(*before, " \t\r\n")
	switch {
	case len(comments) > 0:
		*next = append(bytes.Clone(comments), *next...)
	case i == 0 && last == nil && len(*next) > 0 && !bytes.ContainsAny(*next, "\n/"):
		*next = *before
	}
	switch {
	case last == nil:
	case taken.AfterExtra == nil && last.AfterExtra != nil:
		*next = append(bytes.Clone(last.AfterExtra), *next...)
		last.AfterExtra = nil
	case taken.AfterExtra != nil && last.AfterExtra == nil:
		last.AfterExtra = hujson.Extra{}
	}
	return slices.Delete(items, i, i+1)
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
		value.Value = then.Clone().Value
	}
}

func isEmpty(value *hujson.Value) bool {
	switch composite := value.Value.(type) {
	case *hujson.Object:
		return len(composite.Members) == 0 && len(bytes.TrimSpace(composite.AfterExtra)) == 0
	case *hujson.Array:
		return len(composite.Elements) == 0 && len(bytes.TrimSpace(composite.AfterExtra)) == 0
	}
	return false
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

// composite is what stands at a path, if it is of that kind.
func composite[T hujson.ValueTrimmed](d *document, path []string) (found T) {
	if value := d.find(path...); value != nil {
		found, _ = value.Value.(T)
	}
	return found
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
