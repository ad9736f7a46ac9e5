package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"

	"github.com/intentgov/orchestra-mcp/pkg/upstream"
)

// Files are the files of one server in the user's directory.
type Files struct{ Secrets, Login, Pins, Failure string }

// FilesOf names the files of a server. A server of the workspace's own settings shares none with one of the user's of the same name:
// a cloned workspace must not get the user's secrets by a name.
func FilesOf(userDir, workspace string, d upstream.Definition) Files {
	dir := filepath.Join(userDir, "servers")
	if d.OfWorkspace {
		dir = filepath.Join(dir, digest(workspace, 12))
	}
	at := func(suffix string) string { return filepath.Join(dir, d.Name+suffix) }
	return Files{Secrets: at(".secrets"), Login: at(".oauth"), Pins: at(".tools.json"), Failure: at(".failure.json")}
}

// digest is the beginning of the SHA-256 of a text, in hexadecimal digits.
func digest(path string, digits int) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:])[:digits]
}
