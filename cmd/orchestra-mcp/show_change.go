package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

const (
	diffContext = 3
	maxDiffLine = 1000    // characters
	maxContent  = 8 << 20 // bytes of a file that is still compared
	maxHunks    = 20      // that are listed
)

// change prints what happened to one file.
func (v *recordView) change(c record.Change) {
	v.Println()
	title := fmt.Sprintf("%s %s", c.Op, c.Path)
	if c.From != "" {
		title = fmt.Sprintf("%s %s to %s", c.Op, c.From, c.Path)
	}
	v.Println(v.Bold(printable.Clip(title, maxField)))
	v.field("  before", content(c.Before.Hash, c.Before.OID))
	v.field("  after", content(c.After.Hash, c.After.OID))
	v.field("  mode", modeOf(c))
	if c.ExternalBefore {
		v.field("  note", "somebody else had changed the file since its last record")
	}
	if added, removed := c.Lines(); added+removed > 0 {
		v.field("  lines", fmt.Sprintf("+%d -%d%s", added, removed, hunksOf(c)))
	}
	if !v.noDiff {
		v.diff(c)
	}
}

func content(hash, oid string) string {
	if oid != "" {
		return fmt.Sprintf("%s (git blob %s)", hash, oid)
	}
	return hash
}

// modeOf is a file's permissions, with those that it had where they changed.
func modeOf(c record.Change) string {
	if c.Op == change.Created || c.Op == change.Deleted || c.Before.Mode == c.After.Mode {
		return string(cmp.Or(c.After.Mode, c.Before.Mode))
	}
	return fmt.Sprintf("%s to %s", c.Before.Mode, c.After.Mode)
}

func hunksOf(c record.Change) string {
	var list []string
	for _, h := range c.Hunks[:min(len(c.Hunks), maxHunks)] {
		list = append(list, fmt.Sprintf("-%d,%d +%d,%d", h[0], h[1], h[2], h[3]))
	}
	text := strings.Join(list, "; ")
	if more := len(c.Hunks) - maxHunks; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	if c.Coarse {
		text += "; coarse: there were too many to record"
	}
	if text != "" {
		text = " in " + text
	}
	return text
}

func (v *recordView) diff(c record.Change) {
	if c.Op == change.Unchanged || c.Before.Hash == c.After.Hash {
		return
	}
	before, err := v.contents.text(c.Before.Hash, c.Before.OID, cmp.Or(c.From, c.Path))
	if err != nil {
		v.field("  diff", fmt.Sprintf("not available: the content before %v", err))
		return
	}
	after, err := v.contents.text(c.After.Hash, c.After.OID, c.Path)
	if err != nil {
		v.field("  diff", fmt.Sprintf("not available: the content after %v", err))
		return
	}
	oldName, newName := "a/"+cmp.Or(c.From, c.Path), "b/"+c.Path
	if c.Before.Hash == "" {
		oldName = "/dev/null"
	}
	if c.After.Hash == "" {
		newName = "/dev/null"
	}
	for line := range strings.Lines(edit.Unified(oldName, newName, before, after, diffContext)) {
		v.DiffLine(printable.Clip(strings.TrimRight(line, "\r\n"), maxDiffLine))
	}
}

// contents finds what a file held at some time. Only bytes with the record's own hash are believed.
type contents struct {
	files     *workspace.Workspace
	kept, git func(oid string) ([]byte, bool)
}

var (
	errNotKept  = errors.New("is neither kept nor in git, and the file has changed since")
	errNotText  = errors.New("is not text")
	errTooLarge = errors.New("is too large")
)

// text gives the content with a hash as text. No hash is no file, which is empty.
func (c contents) text(hash, oid, path string) (string, error) {
	if hash == "" {
		return "", nil
	}
	for _, source := range []func() ([]byte, bool){
		func() ([]byte, bool) { return c.kept(oid) }, func() ([]byte, bool) { return c.now(path) }, func() ([]byte, bool) { return c.git(oid) },
	} {
		found, ok := source()
		if !ok || !hasHash(found, hash) {
			continue
		}
		if len(found) > maxContent {
			return "", errTooLarge
		}
		text, err := workspace.Decode(found)
		if err != nil {
			return "", errNotText
		}
		return text.String, nil
	}
	return "", errNotKept
}

// now reads the file as it is, if it is one.
func (c contents) now(path string) ([]byte, bool) {
	target, err := c.files.Resolve(path)
	if err != nil {
		return nil, false
	}
	defer target.Close()
	found, err := target.Read(maxContent)
	if err != nil {
		return nil, false
	}
	return found.Bytes, true
}

func hasHash(found []byte, hash string) bool { return string(workspace.HashOf(found)) == hash }
