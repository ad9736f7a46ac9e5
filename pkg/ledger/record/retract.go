package record

import (
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/change"
)

// DetailRetracts is the key under which a recovered record names the record that it takes back: one that was written
// although its mutation was undone, because its flush had failed. Its changes are the inverse ones.
const DetailRetracts = "retracts"

// DetailStaged is the key of the layer that has what a command did, in the record of the command and in that of the take-over.
const DetailStaged = "staged"

// WithoutRetracted leaves out the changes that were taken back, and the records that say so. Records without changes
// left are left out too. A retraction whose record is not among the entries stays.
func WithoutRetracted(entries []Entry) []Entry {
	gone := map[string][]string{} // paths by record
	for _, e := range entries {
		if of, ok := e.Detail[DetailRetracts].(string); ok {
			for _, c := range e.Changes {
				gone[of] = append(gone[of], c.Path)
			}
		}
	}
	if len(gone) == 0 {
		return entries
	}
	there := map[string]bool{}
	for _, e := range entries {
		there[e.ID] = true
	}
	var standing []Entry
	for _, e := range entries {
		of, retracts := e.Detail[DetailRetracts].(string)
		if retracts && there[of] {
			continue
		}
		if paths := gone[e.ID]; paths != nil {
			e.Changes = slices.DeleteFunc(slices.Clone(e.Changes), func(c Change) bool {
				return slices.Contains(paths, c.Path) || c.Op == change.Moved && slices.Contains(paths, c.From)
			})
			if len(e.Changes) == 0 {
				continue
			}
		}
		standing = append(standing, e)
	}
	return standing
}
