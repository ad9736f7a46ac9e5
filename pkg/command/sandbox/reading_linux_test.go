package sandbox_test

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// mountedEnv makes this test binary start itself again with mounts of its own:
// "make" has it make them, "made" says that they are there.
const mountedEnv = "SANDBOX_MOUNTED"

// TestFullReading and TestLandlockReading run TestReadingInMounts for a level, in a mount namespace of its own.
func TestFullReading(t *testing.T) {
	newWorkspace(t) // the level full must be here
	inMounts(t, sandbox.Full)
}

func TestLandlockReading(t *testing.T) {
	landlockHere(t)
	inMounts(t, sandbox.Landlock)
}

func inMounts(t *testing.T, level sandbox.Level) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run", "^TestReadingInMounts$", "-test.v")
	cmd.Env = append(os.Environ(), mountedEnv+"=make", "SANDBOX_LEVEL="+string(level))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWUSER, AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN},
			UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
		}
	}
	// Commands at Landlock that other tests ran have closed it, for users too.
	check.OK(t, unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0))
	out, err := cmd.CombinedOutput()
	check.That(t, err == nil && strings.Contains(string(out), "--- PASS: TestReadingInMounts"), "%v\n%s", err, out)
}

// secrets are the files that nobody may read, below /mnt.
var secrets = []string{
	"ws/top.env", "ws/conf/deep/key", "ws/with space/key", "ws/private/key", "ws/private/sub/key", "ws/src/keys/id", "ws/src/dir/key",
	"ws/.orchestration/state/approvals/one", "ws/.orchestration/state/journal", "ws/.orchestration/cache/output/two",
	"home/.config/orchestra-mcp/approval.key", "home/.config/orchestra-mcp/spent/x",
}

// others are files that everybody may read.
var others = []string{
	"ws/src/a.go", "ws/docs/out.md", "ws/conf/deep/open", "ws/conf/open", "ws/.orchestration/active_intents.yaml", "ws/with space/open", "home/.bashrc",
	"home/.config/other/file", "ws/src/keys/open",
}

// makeMounts makes a world of files below /mnt, which is seen at several places,
// and starts this program again as it was without it.
func makeMounts() error {
	runtime.LockOSThread()
	if err := errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount("none", "/mnt", "tmpfs", 0, "mode=0755")); err != nil {
		return err
	}
	var failed []error
	for _, name := range slices.Concat(secrets, others) {
		path := "/mnt/" + name
		content := "open\n"
		if slices.Contains(secrets, name) {
			content = "LEAK\n"
		}
		failed = append(failed, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o755))
	}
	for _, name := range []string{"t", "again", "second name", "part", "over", "ws/src/inside"} {
		failed = append(failed, os.Mkdir("/mnt/"+name, 0o755))
	}
	failed = append(failed, os.WriteFile("/mnt/file.key", nil, 0o644), os.Symlink("../private/key", "/mnt/ws/src/link"))
	for _, bind := range [][2]string{
		{"/mnt/ws", "/mnt/again"}, {"/mnt", "/mnt/second name"}, {"/mnt/ws/private/sub", "/mnt/part"}, {"/mnt/ws/with space/key", "/mnt/file.key"},
		{"/mnt/ws", "/mnt/over"}, {"/mnt/ws/docs", "/mnt/over"},
	} {
		failed = append(failed, unix.Mount(bind[0], bind[1], "", unix.MS_BIND, ""))
	}
	failed = append(failed, unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), os.Setenv(mountedEnv, "made"), os.Setenv("TMPDIR", "/mnt/t"))
	if err := errors.Join(failed...); err != nil {
		return err
	}
	return unix.Exec("/proc/self/exe", os.Args, os.Environ())
}

// places are the paths at which the secrets can be seen.
func places() (paths []string) {
	for _, name := range secrets {
		paths = append(paths, "/mnt/"+name, "/mnt/second name/"+name)
		if inside, in := strings.CutPrefix(name, "ws/"); in {
			paths = append(paths, "/mnt/again/"+inside)
		}
	}
	return append(paths, "/mnt/part/key", "/mnt/file.key", "/mnt/ws/src/link")
}

// readers is a program that tries to read each path in each way, and says which ways led there.
//
//go:embed testdata/readers.py
var readers string

// legitimate must go on working although not everything can be read.
var legitimate = []string{
	"cat /mnt/ws/src/a.go docs/out.md conf/deep/open conf/open 'with space/open' /mnt/home/.bashrc /mnt/home/.config/other/file src/keys/open",
	"cat /mnt/over/out.md /mnt/again/docs/out.md '/mnt/second name/ws/docs/out.md' .orchestration/active_intents.yaml",
	"echo x > src/new && cat src/new && mkdir src/n && echo y > src/n/f && mv src/n src/m && cat src/m/f",
	"echo x > $TMPDIR/new && cat $TMPDIR/new && mktemp",
	"cp /bin/true src/program && src/program",
	"cat <<E\nx\nE",
	"echo x | cat /proc/self/fd/0 && cat /proc/self/status /proc/version > /dev/null",
	"python3 -c \"import os; fd = os.memfd_create('m'); os.write(fd, b'x'); assert open('/proc/self/fd/%d' % fd).read() == 'x'\"",
	"ls .orchestration .orchestration/state .orchestration/cache && ls -d private conf/deep",
	"head -c 1 /dev/urandom > /dev/null && cat /dev/null && echo x > /dev/shm/o$$ && cat /dev/shm/o$$ && rm /dev/shm/o$$",
	"find /mnt/ws/src/a.go /mnt/ws/docs -type f > /dev/null",
}

// TestReadingInMounts tries to read what is hidden in every way at every place.
func TestReadingInMounts(t *testing.T) {
	if os.Getenv(mountedEnv) != "made" {
		return // for inMounts
	}
	level := sandbox.Level(os.Getenv("SANDBOX_LEVEL"))
	profile := readingProfile()
	open := []string{"/mnt/ws/src/keys/id", "/mnt/ws/src/dir"} // in what the command may write
	if level == sandbox.Full {
		open = open[:1] // who replaces a file replaces no directory
	}
	if exposed := sandbox.Exposed(level, profile); !slices.Equal(exposed, slices.Sorted(slices.Values(open))) {
		t.Errorf("exposed: %q", exposed)
	}
	lasting := *profile
	lasting.Lasting = true
	if exposed := sandbox.Exposed(level, &lasting); (len(exposed) > len(open)) != (level == sandbox.Full) {
		t.Errorf("exposed to a command that lasts: %q", exposed)
	}
	for _, line := range legitimate {
		out, code := held(t, level, profile, line)
		check.That(t, code == 0, "%s: %d %s", line, code, out)
	}
	out, code := held(t, level, profile, "python3 - <<'E'\nimport io, sys\nsys.stdin = io.StringIO('''"+strings.Join(places(), "\n")+"''')\n"+readers+"\nE")
	check.Must(t, code == 0, "%v", out)
	for line := range strings.Lines(out) {
		if level == sandbox.Landlock && (strings.Contains(line, "/src/keys/id") || strings.Contains(line, "/src/dir/key")) {
			continue // exposed
		}
		t.Errorf("reached: %s", line)
	}
	t.Run("while it is replaced", func(t *testing.T) { replaced(t, level, profile) })
}

// readingProfile hides the secrets from a command that may write src.
func readingProfile() *sandbox.Profile {
	return &sandbox.Profile{
		Workspace: "/mnt/ws", Temp: "/mnt/t", Writable: []string{"/mnt/ws/src"},
		Hidden: []string{
			"/mnt/ws/top.env", "/mnt/ws/conf/deep/key", "/mnt/ws/with space/key", "/mnt/ws/private", "/mnt/ws/src/keys/id", "/mnt/ws/src/dir",
			"/mnt/home/.config/orchestra-mcp",
		},
		Emptied: []string{"/mnt/ws/.orchestration/state", "/mnt/ws/.orchestration/cache"},
	}
}

// replaced has their owner save the secrets again and again, as editors do it, while a command reads.
func replaced(t *testing.T, level sandbox.Level, profile *sandbox.Profile) {
	files := []string{"/mnt/ws/top.env", "/mnt/ws/conf/deep/key", "/mnt/ws/private/key", "/mnt/ws/.orchestration/state/journal"}
	begun := filepath.Join(profile.Temp, "begun")
	check.OK(t, unix.Mkfifo(begun, 0o600))
	stop, saved := make(chan struct{}), make(chan int)
	go func() {
		if _, err := os.ReadFile(begun); err != nil { // a mask cannot be laid on what goes away
			t.Error(err)
		}
		for times := 0; ; times++ {
			select {
			case <-stop:
				saved <- times
				return
			default:
			}
			file := files[times%len(files)]
			if err := errors.Join(os.WriteFile(file+"~", []byte("LEAK\n"), 0o644), os.Rename(file+"~", file)); err != nil {
				t.Error(err)
			}
		}
	}()
	out, code := held(t, level, profile, fmt.Sprintf(`python3 -c "
import os
open('%s', 'w').close()
leaks = 0
for _ in range(2000):
    for f in %s:
        try: leaks += b'LEAK' in open(f, 'rb').read()
        except OSError: pass
print('leaks:', leaks)"`, begun, "['"+strings.Join(files, "', '")+"', '"+strings.Join(files, "~', '")+"~']"))
	close(stop)
	if times := <-saved; code != 0 || !strings.Contains(out, "leaks: 0\n") {
		t.Errorf("after %d times: %d %s", times, code, out)
	}
}

// TestLandlockSaysWhatItCannotHide: below a directory with too many entries all
// can be read, and it says so; what is absent when the command starts is hidden when it comes into being.
func TestLandlockSaysWhatItCannotHide(t *testing.T) {
	landlockHere(t)
	dir := t.TempDir()
	files(t, dir, "many/secret", "many/deep/secret", "few/later/x")
	for i := range 10_000 {
		check.OK(t, os.Link(filepath.Join(dir, "many/secret"), filepath.Join(dir, "many", fmt.Sprint(i))))
	}
	profile := &sandbox.Profile{Workspace: dir, Temp: t.TempDir()}
	for _, name := range []string{"many/secret", "many/deep/secret", "few/later/secret", "few/absent"} {
		profile.Hidden = append(profile.Hidden, filepath.Join(dir, name))
	}
	want := []string{filepath.Join(dir, "many/deep/secret"), filepath.Join(dir, "many/secret")}
	exposed := sandbox.Exposed(sandbox.Landlock, profile)
	check.That(t, slices.Equal(exposed, want), "exposed: %q", exposed)
	begun := filepath.Join(profile.Temp, "begun")
	check.OK(t, unix.Mkfifo(begun, 0o600))
	go func() { // it goes on when the command runs, and the command when the files are there
		pipe, err := os.OpenFile(begun, os.O_WRONLY, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer pipe.Close()
		files(t, dir, "few/later/secret", "few/absent/inside")
	}()
	if out, _ := held(t, sandbox.Landlock, profile, "cat "+begun+"; cat few/later/secret few/absent/inside many/secret few/later/x"); out !=
		"cat: few/later/secret: Permission denied\ncat: few/absent/inside: Permission denied\nmany/secret\nfew/later/x\n" {
		t.Error(out)
	}
}
