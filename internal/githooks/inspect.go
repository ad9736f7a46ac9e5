package githooks

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// State is how one hook stands.
type State struct {
	File      string // where git looks for it, or where ours is
	Installed bool   // ours, for this workspace
	Program   string // that ours runs, by its path or by a name for the PATH
	// Elsewhere: git looks in another directory (core.hooksPath) than the one in which ours is.
	Elsewhere bool
}

// Inspect tells which hooks are installed, and changes nothing. With an error that wraps ErrUnfit the states that could be
// found are returned too.
func Inspect(ctx context.Context, workspace string) ([]State, error) {
	p, err := find(ctx, workspace)
	if p.dir == "" {
		return nil, err
	}
	common, commonErr := git(ctx, workspace, "rev-parse", "--git-common-dir")
	var states []State
	for _, hook := range Hooks() {
		state, stateErr := p.inspect(hook)
		if stateErr != nil {
			return states, stateErr
		}
		usual := place{dir: filepath.Join(absolute(workspace, common), "hooks"), workspace: p.workspace}
		if commonErr == nil && !state.Installed && realPath(usual.dir) != realPath(p.dir) {
			there, thereErr := usual.inspect(hook)
			if thereErr == nil && there.Installed {
				state = there
				state.Elsewhere = true
			}
		}
		states = append(states, state)
	}
	return states, err
}

func (p place) inspect(hook string) (State, error) {
	state := State{File: filepath.Join(p.dir, hook)}
	at, workspaces, err := p.ours(hook)
	if err != nil || at == "" || !slices.Contains(workspaces, p.workspace) {
		return state, err
	}
	state.File, state.Installed = at, true
	content, err := durable.ReadRegular(at, maxScript)
	if err == nil {
		state.Program = programOf(string(content))
	}
	return state, err
}

// programOf reads back what render wrote.
func programOf(script string) string {
	for line := range strings.Lines(script) {
		word, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "program='")
		if !ok {
			continue
		}
		word = strings.TrimSuffix(word, "'")
		return filepath.FromSlash(strings.ReplaceAll(word, `'\''`, "'"))
	}
	return ""
}
