package tools

import (
	"errors"
	"fmt"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// encode gives an effect what was made of a file's text as it is shown to agents, written as the file is: its encoding, its
// byte order mark, its broken bytes.
func (f *Files) encode(effect *hooks.FileEffect, before workspace.Text, written string) error {
	text, err := withBroken(before, unmarked(effect, before, written))
	if err != nil {
		return refusal.AtPath(refusal.InvalidArguments, effect.Path, "%s has bytes that are not UTF-8, which are shown as %q, and %v. Nothing was changed.", effect.Path, "\uFFFD", err).
			Suggest("Leave every %q as it stands, in its line and order, or leave it out.", "\uFFFD")
	}
	encoded, err := before.Encode(text)
	if err != nil {
		return refusal.AtPath(refusal.InvalidArguments, effect.Path, "%s is %s, which cannot hold the new content: %v.", effect.Path, before.Encoding, err).
			With("encoding", string(before.Encoding)).
			Suggest("Write the character in another way; or convert the file to UTF-8 (with execute_command), read it again, and make the change then.")
	}
	if int64(len(encoded)) > f.Limit {
		return refusal.AtPath(refusal.TooLarge, effect.Path, "The new content of %s is larger than the limit for files (limits.file_size, %d bytes).", effect.Path, f.Limit).
			Suggest("Split it into several files, or ask the user to raise limits.file_size.")
	}
	setAfter(effect, before, text, encoded)
	return nil
}

// unmarked takes a byte order mark off a text, where it would be a second one,
// or where an edit would give one to a file that has none.
func unmarked(effect *hooks.FileEffect, before workspace.Text, text string) string {
	const mark = "\ufeff"
	edits := effect.Exists && effect.Knowledge == hooks.KnowsBySearch
	if (before.BOM || edits) && !strings.HasPrefix(before.String, mark) {
		return strings.TrimLeft(text, mark)
	}
	return text
}

var errBrokenBytes = errors.New("the new text has other ones")

// withBroken puts what stands for the broken bytes of before back into a text that was made of its shown form. In lines that
// were changed, the shown characters must be as many as before, in the same order, or gone.
func withBroken(before workspace.Text, written string) (string, error) {
	if before.Broken == 0 {
		return written, nil
	}
	const shown = "\uFFFD"
	old, oldShown, now := edit.RawLines(before.String), edit.RawLines(workspace.Shown(before.String)), edit.RawLines(written)
	var b strings.Builder
	at := 0 // in old
	copied := func(upTo int) {
		b.WriteString(strings.Join(old[at:upTo], ""))
	}
	for _, h := range edit.Hunks(strings.Join(oldShown, ""), written) {
		from, to := h[0]-1, h[2]-1
		if h[1] == 0 {
			from++
		}
		if h[3] == 0 {
			to++
		}
		copied(from)
		replaced, put := strings.Join(old[from:from+h[1]], ""), strings.Join(now[to:to+h[3]], "")
		switch n := strings.Count(put, shown); {
		case n == 0:
		case n != strings.Count(workspace.Shown(replaced), shown):
			return "", fmt.Errorf("%w around line %d", errBrokenBytes, to+1)
		default:
			put = workspace.CarryBroken(put, replaced)
		}
		b.WriteString(put)
		at = from + h[1]
	}
	copied(len(old))
	return b.String(), nil
}
