package trace

import (
	"cmp"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
)

// DetailHardLinks is the key of the files that had other names before a change.
const DetailHardLinks = "hard_links"

// linked notes the files that had other names: who restores one makes a file of its own.
func linked(files []hooks.FileOutcome) map[string]any {
	var paths []string
	for _, f := range files {
		if f.Links > 1 && len(paths) < maxNamed {
			paths = append(paths, cmp.Or(f.From, f.Path))
		}
	}
	if len(paths) == 0 {
		return nil
	}
	return map[string]any{DetailHardLinks: paths}
}

// tellModes gives the files of an outcome the permissions, and the number of names, that the plan knows.
func tellModes(pending *hooks.Pending) {
	plans := map[string]change.Planned{}
	for _, p := range pending.Files {
		plans[p.Path] = p
	}
	for i := range pending.Outcome.Files {
		f := &pending.Outcome.Files[i]
		p, known := plans[f.Path]
		if !known {
			continue
		}
		f.Links = p.Links
		if f.Before.Hash != "" {
			f.Before.Mode = p.Before.Mode
		}
		if f.After.Hash != "" {
			f.After.Mode = p.After.Mode
		}
	}
}

// modesOf gives those of a command's change. Links have none, and those of unlike things do not compare.
func modesOf(c *snapshot.Change) (before, after change.Mode) {
	for _, content := range []*snapshot.Content{c.Before, c.After} {
		if content != nil && content.Kind == snapshot.Link {
			return "", ""
		}
	}
	if c.Before != nil && c.After != nil && c.Before.Kind != c.After.Kind {
		return "", ""
	}
	if c.Before != nil {
		before = change.ModeOf(c.Before.Mode)
	}
	if c.After != nil {
		after = change.ModeOf(c.After.Mode)
	}
	return before, after
}
