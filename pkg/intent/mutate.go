package intent

import (
	"errors"
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"
)

// edit is a change of the file's text: the forms it could take, best first, and what it has to mean. The first form
// that parses to what is meant is taken.
type edit struct {
	forms  [][]byte // none: nothing to change
	verify func(before, after *document) error
}

// rewrite returns what the file says after the change, and its text; no text means that there is nothing to change.
func rewrite(old []byte, change func(*document, *source) (edit, error)) (*document, []byte, error) {
	before, err := decodeFile(old)
	if err != nil {
		return nil, nil, err
	}
	e, err := change(before, newSource(old))
	if err != nil || len(e.forms) == 0 {
		return before, nil, err
	}
	text, after, err := e.choose(before)
	return after, text, err
}

// choose returns the first form that means what it should.
func (e edit) choose(before *document) ([]byte, *document, error) {
	var reason error
	for _, text := range e.forms {
		after, err := decodeFile(text)
		if err == nil {
			err = sameElsewhere(before, after)
		}
		if err == nil {
			err = e.verify(before, after)
		}
		if err == nil {
			return text, after, nil
		}
		if reason == nil {
			reason = err
		}
	}
	return nil, nil, fmt.Errorf("%w (%v)", ErrLayout, reason)
}

// sameElsewhere checks that nothing but the list of intents changed.
func sameElsewhere(before, after *document) error {
	if before.root == nil {
		return nil
	}
	was, err := restVersion(before.root, before.listKey.Value)
	if err != nil {
		return err
	}
	is, err := restVersion(after.root, before.listKey.Value)
	if err != nil {
		return err
	}
	if was != is {
		return errors.New("another key would change")
	}
	return nil
}

// sameIntents checks that all intents are as they were, in their order, except the one given, of which all keys but
// those given must be as they were; -1 excepts none. After may have one more, which the caller checks.
func sameIntents(before, after *document, except int, keys ...string) error {
	if len(after.intents) < len(before.intents) {
		return errors.New("an intent would be lost")
	}
	added := newIntentIndex(before, after)
	others := after.intents
	if added >= 0 {
		others = slices.Delete(slices.Clone(others), added, added+1)
	}
	for i, was := range before.intents {
		if others[i].ID != was.ID || (i != except && others[i].Version() != was.Version()) {
			return fmt.Errorf("%s would change", was.ID)
		}
	}
	if except < 0 {
		return nil
	}
	was, err := restVersion(deref(before.nodes[except]), keys...)
	if err != nil {
		return err
	}
	is, err := restVersion(deref(after.nodes[except]), keys...)
	if err == nil && was != is {
		err = fmt.Errorf("another key of %s would change", before.intents[except].ID)
	}
	return err
}

// newIntentIndex returns the index of the one intent that after has more, or -1.
func newIntentIndex(before, after *document) int {
	if len(after.intents) != len(before.intents)+1 {
		return -1
	}
	for i, in := range after.intents {
		if i == len(before.intents) || before.intents[i].ID != in.ID {
			return i
		}
	}
	return -1
}

// restVersion hashes a mapping without the named keys, in either spelling.
func restVersion(mapping *yaml.Node, keys ...string) (string, error) {
	rest := &yaml.Node{Kind: yaml.MappingNode, Tag: mapping.Tag}
	for i := 0; i < len(mapping.Content); i += 2 {
		if name, _ := matchKey(mapping.Content[i].Value, keys); name == "" {
			rest.Content = append(rest.Content, mapping.Content[i], mapping.Content[i+1])
		}
	}
	var d decoder
	return d.version(rest)
}

// find returns the index of an intent whose mapping can be edited.
func (d *document) find(id string) (int, error) {
	i := slices.IndexFunc(d.intents, func(in *Intent) bool { return in.ID == id })
	if i < 0 {
		return 0, fmt.Errorf("%w: %s", ErrUnknownIntent, id)
	}
	if d.nodes[i].Kind != yaml.MappingNode {
		return 0, fmt.Errorf("%w (%s is an alias)", ErrLayout, id)
	}
	return i, nil
}
