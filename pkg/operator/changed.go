package operator

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

// Changed are the paths whose content is not what it was when the agent asked, and the intent if it is another by now. The
// server looks again, and lets nothing pass then; this is to tell the operator before they answer.
func (b *Inbox) Changed(r approval.Request) []string {
	var changed []string
	for _, e := range r.Effects {
		if e.Path == "" || e.Line != "" || e.Kind == "select" || e.Kind == "read" && e.Before == "" {
			continue
		}
		if now, known := hashNow(b.Root, e.Path); known && now != e.Before && !slices.Contains(changed, e.Path) {
			changed = append(changed, e.Path)
		}
	}
	if b.intentChanged(r) {
		changed = append(changed, "the intent "+r.IntentID)
	}
	return changed
}

// intentChanged: the intent says something else than when the agent asked, or is gone. What cannot be read is not known.
func (b *Inbox) intentChanged(r approval.Request) bool {
	if r.IntentVersion == "" {
		return false
	}
	set, err := intent.Open(b.Root).Load()
	if err != nil {
		return false
	}
	in, found := set.Get(r.IntentID)
	return !found || in.Version() != r.IntentVersion
}

// hashNow is the hash of a file as it is, "" if there is none. What cannot be read is not known.
func hashNow(root *os.Root, path string) (hash string, known bool) {
	file, _, err := durable.OpenRegularIn(root, path, os.O_RDONLY)
	if err != nil {
		return "", errors.Is(err, fs.ErrNotExist)
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", false
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), true
}
