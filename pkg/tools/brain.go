package tools

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/brain"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/gate"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// resolve resolves the file of the shared brain. It is written without a scope, so a link must not lead the writing to a file
// that does more than be read.
func (b *Brain) resolve() (*workspace.Target, *hooks.FileEffect) {
	t, effect := b.target(b.File)
	effect.Knowledge = hooks.KnowsBySearch
	if effect.Problem != nil || effect.Path == b.File {
		return t, effect
	}
	if effect.Protection != workspace.ProtectNone || !strings.EqualFold(path.Ext(effect.Path), ".md") {
		effect.Problem = refusal.AtPath(refusal.ProtectedPath, effect.Path, "%s is a link to %s, where no notes belong.", b.File, effect.Path).
			WithHint(refusal.HintAskUser).
			Suggest("Ask the user to put a file in the place of the link, or to name another one in the setting brain.file.")
	}
	return t, effect
}

// Read returns the shared brain's text, "" where there is none. A setting names the file, so the rule that keeps secret paths
// from every tool holds here as well: ignore is what the call is judged by.
func (b *Brain) Read(ignore *intent.Ignore) (string, error) {
	t, effect := b.target(b.File)
	defer t.Close()
	if effect.Problem != nil {
		return "", effect.Problem
	}
	if rule, ok := ignore.Secret(effect.Path); ok {
		return "", gate.SecretPath(effect.Path, rule)
	}
	if !effect.Exists {
		return "", nil
	}
	content, err := t.Read(brain.Limit)
	if err != nil {
		return "", readProblem(effect.Path, err)
	}
	decoded, err := workspace.Decode(content.Bytes)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", effect.Path, err)
	}
	return decoded.String, nil
}

func (b *Brain) entries(ignore *intent.Ignore) ([]brain.Entry, error) {
	text, err := b.Read(ignore)
	return brain.Parse(text), err
}

// concerns reports whether a note matters to who works under an intent: it is
// of the intent, about a file of its scope, or about the whole.
func concerns(in *intent.Intent, e brain.Entry) bool {
	switch {
	case e.Intent == in.ID:
		return true
	case e.Path != "":
		return in.Scope().Match(e.Path)
	}
	return e.Intent == ""
}

// newest keeps the last n that are wanted, last first: the brain is appended to.
func newest(all []brain.Entry, n int, wanted func(brain.Entry) bool) []brain.Entry {
	kept := []brain.Entry{}
	for _, e := range slices.Backward(all) {
		if len(kept) == n {
			break
		}
		if wanted(e) {
			kept = append(kept, e)
		}
	}
	return kept
}
