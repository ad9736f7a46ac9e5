package shell

import (
	"strings"
)

// awk judges the text of awk, which can run commands by system, by pipes and by names that are made. A text that is not
// literal is judged as far as it is.
func (r *reader) awk(name string, args []Arg) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		text, operand := "", !a.Begins("-") || a.Text == "-"
		switch {
		case operand:
			text = a.Text
		case a.Text == "--":
		case a.Begins("-f --file -E --exec"):
			return // a script is its own matter
		case Among("-F -v -i -l --assign --field-separator", a.Text):
			i++
		case Among("-e --source", a.Text):
			if i++; i < len(args) {
				text = args[i].Text
			}
		case a.Begins("-e --source="):
			text = strings.TrimPrefix(strings.TrimPrefix(a.Text, "-e"), "--source=")
		}
		if awkRuns(text) {
			r.unjudged("the text of %s runs commands", name)
		}
		if operand {
			return
		}
	}
}

// awkRuns finds system, a pipe or @name( outside of strings, regular expressions and comments.
func awkRuns(text string) bool {
	value := false // what stands before is a value, so that / divides
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == ' ' || c == '\t':
		case c == '"':
			i = skipTo(text, i, '"', false)
			value = true
		case c == '/' && !value:
			i = skipTo(text, i, '/', true)
			value = true
		case c == '#':
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
		case c == '|' && i+1 < len(text) && text[i+1] == '|':
			i++
			value = false
		case c == '|' || c == '@':
			return true
		case isWord(c):
			from := i
			for i+1 < len(text) && isWord(text[i+1]) {
				i++
			}
			word := text[from : i+1]
			if word == "system" {
				return true
			}
			// A regular expression can follow these, and nothing can be divided.
			value = !Among("return in print printf case", word)
		default:
			value = c == ')' || c == ']' || c == '$'
		}
	}
	return false
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// skipTo is where a text in quotes ends that begins at i. Brackets hide the end of a regular expression.
func skipTo(text string, i int, end byte, brackets bool) int {
	for i++; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] == end || text[i] == '\n':
			return i
		case brackets && text[i] == '[':
			if at := closing(text, i); at > 0 {
				i = at
			}
		}
	}
	return i
}

// closing is where a bracket expression ends; 0: nowhere.
func closing(text string, i int) int {
	j := i + 1
	if j < len(text) && text[j] == '^' {
		j++
	}
	for j++; j < len(text) && text[j] != '\n'; j++ {
		if text[j] == ']' {
			return j
		}
	}
	return 0
}

// sed judges the script of sed: the command e and the flag e of s run commands.
func (r *reader) sed(name string, args []Arg) {
	whole := Arg{Exact: true}
	for _, s := range sedScripts(args) {
		if whole.Exact {
			whole = Arg{Text: whole.Text + s.Text + "\n", Exact: s.Exact}
		} else if sedRuns(s.Text, s.Exact) {
			whole = s
			break
		}
	}
	if sedRuns(strings.TrimSuffix(whole.Text, "\n"), whole.Exact) {
		r.unjudged("the script of %s runs commands, or cannot be read", name)
	}
}

// sedScripts are the scripts among sed's arguments; a file of them is its own matter.
func sedScripts(args []Arg) []Arg {
	var scripts, operands []Arg
	given := false
	for i := 0; i < len(args); i++ {
		a := args[i]
		option, takes := sedOption(a)
		text, at := a, i
		if takes && i+1 < len(args) {
			i++
			text = args[i]
		} else if option == 'e' {
			text = Arg{Text: sedValue(a.Text), Exact: a.Exact}
		}
		switch option {
		case 0:
			operands = append(operands, a)
		case 's': // --sandbox: nothing runs
			return nil
		case 'f':
			given = true
		case 'e':
			given = true
			if !takes || i > at {
				scripts = append(scripts, text)
			}
		}
	}
	if given {
		return scripts
	}
	for len(operands) > 0 && operands[0].Exact && operands[0].Text == "" { // of BSD's -i '' the script is the second
		operands = operands[1:]
	}
	return operands[:min(1, len(operands))]
}

// sedOption is which option a word is, 0 for none, '-' for one that does not matter, and whether its value is the next word.
func sedOption(a Arg) (option byte, takes bool) {
	switch {
	case !a.Begins("-") || a.Text == "-":
		return 0, false
	case a.Text == "--sandbox":
		return 's', false
	case a.Begins("--"):
		if len(a.Text) > 2 && strings.IndexByte("efl", a.Text[2]) >= 0 && !a.Begins("--fo") {
			return a.Text[2], !strings.Contains(a.Text, "=")
		}
		return '-', false
	}
	at := strings.IndexAny(a.Text[1:], "efil") + 1
	if at == 0 || a.Text[at] == 'i' {
		return '-', false
	}
	return a.Text[at], at+1 == len(a.Text) && a.Exact
}

// sedValue is what stands behind -e or --expression= in the same word.
func sedValue(text string) string {
	if strings.HasPrefix(text, "--") {
		_, text, _ = strings.Cut(text, "=")
		return text
	}
	return text[strings.IndexByte(text, 'e')+1:]
}

// sedRuns reads a script of sed. What is not known counts as running commands, unless the script was cut short.
func sedRuns(text string, whole bool) bool {
	s := &sedScript{text: text}
	for {
		s.skip(" \t\n;")
		if s.at >= len(s.text) {
			return false
		}
		if !s.address() {
			return whole || s.at < len(s.text)
		}
		s.skip(" \t!")
		if s.at >= len(s.text) {
			return whole
		}
		c := s.text[s.at]
		s.at++
		switch {
		case c == 'e':
			return true
		case strings.IndexByte("{}=dDgGhHnNpPxzF", c) >= 0:
		case strings.IndexByte("lLqQ", c) >= 0:
			s.skip(" 0123456789")
		case strings.IndexByte("#:btTrRwWvaic", c) >= 0:
			s.line(c)
		case c == 's' || c == 'y':
			if !s.parts() {
				return whole || s.at < len(s.text)
			}
			if c == 's' && s.flags() {
				return true
			}
		default:
			return true
		}
	}
}

type sedScript struct {
	text string
	at   int
}

func (s *sedScript) skip(set string) {
	for s.at < len(s.text) && strings.IndexByte(set, s.text[s.at]) >= 0 {
		s.at++
	}
}

// address skips the addresses before a command; false: one does not end.
func (s *sedScript) address() bool {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case strings.IndexByte("0123456789$,+~ \t", c) >= 0:
			s.at++
		case c == '/':
			s.at++
			if !s.expression('/') {
				return false
			}
			s.skip("IM")
		case c == '\\' && s.at+1 < len(s.text):
			delimiter := s.text[s.at+1]
			s.at += 2
			if !s.expression(delimiter) {
				return false
			}
			s.skip("IM")
		default:
			return true
		}
	}
	return true
}

// expression skips a regular expression and its end. A newline in it is no end for s, and none is found for an address.
func (s *sedScript) expression(delimiter byte) bool {
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '\\':
			s.at++
		case c == delimiter:
			s.at++
			return true
		case c == '[':
			if at := closing(s.text, s.at); at > 0 {
				s.at = at
			}
		}
	}
	return false
}

// parts skips /…/…/ of s and y.
func (s *sedScript) parts() bool {
	if s.at >= len(s.text) {
		return false
	}
	delimiter := s.text[s.at]
	s.at++
	if !s.expression(delimiter) {
		return false
	}
	for ; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '\\':
			s.at++
		case delimiter:
			s.at++
			return true
		}
	}
	return false
}

// flags skips those of s, and reports whether the result runs.
func (s *sedScript) flags() bool {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == 'e':
			return true
		case c == 'w':
			s.line(c)
			return false
		case strings.IndexByte("gpiImM0123456789", c) >= 0:
			s.at++
		default:
			return false
		}
	}
	return false
}

// line skips what a command takes to the end of its line, and of a, i and c the lines that go on. Labels end at a
// semicolon too in some seds, so what follows one is read.
func (s *sedScript) line(c byte) {
	for ; s.at < len(s.text); s.at++ {
		switch {
		case s.text[s.at] == '\\' && strings.IndexByte("aic", c) >= 0:
			s.at++
		case s.text[s.at] == '\n':
			return
		case strings.IndexByte(";}", s.text[s.at]) >= 0 && strings.IndexByte("btT:", c) >= 0:
			return
		}
	}
}
