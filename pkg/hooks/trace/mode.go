package trace

import (
	"cmp"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
)

// DetailHardLinks is the key of the files that had other names before a change.
const DetailHardLinks = "hard_links"

// maxLinked bounds those that a record names.
const maxLinked = 200

// linked notes the files that had other names: who restores one makes a file of its own.
func linked(files []hooks.FileOutcome) map[string]any {
	var paths []string
	for _, f := range files {
		if f.Links > 1 && len(paths) < maxLinked {
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
