package clientsetup

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// utf8BOM stands at the start of files that some Windows editors write.
var utf8BOM = []byte("\xef\xbb\xbf")

// document is a JSON file, with or without comments and trailing commas, that is added to in place: every byte that
// is not part of an addition stays what it is.
type document struct {
	root     hujson.Value
	bom      bool
	newline  string
	unit     string // one level of indentation
	standard bool   // neither comments nor trailing commas
}

// parseDocument reads a file. An empty one becomes an empty object.
func parseDocument(text []byte) (*document, error) {
	doc := &document{newline: "\n", unit: "  "}
	text, doc.bom = bytes.CutPrefix(text, utf8BOM)
	if bytes.Contains(text, []byte("\r\n")) {
		doc.newline = "\r\n"
	}
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}" + doc.newline)
	}
	root, err := hujson.Parse(bytes.Clone(text))
	if err != nil {
		return nil, fmt.Errorf("%w: it is not JSON (%v); repair it, or use --print and add the lines by hand", ErrUnmergeable, err)
	}
	object, ok := root.Value.(*hujson.Object)
	if !ok {
		return nil, fmt.Errorf("%w: it does not hold a JSON object", ErrUnmergeable)
	}
	if unit := lastLineIndent(firstExtra(object)); unit != "" {
		doc.unit = unit
	}
	doc.root, doc.standard = root, root.IsStandard()
	return doc, nil
}

func firstExtra(object *hujson.Object) hujson.Extra {
	if len(object.Members) == 0 {
		return nil
	}
	return object.Members[0].Name.BeforeExtra
}

// lastLineIndent is the whitespace behind the last line break, or "" if there is no line break or something else
// stands there.
func lastLineIndent(extra hujson.Extra) string {
	i := bytes.LastIndexByte(extra, '\n')
	if i < 0 || len(bytes.Trim(extra[i+1:], " \t")) > 0 {
		return ""
	}
	return string(extra[i+1:])
}

func (d *document) bytes() []byte {
	text := d.root.Pack()
	if d.bom {
		text = append(bytes.Clone(utf8BOM), text...)
	}
	return text
}

// merge lays addition over the document: objects are merged key by key, lists of strings get the elements that they
// lack, any other value replaces what stood there. Keys keep the order of the addition's JSON.
func (d *document) merge(addition any) error {
	value, err := parseAddition(addition)
	if err != nil {
		return err
	}
	return d.mergeInto(&d.root, value, 0, nil)
}

func parseAddition(addition any) (hujson.Value, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(addition); err != nil {
		return hujson.Value{}, err
	}
	value, err := hujson.Parse(text.Bytes())
	if err != nil {
		return hujson.Value{}, err
	}
	value.BeforeExtra, value.AfterExtra = nil, nil
	return value, nil
}

func (d *document) mergeInto(dst *hujson.Value, src hujson.Value, depth int, path []string) error {
	if addition, isObject := src.Value.(*hujson.Object); isObject {
		object, ok := dst.Value.(*hujson.Object)
		if !ok {
			return fmt.Errorf("%w: %s is not an object there", ErrUnmergeable, describePath(path))
		}
		return d.mergeObject(object, addition, depth, path)
	}
	addition, isList := src.Value.(*hujson.Array)
	switch {
	case isList && (len(path) == 0 || path[len(path)-1] != "args"): // which is a command line, not a set
		list, ok := dst.Value.(*hujson.Array)
		if !ok {
			return fmt.Errorf("%w: %s is not a list there", ErrUnmergeable, describePath(path))
		}
		for _, element := range addition.Elements {
			if !containsJSON(list, element) {
				list.Elements = appendTo(d, list.Elements, element, &list.AfterExtra, depth, elementParts)
			}
		}
	case !sameJSON(*dst, src):
		dst.Value = d.indented(src, depth).Value
	}
	return nil
}

// mergeObject appends the members that are missing, and merges those that are there.
func (d *document) mergeObject(object, addition *hujson.Object, depth int, path []string) error {
	for _, member := range addition.Members {
		name := member.Name.Value.(hujson.Literal).String()
		at := append(path[:len(path):len(path)], name)
		existing, err := findMember(object, name, at)
		if err != nil {
			return err
		}
		if existing == nil {
			object.Members = appendTo(d, object.Members, member, &object.AfterExtra, depth, memberParts)
		} else if err := d.mergeInto(existing, member.Value, depth+1, at); err != nil {
			return err
		}
	}
	return nil
}

// findMember refuses a name that stands twice: clients take the last one, editors show the first.
func findMember(object *hujson.Object, name string, path []string) (*hujson.Value, error) {
	var found *hujson.Value
	for i := range object.Members {
		if object.Members[i].Name.Value.(hujson.Literal).String() != name {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%w: %s stands there twice; remove one", ErrUnmergeable, describePath(path))
		}
		found = &object.Members[i].Value
	}
	return found, nil
}

func containsJSON(list *hujson.Array, element hujson.Value) bool {
	return slices.ContainsFunc(list.Elements, func(v hujson.Value) bool { return sameJSON(v, element) })
}

func sameJSON(a, b hujson.Value) bool {
	var left, right any
	return decode(a, &left) == nil && decode(b, &right) == nil && reflect.DeepEqual(left, right)
}

func decode(value hujson.Value, into any) error {
	value = value.Clone()
	value.Standardize()
	return json.Unmarshal(value.Pack(), into)
}

// parts are what stands before a member or an element, and its value.
type parts[T any] func(*T) (before *hujson.Extra, value *hujson.Value)

func memberParts(m *hujson.ObjectMember) (*hujson.Extra, *hujson.Value) {
	return &m.Name.BeforeExtra, &m.Value
}

func elementParts(e *hujson.ArrayElement) (*hujson.Extra, *hujson.Value) { return &e.BeforeExtra, e }

// appendTo adds a member or an element behind the last one, in the layout of its siblings. end is what stands before the
// closing bracket.
func appendTo[T any](d *document, items []T, item T, end *hujson.Extra, depth int, of parts[T]) []T {
	var first hujson.Extra
	var last *hujson.Value
	if n := len(items); n > 0 {
		before, _ := of(&items[0])
		first = *before
		_, last = of(&items[n-1])
	}
	layout := d.layoutNext(first, last, end, depth)
	_, value := of(&item)
	*value = d.indented(*value, depth+1)
	value.BeforeExtra, value.AfterExtra = hujson.Extra(" "), nil
	if last != nil && last.AfterExtra != nil { // hujson writes a comma if the extra is not nil
		value.AfterExtra = hujson.Extra{}
	}
	before, _ := of(&item)
	*before = layout
	return append(items, item)
}

// layoutNext returns what stands before the next member, and moves a comment that stood behind the last one, before
// the closing bracket, in front of it: there it still stands on the line it belongs to.
func (d *document) layoutNext(first hujson.Extra, last *hujson.Value, after *hujson.Extra, depth int) hujson.Extra {
	if last != nil && !bytes.ContainsRune(first, '\n') && !bytes.ContainsRune(*after, '\n') {
		return hujson.Extra(" ")
	}
	indent := lastLineIndent(first)
	if indent == "" {
		indent = strings.Repeat(d.unit, depth+1)
	}
	comments := bytes.TrimRight(*after, " \t\r\n")
	before := append(bytes.Clone(comments), d.newline+indent...)
	if closing := lastLineIndent(*after); last == nil || !bytes.ContainsRune(*after, '\n') {
		*after = hujson.Extra(d.newline + strings.TrimSuffix(indent, d.unit))
	} else {
		*after = hujson.Extra(d.newline + closing)
	}
	return before
}

// indented lays a value of ours out over several lines; lists of plain values stay on one.
func (d *document) indented(value hujson.Value, depth int) hujson.Value {
	value = value.Clone()
	switch composite := value.Value.(type) {
	case *hujson.Object:
		for i := range composite.Members {
			member := &composite.Members[i]
			member.Name.BeforeExtra = d.lineAt(depth + 1)
			member.Value = d.indented(member.Value, depth+1)
			member.Value.BeforeExtra = hujson.Extra(" ")
		}
		if len(composite.Members) > 0 {
			composite.AfterExtra = d.lineAt(depth)
		}
	case *hujson.Array:
		d.indentElements(composite, depth)
	}
	return value
}

func (d *document) indentElements(list *hujson.Array, depth int) {
	nested := false
	for i := range list.Elements {
		element := &list.Elements[i]
		*element = d.indented(*element, depth+1)
		if _, object := element.Value.(*hujson.Object); object {
			nested = true
			element.BeforeExtra = d.lineAt(depth + 1)
		} else if i > 0 {
			element.BeforeExtra = hujson.Extra(" ")
		}
	}
	if nested {
		list.AfterExtra = d.lineAt(depth)
	}
}

func (d *document) lineAt(depth int) hujson.Extra {
	return hujson.Extra(d.newline + strings.Repeat(d.unit, depth))
}

// value decodes the document, for looking at it. A nil one has nothing.
func (d *document) value(into any) error {
	if d == nil {
		return ErrUnmergeable
	}
	return decode(d.root, into)
}

func describePath(path []string) string {
	if len(path) == 0 {
		return "the file"
	}
	return fmt.Sprintf("%q", strings.Join(path, "."))
}
