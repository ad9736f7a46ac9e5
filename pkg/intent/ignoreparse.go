package intent

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/intentgov/orchestra-mcp/internal/gitignore"
	"github.com/intentgov/orchestra-mcp/internal/lazy"
)

var (
	bareIDPattern    = lazy.Regexp(`^[A-Za-z]+-[0-9]+\z`)
	directivePattern = lazy.Regexp(`^!?([A-Za-z][A-Za-z0-9_-]*)[ \t]*:`)
	trailingComment  = lazy.Regexp(`[ \t]#`)
)

// parseIgnore reads one file; declared tells the ids of intents. On an unclear line the result still holds all the clear
// ones, because read tools go on and secrets must hold; the error names the first unclear line.
func parseIgnore(name string, data []byte, declared func(id string) bool) (ignoreFile, error) {
	file := ignoreFile{name: name}
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return file, &UnreadableError{File: name, Reason: "it is UTF-16; save it as UTF-8"}
	}
	var first error
	text := strings.TrimPrefix(string(data), "\ufeff")
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if err := file.add(n+1, line, declared); err != nil && first == nil {
			first = &UnreadableError{File: name, Line: n + 1, Column: 1, Reason: err.Error()}
		}
	}
	return file, first
}

// add parses one line into the list that it belongs to.
func (f *ignoreFile) add(number int, line string, declared func(id string) bool) error {
	if strings.TrimSpace(line) == "" || line[0] == '#' {
		return nil
	}
	if err := checkLine(line); err != nil {
		return err
	}
	switch bare := withoutComment(line); {
	case ValidID(bare) && declared(bare):
		f.bare = append(f.bare, idRule{bare, number})
		f.approved = append(f.approved, idRule{bare, number})
		return addGlob(&f.paths, number, bare, "/"+bare)
	case bareIDPattern().MatchString(bare):
		f.approved = append(f.approved, idRule{bare, number})
		return nil
	}
	directive, rest := splitDirective(line)
	switch directive {
	case "intent":
		return addID(&f.blocked, number, rest)
	case "approve":
		return addID(&f.approved, number, rest)
	case "secret":
		return addGlob(&f.secrets, number, line, rest)
	case "unscoped":
		return addGlob(&f.unscoped, number, line, rest)
	case "":
		return addGlob(&f.paths, number, line, line)
	default:
		return fmt.Errorf(`unknown directive %q: known are intent:, approve:, secret: and unscoped:; write "\:" if a file `+
			"name is meant", directive+":")
	}
}

// checkLine refuses what no kind of rule may contain.
func checkLine(line string) error {
	if !utf8.ValidString(line) {
		return errors.New("the line is not valid UTF-8")
	}
	for _, r := range line {
		if r < 0x20 || r == 0x7f {
			return errors.New("the line contains a tab or another control character")
		}
	}
	if line[0] == ' ' {
		return errors.New(`the line begins with a space: remove it, or write "\ " if a file name begins with it`)
	}
	return nil
}

// splitDirective cuts a line at the colon of its directive; the directive is empty for a plain glob.
func splitDirective(line string) (directive, rest string) {
	m := directivePattern().FindStringSubmatchIndex(line)
	if m == nil {
		return "", line
	}
	if line[0] == '!' || m[3] != m[1]-1 { // `!intent:X` and `intent :X` are not what they look like
		return line[:m[1]-1], ""
	}
	return line[m[2]:m[3]], strings.TrimLeft(line[m[1]:], " ")
}

// withoutComment cuts a trailing comment and spaces; only IDs can have one.
func withoutComment(text string) string {
	if i := trailingComment().FindStringIndex(text); i != nil {
		text = text[:i[0]]
	}
	return strings.TrimRight(text, " ")
}

func addID(rules *[]idRule, number int, text string) error {
	id := withoutComment(text)
	if !ValidID(id) {
		return fmt.Errorf("%q is not an intent id", id)
	}
	*rules = append(*rules, idRule{id, number})
	return nil
}

func addGlob(rules *gitignore.List, number int, line, glob string) error {
	if trailingComment().MatchString(glob) {
		return errors.New(`a comment needs a line of its own: write "\#" if a file name is meant`)
	}
	rule, ok, err := gitignore.Parse(glob)
	if err != nil {
		return err
	}
	if !ok {
		return errors.New("the rule names nothing")
	}
	rule.Line, rule.Text = number, strings.TrimRight(line, " ")
	*rules = append(*rules, rule)
	return nil
}
