package catalogue

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"runtime"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// clean are definitions in which nothing was found, so that a process that starts need not look at them again: that takes most of
// the time of a first list. What has a finding is looked at each time.
type clean struct {
	By          string              `json:"by"`          // revision
	Definitions map[string][]string `json:"definitions"` // by the hash: what could be names of tools in it
}

//go:embed finding.go hidden.go patterns.go together.go
var looks embed.FS

// revision names the way in which this program looks at definitions, by its very text: nobody can change it and forget to say so.
// What another one has found clean is looked at again.
var revision = sync.OnceValue(func() string {
	h := sha256.New()
	_ = fs.WalkDir(looks, ".", func(name string, _ fs.DirEntry, err error) error {
		content, _ := looks.ReadFile(name) // a directory has none
		h.Write(content)
		return err
	})
	for _, version := range []string{runtime.Version(), unicode.Version, norm.Version} {
		h.Write([]byte(version + "\n"))
	}
	return hex.EncodeToString(h.Sum(nil))
})

// known is a look at a definition that need not be made again.
func (c *clean) known(hash string) (inspection, bool) {
	if len(c.Definitions) == 0 || c.By != revision() {
		return inspection{}, false
	}
	mentions, known := c.Definitions[hash]
	return inspection{mentions: mentions}, known
}

// clean is what of a reading has no finding.
func (r *reading) clean() clean {
	c := clean{By: revision(), Definitions: map[string][]string{}}
	for _, t := range r.tools {
		if t.err == nil && len(t.tool.Findings) == 0 {
			c.Definitions[t.tool.Hash] = t.mentions
		}
	}
	for _, list := range r.others {
		for _, one := range list {
			if len(one.findings) == 0 {
				c.Definitions[hash(one.definition)] = nil
			}
		}
	}
	if len(c.Definitions) == 0 {
		return clean{}
	}
	return c
}
