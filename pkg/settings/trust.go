package settings

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// trustFile is the list's name in the user's directory.
const trustFile = "trusted"

// ContentHash is how a content is trusted: "sha256:" and the hash of its bytes.
func ContentHash(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// TrustList is the operator's list of contents of workspaces that may weaken defaults and start programs. It is a file of
// lines, each a content hash, a blank and the quoted path of the workspace; lines that begin with # are comments.
// A content is trusted in the workspace that it was trusted for, and in no other.
type TrustList struct {
	// UserDir is the directory of the list, as UserDir returns it. The operator's alone may write there.
	UserDir string
}

// Trusted reports whether the operator has trusted a content in a workspace. The error wraps ErrTrust; with one the
// answer is no.
func (l TrustList) Trusted(workspace, hash string) (bool, error) {
	want, err := trustLine(workspace, hash)
	if err != nil {
		return false, err
	}
	file, _, err := durable.OpenRegular(l.path())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrTrust, err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if lines.Text() == want {
			return true, nil
		}
	}
	if err := lines.Err(); err != nil {
		return false, fmt.Errorf("%w: read %s: %w", ErrTrust, l.path(), err)
	}
	return false, nil
}

// Trust adds a content to the list and flushes it to disk.
func (l TrustList) Trust(workspace, hash string) error {
	line, err := trustLine(workspace, hash)
	if err != nil {
		return err
	}
	if known, err := l.Trusted(workspace, hash); known || err != nil {
		return err
	}
	if err := os.MkdirAll(l.UserDir, 0o700); err != nil {
		return fmt.Errorf("%w: %w", ErrTrust, err)
	}
	file, err := os.OpenFile(l.path(), os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrTrust, err)
	}
	// One write, so that two processes do not mix their lines. A crash can tear it; a torn line trusts nothing, and the
	// line end before keeps it from spoiling the next.
	_, err = file.WriteString("\n" + line + "\n")
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("%w: write %s: %w", ErrTrust, l.path(), err)
	}
	return nil
}

func (l TrustList) path() string { return filepath.Join(l.UserDir, trustFile) }

func trustLine(workspace, hash string) (string, error) {
	digits, ok := strings.CutPrefix(hash, "sha256:")
	raw, err := hex.DecodeString(digits)
	if !ok || err != nil || len(raw) != sha256.Size || strings.ToLower(digits) != digits {
		return "", fmt.Errorf("%w: %q is not a content hash", ErrTrust, hash)
	}
	if !filepath.IsAbs(workspace) {
		return "", fmt.Errorf("%w: the workspace %q is not an absolute path", ErrTrust, workspace)
	}
	return hash + " " + strconv.Quote(filepath.Clean(workspace)), nil
}

// Of asks the list about one workspace, as what is served of it does. A list that cannot be read trusts nothing.
func (l TrustList) Of(workspace string) func(hash string) bool {
	return func(hash string) bool {
		if l.UserDir == "" {
			return false
		}
		trusted, err := l.Trusted(workspace, hash)
		return trusted && err == nil
	}
}

// Waiting lists the settings that wait for the operator's trust, a line each.
func (l Loaded) Waiting() (lines []string) {
	for _, w := range l.Withheld {
		if w.NeedsTrust {
			lines = append(lines, fmt.Sprintf("%s: %s = %s (%s)", w.Origin, w.Key, w.Value, w.Reason))
		}
	}
	return lines
}
