//go:build unix

package durable_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// TestOnlyRegularFilesAreOpened: each of these would wait for ever, or act on a device, if it were opened like a file.
func TestOnlyRegularFilesAreOpened(t *testing.T) {
	dir := t.TempDir()
	root := check.Value(os.OpenRoot(dir))(t)
	defer root.Close()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.WriteFile(at("file"), []byte("text"), 0o600), os.Mkdir(at("dir"), 0o700), syscall.Mkfifo(at("pipe"), 0o600),
		os.Symlink("pipe", at("to-pipe")), os.Symlink("file", at("to-file")), os.Symlink("/dev/zero", at("device")), os.WriteFile(at("sparse"), nil, 0o600),
		os.Truncate(at("sparse"), 1<<40),
	} {
		check.OK(t, err)
	}
	for name, want := range map[string]struct{ followed, below error }{
		"file": {}, "to-file": {nil, durable.ErrNotRegular}, "dir": {durable.ErrNotRegular, durable.ErrNotRegular},
		"pipe": {durable.ErrNotRegular, durable.ErrNotRegular}, "to-pipe": {durable.ErrNotRegular, durable.ErrNotRegular},
		"device": {durable.ErrNotRegular, durable.ErrNotRegular}, "sparse": {durable.ErrTooLarge, durable.ErrTooLarge},
		"nothing": {fs.ErrNotExist, fs.ErrNotExist},
	} {
		content, err := durable.ReadRegular(at(name), 4)
		check.That(t, errors.Is(err, want.followed) && (err != nil || string(content) == "text"), "%s: %q %v, want %v", name, content, err, want.followed)
		content, err = durable.ReadRegularIn(root, name, 4)
		check.That(t, errors.Is(err, want.below) && (err != nil || string(content) == "text"), "%s below a root: %q %v, want %v", name, content, err, want.below)
		if name == "dir" {
			continue
		}
		_, err = durable.ReadDirectory(at(name))
		_, below := durable.ReadDirectoryIn(root, name)
		check.That(t, err != nil && below != nil, "%s is listed as a directory", name)
	}
}
