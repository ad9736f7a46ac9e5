//go:build linux && !portable

package workspace_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

func TestMetadataIsKept(t *testing.T) {
	variants(t, func(t *testing.T, opts ...workspace.Option) {
		w := open(t, initialised, opts...)
		path := filepath.Join(w.Dir(), "f")
		must(t, os.Chmod(path, 0o751))
		if os.Geteuid() == 0 {
			must(t, os.Chown(path, 1234, 4321))
		}
		// An access control list: user 1000 may read and write. Version 2, little endian, tag, permissions, id.
		acl := []byte("\x02\x00\x00\x00" + "\x01\x00\x07\x00\xff\xff\xff\xff" + "\x02\x00\x06\x00\xe8\x03\x00\x00" +
			"\x04\x00\x05\x00\xff\xff\xff\xff" + "\x10\x00\x07\x00\xff\xff\xff\xff" + "\x20\x00\x01\x00\xff\xff\xff\xff")
		must(t, unix.Setxattr(path, "user.note", []byte("kept"), 0))
		must(t, unix.Setxattr(path, "system.posix_acl_access", acl, 0))
		want := metadata(t, path)
		done(t, w, modify(t, w))
		got := metadata(t, path)
		check.That(t, got == want, "got %+v, want %+v", got, want)
	})
}

type kept struct {
	mode      uint32
	uid, gid  uint32
	note, acl string
}

func metadata(t *testing.T, path string) kept {
	t.Helper()
	var st unix.Stat_t
	must(t, unix.Stat(path, &st))
	k := kept{mode: st.Mode, uid: st.Uid, gid: st.Gid}
	buf := make([]byte, 256)
	for name, into := range map[string]*string{"user.note": &k.note, "system.posix_acl_access": &k.acl} {
		n, err := unix.Getxattr(path, name, buf)
		must(t, err)
		*into = string(buf[:n])
	}
	return k
}

// TestNewFileInheritsFromItsDirectory: a set-group-id directory gives its group to new files.
func TestNewFileInheritsFromItsDirectory(t *testing.T) {
	w := open(t, map[string]string{"shared/x": "", ".orchestration/active_intents.yaml": ""})
	shared := filepath.Join(w.Dir(), "shared")
	group := os.Getgid()
	if os.Geteuid() == 0 {
		group = 4321
		must(t, os.Chown(shared, -1, group))
	}
	must(t, os.Chmod(shared, 0o775|os.ModeSetgid))
	done(t, w, workspace.Change{Op: change.Created, Target: resolve(t, w, "shared/new"), After: []byte("x")})
	var st unix.Stat_t
	must(t, unix.Stat(filepath.Join(shared, "new"), &st))
	check.That(t, int(st.Gid) == group && st.Mode&0o777 == 0o644, "group %d, mode %o", st.Gid, st.Mode)
}

// TestOtherUser runs as an ordinary user who may write the directory but does not own the file.
func TestOtherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("only root can become another user; the way without a lease is covered by the variants")
		return
	}
	dir := t.TempDir()
	for at := dir; at != os.TempDir() && len(at) > 1; at = filepath.Dir(at) {
		must(t, os.Chmod(at, 0o777))
	}
	put(t, filepath.Join(dir, "f"), "old")
	must(t, os.Chmod(filepath.Join(dir, "f"), 0o666))
	put(t, filepath.Join(dir, "readonly"), "old")
	self := filepath.Join(dir, "self")
	copyBinary(t, self)
	for _, c := range []struct{ file, want, has string }{
		{"f", "committed", "new"}, {"readonly", "permission denied", "old"},
	} {
		cmd := exec.Command(self, dir, c.file)
		cmd.Env = append(os.Environ(), roleVariable+"=modify")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 4711, Gid: 4711}}
		out, err := cmd.CombinedOutput()
		check.That(t, bytes.Contains(out, []byte(c.want)), "%s: %s, %v", c.file, out, err)
		if c.file == "f" && (!bytes.Contains(out, []byte("no lease")) || !bytes.Contains(out, []byte("owner 0 could not be kept"))) {
			t.Errorf("no warning: %s", out)
		}
		b, _ := os.ReadFile(filepath.Join(dir, c.file))
		check.That(t, string(b) == c.has, "%s has %q", c.file, b)
	}
}

func copyBinary(t *testing.T, to string) {
	self, err := os.Executable()
	must(t, err)
	program, err := os.ReadFile(self)
	must(t, err)
	must(t, os.WriteFile(to, program, 0o755))
	must(t, os.Chmod(to, 0o755))
}

// TestOtherFileSystem: the governance directory is on another file system than the files.
func TestOtherFileSystem(t *testing.T) {
	shm, err := os.MkdirTemp("/dev/shm", "workspace-test-")
	if err != nil {
		t.Logf("no second file system here: %v", err)
		return
	}
	t.Cleanup(func() { os.RemoveAll(shm) })
	w := open(t, map[string]string{"f": "old", "other/f": "", "x/f": "moving"})
	mount := filepath.Join(w.Dir(), "other")
	if err := unix.Mount(shm, mount, "", unix.MS_BIND, ""); err != nil {
		t.Logf("no mounts here: %v", err)
		return
	}
	t.Cleanup(func() { must(t, unix.Unmount(mount, 0)) })
	must(t, os.Symlink("/etc", filepath.Join(w.Dir(), ".orchestration"))) // must not be used for anything
	done(t, w,
		modify(t, w),
		workspace.Change{Op: change.Created, Target: resolve(t, w, "other/n/new"), After: []byte("new")},
		workspace.Change{Op: change.Moved, Target: resolve(t, w, "x/f"), To: resolve(t, w, "other/moved"), Before: hashOf("moving")})
	must(t, os.Remove(filepath.Join(w.Dir(), ".orchestration")))
	wantTree(t, w.Dir(), map[string]string{"f": "ours", "other/n/new": "new", "other/moved": "moving"})
}
