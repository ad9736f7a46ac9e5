//go:build linux && !portable

package workspace_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

var initialised = map[string]string{"f": "old", ".orchestration/active_intents.yaml": ""}

func modify(t testing.TB, w *workspace.Workspace) workspace.Change {
	return workspace.Change{Op: workspace.Modify, Target: resolve(t, w, "f"), Before: hashOf("old"), After: []byte("ours")}
}

// rename is an editor that saves by renaming.
func rename(t testing.TB, path, content string) { must(t, foreignWrite("rename", path, content)) }

// TestForeignRenameBetweenTheSwaps lets an editor save at each moment between two of our system calls.
func TestForeignRenameBetweenTheSwaps(t *testing.T) {
	for _, c := range []struct {
		name  string
		saves []string // before the first exchange, before the one that takes it back, ...
		kept  []string
	}{
		{"once", []string{"first"}, nil},
		{"twice", []string{"first", "second"}, []string{"first"}},
		{"four times", []string{"first", "second", "third", "fourth"}, []string{"third"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var path string
			saves := c.saves
			w := open(t, initialised, workspace.BeforeSwap(func() {
				if len(saves) > 0 {
					rename(t, path, saves[0])
					saves = saves[1:]
				}
			}))
			path = filepath.Join(w.Dir(), "f")
			_, err := commit(t, w, modify(t, w))
			last := c.saves[len(c.saves)-1]
			var stale *workspace.StaleError
			if !errors.As(err, &stale) || string(stale.Content) != last {
				t.Errorf("got %v, %+v", err, stale)
			}
			var kept []string
			for name, content := range tree(t, w.Dir()) {
				if strings.HasSuffix(name, ".kept") {
					kept = append(kept, content)
				} else if strings.HasSuffix(name, ".tmp") {
					t.Errorf("left over: %s", name)
				}
			}
			if have, _ := os.ReadFile(path); string(have) != last || !slices.Equal(kept, c.kept) {
				t.Errorf("the path has %q, kept aside is %q", have, kept)
			}
			var named *workspace.KeptError
			if len(c.kept) > 0 && !errors.As(err, &named) {
				t.Errorf("the error does not say what was kept: %v", err)
			}
		})
	}
}

func TestForeignRenameWithoutEnd(t *testing.T) {
	var path string
	n := 0
	w := open(t, initialised, workspace.BeforeSwap(func() {
		n++
		rename(t, path, strings.Repeat("x", n))
	}))
	path = filepath.Join(w.Dir(), "f")
	if _, err := commit(t, w, modify(t, w)); !errors.Is(err, workspace.ErrBusy) {
		t.Errorf("got %v", err)
	}
	have, err := os.ReadFile(path)
	must(t, err)
	last := false // the last save must be at the path or kept aside
	for name, content := range tree(t, w.Dir()) {
		last = last || len(content) == n && (name == "f" || strings.HasSuffix(name, ".kept"))
	}
	if !last {
		t.Errorf("the last of %d saves is lost; the path has %d", n, len(have))
	}
}

// TestForeignRemovalBetweenTheSwaps: what was taken out goes back even if the path is gone by then.
func TestForeignRemovalBetweenTheSwaps(t *testing.T) {
	var path string
	round := 0
	w := open(t, initialised, workspace.BeforeSwap(func() {
		if round++; round == 1 {
			rename(t, path, "theirs")
		} else {
			must(t, os.Remove(path))
		}
	}))
	path = filepath.Join(w.Dir(), "f")
	if _, err := commit(t, w, modify(t, w)); !errors.Is(err, workspace.ErrStale) {
		t.Errorf("got %v", err)
	}
	wantTree(t, w.Dir(), map[string]string{"f": "theirs", ".orchestration/active_intents.yaml": ""})
}

func TestFileGoneBeforeCommit(t *testing.T) {
	for name, op := range map[string]workspace.Op{"modify": workspace.Modify, "delete": workspace.Delete} {
		t.Run(name, func(t *testing.T) {
			w := open(t, initialised)
			c := modify(t, w)
			c.Op = op
			p, err := w.Prepare(context.Background(), []workspace.Change{c})
			must(t, err)
			must(t, os.Remove(filepath.Join(w.Dir(), "f")))
			var stale *workspace.StaleError
			if _, err := p.Commit(context.Background()); !errors.As(err, &stale) || stale.Have != "" {
				t.Errorf("got %v", err)
			}
			wantTree(t, w.Dir(), map[string]string{".orchestration/active_intents.yaml": ""})
		})
	}
}

// TestDeleteMeetsForeignRename: the file that is deleted is not the one that was checked.
func TestDeleteAndMoveMeetForeignRename(t *testing.T) {
	for _, op := range []workspace.Op{workspace.Delete, workspace.Move} {
		w := open(t, initialised)
		c := workspace.Change{Op: op, Target: resolve(t, w, "f"), To: resolve(t, w, "x/to"), Before: hashOf("old")}
		p, err := w.Prepare(context.Background(), []workspace.Change{c})
		must(t, err)
		rename(t, filepath.Join(w.Dir(), "f"), "theirs")
		var stale *workspace.StaleError
		if _, err := p.Commit(context.Background()); !errors.As(err, &stale) || string(stale.Content) != "theirs" {
			t.Errorf("%v: got %v", op, err)
		}
		wantTree(t, w.Dir(), map[string]string{"f": "theirs", ".orchestration/active_intents.yaml": ""})
	}
}

func TestFileOpenForWriting(t *testing.T) {
	w := open(t, initialised, workspace.WithPatience(time.Second, 100*time.Millisecond))
	f, err := os.OpenFile(filepath.Join(w.Dir(), "f"), os.O_WRONLY, 0)
	must(t, err)
	if _, err := commit(t, w, modify(t, w)); !errors.Is(err, workspace.ErrBusy) {
		t.Errorf("got %v", err)
	}
	wantTree(t, w.Dir(), initialised)
	time.AfterFunc(20*time.Millisecond, func() { f.Close() })
	s, err := commit(t, w, modify(t, w))
	must(t, err)
	must(t, s.Close())
}

// TestWriterMeetsOurLease: a program that opens the file while we hold it waits until we are done, and then has the
// new file or, if it had found the old one, makes us give way. The signal of the lease harms nobody.
func TestWriterMeetsOurLease(t *testing.T) {
	w := open(t, initialised)
	p, err := w.Prepare(context.Background(), []workspace.Change{modify(t, w)})
	must(t, err)
	e := startEditor(t, "truncate")
	e.write(0, filepath.Join(w.Dir(), "f"), "theirs")
	e.begun()
	var stale *workspace.StaleError
	if _, err := p.Commit(context.Background()); !errors.As(err, &stale) || string(stale.Content) != "theirs" {
		t.Errorf("got %v", err)
	}
	e.wait()
	wantTree(t, w.Dir(), map[string]string{"f": "theirs", ".orchestration/active_intents.yaml": ""})
}

// TestLateWriter writes into the displaced inode after Commit, as a program would that had looked the path up
// before.
func TestLateWriter(t *testing.T) {
	w := open(t, initialised)
	f := filepath.Join(w.Dir(), "f")
	must(t, os.Link(f, filepath.Join(w.Dir(), "same"))) // stands for the lookup
	s, err := commit(t, w, modify(t, w))
	must(t, err)
	if warnings := strings.Join(s.Files()[0].Warnings, ""); !strings.Contains(warnings, "hard links") {
		t.Errorf("warnings: %q", warnings)
	}
	e := startEditor(t, "truncate")
	e.write(0, filepath.Join(w.Dir(), "same"), "theirs")
	e.begun()
	var kept *workspace.KeptError
	if err := s.Close(); !errors.As(err, &kept) {
		t.Fatalf("got %v", err)
	}
	e.wait()
	b, err := os.ReadFile(filepath.Join(w.Dir(), kept.Kept))
	must(t, err)
	if string(b) != "theirs" || kept.Path != "f" {
		t.Errorf("%+v has %q", kept, b)
	}
	if b, _ := os.ReadFile(f); string(b) != "ours" {
		t.Errorf("the path has %q", b)
	}
}

func TestRollbackLeavesForeignContent(t *testing.T) {
	for _, style := range []string{"rename", "truncate"} {
		t.Run(style, func(t *testing.T) {
			w := open(t, map[string]string{"f": "old", "g": "1", ".orchestration/active_intents.yaml": ""})
			s, err := commit(t, w, modify(t, w), workspace.Change{Op: workspace.Modify, Target: resolve(t, w, "g"), Before: hashOf("1"), After: []byte("2")})
			must(t, err)
			e := startEditor(t, style)
			e.write(0, filepath.Join(w.Dir(), "f"), "theirs")
			e.begun()
			var failed *workspace.RollbackError
			if err := s.Rollback(context.Background()); !errors.As(err, &failed) || !slices.Equal(failed.Paths, []string{"f"}) {
				t.Errorf("got %v", err)
			}
			must(t, s.Close())
			e.wait()
			files := tree(t, w.Dir())
			if files["f"] != "theirs" || files["g"] != "1" {
				t.Errorf("%q", files)
			}
			if err := s.Rollback(context.Background()); err == nil {
				t.Error("taken back twice")
			}
		})
	}
}

func TestLocks(t *testing.T) {
	w := open(t, initialised, workspace.WithPatience(100*time.Millisecond, time.Second))
	other := openAt(t, w.Dir(), workspace.WithPatience(100*time.Millisecond, time.Second)) // stands for another process
	s, err := commit(t, w, modify(t, w))
	must(t, err)
	again := func(w *workspace.Workspace) error {
		_, err := commit(t, w, workspace.Change{Op: workspace.Modify, Target: resolve(t, w, "f"), Before: hashOf("ours"), After: []byte("again")})
		return err
	}
	if err := again(w); !errors.Is(err, workspace.ErrBusy) {
		t.Errorf("same process: %v", err)
	}
	if err := again(other); !errors.Is(err, workspace.ErrBusy) {
		t.Errorf("other process: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if _, err := w.Prepare(ctx, []workspace.Change{modify(t, w)}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cancelled: %v", err)
	}
	must(t, s.Close())
	p, err := other.Prepare(context.Background(), []workspace.Change{{Op: workspace.Delete, Target: resolve(t, other, "f"), Before: hashOf("ours")}})
	must(t, err)
	must(t, p.Discard())
	must(t, p.Discard())
	wantTree(t, w.Dir(), map[string]string{"f": "ours", ".orchestration/active_intents.yaml": ""})
}

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
		s, err := commit(t, w, modify(t, w))
		must(t, err)
		must(t, s.Close())
		if got := metadata(t, path); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
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
	s, err := commit(t, w, workspace.Change{Op: workspace.Create, Target: resolve(t, w, "shared/new"), After: []byte("x")})
	must(t, err)
	must(t, s.Close())
	var st unix.Stat_t
	must(t, unix.Stat(filepath.Join(shared, "new"), &st))
	if int(st.Gid) != group || st.Mode&0o777 != 0o644 {
		t.Errorf("group %d, mode %o", st.Gid, st.Mode)
	}
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
		if !bytes.Contains(out, []byte(c.want)) {
			t.Errorf("%s: %s, %v", c.file, out, err)
		}
		if c.file == "f" && (!bytes.Contains(out, []byte("no lease")) || !bytes.Contains(out, []byte("owner 0 could not be kept"))) {
			t.Errorf("no warning: %s", out)
		}
		if b, _ := os.ReadFile(filepath.Join(dir, c.file)); string(b) != c.has {
			t.Errorf("%s has %q", c.file, b)
		}
	}
}

func copyBinary(t *testing.T, to string) {
	self, err := os.Executable()
	must(t, err)
	from, err := os.Open(self)
	must(t, err)
	defer from.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	must(t, err)
	_, err = io.Copy(out, from)
	must(t, err)
	must(t, out.Close())
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
	s, err := commit(t, w,
		modify(t, w),
		workspace.Change{Op: workspace.Create, Target: resolve(t, w, "other/n/new"), After: []byte("new")},
		workspace.Change{Op: workspace.Move, Target: resolve(t, w, "x/f"), To: resolve(t, w, "other/moved"), Before: hashOf("moving")})
	must(t, err)
	must(t, s.Close())
	must(t, os.Remove(filepath.Join(w.Dir(), ".orchestration")))
	wantTree(t, w.Dir(), map[string]string{"f": "ours", "other/n/new": "new", "other/moved": "moving"})
}

// TestForkDoesNotDisturb: a child between fork and exec has copies of our descriptors; neither locks nor leases may
// fail for good because of it.
func TestForkDoesNotDisturb(t *testing.T) {
	w := open(t, initialised, workspace.WithDurability(workspace.OS))
	stop := make(chan struct{})
	forked := make(chan struct{})
	go func() {
		defer close(forked)
		for {
			select {
			case <-stop:
				return
			default:
				_ = exec.Command("/bin/true").Run()
			}
		}
	}()
	content := "old"
	for i := range 100 {
		next := strings.Repeat("x", i)
		s, err := commit(t, w, workspace.Change{Op: workspace.Modify, Target: resolve(t, w, "f"), Before: hashOf(content), After: []byte(next)})
		must(t, err)
		must(t, s.Close())
		content = next
	}
	close(stop)
	<-forked
}
