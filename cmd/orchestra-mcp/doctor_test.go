package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/doctor"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// patient is a workspace of its own, with a home of its own, that the real program is run on.
type patient struct {
	t         *testing.T
	base, dir string
	env       []string
}

// newPatient is a healthy workspace: set up with some variables, in a repository, connected to one client.
func newPatient(t *testing.T, env ...string) *patient {
	t.Helper()
	p := barePatient(t)
	p.env = append(p.env, env...)
	p.write("src/a.go", "package a\n")
	p.sh("git init -q -b main")
	p.sh("orchestra-mcp init --yes")
	p.sh("orchestra-mcp setup claude-code")
	p.sh("git add -A && git commit -qm start")
	return p
}

// inTree has git keep the ledger in the tree.
const inTree = "ORCHESTRA_LEDGER_GIT=tree"

// keepInTree makes the workspace a new one that was set up so.
func (p *patient) keepInTree() { *p = *newPatient(p.t, inTree) }

func barePatient(t *testing.T) *patient {
	t.Helper()
	base := check.Value(filepath.EvalSymlinks(t.TempDir()))(t)
	p := &patient{t: t, base: base, dir: filepath.Join(base, "work it's")}
	home := filepath.Join(base, "home")
	for _, dir := range []string{p.dir, home} {
		check.OK(t, os.Mkdir(dir, 0o755))
	}
	p.env = []string{
		"HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "APPDATA=" + filepath.Join(home, "AppData"),
		"PATH=" + os.Getenv("PATH"), "TZ=UTC", "GIT_CONFIG_NOSYSTEM=1", "GORACE=atexit_sleep_ms=0",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=maintenance.auto", "GIT_CONFIG_VALUE_0=false", "GIT_TEMPLATE_DIR=",
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.com", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.com",
	}
	return p
}

func (p *patient) path(name string) string { return filepath.Join(p.dir, filepath.FromSlash(name)) }

func (p *patient) write(name, text string) {
	p.t.Helper()
	check.OK(p.t, os.MkdirAll(filepath.Dir(p.path(name)), 0o755))
	check.OK(p.t, os.WriteFile(p.path(name), []byte(text), 0o644))
}

func (p *patient) append(name, text string) {
	p.t.Helper()
	p.write(name, p.read(name)+text)
}

func (p *patient) read(name string) string {
	p.t.Helper()
	text := check.Value(os.ReadFile(p.path(name)))(p.t)
	return string(text)
}

func (p *patient) remove(name string) {
	p.t.Helper()
	check.OK(p.t, os.RemoveAll(p.path(name)))
}

// sh runs a shell line in the workspace. Who is asked something takes what is proposed.
func (p *patient) sh(line string) string {
	p.t.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env, cmd.Stdin = p.dir, p.env, strings.NewReader("\n\n\n\n\n")
	out, err := cmd.CombinedOutput()
	check.Must(p.t, err == nil, "%s: %v\n%s", line, err, out)
	return string(out)
}

// record puts records into the ledger.
func (p *patient) record(paths ...string) {
	p.t.Helper()
	root := check.Value(os.OpenRoot(p.dir))(p.t)
	defer root.Close()
	l := check.Value(ledger.Open(root, ledger.Options{Version: "v1", Beside: !slices.Contains(p.env, inTree)}))(p.t)
	for _, path := range paths {
		_, err := l.Append(context.Background(), recordFor(path))
		check.OK(p.t, err)
	}
	check.OK(p.t, l.Close(context.Background()))
}

func recordFor(path string) record.Record {
	return record.Record{
		Kind: record.KindMutation, IntentID: "INT-001", Call: "write_to_file", Contributor: record.Contributor{Type: record.ContributorAI},
		Changes: []record.Change{{
			Change: change.Change{
				Op: change.Created, Path: path, After: change.Version{Hash: "sha256:" + strings.Repeat("a", 64)},
			},
		}},
	}
}

// examine runs doctor, which must leave every file of the workspace and of the home as it is.
func (p *patient) examine() doctor.Report {
	p.t.Helper()
	before := p.tree()
	cmd := exec.Command("orchestra-mcp", "doctor", "--json")
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.Output()
	var report doctor.Report
	jsonErr := json.Unmarshal(out, &report)
	check.Must(p.t, jsonErr == nil, "doctor: %v, %v\n%s", err, jsonErr, out)
	got, want := cmd.ProcessState.ExitCode(), min(1, report.Count(doctor.Fail))
	check.That(p.t, got == want, "exit code %d with %d failed checks", got, report.Count(doctor.Fail))
	after := p.tree()
	check.That(p.t, slices.Equal(before, after),
		"doctor changed something:\n%s\nafter\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	return report
}

// tree lists all files with their state and content.
func (p *patient) tree() (all []string) {
	p.t.Helper()
	err := filepath.WalkDir(p.base, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		var content []byte
		if info.Mode().IsRegular() {
			content, err = os.ReadFile(path)
		}
		all = append(all, fmt.Sprintf("%s %v %v %q", path, info.Mode(), info.ModTime().UnixNano(), content))
		return err
	})
	check.OK(p.t, err)
	return all
}

// worries are the findings that are not ok, but for the one that every workspace has in this version.
func worries(r doctor.Report) (found []doctor.Finding) {
	for _, f := range r.Findings {
		if f.Status != doctor.OK && !strings.Contains(f.Message, "not confined in this version") {
			found = append(found, f)
		}
	}
	return found
}

func TestDoctorFindsNothingInAHealthyWorkspace(t *testing.T) {
	for _, env := range [][]string{nil, {inTree}} {
		p := newPatient(t, env...)
		p.record("src/a.go")
		found := worries(p.examine())
		check.That(t, len(found) == 0, "found %+v", found)
	}
}

// TestDoctorAndItsRemedies breaks a workspace in each way, and mends it as doctor says; under the race detector in every fourth. What
// is whole again is broken in the next way; without ORCHESTRA_LONG it is only at the end of such a chain that nothing may be left.
func TestDoctorAndItsRemedies(t *testing.T) {
	all := breakages()
	names := slices.Sorted(maps.Keys(all))
	if check.Short() {
		names = everyNth(4, names)
	}
	for chain := range slices.Chunk(names, 16) {
		t.Run("from "+chain[0], func(t *testing.T) {
			t.Parallel()
			var p *patient
			for i, name := range chain {
				if p == nil {
					p = newPatient(t)
				}
				mended := t.Run(name, func(t *testing.T) {
					p.t = t
					p.breakAndMend(all[name])
					if last := i == len(chain)-1 || slices.Contains(p.env, inTree); last || check.Long() {
						left := worries(p.examine())
						check.That(t, len(left) == 0, "what is left: %+v", left)
					}
				})
				if !mended || slices.Contains(p.env, inTree) {
					p = nil
				}
			}
		})
	}
}

func (p *patient) breakAndMend(b breakage) {
	b.do(p)
	found := worries(p.examine())
	i := slices.IndexFunc(found, func(f doctor.Finding) bool {
		return f.Area == b.area && f.Status == b.status && strings.Contains(f.Message, b.says)
	})
	check.Must(p.t, i >= 0, "nothing says %s %s %q: %+v", b.area, b.status, b.says, found)
	check.That(p.t, strings.HasPrefix(found[i].Command, b.command) && (b.command == "") == (found[i].Command == "") && found[i].Remedy != "",
		"remedy %q, command %q, want %q", found[i].Remedy, found[i].Command, b.command)
	if b.mend != nil {
		b.mend(p)
	} else {
		p.sh(answered(found[i].Command))
	}
}

// answered is a command that asks whoever is at a terminal.
func answered(command string) string {
	for _, asks := range []string{" init", " trust", " ledger restore"} {
		if strings.HasSuffix(command, asks) {
			return command + " --yes"
		}
	}
	return command
}

// TestDoctorKnowsEveryClient: what setup writes is right, a program that is gone is found, and setup mends it.
func TestDoctorKnowsEveryClient(t *testing.T) {
	files := map[string]string{
		"claude-desktop": "../home/.config/Claude/claude_desktop_config.json", "claude-code": ".mcp.json", "cursor": ".cursor/mcp.json",
		"roo": ".roo/mcp.json", "vscode": ".vscode/mcp.json", "codex": ".codex/config.toml", "copilot": ".github/mcp.json", "devin": ".devin/config.json",
		"gemini": ".gemini/settings.json", "opencode": "opencode.json", "cline": "../home/.cline/data/settings/cline_mcp_settings.json",
	}
	switch runtime.GOOS {
	case "darwin":
		files["claude-desktop"] = "../home/Library/Application Support/Claude/claude_desktop_config.json"
	case "windows":
		files["claude-desktop"] = "../home/AppData/Claude/claude_desktop_config.json"
	}
	p := newPatient(t)
	p.remove(".mcp.json")
	for _, client := range clientsetup.Names() {
		t.Run(client, func(t *testing.T) {
			p.t = t
			for _, flag := range []string{"", " --keep-tools"} {
				p.sh("orchestra-mcp setup " + client + flag)
				found := worries(p.examine())
				check.That(t, len(found) == 0, "after setup%s: %+v", flag, found)
			}
			p.write(files[client], commandLine.ReplaceAllString(p.read(files[client]), `${1}"/gone/it"`))
			found := worries(p.examine())
			check.Must(t, len(found) != 0 && found[0].Status == doctor.Fail && found[0].Command == "orchestra-mcp setup "+client,
				"found %+v", found)
			p.sh(found[0].Command)
			found = worries(p.examine())
			check.That(t, len(found) == 0, "after the remedy: %+v", found)
		})
	}
}

var commandLine = regexp.MustCompile(`(\bcommand"?(?:: \[?| = ))"(?:orchestra-mcp|/[^"]*|[A-Z]:[^"]*)"`)

func TestDoctorOutsideAWorkspace(t *testing.T) {
	p := barePatient(t)
	report := p.examine()
	check.That(t, report.Count(doctor.Fail) == 1 && worries(report)[0].Command == "orchestra-mcp init", "found %+v", worries(report))
	p.sh(answered(worries(report)[0].Command))
	got := p.examine()
	check.That(t, got.Count(doctor.Fail) == 0, "after init: %+v", worries(got))
}

// TestDoctorAndAHostileRepository: nothing that a repository names is run, and nothing it says acts on a terminal.
func TestDoctorAndAHostileRepository(t *testing.T) {
	p := newPatient(t)
	evil := filepath.Join(p.dir, "evil")
	p.write("evil", "#!/bin/sh\ntouch '"+strings.ReplaceAll(p.base, "'", `'\''`)+"/pwned'\n")
	p.sh("chmod +x evil && git config core.fsmonitor ./evil && git config core.hooksPath evil && git config core.pager ./evil && git config alias.check-attr '!./evil'")
	forged := "\x1b[2J\u202e$(touch pwned)`touch pwned`'"
	p.write(".mcp.json", fmt.Sprintf(`{"mcpServers": {"orchestra": {"command": %q, "args": ["serve", "--workspace", %q]}, "a\u001b[31m": {"command": "x"}}}`, evil, p.dir))
	p.write(".cursor/mcp.json", `{"mcpServers": {"orchestra": {"command": "\u001b[2J\u202e", "args": ["serve", "--workspace", "/\u001b[2J"]}}}`)
	p.append(".orchestration/config.yaml", "\n\""+`\e[2Jx`+"\": "+"1\n")
	p.append(".orchestration/.intentignore", forged+"[\nintent:"+forged+"\n")
	p.append(".orchestration/active_intents.yaml", "  - id: \""+`\e[2J`+"\"\n")
	p.write(".orchestration/trace/"+forged+".jsonl", forged+"\n")
	p.write(".orchestration/state/torn-"+forged+".jsonl", forged)
	p.write(".gitignore", "*"+forged+"\n*.jsonl\n")
	report := p.examine()
	check.That(t, report.Count(doctor.Fail) >= 4, "found only %+v", worries(report))
	cmd := exec.Command("orchestra-mcp", "doctor")
	cmd.Dir, cmd.Env = p.dir, p.env
	text, _ := cmd.CombinedOutput()
	raw, _ := exec.Command("orchestra-mcp", "--workspace", p.dir, "doctor", "--json").Output()
	for _, out := range []string{string(text), string(raw)} {
		i := strings.IndexFunc(out, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) })
		check.That(t, i < 0 && out != "", "%q is printed as it is", out[max(0, i):])
	}
	// The remedy for a hostile name names exactly that file.
	for _, f := range worries(report) {
		if strings.HasPrefix(f.Command, "rm ") {
			p.sh(f.Command)
		}
	}
	left, _ := filepath.Glob(p.path(".orchestration/state/torn-*"))
	check.That(t, len(left) == 0, "left %q", left)
	for _, name := range []string{filepath.Join(p.base, "pwned"), p.path("pwned")} {
		_, err := os.Lstat(name)
		check.That(t, err != nil, "a program of the repository was run")
	}
}
