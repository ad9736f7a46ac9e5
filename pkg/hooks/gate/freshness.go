package gate

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// quoteLimit bounds what a STALE_FILE or READ_REQUIRED refusal hands over, in bytes of content or of diff.
const quoteLimit = 64 << 10

// viewCacheLimit bounds the contents kept so that a refusal can show what changed since the agent's view, in bytes.
const viewCacheLimit = 16 << 20

// Freshness is step 7: a change is made only on content that the agent has seen. It keeps recently delivered contents,
// so that a refusal can show the difference instead of the whole file. Safe for concurrent use.
type Freshness struct {
	blind bool

	mu    sync.Mutex
	views map[string][]byte
	order []string
	size  int
}

// NewFreshness makes the step; blind lets whole-file writes overwrite unseen content.
func NewFreshness(blind bool) *Freshness {
	return &Freshness{blind: blind, views: make(map[string][]byte)}
}

// Remember keeps a content that an agent was shown or wrote.
func (f *Freshness) Remember(hash string, content []byte) {
	if len(content) > viewCacheLimit/8 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.views[hash]; ok {
		return
	}
	f.views[hash] = content
	f.order = append(f.order, hash)
	f.size += len(content)
	for f.size > viewCacheLimit {
		oldest := f.order[0]
		f.order = f.order[1:]
		f.size -= len(f.views[oldest])
		delete(f.views, oldest)
	}
}

func (f *Freshness) view(hash string) ([]byte, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	content, ok := f.views[hash]
	return content, ok
}

// freshness is step 7.
func freshness(_ context.Context, g *Gate, c *hooks.Call) hooks.Decision {
	if skips(c) {
		return hooks.Allow()
	}
	for _, effect := range c.Effects.Files {
		if r := g.Fresh.judge(c, effect); r != nil {
			return hooks.Refuse(r)
		}
	}
	return hooks.Allow()
}

// Stale gives the STALE_FILE refusal of a call, for hooks.Options; nil if there is none.
func (f *Freshness) Stale(c *hooks.Call) *refusal.Refusal {
	for _, effect := range c.Effects.Files {
		if r := f.judge(c, effect); r != nil && r.Code() == refusal.StaleFile {
			return r
		}
	}
	return nil
}

func (f *Freshness) judge(c *hooks.Call, effect *hooks.FileEffect) *refusal.Refusal {
	// What a command redirects to is written by the shell, whatever was seen; what it did on a layer is held against the
	// files that it saw there.
	if effect.Knowledge == hooks.MadeByCommand {
		return nil
	}
	if !effect.Mutates() || c.Effects.Command != nil {
		return nil
	}
	if effect.Exists && effect.Before.Hash == "" {
		// It could not be read, which is its own refusal.
		return nil
	}
	if effect.ExpectedHash != "" {
		if effect.ExpectedHash != effect.Before.Hash {
			return f.Refuse(c, effect.Source(), effect.ExpectedHash, effect.Before.Hash, effect.Before.Bytes)
		}
		return nil
	}
	view, seen := c.Views.Seen(effect.Source())
	switch {
	case seen && view.Hash != effect.Before.Hash:
		return f.Refuse(c, effect.Source(), view.Hash, effect.Before.Hash, effect.Before.Bytes)
	case seen && effect.Op == change.Deleted && isBinary(effect.Before.Bytes):
		// It has no lines to deliver; that read_file told its hash must do.
		return nil
	case effect.Before.Hash == "", effect.Knowledge == hooks.KnowsBySearch, seen && view.Whole, f.blind:
		return nil
	}
	return f.unread(effect)
}

func isBinary(content []byte) bool {
	_, err := workspace.Decode(content)
	return errors.Is(err, workspace.ErrBinary)
}

func (f *Freshness) unread(effect *hooks.FileEffect) *refusal.Refusal {
	suggestion := "Call read_file on the path until all of its lines were delivered; a file with lines that are cut needs expected_content_hash."
	switch {
	case effect.Op == change.Deleted && isBinary(effect.Before.Bytes):
		suggestion = "Call read_file on the path, then delete it."
	case effect.Op == change.Deleted:
		suggestion = "Call read_file on the path until all of its lines were delivered, then delete it; a file with a line too long for that can be deleted with execute_command."
	case isBinary(effect.Before.Bytes):
		suggestion = "Its content is binary and cannot be delivered as lines: pass the content_hash that read_file tells as expected_content_hash."
	}
	r := refusal.AtPath(refusal.ReadRequired, effect.Source(), "%s exists, and this session has not seen all of its lines as they are now; overwriting it would lose what it holds.", effect.Source()).
		With("content_hash", effect.Before.Hash).
		Suggest("%s", suggestion)
	return quoteWhole(r, effect.Source(), effect.Before.Hash, effect.Before.Bytes)
}

// Refuse makes the STALE_FILE refusal for a path whose content is now the given one: the difference from the agent's
// view where that is known, else the content, within a bound. What is complete counts as seen.
func (f *Freshness) Refuse(c *hooks.Call, path, want, have string, content []byte) *refusal.Refusal {
	r := refusal.AtPath(refusal.StaleFile, path, "%s is not what you last saw: expected %s, found %s.", path, cmp.Or(want, "no file"), cmp.Or(have, "no file")).
		With("expected", want).With("content_hash", have)
	if have == "" {
		return r.Deliver(refusal.Delivery{Path: path, Gone: true}).
			Suggest("The file does not exist now, which you know from here on. Call list_files to see what is there; write_to_file without expected_content_hash makes it anew.")
	}
	before, known := f.view(want)
	old, now, texts := hooks.Texts(before, content)
	if !known || !texts || !f.sawWhole(c, path, want) {
		return quoteWhole(r, path, have, content)
	}
	diff := workspace.Shown(edit.Unified(path, path, old, now, 3))
	if len(diff) > min(quoteLimit, len(content)) {
		return quoteWhole(r, path, have, content)
	}
	f.Remember(have, content)
	return r.With("diff_since_seen", diff).Deliver(whole(path, have, now)).
		Suggest("The diff_since_seen shows what changed; it now counts as seen. Make the change again on top of it.")
}

// sawWhole: a diff completes the agent's view only if that view was complete.
func (f *Freshness) sawWhole(c *hooks.Call, path, hash string) bool {
	view, ok := c.Views.Seen(path)
	return ok && view.Whole && view.Hash == hash
}

func quoteWhole(r *refusal.Refusal, path, hash string, content []byte) *refusal.Refusal {
	// A file that was too large to be carried comes here without its content.
	if len(content) > quoteLimit || workspace.HashOf(content) != hash {
		return r
	}
	text, err := workspace.Decode(content)
	if err != nil {
		return r
	}
	return r.With("content", workspace.Shown(text.String)).Deliver(whole(path, hash, text.String)).
		Suggest("The content is in the details and now counts as seen; make the change again on top of it.")
}

func whole(path, hash, text string) refusal.Delivery {
	n := len(edit.Lines(text))
	d := refusal.Delivery{Path: path, Hash: hash, Total: n, To: n}
	if n > 0 {
		d.From = 1
	}
	return d
}
