package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/githooks"
	"github.com/intentgov/orchestra-mcp/internal/gitread"
	"github.com/intentgov/orchestra-mcp/internal/orchdir"
	"github.com/intentgov/orchestra-mcp/internal/scaffold"
	"github.com/intentgov/orchestra-mcp/internal/shellword"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/gitref"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

func (e *examination) checkGit() string {
	if e.onPath("git") == "" {
		return e.warn("git is not on your PATH: records cannot be compared with commits.", "Install git.", "")
	}
	if _, err := e.git("rev-parse", "--show-toplevel"); err != nil {
		return e.noRepository(err)
	}
	e.checkAttributes()
	e.checkIgnored()
	if out, err := e.git("ls-files", "-z"); err != nil {
		e.warn(fmt.Sprintf("git does not tell what it tracks: %v.", err), "Do what git says.", "")
	} else {
		tracked := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
		e.checkStateTracked(tracked)
		e.checkSecretsTracked(tracked)
	}
	return e.carrier() + "; " + e.checkHooks()
}

// carrier says how the ledger travels.
func (e *examination) carrier() string {
	switch {
	case !e.beside:
		return "git keeps the ledger"
	case e.carried == settings.Off:
		return "the ledger stands beside the tree, and git carries it nowhere (ledger.git: off)"
	}
	return "the ledger stands beside the tree, and travels in " + gitref.Ref
}

func (e *examination) noRepository(err error) string {
	if errors.Is(err, gitread.ErrOdd) {
		return e.warn(fmt.Sprintf("The repository cannot be read: %v.", err), "Look at the file, and remove it.", "")
	}
	if inRepository, _ := e.root.Lstat(".git"); inRepository != nil || scaffold.EnclosingRepository(e.Dir) != "" {
		return e.warn(fmt.Sprintf("There is a repository, and git does not read it: %v.", err), "Do what git says.", "")
	}
	return "no repository here: records name no commit, and verify --git has nothing to compare"
}

// git runs git as the user, with what a repository could make it start or write switched off.
func (e *examination) git(args ...string) (string, error) { return e.gitReading("", args...) }

func (e *examination) gitReading(input string, args ...string) (string, error) {
	if err := (gitread.Repository{Dir: e.Dir}).Plain(); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(e.ctx, verifyTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.fsmonitor=false", "-c", "core.quotePath=false"}, args...)...)
	cmd.Dir = e.Dir
	cmd.Env = append(gitread.OutsideHook(e.Environ), "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	cmd.Stdin = strings.NewReader(input)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, strings.Join(strings.Fields(errs.String()), " "))
	}
	return strings.TrimSuffix(string(out), "\n"), err
}

func (e *examination) checkAttributes() {
	args := []string{"check-attr", "-z", "merge", "text", "--", ledgerFile, orchdir.Name + "/trace/x.jsonl"}
	message := "git would not merge two branches' ledgers by keeping both, or would change their line ends: .gitattributes lacks lines for them."
	if e.beside {
		args = []string{"check-attr", "-z", "text", "--", orchdir.Name + "/seals/x.note"}
		message = "git can change the line ends of seals, which are signed byte for byte: .gitattributes lacks the line for them."
	}
	out, err := e.git(args...)
	if err != nil {
		e.warn(fmt.Sprintf("git does not tell the attributes of the ledger: %v.", err), "Do what git says.", "")
		return
	}
	fields := strings.Split(out, "\x00")
	for ; len(fields) >= 3; fields = fields[3:] {
		if fields[2] != map[string]string{"merge": "union", "text": "unset"}[fields[1]] {
			e.warn(message, "Add them; init keeps everything else as it is.", e.self("init --yes"))
			return
		}
	}
}

// checkIgnored finds ignore rules that keep records out of commits, where they belong there, and a link to a ledger beside the
// tree, which is for this clone alone, that git would put into one. Files that git tracks are not ignored.
func (e *examination) checkIgnored() {
	names := []string{scaffold.IntentsFile, scaffold.ConfigFile, ledgerFile} // plain words of a shell
	out, err := e.gitReading(strings.Join(names, "\x00"), "check-ignore", "-v", "-z", "--stdin")
	if err != nil && !saysNo(err) { // none is ignored
		e.warn(fmt.Sprintf("git does not tell what it ignores: %v.", err), "Do what git says.", "")
		return
	}
	hidden := map[string][]string{} // names by the rule that hides them
	linkHidden := false
	fields := strings.Split(out, "\x00")
	for ; len(fields) >= 4; fields = fields[4:] {
		source, line, pattern, name := fields[0], fields[1], fields[2], fields[3]
		switch {
		case strings.HasPrefix(pattern, "!"):
		case name == ledgerFile && e.beside:
			linkHidden = true
		default:
			rule := fmt.Sprintf("%s:%s: %s", source, line, pattern)
			hidden[rule] = append(hidden[rule], name)
		}
	}
	for _, rule := range slices.Sorted(maps.Keys(hidden)) {
		names := hidden[rule]
		remedy, command := "Add it all the same, or take that line out.", "git add -f -- "+strings.Join(names, " ")
		if slices.ContainsFunc(names, func(name string) bool { _, err := e.root.Lstat(name); return err != nil }) {
			remedy, command = "Take that line out.", ""
		}
		e.warn(fmt.Sprintf("git ignores %s (%s), so it is in no commit.", strings.Join(names, ", "), rule), remedy, command)
	}
	if e.beside && !linkHidden {
		e.warn("git does not ignore "+ledgerFile+", which only leads to the ledger beside the tree.",
			"Have .orchestration/.gitignore name it, and git not track it; no record is changed.", e.self("ledger move"))
	}
}

// checkStateTracked: what belongs to this machine must not reach others, and git must not put it back.
func (e *examination) checkStateTracked(tracked []string) {
	dirs := []string{stateDir, orchdir.Name + "/cache"}
	if slices.ContainsFunc(tracked, func(path string) bool {
		return strings.HasPrefix(path+"/", dirs[0]+"/") || strings.HasPrefix(path+"/", dirs[1]+"/")
	}) {
		e.warn("git tracks files of .orchestration/state or cache, which belong to this machine.",
			"Take them out of git; the files stay.", "git rm -r -q --cached --ignore-unmatch -- "+strings.Join(dirs, " "))
	}
	if _, err := e.root.Lstat(orchdir.Name); err != nil {
		return
	}
	if _, err := e.git("check-ignore", "-q", "--no-index", "--", stateDir+"/x"); saysNo(err) {
		e.warn("git does not ignore .orchestration/state, which belongs to this machine.",
			"Give .orchestration its .gitignore back; init keeps everything else as it is.", e.self("init --yes"))
	}
}

// checkHooks gives a few words on hooks that are as they should be. They are no duty.
func (e *examination) checkHooks() string {
	installed, err := githooks.Inspect(e.ctx, e.Dir)
	var mine, elsewhere, missing int
	for _, each := range installed {
		switch {
		case each.Elsewhere:
			elsewhere++
		case !each.Installed:
			missing++
		default:
			mine++
			program := each.Program
			if !strings.ContainsAny(program, `/\`) {
				program = e.onPath(program)
			}
			if info, err := os.Stat(program); err != nil || info.IsDir() {
				e.warn(fmt.Sprintf("The hook %s starts %s, which is gone.", each.File, each.Program),
					"Install the hooks again.", e.self("git install-hooks"))
				return ""
			}
		}
	}
	switch {
	case elsewhere > 0:
		e.warn("Hooks of ours are in .git/hooks, but core.hooksPath makes git look elsewhere: they do not run.",
			"Install them where git looks.", e.self("git install-hooks"))
	case err != nil && mine > 0:
		e.warn(fmt.Sprintf("%v.", err), "Do what it says.", "")
	case err != nil:
		return "hooks cannot be installed: " + err.Error()
	case mine > 0 && missing > 0:
		e.warn("Only some of the git hooks are installed.", "Install them all.", e.self("git install-hooks"))
	case mine > 0:
		return "hooks are installed"
	default:
		return "hooks are not installed (" + e.self("git install-hooks") + ")"
	}
	return ""
}

// saysNo: git ended as it does where the answer to a question is no.
func saysNo(err error) bool {
	exit, failed := errors.AsType[*exec.ExitError](err)
	return failed && exit.ExitCode() == 1
}

// namedTracked is how many paths that git should not track a finding names.
const namedTracked = 3

// checkSecretsTracked: what git has can be read from its objects, whatever lies over the file.
func (e *examination) checkSecretsTracked(all []string) {
	is, digest := intent.Open(e.root).Secrets()
	if is == nil || digest == "" { // what cannot be read is told with the intents
		return
	}
	var names []string
	tracked := 0
	for _, path := range all {
		if path == "" || !is(path) {
			continue
		}
		if tracked++; tracked <= namedTracked {
			names = append(names, shellword.Show(path))
		}
	}
	if tracked == 0 {
		return
	}
	more := ""
	if tracked > namedTracked {
		more = fmt.Sprintf(" and %d more", tracked-namedTracked)
	}
	e.warn(fmt.Sprintf("git tracks what a secret: rule covers (%s%s): every command can read it in git's objects, with `git show` for one.", strings.Join(names, ", "), more),
		"Take them out of git, where the files stay, and change these secrets: the history and its clones keep them.",
		"git rm -q --cached -- "+strings.Join(names, " "))
}
