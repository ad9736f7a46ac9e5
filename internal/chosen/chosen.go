// Package chosen keeps which intent a person has chosen for the tools that clients have of their own: for a work tree, for its
// branches by pattern, for a terminal.
//
// It promises that nothing in a workspace chooses: what is chosen lies in the user's own directory, where no agent's tool and no
// command in a sandbox can write, and a clone brings none along.
//
//	<user directory>/chosen/<16 hex>.json   {"version":1,"workspace":"/abs","choices":[{"intent":"INT-001","branch":"feat/*","terminal":""}]}
//
// The name is from the SHA-256 of the workspace's path. Of choices the narrowest counts: a terminal's, a branch's (the longest
// pattern that matches), the work tree's. An intent "*" is the only one that can be selected, if there is one only.
package chosen

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/pathglob"
	"github.com/intentgov/orchestra-mcp/internal/privatefile"
)

// Only is the intent of a choice of whatever intent is the only one.
const Only = "*"

// Choice is one. With neither a Branch nor a Terminal it is the work tree's.
type Choice struct {
	Intent string `json:"intent"`
	// Branch is a pattern as those of scopes are.
	Branch string `json:"branch,omitempty"`
	// Terminal is as Terminal tells it.
	Terminal string `json:"terminal,omitempty"`
}

type file struct {
	Version   int      `json:"version"`
	Workspace string   `json:"workspace"`
	Choices   []Choice `json:"choices"`
}

const maxFile = 1 << 20

func name(userDir, workspace string) string {
	sum := sha256.Sum256([]byte(workspace))
	return filepath.Join(userDir, "chosen", hex.EncodeToString(sum[:8])+".json")
}

// Read gives the choices of a workspace, an absolute path without links; none where nobody has chosen.
func Read(userDir, workspace string) ([]Choice, error) {
	if userDir == "" {
		return nil, nil
	}
	text, err := durable.ReadRegular(name(userDir, workspace), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var f file
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err == nil && (f.Version != 1 || f.Workspace != workspace) {
		err = fmt.Errorf("it is of version %d, for %s", f.Version, f.Workspace)
	}
	if err != nil {
		return nil, fmt.Errorf("read what was chosen (%s): %w; choose anew with orchestra-mcp use, or remove the file", name(userDir, workspace), err)
	}
	return f.Choices, nil
}

// Put adds a choice to those of a workspace, in the place of the one for the same; without an intent it takes that one away.
func Put(userDir, workspace string, c Choice) error {
	choices, err := Read(userDir, workspace)
	if err != nil {
		return err
	}
	if _, err := pathglob.Compile(c.Branch); c.Branch != "" && err != nil {
		return fmt.Errorf("the pattern %q of branches: %w", c.Branch, err)
	}
	choices = slices.DeleteFunc(choices, func(old Choice) bool { return old.Branch == c.Branch && old.Terminal == c.Terminal })
	if c.Intent != "" {
		choices = append(choices, c)
	}
	text, err := json.Marshal(file{1, workspace, choices})
	if err != nil {
		return err
	}
	return privatefile.Replace(name(userDir, workspace), string(text)+"\n")
}

// For is the choice that counts on a branch, in a terminal; both may be "".
func For(choices []Choice, branch, terminal string) (best Choice, found bool) {
	rank := func(c Choice) int {
		switch {
		case c.Terminal != "" && c.Terminal == terminal:
			return 1 << 20
		case c.Branch != "" && c.Terminal == "" && matches(c.Branch, branch):
			return 1 + len(c.Branch)
		case c.Branch == "" && c.Terminal == "":
			return 1
		}
		return 0
	}
	for _, c := range choices {
		if rank(c) > rank(best) || !found && rank(c) > 0 {
			best, found = c, true
		}
	}
	return best, found
}

func matches(pattern, branch string) bool {
	compiled, err := pathglob.Compile(pattern)
	return err == nil && branch != "" && compiled.Match(branch)
}
