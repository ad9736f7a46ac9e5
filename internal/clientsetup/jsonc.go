package clientsetup

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// utf8BOM stands at the start of files that some Windows editors write.
var utf8BOM = []byte("\xef\xbb\xbf")

// document is a JSON file, with or without comments and trailing commas, that is changed in place: every byte that is not
// part of a change stays what it is.
type document struct {
	text     []byte       // without the byte order mark
	root     hujson.Value // where its values stand
	bom      bool
	newline  string
	unit     string // one level of indentation
	standard bool   // neither comments nor trailing commas
}

// parseDocument reads a file. An empty one becomes an empty object.
func parseDocument(text []byte) (*document, error) {
	doc := &document{newline: newlineOf(text), unit: "  "}
	text, doc.bom = bytes.CutPrefix(text, utf8BOM)
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}" + doc.newline)
	}
	root, err := hujson.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w: it is not JSON (%v); repair it, or use --print and add the lines by hand", ErrUnmergeable, err)
	}
	if root.Value.Kind() != '{' {
		return nil, fmt.Errorf("%w: it does not hold a JSON object", ErrUnmergeable)
	}
	if items, _ := contents(&root); len(items) > 0 {
		doc.unit = cmp.Or(lastLineIndent(items[0].before), doc.unit)
	}
	doc.text, doc.root, doc.standard = text, root, root.IsStandard()
	return doc, nil
}

// item is a member of an object, or an element of a list.
type item struct {
	label  hujson.Literal // nil in a list
	start  int
	before hujson.Extra // what stands in front of it
	value  *hujson.Value
}

// contents are the items of an object or a list, and what stands before its closing bracket.
func contents(value *hujson.Value) (items []item, end hujson.Extra) {
	if value == nil {
		return nil, nil
	}
	switch of := value.Value.(type) {
	case *hujson.Object:
		for i := range of.Members {
			name, value := &of.Members[i].Name, &of.Members[i].Value
			items = append(items, item{name.Value.(hujson.Literal), name.StartOffset, name.BeforeExtra, value})
		}
		end = of.AfterExtra
	case *hujson.Array:
		for i := range of.Elements {
			value := &of.Elements[i]
			items = append(items, item{nil, value.StartOffset, value.BeforeExtra, value})
		}
		end = of.AfterExtra
	}
	return items, end
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
	if d.bom {
		return slices.Concat(utf8BOM, d.text)
	}
	return d.text
}

// replace puts something else in a place of the text.
func (d *document) replace(from, to int, text string) {
	d.text = slices.Concat(d.text[:from], []byte(text), d.text[to:])
	d.root, _ = hujson.Parse(d.text)
}

// merge lays addition over what stands at a path: objects are merged key by key, lists of strings get the elements that
// they lack, any other value replaces what stood there. Keys keep the order of the addition's JSON.
func (d *document) merge(addition any, path ...string) error {
	value, err := hujson.Parse(encoded(addition))
	if err != nil {
		return err
	}
	return d.mergeValue(&value, path)
}

// encoded is a value of texts, numbers and truths as JSON, as it is written: not for a page of the web.
func encoded(value any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // such values always encode
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

func (d *document) mergeValue(addition *hujson.Value, path []string) error {
	present, kind := d.find(path...), addition.Value.Kind()
	if kind != '{' && (kind != '[' || slices.Contains([]string{"args", "command"}, path[len(path)-1])) { // which is a command line, not a set
		if !sameJSON(present, addition) {
			d.replace(present.StartOffset, present.EndOffset, d.laidOut(addition, len(path)))
		}
		return nil
	}
	if present.Value.Kind() != kind {
		want := map[hujson.Kind]string{'{': "an object", '[': "a list"}[kind]
		return fmt.Errorf("%w: %s is not %s there", ErrUnmergeable, describePath(path), want)
	}
	additions, _ := contents(addition)
	for _, new := range additions {
		items, _ := contents(d.find(path...))
		there := slices.DeleteFunc(items, func(old item) bool { return !old.same(new) })
		switch {
		case len(there) == 0:
			d.insert(path, new)
			continue
		case kind == '[':
			continue
		}
		at := append(path[:len(path):len(path)], new.label.String())
		if len(there) > 1 { // clients take the last one, editors show the first
			return fmt.Errorf("%w: %s stands there twice; remove one", ErrUnmergeable, describePath(at))
		}
		if err := d.mergeValue(new.value, at); err != nil {
			return err
		}
	}
	return nil
}

// same reports whether two members have one name, or two elements one value.
func (i item) same(other item) bool {
	if i.label != nil {
		return i.label.String() == other.label.String()
	}
	return sameJSON(i.value, other.value)
}

func sameJSON(a, b *hujson.Value) bool {
	var left, right any
	return decode(*a, &left) == nil && decode(*b, &right) == nil && reflect.DeepEqual(left, right)
}

func decode(value hujson.Value, into any) error {
	value = value.Clone()
	value.Standardize()
	return json.Unmarshal(value.Pack(), into)
}

// insert adds an item behind the last one of the object or list at a path, in the layout of its siblings. A comment that
// stands behind the last one stays on its line.
func (d *document) insert(path []string, new item) {
	in := d.find(path...)
	items, end := contents(in)
	lead, text, tail := " ", d.itemText(new, len(path)+1), string(end)
	var first hujson.Extra
	if len(items) > 0 {
		first = items[0].before
	}
	if len(items) == 0 || bytes.ContainsRune(first, '\n') || strings.Contains(tail, "\n") {
		indent := cmp.Or(lastLineIndent(first), strings.Repeat(d.unit, len(path)+1))
		closing := strings.TrimSuffix(indent, d.unit)
		if len(items) > 0 && strings.Contains(tail, "\n") {
			closing = lastLineIndent(end)
		}
		lead, tail = strings.TrimRight(tail, " \t\r\n")+d.newline+indent, d.newline+closing
	}
	switch n := len(items); {
	case n > 0 && items[n-1].value.AfterExtra != nil: // hujson's sign of a trailing comma
		text += ","
	case n > 0:
		lead = "," + lead
	}
	d.replace(in.EndOffset-1-len(end), in.EndOffset-1, lead+text+tail)
}

func (d *document) itemText(of item, depth int) string {
	text := d.laidOut(of.value, depth)
	if of.label != nil {
		text = string(of.label) + ": " + text
	}
	return text
}

// laidOut lays a value of ours out over several lines; lists of plain values stay on one.
func (d *document) laidOut(value *hujson.Value, depth int) string {
	items, _ := contents(value)
	if len(items) == 0 {
		return strings.TrimSpace(value.String())
	}
	lines := value.Value.Kind() == '{'
	var texts []string
	for _, of := range items {
		texts = append(texts, d.itemText(of, depth+1))
		lines = lines || of.value.Value.Kind() == '{'
	}
	open, separator, closing := "", ", ", ""
	if lines {
		closing = d.newline + strings.Repeat(d.unit, depth)
		open = closing + d.unit
		separator = "," + open
	}
	text := open + strings.Join(texts, separator) + closing
	if value.Value.Kind() == '{' {
		return "{" + text + "}"
	}
	return "[" + text + "]"
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
