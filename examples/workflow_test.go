package examples_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

type workflow struct {
	On          map[string]any    `yaml:"on"`
	Permissions map[string]string `yaml:"permissions"`
	Jobs        map[string]struct {
		Permissions map[string]string `yaml:"permissions"`
		Steps       []struct {
			Name, Uses, Run, If string
			With                map[string]string
			Env                 map[string]string
		}
	}
}

func readWorkflow(t *testing.T) workflow {
	t.Helper()
	text := check.Value(os.ReadFile("github-actions/orchestra-gate.yml"))(t)
	var w workflow
	check.OK(t, yaml.Unmarshal(text, &w))
	return w
}

func TestWorkflowIsSafe(t *testing.T) {
	w := readWorkflow(t)
	_, ok := w.On["pull_request"]
	check.That(t, ok && len(w.On) == 1, "it runs on %v", w.On)
	check.That(t, w.Permissions != nil && len(w.Permissions) == 0, "the workflow has the permissions %v", w.Permissions)
	for permission, level := range w.Jobs["gate"].Permissions {
		check.That(t, level != "write" || permission == "security-events" || permission == "pull-requests", "%s: %s", permission, level)
	}
	for _, step := range w.Jobs["gate"].Steps {
		if strings.HasPrefix(step.Uses, "actions/checkout@") && (step.With["fetch-depth"] != "0" || step.With["persist-credentials"] != "false") {
			t.Errorf("checkout with %v", step.With)
		}
		check.That(t, !strings.Contains(step.Run, "${{"), "%s: an expression in a script can be injected into", step.Name)
	}
}

// TestWorkflowRuns runs the steps as GitHub would, but for the actions of others and the installation, on a pull request
// that passes and on one that does not.
func TestWorkflowRuns(t *testing.T) {
	gh := "#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$RUNNER_TEMP/gh-arguments\"\ntest -f \"$RUNNER_TEMP/gate.md\"\n"
	check.OK(t, os.WriteFile(filepath.Join(tools, "gh"), []byte(gh), 0o755))
	for name, c := range map[string]struct {
		untraced, want string
		code           int
	}{"passes": {"", "gate: passed", 0}, "fails": {"by hand\n", "gate: failed", 1}} {
		t.Run(name, func(t *testing.T) {
			temp := t.TempDir()
			env := append(os.Environ(), "PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+temp, "XDG_CONFIG_HOME="+temp,
				"GIT_CONFIG_NOSYSTEM=1", "GITHUB_BASE_REF=main", "GITHUB_REPOSITORY=o/r", "PULL_REQUEST=7", "RUNNER_TEMP="+temp,
				"GITHUB_STEP_SUMMARY="+temp+"/summary", "GITHUB_OUTPUT="+temp+"/output")
			dir := pullRequest(t, env, c.untraced)
			ran := 0
			for _, step := range readWorkflow(t).Jobs["gate"].Steps {
				if step.Run == "" || strings.HasPrefix(step.Run, "go install ") {
					continue
				}
				code := 0
				if step.Name == "Gate" {
					code = c.code
				}
				shell(t, env, dir, step.Run, code)
				ran++
			}
			check.That(t, ran == 3, "%d steps ran", ran)
			for file, want := range map[string]string{"summary": c.want, "output": "written=true", "gate.sarif": `"2.1.0"`, "gate.xml": "<testsuites", "gh-arguments": "--create-if-none"} {
				got, err := os.ReadFile(filepath.Join(temp, file))
				check.That(t, err == nil && strings.Contains(string(got), want), "%s: %v, %q has no %q", file, err, got, want)
			}
		})
	}
}

// pullRequest is a checkout as actions/checkout leaves it: a detached merge commit, with the branches of the remote.
func pullRequest(t *testing.T, env []string, untraced string) string {
	t.Helper()
	dir := t.TempDir()
	shell(t, env, dir, `git init -q -b main && git config user.name t && git config user.email t@example.com
mkdir src && echo x > src/x && orchestra-mcp init --yes > /dev/null && git add -A && git commit -qm base
git init -q --bare .git/forge && git remote add origin "$PWD/.git/forge" && git update-ref refs/remotes/origin/main main && git switch -qc work`, 0)
	if untraced != "" {
		check.OK(t, os.WriteFile(filepath.Join(dir, "src", "hand"), []byte(untraced), 0o644))
	}
	shell(t, env, dir, "git add -A && git commit -q --allow-empty -m work && git switch -q --detach main && git merge -q --no-ff --no-edit work", 0)
	return dir
}

// shell runs a script as GitHub does.
func shell(t *testing.T, env []string, dir, script string, code int) {
	t.Helper()
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	got := 0
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	check.Must(t, got == code, "exit code %d, want %d, of\n%s\n%s", got, code, script, out)
}
