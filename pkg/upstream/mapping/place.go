package mapping

import (
	"errors"
	"fmt"
	"strings"
)

// Limits of one place.
const (
	maxPlace = 256
	maxSteps = 16
)

// element is the step to each element of a list.
const element = "[]"

// steps splits a place: edits[].path is edits, [], path.
func steps(place string) ([]string, error) {
	if len(place) > maxPlace {
		return nil, fmt.Errorf("a place of an argument has more than %d bytes", maxPlace)
	}
	var all []string
	for member := range strings.SplitSeq(place, ".") {
		name := strings.TrimRight(member, element)
		lists := strings.Count(member, element)
		if name == "" || strings.ContainsAny(name, "[]") || name+strings.Repeat(element, lists) != member {
			return nil, fmt.Errorf("%q is no place of an argument: write it as path, a.b, files[] or edits[].path", place)
		}
		all = append(all, name)
		for range lists {
			all = append(all, element)
		}
	}
	if len(all) > maxSteps {
		return nil, fmt.Errorf("%q has more than %d steps", place, maxSteps)
	}
	return all, nil
}

// place is what the arguments can have at one point: a mapped text, members or elements that are mapped, or some of them.
type place struct {
	kinds    []kind
	members  map[string]*place
	elements *place
}

// at makes the place that steps lead to.
func (p *place) at(steps []string) *place {
	for _, step := range steps {
		switch {
		case step == element && p.elements == nil:
			p.elements = new(place)
			p = p.elements
		case step == element:
			p = p.elements
		case p.members[step] == nil:
			if p.members == nil {
				p.members = map[string]*place{}
			}
			p.members[step] = new(place)
			p = p.members[step]
		default:
			p = p.members[step]
		}
	}
	return p
}

// twin is the member whose name is this one but for the case of letters: some servers would take it for the mapped one.
func (p *place) twin(name string) (string, bool) {
	for member := range p.members {
		if strings.EqualFold(member, name) {
			return member, true
		}
	}
	return "", false
}

// wanted says what a place takes.
func (p *place) wanted() string {
	var forms []string
	if len(p.kinds) > 0 {
		forms = append(forms, "text")
	}
	if p.elements != nil {
		forms = append(forms, "a list")
	}
	if p.members != nil {
		forms = append(forms, "an object")
	}
	return strings.Join(forms, " or ")
}

// kind is what a mapped text is.
type kind int

const (
	reads kind = iota
	writes
	deletes
	commands
	urls
)

// maxValue bounds a value by its kind: a longer path cannot be opened, a longer command not be run.
func (k kind) maxValue() int {
	switch k {
	case commands:
		return 128 << 10
	case urls:
		return 1 << 20
	}
	return 4096
}

// add takes a value into the targets.
func (t *Targets) add(k kind, argument, value string) error {
	if len(value) > k.maxValue() {
		return fmt.Errorf("has more than %d bytes", k.maxValue())
	}
	switch k {
	case commands:
		t.Commands = append(t.Commands, Target{argument, value})
		return nil
	case urls:
		address, file, err := readURL(value)
		if file != "" {
			t.Reads = append(t.Reads, Target{argument, file})
		} else if err == nil {
			t.URLs = append(t.URLs, Target{argument, address})
		}
		return err
	}
	name, err := readPath(value)
	if err != nil {
		return err
	}
	switch target := (Target{argument, name}); k {
	case reads:
		t.Reads = append(t.Reads, target)
	case writes:
		t.Writes = append(t.Writes, target)
	case deletes:
		t.Deletes = append(t.Deletes, target)
	}
	return nil
}

// readPath is a path as it stands, or that of a file URL.
func readPath(value string) (string, error) {
	switch scheme, rest := cutScheme(value); {
	case value == "":
		return "", errors.New("is empty; leave it out or name a path")
	case strings.ContainsRune(value, 0):
		return "", errors.New("has a zero byte")
	case scheme == "file":
		return filePath(rest)
	}
	return value, nil
}
