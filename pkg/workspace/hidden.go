package workspace

import (
	"path"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/gitignore"
)

const (
	rulesFile = ".gitignore"
	// rulesLimit bounds a .gitignore file that is read, in bytes.
	rulesLimit = 1 << 20
)

// rulesAbove are the rules of the .gitignore files in the directories above one, as they hold in it. Rules that do not parse
// hide nothing.
func (w *Workspace) rulesAbove(dir string) gitignore.At {
	var rules gitignore.List
	above := ""
	for name := range strings.SplitSeq(dir, "/") {
		if dir == "." {
			break
		}
		rules = addRules(rules, path.Clean(above), w.readRules(path.Join(above, rulesFile)))
		above = path.Join(above, name)
	}
	return rules.At(dir)
}

// rulesIn are the rules for what is in a directory, from those of the directories above and the names in it.
func (w *Workspace) rulesIn(dir *durable.Dir, at string, names []durable.Name, above gitignore.At) gitignore.At {
	i, is := slices.BinarySearchFunc(names, rulesFile, func(n durable.Name, name string) int { return strings.Compare(n.Name, name) })
	if !is {
		return above
	}
	var text string
	if names[i].Type.IsRegular() {
		if content, err := readFile(dir, rulesFile, rulesLimit); err == nil {
			text = string(content.Bytes)
		}
	} else {
		text = w.readRules(path.Join(at, rulesFile)) // a link may lead to one
	}
	if text == "" {
		return above
	}
	return addRules(above.List(), at, text).At(at)
}

func (w *Workspace) readRules(name string) string {
	target, err := w.Resolve(name)
	if err != nil {
		return ""
	}
	defer target.Close()
	content, err := target.Read(rulesLimit)
	if err != nil {
		return ""
	}
	return string(content.Bytes)
}

// addRules gives the rules of a directory, from those above it and the text of its own file.
func addRules(above gitignore.List, dir, text string) gitignore.List {
	rules := above[:len(above):len(above)]
	for line := range strings.Lines(text) {
		if rule, ok, err := gitignore.ParseIn(dir, strings.TrimRight(line, "\r\n")); ok && err == nil {
			rules = append(rules, rule)
		}
	}
	return rules
}
