package seatbelttest

import (
	"fmt"
	"regexp"
	"strings"
)

// Profile is one that was read.
type Profile struct {
	rules      []rule
	parameters map[string]string
	used       map[string]bool
	// Literals are all strings of the text itself.
	Literals []string
}

type rule struct {
	allow      bool
	operations []string
	filters    []filter // one has to match; none matches everything
}

type filter func(s Subject) bool

// Subject is what an operation is done to.
type Subject struct{ Path string }

// node is a list, or one word or string.
type node struct {
	list []node
	text string
	kind byte // '(' a list, 'w' a word, 's' a string, 'r' a raw one
}

// Read reads a text with its parameters, KEY=value.
func Read(text string, parameters []string) (*Profile, error) {
	p := &Profile{parameters: map[string]string{}, used: map[string]bool{}}
	for _, parameter := range parameters {
		key, value, ok := strings.Cut(parameter, "=")
		if _, twice := p.parameters[key]; !ok || twice || !regexp.MustCompile(`^[A-Z][0-9]+$`).MatchString(key) {
			return nil, fmt.Errorf("the parameter %q", parameter)
		}
		p.parameters[key] = value
	}
	nodes, rest, err := p.nodes(text, false)
	if err != nil || rest != "" {
		return nil, fmt.Errorf("%w before %.40q", err, rest)
	}
	if len(nodes) < 2 || flat(nodes[0]) != "(version 1)" || flat(nodes[1]) != "(deny default)" {
		return nil, fmt.Errorf("it does not begin with a version and a deny")
	}
	for _, n := range nodes[2:] {
		if err := p.rule(n); err != nil {
			return nil, fmt.Errorf("%s: %w", flat(n), err)
		}
	}
	for key := range p.parameters {
		if !p.used[key] {
			return nil, fmt.Errorf("the parameter %s is used nowhere", key)
		}
	}
	return p, p.unclear()
}

func flat(n node) string {
	if n.kind != '(' {
		return n.text
	}
	var words []string
	for _, inner := range n.list {
		words = append(words, flat(inner))
	}
	return "(" + strings.Join(words, " ") + ")"
}

// nodes reads up to the end of a list, or of the text.
func (p *Profile) nodes(text string, inside bool) (all []node, rest string, err error) {
	for {
		text = strings.TrimLeft(text, " \n")
		switch {
		case text == "" && !inside:
			return all, "", nil
		case text == "":
			return nil, "", fmt.Errorf("a list has no end")
		case text[0] == ')' && inside:
			return all, text[1:], nil
		case text[0] == '(':
			var list []node
			if list, text, err = p.nodes(text[1:], true); err != nil {
				return nil, text, err
			}
			all = append(all, node{list: list, kind: '('})
		case strings.HasPrefix(text, `#"`), text[0] == '"':
			n := node{kind: 's'}
			if text[0] == '#' {
				n.kind, text = 'r', text[1:]
			}
			content, after, ok := strings.Cut(text[1:], `"`)
			if !ok || strings.ContainsAny(content, "\\\n") {
				return nil, text, fmt.Errorf("a string has no end, or an escape")
			}
			p.Literals = append(p.Literals, content)
			n.text, text = content, after
			all = append(all, n)
		default:
			word := regexp.MustCompile(`^[a-zA-Z0-9_*-]+`).FindString(text)
			if word == "" {
				return nil, text, fmt.Errorf("no word")
			}
			all, text = append(all, node{text: word, kind: 'w'}), text[len(word):]
		}
	}
}

func (p *Profile) rule(n node) error {
	if n.kind != '(' || len(n.list) < 2 || n.list[0].text != "allow" && n.list[0].text != "deny" {
		return fmt.Errorf("no rule")
	}
	r := rule{allow: n.list[0].text == "allow"}
	for _, inner := range n.list[1:] {
		if inner.kind == 'w' && len(r.filters) == 0 {
			r.operations = append(r.operations, inner.text)
			continue
		}
		f, err := p.filter(inner)
		if err != nil {
			return err
		}
		r.filters = append(r.filters, f)
	}
	if len(r.operations) == 0 {
		return fmt.Errorf("no operation")
	}
	p.rules = append(p.rules, r)
	return nil
}

// value is a string, or that of a parameter.
func (p *Profile) value(n node) (string, error) {
	if n.kind == 's' {
		return n.text, nil
	}
	if n.kind == '(' && len(n.list) == 2 && n.list[0].text == "param" && n.list[1].kind == 's' {
		value, is := p.parameters[n.list[1].text]
		if p.used[n.list[1].text] = true; is {
			return value, nil
		}
	}
	return "", fmt.Errorf("no value: %s", flat(n))
}

// other are the filters for other things than files, which match none.
const other = " target global-name sysctl-name sysctl-name-prefix ipc-posix-name socket-domain remote local "

func (p *Profile) filter(n node) (filter, error) {
	if n.kind != '(' || len(n.list) < 2 || n.list[0].kind != 'w' {
		return nil, fmt.Errorf("no filter: %s", flat(n))
	}
	kind, rest := n.list[0].text, n.list[1:]
	switch kind {
	case "require-all", "require-not":
		return p.composed(kind, rest)
	case "regex":
		pattern, err := regexp.Compile(rest[0].text)
		if err != nil || rest[0].kind != 'r' || len(rest) != 1 {
			return nil, fmt.Errorf("no pattern: %w", err)
		}
		return func(s Subject) bool { return pattern.MatchString(latin(s.Path)) }, nil
	case "literal", "subpath":
		path, err := p.value(rest[0])
		if err != nil || len(rest) != 1 {
			return nil, fmt.Errorf("no path: %w", err)
		}
		return func(s Subject) bool {
			return s.Path == path || kind == "subpath" && strings.HasPrefix(s.Path, strings.TrimSuffix(path, "/")+"/")
		}, nil
	}
	if !strings.Contains(other, " "+kind+" ") {
		return nil, fmt.Errorf("no filter is called %s", kind)
	}
	for _, inner := range rest { // the paths of sockets
		if inner.kind == '(' && len(inner.list) == 2 {
			if _, err := p.value(inner.list[1]); err != nil {
				return nil, err
			}
		}
	}
	if inner := rest[len(rest)-1]; inner.kind == '(' {
		if _, err := p.filter(inner); err != nil {
			return nil, err
		}
	}
	return func(Subject) bool { return false }, nil
}

// latin has each byte as one character: patterns look at bytes.
func latin(text string) string {
	runes := make([]rune, len(text))
	for i := range len(text) {
		runes[i] = rune(text[i])
	}
	return string(runes)
}

func (p *Profile) composed(kind string, inner []node) (filter, error) {
	var all []filter
	for _, n := range inner {
		f, err := p.filter(n)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	if kind == "require-not" {
		if len(all) != 1 {
			return nil, fmt.Errorf("require-not of %d", len(all))
		}
		return func(s Subject) bool { return !all[0](s) }, nil
	}
	return func(s Subject) bool {
		for _, f := range all {
			if !f(s) {
				return false
			}
		}
		return true
	}, nil
}
