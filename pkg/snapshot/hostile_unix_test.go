//go:build unix

package snapshot_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// TestHostileTree puts into the tree what could hold a walk up, or lead it out.
func TestHostileTree(t *testing.T) {
	b := newBench(t)
	outside := t.TempDir()
	b.must(os.WriteFile(filepath.Join(outside, "secret"), []byte("x"), 0o600))
	b.must(os.Symlink(outside, filepath.Join(b.dir, "link")))
	b.must(os.Symlink(".", filepath.Join(b.dir, "loop")))
	b.must(os.Symlink("/dev/zero", filepath.Join(b.dir, "zero")))
	b.must(syscall.Mkfifo(filepath.Join(b.dir, "pipe"), 0o600))
	b.run(`mkdir -p "$(printf 'bad\377dir')" && echo x > "$(printf 'bad\377dir/\nname')"`)
	d := b.changed(`echo y >> "$(printf 'bad\377dir/\nname')"; echo z > link/secret; truncate -s 900G sparse`)
	b.want(d, "modified bad\xffdir/\nname", "created sparse")
	c := b.find(d, "sparse")
	check.That(t, c.After.Hash == "" && !c.After.Known, "900 GB were read: %+v", c.After)
}

// TestDeepTree: what is too deep to be looked into is said, a path longer than the system takes is no matter, and it needs
// few descriptors however deep it goes.
func TestDeepTree(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"d", "e"} { // one for each who walks
		at, err := os.OpenRoot(b.dir)
		b.must(err)
		for range 300 {
			b.must(at.Mkdir(strings.Repeat(name, 30), 0o755))
			next, err := at.OpenRoot(strings.Repeat(name, 30))
			b.must(err)
			at.Close()
			at = next
		}
		b.must(at.WriteFile("bottom", []byte("x"), 0o644))
		at.Close()
	}
	defer fewDescriptors(t, 40)()
	d := b.changed("echo x > top")
	b.want(d, "created top")
	check.That(t, len(d.Gaps) == 2 && strings.Contains(d.Gaps[0].Reason, "longer than 4096 bytes"), "%v", d.Gaps)
}

// fewDescriptors lets the process open no more than so many until the function that it returns is called.
func fewDescriptors(t *testing.T, n uint64) (back func()) {
	var limit syscall.Rlimit
	check.OK(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	next := check.Value(os.Open(os.DevNull))(t)
	defer next.Close()
	check.OK(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: uint64(next.Fd()) + n, Max: limit.Max}))
	return func() { check.OK(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)) }
}

// TestUnreadable: a directory that a command closed to its own user is opened again, and looked into; one that was closed
// before stays so, and is said not to be looked into.
func TestUnreadable(t *testing.T) {
	if os.Getuid() == 0 {
		again(t)
		return
	}
	b := newBench(t)
	b.write("closed/in", "x\n")
	b.write("own/in", "x\n")
	b.write("file", "x\n")
	b.must(os.Chmod(filepath.Join(b.dir, "own"), 0))
	defer func() { b.must(os.Chmod(filepath.Join(b.dir, "own"), 0o755)) }()
	b.end(b.begin())
	waits := b.begin()
	d := b.changed("echo y > closed/in; mkdir new; echo z > new/in; chmod 0 closed new file")
	if gaps := fmt.Sprint(d.Gaps); !strings.Contains(gaps, "own: permission denied") || strings.Contains(gaps, "closed") || strings.Contains(gaps, "new") {
		t.Errorf("%v", d.Gaps)
	}
	c := b.find(d, "closed")
	check.That(t, c.Before.Mode != c.After.Mode, "%+v", c)
	for _, name := range []string{"file", "closed/in", "new/in"} {
		b.find(d, name)
	}
	b.end(waits)
	b.run("chmod 0 new")
	b.begin().Discard()
	b.want(b.changed("true"))
	if info, err := os.Lstat(filepath.Join(b.dir, "new")); err != nil || info.Mode().Perm() != 0 {
		t.Errorf("what was closed between two commands: %v, %v", info.Mode(), err)
	}
	b.must(os.Chmod(filepath.Join(b.dir, "new"), 0o700))
}

// again runs this test once more as an ordinary user.
func again(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "test")
	content := check.Value(os.ReadFile(os.Args[0]))(t)
	if err := os.WriteFile(binary, content, 0o755); err != nil {
		t.Fatal(err)
	}
	for at := dir; len(at) > 1 && strings.HasPrefix(at, os.TempDir()) && at != os.TempDir(); at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(binary, "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	check.That(t, err == nil && bytes.Contains(out, []byte("--- PASS: "+t.Name())), "%v\n%s", err, out)
}

// TestTreeChangesWhileItIsLookedAt swaps directories for links and files come and go, under walks: none leaves the tree,
// none hangs, and when it rests the account is right.
func TestTreeChangesWhileItIsLookedAt(t *testing.T) {
	b := newBench(t)
	outside := t.TempDir()
	for i := range 50 {
		b.must(os.WriteFile(filepath.Join(outside, fmt.Sprint("outside", i)), []byte("x"), 0o600))
		b.write(fmt.Sprintf("dir/sub/f%d", i), "x\n")
	}
	b.end(b.begin())
	stop := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		sub, aside := filepath.Join(b.dir, "dir/sub"), filepath.Join(b.dir, "aside")
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(sub, aside)
			_ = os.Symlink(outside, sub)
			_ = os.Remove(sub)
			_ = os.Rename(aside, sub)
			_ = os.WriteFile(filepath.Join(sub, "comes"), fmt.Append(nil, i), 0o600)
			_ = os.Remove(filepath.Join(sub, "comes"))
		}
	})
	for range 30 {
		d := b.end(b.begin())
		for _, c := range d.Changes {
			check.Must(t, !strings.Contains(c.Path, "outside"), "the walk left the tree: %s", c.Path)
		}
	}
	close(stop)
	swapping.Wait()
	b.end(b.begin())
	b.want(b.changed("echo y > dir/sub/f7"), "modified dir/sub/f7")
}
