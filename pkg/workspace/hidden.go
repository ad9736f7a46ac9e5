package workspace

import (
	"path"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/gitignore"
)

// rulesLimit bounds a .gitignore file that is read, in bytes.
const rulesLimit = 1 << 20

// Hidden is what git leaves out of its view of a workspace, by the .gitignore files in it. It reads each of them once,
// when it is first asked for, and is for one goroutine.
type Hidden struct {
	w     *Workspace
	rules map[string]gitignore.List
}

// Hidden returns the rules of the .gitignore files as they stand.
func (w *Workspace) Hidden() *Hidden { return &Hidden{w: w, rules: map[string]gitignore.List{}} }

// Hides tells whether a rule matches the path itself or a directory above it.
func (h *Hidden) Hides(name string, isDir bool) bool {
	_, hidden := h.rulesOf(path.Dir(name)).Match(name, isDir)
	return hidden
}

// rulesOf are the rules that hold in a directory: those above it, then its own. Rules that do not parse hide nothing.
func (h *Hidden) rulesOf(dir string) gitignore.List {
	if rules, ok := h.rules[dir]; ok {
		return rules
	}
	var above gitignore.List
	if dir != "." {
		above = h.rulesOf(path.Dir(dir))
	}
	rules := addRules(above, dir, h.read(dir))
	h.rules[dir] = rules
	return rules
}

func (h *Hidden) read(dir string) string {
	target, err := h.w.Resolve(path.Join(dir, ".gitignore"))
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
