package intent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/orchdir"
	"gopkg.in/yaml.v3"
)

// edit is a change of the file's text: the forms it could take, best first, and what it has to mean. The first form
// that parses to what is meant is taken.
type edit struct {
	forms  [][]byte // none: nothing to change
	verify func(before, after *document) error
}

// SetStatus gives an intent another status. An intent that becomes IN_PROGRESS for the first time gets started_at.
func (s *Store) SetStatus(ctx context.Context, id string, status Status, at time.Time) (*Set, error) {
	if _, ok := ParseStatus(string(status)); !ok {
		return nil, fmt.Errorf("%w: %q is not a status", ErrInvalid, status)
	}
	return s.edit(ctx, func(doc *document, src *source) (edit, error) {
		return statusEdit(doc, src, id, status, at.UTC().Truncate(time.Second))
	})
}

// AddScope adds globs to the owned_scope of an intent; those that stand there already are left out. An intent without
// scope is ErrUnrestricted.
func (s *Store) AddScope(ctx context.Context, id string, globs []string) (*Set, error) {
	if _, err := CompileScope(globs); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrInvalid, err)
	}
	return s.edit(ctx, func(doc *document, src *source) (edit, error) {
		return scopeEdit(doc, src, id, globs)
	})
}

// Add appends an intent to the file.
func (s *Store) Add(ctx context.Context, in Intent) (*Set, error) {
	return s.edit(ctx, func(doc *document, src *source) (edit, error) {
		return addEdit(doc, src, in)
	})
}

// AddNext is Add for an intent whose id is the next free one, in the form that the file's ids have (INT-001 in a file
// without any). It returns the id.
func (s *Store) AddNext(ctx context.Context, in Intent) (*Set, string, error) {
	set, err := s.edit(ctx, func(doc *document, src *source) (edit, error) {
		in.ID = doc.nextID()
		return addEdit(doc, src, in)
	})
	return set, in.ID, err
}

// edit changes the file, starting again where another program saves in between.
func (s *Store) edit(ctx context.Context, change func(*document, *source) (edit, error)) (*Set, error) {
	return s.mutate(ctx, func(old []byte) (*document, []byte, error) { return rewrite(old, change) })
}

// mutate replaces the file by what change makes of its text. It is called again where another program saves in between.
func (s *Store) mutate(ctx context.Context, change func(old []byte) (*document, []byte, error)) (*Set, error) {
	var result *document
	file := orchdir.File{Root: s.root, Name: fileName, Limit: maxFileBytes}
	err := orchdir.Rewrite(ctx, file, func(old []byte) (text []byte, err error) {
		if old == nil {
			return nil, ErrNotInitialized
		}
		result, text, err = change(old)
		return text, err
	})
	switch {
	case errors.Is(err, orchdir.ErrBusy):
		return nil, ErrBusy
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNotInitialized
	case errors.Is(err, orchdir.ErrNotRegular), errors.Is(err, orchdir.ErrNotDirectory),
		errors.Is(err, orchdir.ErrTooLarge):
		return nil, unreadableFile(filePath, err)
	case err != nil:
		return nil, err
	}
	rules, _ := s.Ignore() // an unclear rule is Load's to report; the change has been made
	return newSet(result, rules), nil
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
