package undo

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// maxNeedles is how many texts are looked for in a line; beyond, it takes no longer to parse it.
const maxNeedles = 64

// read gives the records that match in whose lines one of the texts stands, in the order in which they happened. It goes
// through the whole ledger: the index may leave records out, and with them a later change that an undo would overwrite.
func (l *lookup) read(texts []string, matches func(record.Entry) bool) ([]record.Entry, error) {
	var quoted []string
	for _, text := range texts {
		needle, err := jsontext.AppendQuote(nil, text)
		if err != nil {
			needle = []byte(`""`) // no text of a line: any line may be meant
		}
		quoted = append(quoted, string(needle[1:len(needle)-1]))
	}
	var found []record.Entry
	err := l.scan(quoted, func(e record.Entry) {
		if matches(e) {
			found = append(found, e)
		}
	})
	return record.Ordered(found), err
}

// scan reads the ledger lines in which one of the texts stands, and notes those that cannot be read.
func (l *lookup) scan(texts []string, each func(record.Entry)) error {
	var needles [][]byte
	for _, text := range texts {
		needles = append(needles, []byte(text))
	}
	problems, err := l.ledger.ScanLines(l.ctx, func(line []byte) bool {
		return len(needles) > maxNeedles || slices.ContainsFunc(needles, func(needle []byte) bool { return bytes.Contains(line, needle) })
	}, func(e record.Entry) error {
		each(e)
		return nil
	})
	for _, p := range problems {
		if !slices.Contains(l.problems, p) {
			l.problems = append(l.problems, p)
		}
	}
	return err
}

// history gives the records on a path, the oldest first.
func (l *lookup) history(path string) ([]record.Entry, error) {
	if _, known := l.byPath[path]; !known {
		if err := l.readHistories([]string{path}); err != nil {
			return nil, err
		}
	}
	return l.byPath[path], nil
}

// readHistories reads those of several paths at once.
func (l *lookup) readHistories(paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	on := make([]record.Filter, len(paths))
	for i, path := range paths {
		on[i] = record.Filter{Path: path, Kinds: record.ChangeKinds()}
	}
	found, err := l.read(paths, func(e record.Entry) bool {
		return slices.ContainsFunc(on, func(f record.Filter) bool { return f.Matches(e) })
	})
	if err != nil {
		return err
	}
	if l.byPath == nil {
		l.byPath = map[string][]record.Entry{}
	}
	for i, path := range paths {
		l.byPath[path] = slices.DeleteFunc(slices.Clone(found), func(e record.Entry) bool { return !on[i].Matches(e) })
	}
	return nil
}

// readAll reads the histories of the files of changes.
func (l *lookup) readAll(changes []recorded) error {
	var paths []string
	for _, c := range changes {
		for _, f := range c.files {
			paths = append(paths, f.Path)
		}
	}
	slices.Sort(paths)
	return l.readHistories(slices.Compact(paths))
}
