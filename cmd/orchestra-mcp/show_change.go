package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

const (
	diffContext = 3
	maxDiffLine = 1000 // characters
	maxHunks    = 20   // that are listed
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
	before, after, err := v.contents.Texts(c)
	if err != nil {
		v.field("  diff", fmt.Sprintf("not available: %v", err))
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
