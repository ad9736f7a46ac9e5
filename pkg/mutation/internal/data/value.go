// Package data judges changes of JSON, YAML and TOML: by value, not by layout.
//
// It promises that what it calls proven is read as the same value by every reader that follows the format, whichever of
// the versions in use it follows: the same strings, numbers in the same spelling (TOML: of the same kind and value),
// lists in the same order, and the same keys, whose order means nothing in these formats. Where versions or readers
// differ, and where a key stands twice, nothing is proven. What a program makes of the order of keys all the same is
// not known here.
package data

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// value is a piece of a document.
type value struct {
	kind kind
	// text is what a scalar is compared by.
	text string
	line int
	// items are those of a list.
	items []value
	// entries are those of an object, in the order of the document.
	entries []entry
	// ordered objects are compared with the order of their keys.
	ordered bool
}

type kind string

const (
	object kind = "object"
	list   kind = "list"
	scalar kind = "value"
)

type entry struct {
	key   string // as it is compared
	shown string
	value value
}

// difference is the first place where two values are not the same.
type difference struct {
	path string
	key  string // the last one of path
	line int
	why  string
}

// differ compares two values; nil if they are the same.
func differ(before, after value, path string) *difference {
	switch {
	case before.kind != after.kind:
		return &difference{path: path, line: after.line, why: fmt.Sprintf("the %s became a %s", before.kind, after.kind)}
	case before.kind == list:
		return differLists(before, after, path)
	case before.kind == object:
		return differObjects(before, after, path)
	case before.text != after.text:
		return &difference{path: path, line: after.line, why: "the value changed"}
	}
	return nil
}

func differLists(before, after value, path string) *difference {
	for i := range min(len(before.items), len(after.items)) {
		if d := differ(before.items[i], after.items[i], path+"["+strconv.Itoa(i)+"]"); d != nil {
			return d
		}
	}
	if len(before.items) != len(after.items) {
		return &difference{path: path, line: after.line, why: fmt.Sprintf("the list has %d items instead of %d", len(after.items), len(before.items))}
	}
	return nil
}

func differObjects(before, after value, path string) *difference {
	b, a := before.entries, after.entries
	if !before.ordered && !after.ordered {
		b, a = sorted(b), sorted(a)
	}
	for i := range min(len(b), len(a)) {
		if b[i].key != a[i].key {
			return &difference{path: path, line: a[i].value.line, why: missing(b, a, before.ordered || after.ordered)}
		}
		if d := differ(b[i].value, a[i].value, join(path, a[i].shown)); d != nil {
			d.key = cmp.Or(d.key, a[i].shown)
			return d
		}
	}
	if len(b) != len(a) {
		return &difference{path: path, line: after.line, why: missing(b, a, before.ordered || after.ordered)}
	}
	return nil
}

func missing(before, after []entry, ordered bool) string {
	has := func(list []entry, key string) bool {
		return slices.ContainsFunc(list, func(e entry) bool { return e.key == key })
	}
	for _, e := range after {
		if !has(before, e.key) {
			return "the key " + short(e.shown) + " was added"
		}
	}
	for _, e := range before {
		if !has(after, e.key) {
			return "the key " + short(e.shown) + " was removed"
		}
	}
	if ordered {
		return "the order of the keys changed, and may mean something here"
	}
	return "the keys are not the same"
}

func sorted(entries []entry) []entry {
	return slices.SortedFunc(slices.Values(entries), func(x, y entry) int { return cmp.Compare(x.key, y.key) })
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// shownRunes is how much of a value a reason shows.
const shownRunes = 40

func short(text string) string {
	if runes := []rune(text); len(runes) > shownRunes {
		text = string(runes[:shownRunes]) + "…"
	}
	return strconv.Quote(text)
}

// reader makes the value of a document, or says why it cannot be compared.
type reader func(ctx context.Context, path string, content []byte, limits verdict.Limits) (value, error)

// judge compares each file by itself.
func judge(ctx context.Context, files []verdict.File, limits verdict.Limits, read reader) verdict.Verdict {
	for _, f := range files {
		if v, unpaired := f.Unpaired("who reads it at"); unpaired {
			return v
		}
		before, err := read(ctx, f.Path, f.Before, limits)
		if err != nil {
			return verdict.Unprovenf(f.Path, 0, "before the change: %v", err)
		}
		after, err := read(ctx, f.Path, f.After, limits)
		if err != nil {
			return verdict.Unprovenf(f.Path, 0, "%v", err)
		}
		if d := differ(before, after, ""); d != nil {
			if d.line == 0 && d.key != "" {
				d.line = lineOfKey(f.After, d.key)
			}
			return verdict.Unprovenf(f.Path, d.line, "%s%s", where(d.path), d.why)
		}
	}
	return verdict.Verdict{Evidence: verdict.Proven}
}

func where(path string) string {
	if path == "" {
		return ""
	}
	if runes := []rune(path); len(runes) > 2*shownRunes {
		path = "…" + string(runes[len(runes)-2*shownRunes:])
	}
	return "at " + strconv.Quote(path) + " "
}
