package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/doctor"
)

// install puts this program at a place below a directory, which is not the patient's own: doctor's look compares all of that.
func (p *patient) install(below, name string) (path string) {
	p.t.Helper()
	program := check.Value(exec.LookPath("orchestra-mcp"))(p.t)
	program = check.Value(filepath.EvalSymlinks(program))(p.t)
	path = filepath.Join(below, filepath.FromSlash(name))
	check.OK(p.t, os.MkdirAll(filepath.Dir(path), 0o755))
	if os.Link(program, path) != nil { // another file system
		check.OK(p.t, os.WriteFile(path, check.Value(os.ReadFile(program))(p.t), 0o755))
	}
	return path
}

func npmPlatform() string {
	return "@intentgov/orchestra-mcp-" + runtime.GOOS + "-" + strings.Replace(runtime.GOARCH, "amd64", "x64", 1)
}

// TestSetupOfEachInstallation: what is written is there as long as the installation is; afterwards doctor says which file names
// what is gone, and its command mends it.
func TestSetupOfEachInstallation(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the layouts are not Windows'")
	}
	npm, desktop := npmPlatform(), "../home/.config/Claude/claude_desktop_config.json"
	if runtime.GOOS == "darwin" {
		desktop = "../home/Library/Application Support/Claude/claude_desktop_config.json"
	}
	const sealed = `"npx"` + ` -y --prefix=/ --script-shell=/bin/sh --fetch-retries=0 @intentgov/orchestra-mcp@1.2.3 serve`
	for name, test := range map[string]struct {
		program, path    string // where it is, and what stands before the system's PATH
		files            string // a shell line that makes the rest
		own, shared      string // what the two kinds of files start
		fine             string // what doctor may still say
		upgrade          string // a shell line after which all is well
		gone             string // a shell line after which it is not
		ownSays, commits string // what doctor says of the two files
	}{
		"a package": {program: "usr/bin/orchestra-mcp", path: "usr/bin", own: `"BASE/usr/bin/orchestra-mcp"`, shared: `"orchestra-mcp"`,
			gone: "rm usr/bin/orchestra-mcp", ownSays: "/usr/bin/orchestra-mcp, which is not there", commits: "orchestra-mcp, which is not on the PATH"},
		"npx": {program: "home/.npm/_npx/0a/node_modules/" + npm + "/bin/orchestra-mcp", path: "node/bin",
			files: `printf '{"version": "1.2.3"}' >home/.npm/_npx/0a/node_modules/` + npm + `/package.json; mkdir -p node/bin; printf '#!/bin/sh\n' >node/bin/npx; chmod +x node/bin/npx`,
			own:   sealed, shared: sealed, fine: "npx with version 1.2.3; this is devel", upgrade: "rm -r home/.npm",
			gone: "rm node/bin/npx", ownSays: "npx, which is not on the PATH", commits: "npx, which is not on the PATH"},
		"npm install -g": {program: "usr/lib/node_modules/@intentgov/orchestra-mcp/node_modules/" + npm + "/bin/orchestra-mcp", path: "usr/bin",
			files: `mkdir -p usr/bin usr/lib/node_modules/@intentgov/orchestra-mcp/bin; cd usr; printf '#!/bin/sh\n' >lib/node_modules/@intentgov/orchestra-mcp/bin/orchestra-mcp
				chmod +x lib/node_modules/@intentgov/orchestra-mcp/bin/orchestra-mcp; ln -s ../lib/node_modules/@intentgov/orchestra-mcp/bin/orchestra-mcp bin/orchestra-mcp`,
			own: `"BASE/usr/lib/node_modules/@intentgov/orchestra-mcp/node_modules/` + npm + `/bin/orchestra-mcp"`, shared: `"orchestra-mcp"`,
			gone: "rm -r usr", ownSays: "/bin/orchestra-mcp, which is not there", commits: "orchestra-mcp, which is not on the PATH"},
		"Homebrew": {program: "brew/Cellar/orchestra-mcp/1.2.3/bin/orchestra-mcp", path: "brew/bin",
			files: "mkdir -p brew/bin; ln -s ../Cellar/orchestra-mcp/1.2.3/bin/orchestra-mcp brew/bin/orchestra-mcp", own: `"BASE/brew/bin/orchestra-mcp"`, shared: `"orchestra-mcp"`,
			upgrade: "cd brew && mv Cellar/orchestra-mcp/1.2.3 Cellar/orchestra-mcp/1.2.4 && ln -sf ../Cellar/orchestra-mcp/1.2.4/bin/orchestra-mcp bin/orchestra-mcp",
			gone:    "rm -r brew/Cellar", ownSays: "/brew/bin/orchestra-mcp, which is not there", commits: "orchestra-mcp, which is not on the PATH"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, base := barePatient(t), check.Value(filepath.EvalSymlinks(t.TempDir()))(t)
			program, in := p.install(base, test.program), "cd '"+base+"'; "
			p.setPath(filepath.Join(base, test.path) + ":/usr/local/bin:/usr/bin:/bin")
			p.sh(in + test.files)
			p.sh("git init -q -b main && " + program + " init --yes")
			p.sh(program + " setup claude-code && " + program + " setup claude-desktop && " + program + " git install-hooks")
			hook := strings.NewReplacer(base, "BASE", "'", "").Replace(p.read(".git/hooks/pre-commit"))
			for i, word := range strings.Fields(strings.TrimSuffix(strings.ReplaceAll(test.own, `"`, ""), " serve")) {
				check.That(t, strings.Contains(hook, map[bool]string{true: "program=", false: " "}[i == 0]+word), "git's hook lacks %s:\n%s", word, hook)
			}
			for file, want := range map[string]string{desktop: test.own, ".mcp.json": test.shared} {
				text := strings.NewReplacer(base, "BASE", `",`, "", `"args": [`, "", `"serve"`, "serve").Replace(p.read(file))
				got := strings.Join(strings.Fields(strings.ReplaceAll(text, `"`, "")), " ")
				check.That(t, strings.Contains(got, "command: "+strings.ReplaceAll(want, `"`, "")), "%s:\n%s\nwants %s", file, got, want)
			}
			worried := func() (found []doctor.Finding) {
				return slices.DeleteFunc(worries(p.examine()), func(f doctor.Finding) bool {
					return f.Area != "clients" && !strings.HasPrefix(f.Message, "The hook ") || test.fine != "" && strings.Contains(f.Message, test.fine)
				})
			}
			check.That(t, len(worried()) == 0, "after setup: %+v", worried())
			if own := p.sh(program + " doctor || :"); test.fine != "" {
				check.That(t, !strings.Contains(own, test.fine), "it warns of itself: %s", own)
			}
			if test.upgrade != "" {
				p.sh(in + test.upgrade)
				check.That(t, len(worried()) == 0, "after an upgrade: %+v", worried())
			}
			p.sh(in + test.gone)
			p.setPath(filepath.Join(base, test.path) + ":" + p.tools())
			found := worried()
			for file, says := range map[string]string{filepath.Base(desktop): test.ownSays, "(.mcp.json)": test.commits} {
				check.That(t, slices.ContainsFunc(found, func(f doctor.Finding) bool {
					return f.Status == doctor.Fail && strings.Contains(f.Message, file) && strings.Contains(f.Message, says) && f.Remedy != ""
				}), "nothing says %s of %s: %+v", says, file, found)
			}
			check.That(t, slices.ContainsFunc(found, func(f doctor.Finding) bool {
				return strings.Contains(f.Message, "which is gone") && strings.Contains(f.Command, "git install-hooks")
			}), "nothing says that git's hooks start what is gone: %+v", found)
			p.setPath(filepath.Dir(p.install(base, "new/orchestra-mcp")) + ":/usr/local/bin:/usr/bin:/bin")
			p.sh("orchestra-mcp setup claude-code && orchestra-mcp setup claude-desktop && orchestra-mcp git install-hooks")
			check.That(t, len(worried()) == 0, "after another setup: %+v", worried())
		})
	}
}

// tools is a directory with git and nothing else: no npx and no docker.
func (p *patient) tools() string {
	p.t.Helper()
	dir := filepath.Join(p.base, "tools")
	if _, err := os.Lstat(dir); err != nil {
		check.OK(p.t, os.Mkdir(dir, 0o755))
		check.OK(p.t, os.Symlink(check.Value(exec.LookPath("git"))(p.t), filepath.Join(dir, "git")))
	}
	return dir
}

// TestSetupOfWhatWillBeGone: a file of the user's does not name a program that will not stay; nothing is written, and it says
// what to do.
func TestSetupOfWhatWillBeGone(t *testing.T) {
	for place, says := range map[string]string{
		"go-build77/b001/exe/orchestra-mcp": "the go command removes it again", "Claude Extensions/x/server/orchestra-mcp": "which its client starts by itself",
		"Cellar/orchestra-mcp/1.2.3/bin/orchestra-mcp": "brew link orchestra-mcp",
	} {
		p := barePatient(t)
		base := t.TempDir()
		program := p.install(base, place)
		if strings.HasPrefix(place, "Claude") {
			manifest := `{"manifest_version": "0.4", "server": {"mcp_config": {"command": "${__dirname}/server/orchestra-mcp"}}}`
			check.OK(t, os.WriteFile(filepath.Join(base, "Claude Extensions/x/manifest.json"), []byte(manifest), 0o644))
		}
		p.env = append(p.env, "PATH=/usr/bin:/bin")
		for _, client := range []string{"claude-desktop", "cline"} {
			cmd := exec.Command(program, "setup", client)
			cmd.Dir, cmd.Env = p.dir, p.env
			out, err := cmd.CombinedOutput()
			check.That(t, err != nil && cmd.ProcessState.ExitCode() == exitFailed && strings.Contains(string(out), says), "%s %s: %v %s", place, client, err, out)
		}
		check.That(t, len(check.Value(os.ReadDir(p.path("../home")))(t)) == 0, "%s: something was written", place)
		cmd := exec.Command(program, "setup", "roo") // whose file has the name, which is not there
		cmd.Dir, cmd.Env = p.dir, p.env
		out, err := cmd.CombinedOutput()
		check.That(t, err != nil && strings.Contains(string(out), says) && !strings.Contains(string(out), "ln -s"), "%s: %v %s", place, err, out)
	}
}

// TestSetupInAnImage: what a container prints starts a container; outside, doctor looks for Docker.
func TestSetupInAnImage(t *testing.T) {
	p := newPatient(t)
	image := p.path("../image")
	inImage := func(args ...string) (out string, code int) {
		t.Helper()
		p.write("../image", "intentgov/orchestra-mcp:9.9.9\n")
		env, stdout := systemEnvironment(), bytes.Buffer{}
		env.imageFile, env.workDir, env.environ = image, func() (string, error) { return p.dir, nil }, func() []string { return p.env }
		env.home = func() (string, error) { return p.path("../home"), nil }
		code = execute(context.Background(), args, streams{in: strings.NewReader(""), out: &stdout, err: &stdout}, env)
		return stdout.String(), code
	}
	for client, want := range map[string]string{
		"vscode": `"${workspaceFolder}:/workspace", "intentgov/orchestra-mcp:9.9.9", "serve", "--workspace", "/workspace"]`, "claude-code": `"-v", ".:/workspace"`,
		"claude-desktop": `"/PATH/OF/THE/WORKSPACE:/workspace"`, "codex": `command = "docker"`,
	} {
		out, code := inImage("setup", client, "--print")
		check.That(t, code == exitDone && strings.Contains(out, want) && !strings.Contains(out, `"hook"`), "%s: %d\n%s", client, code, out)
	}
	out, code := inImage("setup", "claude-desktop")
	check.That(t, code == exitUsage && strings.Contains(out, "add --print"), "%d %s", code, out)
	out, code = inImage("setup", "claude-desktop", "--remove")
	check.That(t, code == exitUsage && strings.Contains(out, "take orchestra out of them there"), "%d %s", code, out)
	out, code = inImage("git", "install-hooks")
	check.That(t, code == exitDone && strings.Contains(p.read(".git/hooks/pre-commit"), "program='orchestra-mcp'\n"), "git runs its hooks outside, too: %d %s", code, out)
	out, code = inImage("init")
	check.That(t, strings.Contains(out, "docker run -i --rm") || code != exitDone, "%d %s", code, out)
	out, code = inImage("setup", "claude-code")
	check.That(t, code == exitDone && strings.Contains(out, "a hook does not work out of a container") && !strings.Contains(p.read(".mcp.json"), `"orchestra-mcp"`), "%d %s", code, out)
	_, err := os.Stat(p.path(".claude/settings.json"))
	check.That(t, err != nil, "the hooks of another installation are left: %s", out)
	out, _ = inImage("doctor")
	check.That(t, strings.Contains(out, "from inside a container it is not seen"), "%s", out)

	env := systemEnvironment()
	p.write("../image", "")
	env.imageFile = image
	launch := check.Value((&app{environment: env}).launch(p.dir))(t)
	check.That(t, launch.Unfit() != nil, "an image that does not say its name starts %q", launch.Words())

	p.setPath(filepath.Join(p.base, "bin") + ":" + p.tools())
	says := func(status doctor.Status, text string) {
		t.Helper()
		found := worries(p.examine())
		check.That(t, slices.ContainsFunc(found, func(f doctor.Finding) bool {
			return f.Status == status && strings.Contains(f.Message, text) && f.Command == "orchestra-mcp setup claude-code"
		}), "nothing says %q: %+v", text, found)
	}
	says(doctor.Fail, "Claude Code (.mcp.json) starts docker, which is not on the PATH")
	p.write("../bin/docker", "#!/bin/sh\n")
	check.OK(t, os.Chmod(p.path("../bin/docker"), 0o755))
	says(doctor.Warn, "with version 9.9.9; this is devel")
}

// TestDoctorAndHooksAlone: a hook starts what is gone, though the server's entry is right, or is not there.
func TestDoctorAndHooksAlone(t *testing.T) {
	p := newPatient(t)
	p.sh(`sed -i.bak 's|"command": "orchestra-mcp"|"command": "/gone/orchestra-mcp"|' .claude/settings.json && rm .claude/settings.json.bak`)
	for range 2 {
		found := worries(p.examine())
		check.That(t, slices.ContainsFunc(found, func(f doctor.Finding) bool {
			return f.Status == doctor.Fail && strings.Contains(f.Message, "(a hook in .claude/settings.json) starts /gone/orchestra-mcp, which is not there") && f.Command == "orchestra-mcp setup claude-code"
		}), "found %+v", found)
		p.remove(".mcp.json")
	}
	p.sh("orchestra-mcp setup claude-code")
	check.That(t, len(worries(p.examine())) == 0, "after setup: %+v", worries(p.examine()))
	p.sh(`sed -i.bak 's|"command": .*|"command": "npx",|; s|"args": .*|"args": ["-y", "@intentgov/orchestra-mcp", "serve"]|' .mcp.json && rm .mcp.json.bak && mkdir -p ../bin && printf '#!/bin/sh\n' >../bin/npx && chmod +x ../bin/npx`)
	p.setPath(filepath.Join(p.base, "bin") + ":" + os.Getenv("PATH"))
	found := worries(p.examine())
	check.That(t, slices.ContainsFunc(found, func(f doctor.Finding) bool { return strings.Contains(f.Message, "with other flags than setup writes") }), "found %+v", found)
	p.sh("orchestra-mcp setup claude-code")
	check.That(t, len(worries(p.examine())) == 0, "after setup: %+v", worries(p.examine()))
}

// TestDoctorAndHooksOfAnother: VS Code and Copilot have one file of hooks, and Cline's scripts lie apart from its list. What one
// setup has named in them is no way past the server for the other.
func TestDoctorAndHooksOfAnother(t *testing.T) {
	p := newPatient(t)
	other := p.install(t.TempDir(), "it's another/orchestra-mcp")
	p.sh(`orchestra-mcp setup copilot && orchestra-mcp setup vscode --command "` + other + `" && orchestra-mcp setup cline --command "` + other + `"`)
	check.That(t, len(worries(p.examine())) == 0, "found %+v", worries(p.examine()))
	p.sh(`sed -i.bak 's/PreToolUse/Else/' .github/hooks/orchestra.json && rm .github/hooks/orchestra.json.bak`)
	found := worries(p.examine())
	check.That(t, len(found) == 2 && strings.Contains(found[0].Message, "can write or run commands past the server"), "found %+v", found)
}
