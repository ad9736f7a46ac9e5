package clientrules

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/gitignore"
	"github.com/intentgov/orchestra-mcp/internal/lazy"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
)

// claudeFileRule is a rule about Read or Edit. Those that restrict are also about commands that read and write files, and
// about redirections (code.claude.com/docs/en/permissions, "Read and Edit", "Redirections").
type claudeFileRule struct {
	Answer
	edit bool
	dirs []string // that the list is relative to
	list gitignore.List
}

// addFileRule reads a path: //absolute, ~/of the home directory, /of the project, or from where the command runs.
func (c *claude) addFileRule(a Answer, edit bool, path string) error {
	dirs := []string{c.q.Workspace, c.q.Cwd}
	switch {
	case path == "" || path == "*" || path == "**":
		dirs, path = []string{"/"}, "**"
	case strings.HasPrefix(path, "//"):
		dirs, path = []string{"/"}, path[1:]
	case strings.HasPrefix(path, "~/"):
		dirs, path = []string{c.q.Home}, path[1:]
	case strings.HasPrefix(path, "./"):
		path = path[1:]
	}
	rule, ok, err := gitignore.Parse(path)
	if ok && err == nil {
		c.files = append(c.files, claudeFileRule{a, edit, dirs, gitignore.List{rule}})
	}
	return err
}

// The programs whose operands count as read or written.
const (
	readers = `cat head tail sed grep egrep fgrep rg less more nl od xxd hexdump strings wc diff sort uniq cut awk gawk tac rev
		base64 cp mv dd jq file source .`
	writers = "tee sed cp mv rm rmdir touch mkdir truncate dd ln chmod chown install"
)

func (c *claude) fileRules() (answers []Answer) {
	if len(c.files) == 0 {
		return nil
	}
	start := []string{""}
	reads, writes := slices.Clone(c.line.homes), slices.Clone(c.line.homes)
	for _, name := range c.line.reading.Reads {
		reads = append(reads, resolve(c.q.Cwd, start, name)...)
	}
	for _, name := range c.line.reading.Writes {
		writes = append(writes, resolve(c.q.Cwd, start, name)...)
	}
	for _, p := range c.line.reading.Programs {
		if shell.Among(readers, p.Name) {
			reads = append(reads, operands(p, c.q.Cwd)...)
		}
		if shell.Among(writers, p.Name) {
			writes = append(writes, operands(p, c.q.Cwd)...)
		}
	}
	for _, r := range c.files {
		paths := reads
		if r.edit {
			paths = writes
		}
		if slices.ContainsFunc(paths, r.matches) {
			answers = append(answers, r.Answer)
		}
	}
	return answers
}

// matches reports whether a rule is about a path, or about what it is a link to.
func (r claudeFileRule) matches(path string) bool {
	paths := []string{path}
	if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
		paths = append(paths, real)
	}
	for _, dir := range r.dirs {
		for _, path := range paths {
			rel, err := filepath.Rel(dir, path)
			if err != nil || !filepath.IsLocal(rel) {
				continue
			}
			if _, ok := r.list.Match(filepath.ToSlash(rel), true); ok {
				return true
			}
		}
	}
	return false
}

// actsInFind are the words that make find run programs or change files.
func actsInFind(a shell.Arg) bool {
	return !a.Exact || a.Begins("-exec -ok -delete -fprint -fls")
}

// gitReads are the options with which git only reads; the commands are those that have no others in this list.
var gitReads = lazy.Regexp(`^(-[0-9]+|-n|-[spbz]|--oneline|--short|--stat|--porcelain|--name-only|--name-status|--cached|--staged|--all|--graph|--branch|--no-color|--abbrev-ref|--show-toplevel|--)$`)

// readOnly knows some of the commands that Claude Code runs without asking in every mode ("Read-only commands" of the page on
// permissions): those whose options can write nothing, on literal paths inside the workspace.
func readOnly(p shell.Program, q Question) bool {
	args := p.Args
	switch {
	case p.Path == "git":
		if len(args) == 0 || !args[0].Is("status log diff show rev-parse ls-files blame shortlog") {
			return false
		}
		args = args[1:]
		if slices.ContainsFunc(args, func(a shell.Arg) bool { return a.Begins("-") && !gitReads().MatchString(a.Text) }) {
			return false
		}
	case p.Path == "find" && slices.ContainsFunc(args, actsInFind), p.Path == "cd" && len(args) != 1:
		return false
	case !shell.Among("ls cat echo pwd head tail grep find wc which diff stat du cd", p.Path):
		return false
	}
	if slices.ContainsFunc(args, func(a shell.Arg) bool { return !a.Exact || a.Begins("-") && strings.Contains(a.Text, "/") }) {
		return false
	}
	return p.In != nil && !slices.ContainsFunc(operands(p, q.Cwd), func(at string) bool {
		real, err := filepath.EvalSymlinks(at)
		return !within(q.Workspace, at) || err == nil && !within(q.Workspace, real)
	})
}
