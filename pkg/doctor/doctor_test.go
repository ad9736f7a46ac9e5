package doctor_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
	"github.com/intentgov/orchestra-mcp/internal/scaffold"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/doctor"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

var now = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// fresh is a new workspace with a home of its own, as doctor is asked about it.
func fresh(t *testing.T) (doctor.Options, *os.Root) {
	t.Helper()
	base := t.TempDir()
	dir, home := filepath.Join(base, "ws"), filepath.Join(base, "home")
	check.OK(t, errors.Join(os.Mkdir(dir, 0o755), os.Mkdir(home, 0o755)))
	root, err := os.OpenRoot(dir)
	check.OK(t, err)
	t.Cleanup(func() { check.OK(t, root.Close()) })
	_, err = scaffold.Create(root, scaffold.Options{Intent: scaffold.FirstIntent{ID: "INT-001", Name: "n", Scope: []string{"src/**"}}})
	check.OK(t, err)
	executable := check.Value(os.Executable())(t)
	userDir := filepath.Join(home, ".config", "orchestra-mcp")
	return doctor.Options{
		Dir: dir, Home: home, OS: runtime.GOOS, UserDir: userDir, Executable: executable, Launch: clientsetup.At(executable), Version: "devel", Self: "orchestra-mcp",
		Environ: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, Now: func() time.Time { return now },
	}, root
}

// find gives the first finding of an area whose message contains a text.
func find(r doctor.Report, area, says string) (doctor.Finding, bool) {
	for _, f := range r.Findings {
		if f.Area == area && strings.Contains(f.Message, says) {
			return f, true
		}
	}
	return doctor.Finding{}, false
}

// wrongAndRight wants a finding with the first options and none with the second.
func wrongAndRight(t *testing.T, wrong, right doctor.Options, area string, status doctor.Status, says string) {
	t.Helper()
	f, found := find(doctor.Run(context.Background(), wrong), area, says)
	check.That(t, found && f.Status == status && f.Remedy != "", "%s %q: found %+v", area, says, f)
	f, found = find(doctor.Run(context.Background(), right), area, says)
	check.That(t, !found, "still found %+v", f)
}

// TestWhatIsAskedFor is about the machine and the user, as options tell of them.
func TestWhatIsAskedFor(t *testing.T) {
	for _, c := range []struct {
		area   string
		status doctor.Status
		says   string
		spoil  func(*doctor.Options)
	}{
		{"program", doctor.Fail, "before this program was made", func(o *doctor.Options) {
			o.Now = func() time.Time { return time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC) }
		}},
		{"files", doctor.Fail, "are free", func(o *doctor.Options) { o.MinFree = 1 << 62 }},
		{"workspace", doctor.Warn, "whole home directory", func(o *doctor.Options) { o.Home = o.Dir }},
		{"settings", doctor.Warn, "no directory for your own settings", func(o *doctor.Options) { o.Home, o.UserDir = "", "" }},
		{"clients", doctor.Warn, "home directory is not known", func(o *doctor.Options) { o.Home, o.UserDir = "", "" }},
		{"workspace", doctor.Fail, "cannot be opened", func(o *doctor.Options) { o.Dir += "-gone" }},
	} {
		right, _ := fresh(t)
		right.MinFree = 1
		wrong := right
		c.spoil(&wrong)
		if c.area != "files" || runtime.GOOS == "linux" { // how much is free is not asked elsewhere
			wrongAndRight(t, wrong, right, c.area, c.status, c.says)
		}
	}
}

// TestDirectoryThatCannotBeWritten: whoever may write everywhere must not be told that he may not.
func TestDirectoryThatCannotBeWritten(t *testing.T) {
	o, root := fresh(t)
	check.OK(t, root.Chmod(".orchestration", 0o555))
	t.Cleanup(func() { _ = root.Chmod(".orchestration", 0o755) })
	try, err := root.Create(".orchestration/x")
	if err == nil {
		check.OK(t, try.Close())
	}
	f, found := find(doctor.Run(context.Background(), o), "files", "cannot be written")
	wanted := err != nil && runtime.GOOS == "linux"
	check.That(t, found == wanted, "found %v %+v, writing says %v", found, f, err)
	check.That(t, !found || f.Status == doctor.Fail && f.Command == "chmod u+w -- .orchestration", "found %+v", f)
}

// TestSandbox: what is said of the sandbox is what commands will meet.
func TestSandbox(t *testing.T) {
	machine := func(level sandbox.Level) func() sandbox.Ability {
		a := sandbox.Ability{Level: level, ABI: 4}
		if level != sandbox.Full {
			a.NoFull = errors.New("no namespaces")
		}
		if level == sandbox.None {
			a.NoLandlock = errors.New("no Landlock")
		}
		return func() sandbox.Ability { return a }
	}
	noSeatbelt := func() sandbox.Ability {
		a := machine(sandbox.None)()
		a.NoSeatbelt = errors.New("a command could rename a hidden file")
		return a
	}
	for _, test := range []struct {
		ability func() sandbox.Ability
		setting string
		status  doctor.Status
		text    string
	}{
		{machine(sandbox.Full), "best", doctor.OK, "level full"},
		{machine(sandbox.Landlock), "best", doctor.Warn, "no namespaces"},
		{machine(sandbox.Landlock), "require-landlock", doctor.Warn, "level landlock (ABI 4)"},
		{machine(sandbox.Landlock), "best", doctor.Warn, "a command can signal the server"},
		{machine(sandbox.Landlock), "best", doctor.Warn, "signal your other programs"},
		{machine(sandbox.None), "best", doctor.Warn, "not confined on this machine"},
		{machine(sandbox.Seatbelt), "best", doctor.Warn, "level seatbelt: a trial"},
		{machine(sandbox.Seatbelt), "require-landlock", doctor.Warn, "this machine has seatbelt, so no command"},
		{noSeatbelt, "best", doctor.Warn, "level seatbelt: a command could rename a hidden file"},
		{machine(sandbox.Full), "off", doctor.Warn, "turn the sandbox off"},
		{machine(sandbox.Landlock), "require", doctor.Warn, "no command of an agent runs: no namespaces"},
		{machine(sandbox.None), "require-landlock", doctor.Warn, "no command of an agent runs: level full: no namespaces; level landlock: no Landlock"},
	} {
		o, _ := fresh(t)
		o.Ability, o.Environ = test.ability, append(o.Environ, "ORCHESTRA_SANDBOX="+test.setting)
		f, found := find(doctor.Run(context.Background(), o), "sandbox", test.text)
		check.That(t, found && f.Status == test.status, "%s: %q is not said: %+v", test.setting, test.text, f)
	}
	o, _ := fresh(t)
	_, found := find(doctor.Run(context.Background(), o), "sandbox", string(sandbox.Probe().Level))
	check.That(t, runtime.GOOS != "linux" || found, "the level of this machine is not said")
}

func TestApprovals(t *testing.T) {
	o, root := fresh(t)
	says := func(o doctor.Options, status doctor.Status, text string) {
		t.Helper()
		f, found := find(doctor.Run(context.Background(), o), "approvals", text)
		check.That(t, found && f.Status == status, "%q: %+v", text, f)
	}
	says(o, doctor.OK, "nobody waits")
	store := approval.Open(root, approval.Options{UserDir: o.UserDir, Clock: o.Now})
	for _, path := range []string{"a", "b"} {
		_, _, err := store.Put(approval.Request{Tool: "write_to_file", IntentID: "INT-001", Effects: []approval.Effect{{Kind: "create", Path: path}}})
		check.OK(t, err)
	}
	pending, err := store.Pending()
	check.OK(t, err)
	says(o, doctor.Warn, "2 requests wait")
	_, _, err = store.Answer(pending[0].ID, approval.Answer{Decision: approval.Deny, Via: approval.Inbox})
	check.OK(t, err)
	says(o, doctor.Warn, "1 request waits")
	late := o
	late.Now = func() time.Time { return now.Add(2 * approval.Lifetime) }
	says(late, doctor.OK, "nobody waits")
	key := filepath.Join(o.UserDir, "approval.key")
	check.OK(t, os.WriteFile(key, []byte("x"), 0o600))
	says(o, doctor.Fail, "is not a key")
	check.OK(t, os.Remove(key))
	says(o, doctor.Warn, "key that shows them to be genuine")
	_, err = os.Lstat(key)
	check.That(t, err != nil, "doctor made a key")
}

// TestOldVersion gives a client a program that says it is of another version. It is told by its contents; it is not run.
func TestOldVersion(t *testing.T) {
	right, root := fresh(t)
	content := check.Value(os.ReadFile(right.Executable))(t)
	const mine = "github.com/intentgov/orchestra-mcp\t(devel)"
	check.Must(t, bytes.Contains(content, []byte(mine)), "the test's own program does not say which module it is of")
	old := filepath.Join(filepath.Dir(right.Home), "old")
	check.OK(t, os.WriteFile(old, bytes.ReplaceAll(content, []byte(mine), []byte(strings.Replace(mine, "(devel)", "v0.0.99", 1))), 0o755))
	configure := func(program string) {
		t.Helper()
		check.OK(t, root.WriteFile(".mcp.json", []byte(`{"mcpServers": {"orchestra": {"command": "`+filepath.ToSlash(program)+
			`", "args": ["serve", "--workspace", "`+filepath.ToSlash(right.Dir)+`"]}}}`), 0o644))
	}
	configure(old)
	f, found := find(doctor.Run(context.Background(), right), "clients", "version v0.0.99; this is devel")
	check.That(t, found && f.Status == doctor.Warn && f.Command == "orchestra-mcp setup claude-code", "found %+v", f)
	configure(right.Executable)
	f, found = find(doctor.Run(context.Background(), right), "clients", "version")
	check.That(t, !found, "still found %+v", f)
	inside := filepath.Join(right.Dir, "bin")
	check.OK(t, os.WriteFile(inside, content, 0o755))
	configure(inside)
	f, found = find(doctor.Run(context.Background(), right), "clients", "inside the workspace")
	check.That(t, found && f.Status == doctor.Warn, "found %+v", f)
}

// TestLedgerThatTakesTooLong: a check that was cut short is not one that found nothing.
func TestLedgerThatTakesTooLong(t *testing.T) {
	o, root := fresh(t)
	l, err := ledger.Open(root, ledger.Options{Version: "v1"})
	check.OK(t, err)
	_, err = l.Append(context.Background(), record.Record{Kind: record.KindSelection, IntentID: "INT-001", Contributor: record.Contributor{Type: record.ContributorAI}})
	check.OK(t, errors.Join(err, l.Close(context.Background())))
	ctx, cancel := context.WithTimeout(context.Background(), 0)
	defer cancel()
	f, found := find(doctor.Run(ctx, o), "ledger", "was not checked to its end")
	check.That(t, found && f.Status == doctor.Warn && f.Command == "orchestra-mcp verify", "found %+v", f)
}

func TestSecretsThatGitTracks(t *testing.T) {
	right, root := fresh(t)
	ws := right.Dir
	wrong, wrongRoot := fresh(t)
	for dir, r := range map[string]*os.Root{ws: root, wrong.Dir: wrongRoot} {
		check.OK(t, errors.Join(r.WriteFile(".intentignore", []byte("secret:*.key\nnot: clear\n"), 0o644), r.WriteFile("a b.key", []byte("x"), 0o644), r.WriteFile("c", nil, 0o644)))
		for _, args := range [][]string{{"init", "-q", "--template="}, {"add", "c"}} {
			check.OK(t, gitIn(dir, args...))
		}
	}
	check.OK(t, gitIn(wrong.Dir, "add", "a b.key"))
	wrongAndRight(t, wrong, right, "git", doctor.Warn, "git tracks what a secret: rule covers ('a b.key')")
}

func gitIn(dir string, args ...string) error {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+dir)
	return cmd.Run()
}
