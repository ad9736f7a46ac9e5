// Package gitignore reads rules in the syntax of .gitignore files and matches paths as git does.
//
// It promises git's meaning: the last matching rule of a list wins, `!` negates, a rule with a slash before its end is
// anchored, one without matches a name at any depth, a slash at the end limits a rule to directories, and what lies
// below a matching directory matches, whatever later rules say about it. It departs from git in one way: a rule that
// git would silently never match (an unclosed class, a backslash at the end, `..`) is an error, because a rule that
// protects nothing is worse than no rule. A path costs one pass over its segments per rule, whatever its names are.
//
// The known libraries were tried for this and fail open: one matches `**` greedily without going back (`**/a/b` misses
// `a/x/a/b`), knows no `[!x]` and drops patterns that it cannot compile; the other reads `?` as a literal.
package gitignore

import (
	"errors"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/pathglob"
)

// Rule is one line of a list.
type Rule struct {
	// Line is the caller's: the number of the line that the rule came from.
	Line int
	// Text is the rule as written, without its trailing spaces.
	Text string

	pattern *pathglob.Pattern
	negate  bool
	dirOnly bool
}

// Negated reports whether the rule begins with `!`.
func (r Rule) Negated() bool { return r.negate }

// Parse reads one line without its line ending. It reports false for a blank line or a comment.
func Parse(line string) (Rule, bool, error) { return ParseIn(".", line) }

var escapes = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// ParseIn is Parse for a line of the list of a directory, whose rules are for paths below it; "." is the root.
func ParseIn(dir, line string) (Rule, bool, error) {
	line = trimSpaces(line)
	if line == "" || line[0] == '#' {
		return Rule{}, false, nil
	}
	r := Rule{Text: line}
	body := line
	if body[0] == '!' {
		r.negate, body = true, body[1:]
	}
	if strings.HasSuffix(body, "/") && !strings.HasSuffix(body, `\/`) {
		r.dirOnly, body = true, body[:len(body)-1]
	}
	if strings.Trim(body, "/") == "" {
		return Rule{}, false, errors.New("the rule names nothing")
	}
	body = anchor(body)
	if dir != "." {
		body = escapes.Replace(dir) + "/" + body
	}
	var err error
	r.pattern, err = pathglob.Compile(body)
	return r, err == nil, err
}

// anchor translates a rule's body into a pattern that is anchored at the root.
func anchor(body string) string {
	rooted := strings.Contains(body, "/")
	body = strings.TrimPrefix(body, "/")
	switch {
	case body == "**" || body == "**/**":
		return "**/*"
	case strings.HasSuffix(body, "/**"): // everything inside, not the directory itself
		return body + "/*"
	case rooted:
		return body
	default:
		return "**/" + body
	}
}

// trimSpaces drops trailing spaces that are not escaped.
func trimSpaces(line string) string {
	end := len(line)
	for end > 0 && line[end-1] == ' ' {
		end--
	}
	escapes := 0
	for i := end - 1; i >= 0 && line[i] == '\\'; i-- {
		escapes++
	}
	if escapes%2 == 1 && end < len(line) {
		end++
	}
	return line[:end]
}

// List is an ordered list of rules.
type List []Rule

// Match returns the rule that makes the path ignored, if one does. The path is clean and slash-separated; isDir says
// whether it is a directory, all its parents are.
func (l List) Match(path string, isDir bool) (Rule, bool) {
	if len(l) == 0 || path == "." || path == "" {
		return Rule{}, false
	}
	states := make([]pathglob.State, len(l))
	for i := range l {
		states[i] = l[i].pattern.Start()
	}
	for rest, more := path, true; more; {
		var name string
		name, rest, more = strings.Cut(rest, "/")
		if hit := l.step(states, name, more || isDir); hit >= 0 && !l[hit].negate {
			return l[hit], true
		}
	}
	return Rule{}, false
}

// step advances every rule by one name and returns the last rule that matches there, or -1.
func (l List) step(states []pathglob.State, name string, isDir bool) int {
	hit := -1
	for i := range l {
		states[i] = l[i].pattern.Step(states[i], name)
		if l[i].pattern.Accepts(states[i]) && (isDir || !l[i].dirOnly) {
			hit = i
		}
	}
	return hit
}

// At is a list in one directory, for who goes through a tree: a name there costs one comparison per rule, however deep the
// directory is. It is immutable and safe for concurrent use.
type At struct {
	list   List
	states []pathglob.State // of each rule, behind the directory's path
	hidden bool             // the directory itself matches, or one above it
}

// At gives the list for what is in a directory, whose path is clean; "." is the root.
func (l List) At(dir string) At {
	a := At{list: l, states: make([]pathglob.State, len(l))}
	for i := range l {
		a.states[i] = l[i].pattern.Start()
	}
	if dir == "." || len(l) == 0 {
		return a
	}
	for name := range strings.SplitSeq(dir, "/") {
		hit := l.step(a.states, name, true)
		a.hidden = a.hidden || hit >= 0 && !l[hit].negate
	}
	return a
}

// List are the rules.
func (a At) List() List { return a.list }

// Enter gives the list for what is in a directory of this one.
func (a At) Enter(name string) At {
	if len(a.list) == 0 {
		return a
	}
	child := At{list: a.list, states: slices.Clone(a.states)}
	hit := a.list.step(child.states, name, true)
	child.hidden = a.hidden || hit >= 0 && !a.list[hit].negate
	return child
}

// Within is Enter without the rules that can match nothing in there any more; List has the others.
func (a At) Within(name string) At {
	child := At{hidden: a.hidden}
	hit := -1
	for i := range a.list {
		state := a.list[i].pattern.Step(a.states[i], name)
		if state == 0 {
			continue
		}
		if a.list[i].pattern.Accepts(state) {
			hit = i
		}
		child.list, child.states = append(child.list, a.list[i]), append(child.states, state)
	}
	child.hidden = a.hidden || hit >= 0 && !a.list[hit].negate
	return child
}

// Names gives the names in the directory that a rule can match, or of which one leads to what it can; with open any name can be one.
func (a At) Names() (names []string, open bool) {
	open = a.hidden
	for i := range a.list {
		some, any := a.list[i].pattern.Next(a.states[i])
		names, open = append(names, some...), open || any
	}
	return names, open
}

// Idle reports whether nothing in the directory, however deep, is ignored.
func (a At) Idle() bool { return len(a.list) == 0 && !a.hidden }

// Match tells whether a name in the directory is ignored, as List.Match does for its whole path.
func (a At) Match(name string, isDir bool) bool {
	if a.hidden {
		return true
	}
	for i := range slices.Backward(a.list) { // the last rule that matches decides
		rule := &a.list[i]
		if (isDir || !rule.dirOnly) && rule.pattern.Accepts(rule.pattern.Step(a.states[i], name)) {
			return !rule.negate
		}
	}
	return false
}
