package doctor

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/gitread"
	"github.com/intentgov/orchestra-mcp/internal/shellword"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

const (
	// maxTracked bounds the paths of git's index that are held against the secret: rules.
	maxTracked = 1_000_000
	// namedTracked is how many of them a finding names.
	namedTracked = 3
)

// checkSecretsTracked: what git has can be read from its objects, whatever lies over the file.
func (e *examination) checkSecretsTracked() {
	is, digest := intent.Open(e.root).Secrets()
	if is == nil || digest == "" { // what cannot be read is told with the intents
		return
	}
	ctx, cancel := context.WithTimeout(e.ctx, verifyTime)
	defer cancel()
	tracked, err := trackedOf(ctx, e.Dir, is)
	if err != nil {
		e.warn(fmt.Sprintf("git does not tell whether it tracks what is secret: %v.", err), "Do what git says.", "")
		return
	}
	if len(tracked) == 0 {
		return
	}
	var names, words []string
	for _, path := range tracked[:min(len(tracked), namedTracked)] {
		names, words = append(names, shellword.Show(path)), append(words, shellword.Show(path))
	}
	more := ""
	if len(tracked) > namedTracked {
		more = fmt.Sprintf(" and %d more", len(tracked)-namedTracked)
	}
	e.warn(fmt.Sprintf("git tracks what a secret: rule covers (%s%s): every command can read it in git's objects, with `git show` for one.", strings.Join(names, ", "), more),
		"Take them out of git, where the files stay, and change these secrets: the history and its clones keep them.",
		"git rm -q --cached -- "+strings.Join(words, " "))
}

// trackedOf are the paths of git's index that are secret.
func trackedOf(ctx context.Context, dir string, secret func(path string) bool) (found []string, err error) {
	cmd := gitread.Repository{Dir: dir}.Command(ctx, "ls-files", "-z")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(out)
	for range maxTracked {
		path, err := lines.ReadString(0)
		if err != nil {
			return found, cmd.Wait()
		}
		if path = strings.TrimSuffix(path, "\x00"); secret(path) {
			found = append(found, path)
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return found, nil
}
