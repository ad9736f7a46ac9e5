package intent

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/intentgov/orchestra-mcp/internal/orchdir"
)

// FilePath is where the intents stand, relative to the workspace.
const FilePath = filePath

// Plan is a change of active_intents.yaml that is worked out and not made, so that somebody can look at it, and a
// journal can name it, before it is. It is bound to the text that it was worked out on.
type Plan struct {
	// Before and After are the file's whole text. They are equal where there is nothing to change.
	Before, After []byte
	result        *document
}

// Changes reports whether the file would be another one.
func (p *Plan) Changes() bool { return !bytes.Equal(p.Before, p.After) }

// Inverse is the plan of taking the change back.
func (p *Plan) Inverse() (*Plan, error) {
	before, err := decodeFile(p.Before)
	return &Plan{Before: p.After, After: p.Before, result: before}, err
}

// Hashes are those of the texts, as sha256: and 64 hex digits.
func (p *Plan) Hashes() (before, after string) { return contentHash(p.Before), contentHash(p.After) }

// PlanStatus works out how to give an intent another status. One that becomes IN_PROGRESS for the first time gets started_at.
func (s *Store) PlanStatus(id string, status Status, at time.Time) (*Plan, error) {
	if _, ok := ParseStatus(string(status)); !ok {
		return nil, fmt.Errorf("%w: %q is not a status", ErrInvalid, status)
	}
	return s.plan(func(doc *document) (candidates, error) {
		return doc.statusEdit(id, status, at.UTC().Truncate(time.Second))
	})
}

// PlanScope works out how to add globs to the owned_scope of an intent; those that stand there already are left out. An
// intent without scope is ErrUnrestricted.
func (s *Store) PlanScope(id string, globs []string) (*Plan, error) {
	if _, err := CompileScope(globs); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrInvalid, err)
	}
	return s.plan(func(doc *document) (candidates, error) { return doc.scopeEdit(id, globs) })
}

// PlanAdd works out how to append an intent to the file; it returns the id. One without an id gets the next free one, in
// the form that the file's ids have (INT-001 in a file without any).
func (s *Store) PlanAdd(in Intent) (*Plan, string, error) {
	p, err := s.plan(func(doc *document) (candidates, error) {
		if in.ID == "" {
			in.ID = doc.nextID()
		}
		return doc.addEdit(in)
	})
	return p, in.ID, err
}

// candidates are a change of the file's text. Its first form that is read as it is meant is taken.
type candidates struct {
	forms [][]byte // that the text could have, best first; none: nothing to change
	want  Intent   // what the file has to say of one intent
	keys  []string // of the intent that may differ from before

	commandKeys []string // of its commands that may
}

func (s *Store) plan(change func(*document) (candidates, error)) (*Plan, error) {
	old, _, err := orchdir.ReadFile(s.root, orchdir.Directory, fileName, maxFileBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotInitialized
	}
	if err != nil {
		return nil, unreadableFile(filePath, err)
	}
	before, err := decodeFile(old)
	if err != nil {
		return nil, err
	}
	before.source = newSource(old)
	e, err := change(before)
	if err != nil || len(e.forms) == 0 {
		return &Plan{old, old, before}, err
	}
	var reason error
	for _, text := range e.forms {
		after, err := decodeFile(text)
		if err == nil {
			err = e.verify(before, after)
		}
		if err == nil {
			return &Plan{old, text, after}, nil
		}
		reason = cmp.Or(reason, err)
	}
	return nil, fmt.Errorf("%w (%v)", ErrLayout, reason)
}

// verify: the file says what is meant of one intent, and of everything else what it said before.
func (e candidates) verify(before, after *document) error {
	was, is := before.index(e.want.ID), after.index(e.want.ID)
	switch {
	case is < 0 || !equalIntents(*after.intents[is], e.want):
		return fmt.Errorf("%s would not be read back as meant", e.want.ID)
	case !slices.Equal(before.versionsBut(was), after.versionsBut(is)):
		return errors.New("another intent would change")
	case before.root != nil && restVersion(before.root, before.listKey.Value) != restVersion(after.root, before.listKey.Value),
		was >= 0 && restVersion(before.nodes[was], e.keys...) != restVersion(after.nodes[is], e.keys...):
		return errors.New("another key would change")
	}
	if len(e.commandKeys) > 0 && before.commandsRest(was, e.commandKeys) != "" &&
		before.commandsRest(was, e.commandKeys) != after.commandsRest(is, e.commandKeys) {
		return errors.New("another key of commands would change")
	}
	return nil
}

// commandsRest is the restVersion of the commands of an intent, "" without any.
func (d *document) commandsRest(i int, keys []string) string {
	if _, value := rawField(d.nodes[i], "commands", intentKeys); value != nil && deref(value).Kind == yaml.MappingNode {
		return restVersion(deref(value), keys...)
	}
	return ""
}

// equalIntents compares what two intents say.
func equalIntents(a, b Intent) bool {
	a.Line, b.Line = 0, 0
	was, err := json.Marshal(&a)
	is, other := json.Marshal(&b)
	return err == nil && other == nil && bytes.Equal(was, is)
}

// index is where an intent stands, -1 if it does not.
func (d *document) index(id string) int {
	return slices.IndexFunc(d.intents, func(in *Intent) bool { return in.ID == id })
}

func (d *document) versionsBut(except int) (versions []string) {
	for i, in := range d.intents {
		if i != except {
			versions = append(versions, in.Version())
		}
	}
	return versions
}

// restVersion hashes a mapping without the named keys, in either spelling. What is too large to be hashed equals nothing.
func restVersion(mapping *yaml.Node, keys ...string) string {
	rest := &yaml.Node{Kind: yaml.MappingNode, Tag: mapping.Tag}
	for pair := range slices.Chunk(mapping.Content, 2) {
		if name, _ := matchKey(pair[0].Value, keys); name == "" {
			rest.Content = append(rest.Content, pair...)
		}
	}
	var d decoder
	version, err := d.version(rest)
	if err != nil {
		return rand.Text()
	}
	return version
}

// Apply makes a planned change and returns what the file says then. Where the file is no longer the one that the plan
// was worked out on, nothing is changed and the error is ErrChanged.
func (s *Store) Apply(ctx context.Context, p *Plan) (*Set, error) {
	file := orchdir.File{Root: s.root, Name: fileName, Limit: maxFileBytes}
	err := orchdir.Rewrite(ctx, file, func(old []byte) ([]byte, error) {
		switch {
		case old == nil:
			return nil, ErrNotInitialized
		case !bytes.Equal(old, p.Before):
			return nil, ErrChanged
		}
		return p.After, nil
	})
	switch {
	case errors.Is(err, orchdir.ErrBusy):
		return nil, ErrBusy
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNotInitialized
	case noFile(err):
		return nil, unreadableFile(filePath, err)
	case err != nil:
		return nil, err
	}
	rules, _ := s.Ignore() // an unclear rule is Load's to report; the change has been made
	return newSet(p.result, rules), nil
}

// noFile reports whether something stands in the file's place that cannot be it.
func noFile(err error) bool {
	return errors.Is(err, orchdir.ErrNotRegular) || errors.Is(err, orchdir.ErrNotDirectory) || errors.Is(err, orchdir.ErrTooLarge)
}

// FileHash is the hash of the intents file as it is now, whatever it says. It is "" where no file can be it: there is
// none, it is a link, or it is too large to be one that this package wrote.
func FileHash(root *os.Root) (string, error) {
	text, _, err := orchdir.ReadFile(root, orchdir.Directory, fileName, maxFileBytes)
	switch {
	case err == nil:
		return contentHash(text), nil
	case errors.Is(err, fs.ErrNotExist), noFile(err):
		return "", nil
	}
	return "", err
}
