//go:build unix

package sandbox_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/seatbelt/seatbelttest"
)

func TestSeatbeltIsBelowAllLevelsOfLinux(t *testing.T) {
	seatbelt := func() sandbox.Ability { return sandbox.Ability{Level: sandbox.Seatbelt} }
	for least, holds := range map[sandbox.Level]bool{sandbox.None: true, sandbox.Seatbelt: true, sandbox.Landlock: false, sandbox.Full: false} {
		level, err := sandbox.Want{AtLeast: least, Ability: seatbelt}.Level()
		check.That(t, level == sandbox.Seatbelt && (err == nil) == holds && (err == nil || errors.Is(err, sandbox.ErrUnavailable)), "%s: %s %v", least, level, err)
	}
	check.That(t, sandbox.Want{Ability: seatbelt}.DeniesNetwork(), "the network is not denied")
	check.That(t, !sandbox.Want{Off: true, Ability: seatbelt}.DeniesNetwork(), "it is, without a sandbox")
}

// TestSeatbeltIsAskedOnlyWhereThereIsNothingElse, and what it says stays.
func TestSeatbeltIsAskedOnlyWhereThereIsNothingElse(t *testing.T) {
	no := errors.New("it does not hold")
	for _, c := range []struct {
		has   sandbox.Level
		says  error
		want  sandbox.Level
		tried int
	}{
		{sandbox.Full, nil, sandbox.Full, 0}, {sandbox.Landlock, nil, sandbox.Landlock, 0},
		{sandbox.None, nil, sandbox.Seatbelt, 1}, {sandbox.None, no, sandbox.None, 1},
	} {
		tried := 0
		a := sandbox.WithSeatbelt(func() sandbox.Ability { return sandbox.Ability{Level: c.has} }, func() error { tried++; return c.says })()
		check.That(t, a.Level == c.want && tried == c.tried && (a.NoSeatbelt == nil) == (c.says == nil), "%s: %+v after %d trials", c.has, a, tried)
	}
}

// TestSeatbeltTrialNoticesWhatHoldsNothing: a program that takes the profile and ignores it is found out, as is one that starts nothing.
func TestSeatbeltTrialNoticesWhatHoldsNothing(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"ignores the profile": {`while [ "$1" != -- ]; do shift; done; shift; exec "$@"`, "a command could change the governance"},
		"starts nothing":      {`echo 'sandbox-exec: invalid profile' >&2; exit 65`, "invalid profile"},
		"says nothing":        {`exit 0`, "it was not tried to change the governance"},
	} {
		err := sandbox.TrySeatbelt(script(t, c.script))
		check.That(t, err != nil && strings.Contains(err.Error(), c.want), "%s: %v", name, err)
	}
	err := sandbox.TrySeatbelt(filepath.Join(t.TempDir(), "missing"))
	check.That(t, err != nil, "a program that is not there holds")
}

// TestSeatbeltStart: what sandbox-exec is given, with names that could be read as something else.
func TestSeatbeltStart(t *testing.T) {
	root := canonical(t)
	name := filepath.Join(root, `-D "x" (allow default) $(y)`)
	check.OK(t, os.Mkdir(name, 0o755))
	out := filepath.Join(t.TempDir(), "arguments")
	cmd := exec.Command("/bin/sh", "-c", "true", "-p")
	cmd.Env = []string{"OUT=" + out}
	check.OK(t, sandbox.StartSeatbelt(cmd, &sandbox.Profile{Workspace: root, Writable: []string{name}, Temp: canonical(t)}, script(t, `printf '%s\0' "$@" >"$OUT"`)))
	check.OK(t, cmd.Wait())
	arguments := strings.Split(strings.TrimSuffix(string(check.Value(os.ReadFile(out))(t)), "\x00"), "\x00")
	at := slices.Index(arguments, "--")
	check.Must(t, at > 2 && arguments[0] == "-p" && slices.Equal(arguments[at:], []string{"--", "/bin/sh", "-c", "true", "-p"}), "%q", arguments)
	check.That(t, !strings.Contains(arguments[1], "$(y)"), "a name stands in the text")
	named := 0
	for _, a := range arguments[2:at] {
		check.That(t, strings.HasPrefix(a, "-DP"), "%q", a)
		if strings.HasSuffix(a, "="+name) {
			named++
		}
	}
	check.That(t, named == 1, "%q", arguments)
}

// TestSeatbeltRefuses: where the kernel would have another name for a path than the profile, nothing is started.
func TestSeatbeltRefuses(t *testing.T) {
	root, temp := canonical(t), canonical(t)
	check.OK(t, os.MkdirAll(filepath.Join(root, "real/dir"), 0o755))
	check.OK(t, os.Symlink("real", filepath.Join(root, "link")))
	at := func(name string) string { return filepath.Join(root, name) }
	for name, p := range map[string]*sandbox.Profile{
		"a link":               {Writable: []string{at("link")}, Temp: temp},
		"by a link":            {Writable: []string{at("link/dir")}, Temp: temp},
		"hidden by a link":     {Hidden: []string{at("link/dir")}, Temp: temp},
		"frozen by a link":     {Writable: []string{root}, Frozen: []sandbox.Frozen{{Path: at("link/dir")}}, Temp: temp},
		"absent by a link":     {Writable: []string{root}, Frozen: []sandbox.Frozen{{Path: at("link/new")}}, Temp: temp},
		"a frozen link":        {Writable: []string{root}, Frozen: []sandbox.Frozen{{Path: at("link")}}, Temp: temp},
		"absent and not ASCII": {Writable: []string{root}, Frozen: []sandbox.Frozen{{Path: at("ü")}}, Temp: temp},
		"gone":                 {Writable: []string{at("gone")}, Temp: temp},
		"the data volume":      {Writable: []string{"/System/Volumes/Data/Users"}, Temp: temp},
		"a way by number":      {Hidden: []string{"/.vol/1/2"}, Temp: temp},
		"relative":             {Writable: []string{"real"}, Temp: temp},
		"without a temp":       {Writable: []string{root}},
		"nil":                  nil,
	} {
		cmd := exec.Command("/bin/sh", "-c", "touch "+at("started"))
		err := sandbox.StartSeatbelt(cmd, p, script(t, `while [ "$1" != -- ]; do shift; done; shift; exec "$@"`))
		if err == nil {
			cmd.Wait()
		}
		_, started := os.Lstat(at("started"))
		check.That(t, (errors.Is(err, sandbox.ErrUnavailable) || errors.Is(err, sandbox.ErrMoved)) && started != nil, "%s: %v", name, err)
	}
	_, err := sandbox.Start(exec.Command("/bin/sh"), sandbox.Seatbelt, &sandbox.Profile{})
	check.That(t, errors.Is(err, sandbox.ErrUnavailable), "%v", err)
}

func TestSeatbeltSpelling(t *testing.T) {
	root := canonical(t)
	check.OK(t, os.MkdirAll(filepath.Join(root, "Project/süß"), 0o755))
	for path, right := range map[string]bool{
		"Project": true, "Project/süß": true, "project": false, "PROJECT": false, "project/süß": false, "Project/SÜß": false,
	} {
		err := sandbox.SpelledOnFolding(filepath.Join(root, path))
		check.That(t, (err == nil) == right && (right || errors.Is(err, sandbox.ErrUnavailable)), "%s: %v", path, err)
	}
}

// TestSeatbeltSaysWhatTheProfileSays compares the text with the rules of a Profile, for many of them: of the entries that hold a
// path the deepest decides, what holds something closed stays where it is, and what is hidden cannot be read.
func TestSeatbeltSaysWhatTheProfileSays(t *testing.T) {
	root, temp := canonical(t), canonical(t)
	var all []string
	grow(t, root, 3, &all)
	r := rand.New(rand.NewPCG(1, 2))
	for range check.Rounds(check.Smaller(100, 5), 5000) {
		p := &sandbox.Profile{Workspace: root, Temp: temp}
		some := func(most int) (paths []string) {
			for range r.IntN(most + 1) {
				paths = append(paths, all[r.IntN(len(all))])
			}
			slices.Sort(paths)
			return slices.Compact(paths)
		}
		p.Writable, p.Hidden, p.Emptied = append(some(4), root), some(2), some(1)
		for _, path := range some(6) {
			if r.IntN(3) > 0 {
				p.Frozen = append(p.Frozen, sandbox.Frozen{Path: path})
			}
			if r.IntN(2) == 0 {
				p.Frozen = append(p.Frozen, sandbox.Frozen{Path: filepath.Join(path, ".Absent")})
			}
		}
		text, parameters, err := sandbox.SeatbeltProfile(p)
		check.OK(t, err)
		profile, err := seatbelttest.Read(text, parameters)
		check.OK(t, err)
		for _, path := range all {
			for _, at := range []string{path, path + "/new", path + "/.absent", path + "/.ABSENT/x", path + "/sub/new"} {
				compare(t, p, profile, at)
			}
		}
		if t.Failed() {
			t.Fatalf("%+v\n%s\n%q", p, text, parameters)
		}
	}
}

func compare(t *testing.T, p *sandbox.Profile, profile *seatbelttest.Profile, at string) {
	t.Helper()
	want, hidden := expected(p, at)
	info, err := os.Lstat(at)
	got := profile.Allows("file-write-data", at)
	if err == nil && info.IsDir() { // what is writable stays in its place unless what it lies in is writable too
		without := *p
		without.Writable = slices.DeleteFunc(slices.Clone(p.Writable), func(w string) bool { return w == at })
		want, _ = expected(&without, at)
		holds := slices.ContainsFunc(closed(p), func(c string) bool { return c == at || strings.HasPrefix(c, at+"/") })
		if want = want && !holds; profile.Allows("file-write-unlink", at) != want {
			t.Errorf("%s can be moved: %v", at, !want)
		}
		return
	}
	if got != want {
		t.Errorf("writing %s: %v, want %v", at, got, want)
	}
	if profile.Allows("file-read-data", at) == hidden {
		t.Errorf("reading %s: %v", at, !hidden)
	}
}

func closed(p *sandbox.Profile) []string {
	all := slices.Concat(p.Hidden, p.Emptied)
	for _, f := range p.Frozen {
		all = append(all, f.Path)
	}
	return all
}

// expected is what the documentation of Profile says of a path.
func expected(p *sandbox.Profile, at string) (writable, hidden bool) {
	within := func(dir string) bool { return at == dir || strings.HasPrefix(at, dir+"/") }
	deepest := -1
	for _, path := range p.Writable {
		if info, err := os.Lstat(path); within(path) && len(path) > deepest && (at == path || err == nil && info.IsDir()) {
			deepest, writable = len(path), true
		}
	}
	for _, f := range p.Frozen {
		_, err := os.Lstat(f.Path)
		held := within(f.Path)
		if above, _ := os.Lstat(filepath.Dir(f.Path)); err != nil && !above.IsDir() { // which must not become one
			f.Path = filepath.Dir(f.Path)
			held = within(f.Path)
		} else if err != nil { // in any letter case
			held = strings.EqualFold(at, f.Path) || len(at) > len(f.Path) && strings.EqualFold(at[:len(f.Path)+1], f.Path+"/")
		}
		if held && len(f.Path) >= deepest {
			deepest, writable = len(f.Path), false
		}
	}
	for _, path := range slices.Concat(p.Hidden, p.Emptied) {
		if within(path) {
			writable, hidden = false, true
		}
	}
	return writable, hidden
}

// grow makes a tree, and names all that is in it.
func grow(t *testing.T, dir string, depth int, all *[]string) {
	for i := range 3 {
		path := filepath.Join(dir, fmt.Sprintf(`n"%d`, i))
		*all = append(*all, path)
		if depth == 0 || i == 2 {
			check.OK(t, os.WriteFile(path, nil, 0o644))
			continue
		}
		check.OK(t, os.Mkdir(path, 0o755))
		grow(t, path, depth-1, all)
	}
}

// script is a program that stands in for sandbox-exec.
func script(t *testing.T, lines string) string {
	path := filepath.Join(t.TempDir(), "sandbox-exec")
	check.OK(t, os.WriteFile(path, []byte("#!/bin/sh\n"+lines+"\n"), 0o755))
	return path
}

func canonical(t *testing.T) string { return check.Value(filepath.EvalSymlinks(t.TempDir()))(t) }
