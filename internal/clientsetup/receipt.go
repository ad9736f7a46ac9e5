package clientsetup

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// receipt is what is kept of a file that a setup has changed: what it was before, and the hash of what it became. It
// stands in the user's own directory, because a client's file can hold secrets of other servers.
type receipt struct {
	Path    string `json:"path"`
	Existed bool   `json:"existed"`
	Before  []byte `json:"before"`
	After   string `json:"after"`
	// Adopted are the servers that were moved out of the file.
	Adopted []adopted `json:"adopted,omitempty"`
}

// content is the file before the setup; nil if there was none, or if nothing is known.
func (r *receipt) content() []byte {
	switch {
	case r == nil || !r.Existed:
		return nil
	case r.Before == nil:
		return []byte{}
	}
	return r.Before
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func receiptFile(userDir, path string) string {
	return filepath.Join(userDir, "setup", hashOf([]byte(path))[:32]+".json")
}

// recall reads the receipt of a file; nil if there is none that can be read.
func (p *planner) recall(path string) *receipt {
	if p.UserDir == "" {
		return nil
	}
	text, err := durable.ReadRegular(receiptFile(p.UserDir, path), maxReceipt)
	if r := parseReceipt(text); err == nil && r != nil && r.Path == path {
		return r
	}
	return nil
}

// maxReceipt bounds one: what it keeps of a file is in base64, and of its servers once more.
const maxReceipt = 4 * maxConfigSize

func parseReceipt(text []byte) *receipt {
	var r receipt
	if json.Unmarshal(text, &r) != nil {
		return nil
	}
	return &r
}

// adoptedElsewhere are the servers that other files of clients have given away.
func (p *planner) adoptedElsewhere(path string) (all []adopted) {
	names, _ := filepath.Glob(filepath.Join(p.UserDir, "setup", "*.json"))
	for _, name := range names {
		text, err := durable.ReadRegular(name, maxReceipt)
		if r := parseReceipt(text); err == nil && r != nil && r.Path != path {
			all = append(all, r.Adopted...)
		}
	}
	return all
}

// remember keeps what a file is without us.
func remember(userDir string, f *File) error {
	if userDir == "" {
		return nil
	}
	r := f.receipt
	if r == nil {
		r = &receipt{Path: f.Path, Existed: f.bareExists, Before: f.bare, After: hashOf(f.Content), Adopted: f.adopted}
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	name := receiptFile(userDir, r.Path)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return replaceFile(name, text, 0o600, func() error { return nil })
}

func forget(userDir, path string) {
	if userDir != "" {
		_ = os.Remove(receiptFile(userDir, path))
	}
}
