package server_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// tableOfRules reads the rules that examples/rules.md offers: the list as it stands there, to be pasted, and its names.
func tableOfRules(t *testing.T) (list string, names []string) {
	t.Helper()
	page := check.Value(os.ReadFile("../../examples/rules.md"))(t)
	_, section, _ := strings.Cut(string(page), "## Ten rules")
	_, section, _ = strings.Cut(section, "| --- |")
	table, rest, _ := strings.Cut(section, "```yaml\n")
	list, _, ok := strings.Cut(rest, "```")
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllStringSubmatch(table, -1) {
		names = append(names, row[1])
	}
	var listed []string
	for _, row := range regexp.MustCompile(`(?m)^  - name: ([a-z-]+)$`).FindAllStringSubmatch(list, -1) {
		listed = append(listed, row[1])
	}
	check.Must(t, ok && len(names) >= 10 && slices.Equal(names, listed), "the page has the table %v and the rules %v", names, listed)
	return list, names
}

// ruleCase is a call under one rule and what becomes of it.
type ruleCase struct {
	tool string
	args args
	code string // "" passes
}

func addFiles(n int) string {
	var sections []string
	for i := range n {
		sections = append(sections, fmt.Sprintf("*** Add File: many/%d.txt", i), "+x")
	}
	return patch(sections...)
}

// casesOfRules are, for each rule of the page, calls that it stops and calls that it lets pass.
func casesOfRules() map[string][]ruleCase {
	const refused, asked = "RULE_VIOLATION", "APPROVAL_REQUIRED"
	create := func(path, content, code string) ruleCase {
		return ruleCase{"write_to_file", args{"path": path, "content": content}, code}
	}
	edit := func(path, from, to, code string) ruleCase {
		return ruleCase{"edit_file", args{"path": path, "old_string": from, "new_string": to}, code}
	}
	apply := func(code string, lines ...string) ruleCase {
		return ruleCase{"apply_patch", args{"patch": patch(lines...)}, code}
	}
	run := func(line, code string) ruleCase { return ruleCase{"execute_command", args{"command": line}, code} }
	key := "AKIA" + strings.Repeat("A", 16)
	return map[string][]ruleCase{
		"no-eval": {create("a.js", "x = eval('1')\n", refused), edit("old.js", "first", "first = eval(2)", refused),
			edit("old.js", "first", "last", ""), create("b.js", "evaluate()\n", "")},
		"no-keys": {create("k.txt", "id: "+key+"\n", refused), create("k.pem.txt", "-----BEGIN RSA PRIVATE KEY-----\n", refused), create("k.txt", "AKIA\n", "")},
		"migrations-are-final": {edit("migrations/1.sql", "one", "two", refused), apply(refused, "*** Delete File: migrations/1.sql"),
			apply(refused, "*** Update File: migrations/1.sql", "*** Move to: old.sql"), create("migrations/2.sql", "x\n", ""), edit("old.js", "first", "x", "")},
		"copyright": {create("n.go", "package n\n", refused), create("n.go", "// Copyright us\npackage n\n", ""), edit("x_test.go", "package x", "package y", "")},
		"no-large-files": {create("l.txt", strings.Repeat("line of it\n", 20_000), refused), edit("large.txt", "end", "longer end", refused),
			edit("large.txt", "end", "e", ""), create("l.txt", "x\n", "")},
		"no-skipped-hooks": {run("git commit --no-verify -m x", refused), run("git config core.hooksPath /dev/null", refused), run("true", "")},
		"ask-before-deleting": {apply(asked, "*** Delete File: old.js"), apply(asked, "*** Add File: n.txt", "+x", "*** Delete File: old.js"),
			apply("", "*** Update File: old.js", "*** Move to: new.js")},
		"many-files":   {{"apply_patch", args{"patch": addFiles(11)}, asked}, {"apply_patch", args{"patch": addFiles(10)}, ""}},
		"tests-stay":   {edit("x_test.go", "func TestOne() {}\n", "", asked), apply(asked, "*** Delete File: x_test.go"), edit("x_test.go", "TestOne", "TestFirst", "")},
		"dependencies": {create("go.mod", "module x\n", asked), create("web/package.json", "{}\n", asked), create("web/package.txt", "{}\n", "")},
	}
}

// TestTheRulesOfThePage puts each rule of examples/rules.md into a workspace by itself, and all of them into settings.
func TestTheRulesOfThePage(t *testing.T) {
	t.Parallel()
	list, names := tableOfRules(t)
	cases := casesOfRules()
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			at := strings.Index(list, "  - name: "+name+"\n")
			one := list[at:]
			if next := strings.Index(one[1:], "\n  - name: "); next >= 0 {
				one = one[:next+2]
			}
			b := ruledBench(t, "rules:\n"+one)
			stopped, passed := 0, 0
			for _, c := range cases[name] {
				c.args["session"] = b.Selects("INT-001")
				b.OK("read_file", args{"path": "old.js"})
				b.OK("read_file", args{"path": "x_test.go"})
				if c.code == "" {
					b.OK(c.tool, c.args)
					passed++
					continue
				}
				r := b.Refused(c.code, c.tool, c.args)
				check.That(t, strings.Contains(r.Text, name) && (r.Details()["intent_id"] == "INT-001" || c.code != "RULE_VIOLATION"),
					"the refusal does not name the rule: %s", r.Text)
				stopped++
			}
			check.That(t, stopped != 0 && passed != 0, "%d calls stopped and %d passed: both kinds are needed", stopped, passed)
		})
	}
}

// ruledBench is a workspace whose intent has the rules, with files for them to look at.
func ruledBench(t *testing.T, rules string, changes ...func(*server.Options)) *bench {
	t.Helper()
	dir := newWorkspace(t)
	check.Write(t, dir, ".orchestration/active_intents.yaml", "active_intents:\n  - id: INT-001\n    name: Ruled\n    status: IN_PROGRESS\n"+
		"    owned_scope: ['**']\n    "+strings.ReplaceAll(strings.TrimSpace(rules), "\n", "\n    ")+"\n")
	check.Write(t, dir, "old.js", "a = eval('0')\nfirst\n")
	check.Write(t, dir, "migrations/1.sql", "one\n")
	check.Write(t, dir, "large.txt", strings.Repeat("0123456789\n", 30_000)+"end\n")
	check.Write(t, dir, "x_test.go", "package x\n\nfunc TestOne() {}\n")
	return start(t, dir, append(changes, func(o *server.Options) { o.Settings.Approvals.Wait = 0 })...).connect()
}

// A refusing rule outranks an asking one, rules of the settings hold under every intent, and no content is quoted.
func TestRulesOfSettingsAndIntents(t *testing.T) {
	t.Parallel()
	b := ruledBench(t, `rules: [{name: asks, when: 'effect.path == "a.txt"', action: ask}, {name: refuses, when: 'effect.after.contains("hush")', message: No secrets.}]`,
		func(o *server.Options) {
			o.Settings.Rules = []settings.Rule{{Name: "everywhere", When: `effect.path == "no.txt" && session.client != ""`, Action: settings.Refuse, Message: "Not this one."}}
		})
	s := b.Selects("INT-001")
	r := b.Refused("RULE_VIOLATION", "write_to_file", args{"session": s, "path": "a.txt", "content": "hush hush\n"})
	if r.Details()["rule"] != "refuses" || strings.Contains(r.Text, "hush hush") || !strings.Contains(r.Str("error"), "No secrets.") || r.Str("action_hint") != "follow_constraints" {
		t.Errorf("%s", r.Text)
	}
	r = b.Refused("RULE_VIOLATION", "write_to_file", args{"session": s, "path": "no.txt", "content": "x\n"})
	check.That(t, r.Details()["rule"] == "everywhere" && strings.Contains(r.Str("error"), "Not this one."), "%s", r.Text)
	b.Refused("APPROVAL_REQUIRED", "write_to_file", args{"session": s, "path": "a.txt", "content": "x\n"})
	b.OK("write_to_file", args{"session": s, "path": "b.txt", "content": "x\n"})
	// The strictest of two files of one call counts.
	b.Refused("RULE_VIOLATION", "apply_patch", args{"session": s, "patch": patch("*** Add File: a.txt", "+x", "*** Add File: c.txt", "+hush")})
}

// A rule that gives no answer refuses and says which. ORCHESTRA_LONG=1 has one that is too expensive too: pkg/rule shows that it ends.
func TestARuleWithoutAnAnswerRefuses(t *testing.T) {
	t.Parallel()
	for name, when := range map[string]string{
		"fails":     `paths[1] == "x"`,
		"expensive": `effect.added.all(a, effect.added.all(b, a == b))`,
	} {
		t.Run(name, func(t *testing.T) {
			if name == "expensive" && !check.Long() {
				return
			}
			b := ruledBench(t, "rules: [{name: "+name+", when: '"+when+"', action: ask}]")
			s := b.Selects("INT-001")
			r := b.Refused("RULE_VIOLATION", "write_to_file", args{"session": s, "path": "n.txt", "content": strings.Repeat("the same line\n", 4000)})
			// On a busy machine the time is over before the budget is: then trying again may help.
			late := name == "expensive" && strings.Contains(r.Str("error"), "in time") && r.Str("action_hint") == "retry"
			if r.Details()["rule"] != name || r.Str("action_hint") != "ask_user" && !late || !strings.Contains(r.Str("error"), "could not be evaluated") {
				t.Errorf("%s", r.Text)
			}
			b.holds(map[string]string{"n.txt": ""})
		})
	}
}

// A rule sees what a line runs, however it is written.
func TestRulesSeePrograms(t *testing.T) {
	t.Parallel()
	b := ruledBench(t, `rules: [{name: no-curl, when: 'command.programs.exists(p, p.size() > 0 && p[0] == "curl")'}, {name: no-force, when: '["git", "push", "--force"] in command.programs'}]`)
	s := b.Selects("INT-001")
	for _, line := range []string{`true && "cu"rl x`, `env A=1 curl x`, `sh -c 'curl x'`, `git push --for"ce"`} {
		b.Refused("RULE_VIOLATION", "execute_command", args{"session": s, "command": line})
	}
	b.OK("execute_command", args{"session": s, "command": "echo curl git push --force"})
}

// A rule sees text in any encoding, and empty text for what is none.
func TestRulesSeeDecodedText(t *testing.T) {
	t.Parallel()
	b := ruledBench(t, `rules: [{name: word, when: 'effect.after.contains("größer")'}, {name: binary, when: 'effect.binary && effect.kind != "delete"'}]`)
	check.Write(t, b.dir, "latin.txt", "gr\xf6\xdfe\n")
	check.Write(t, b.dir, "blob", "\x00\x01\x02")
	s := b.Selects("INT-001")
	r := b.Refused("RULE_VIOLATION", "edit_file", args{"session": s, "path": "latin.txt", "old_string": "größe", "new_string": "größer"})
	check.Equal(t, r.Details()["rule"], "word")
	b.OK("edit_file", args{"session": s, "path": "latin.txt", "old_string": "größe", "new_string": "groß"})
	r = b.Refused("RULE_VIOLATION", "apply_patch", args{"session": s, "patch": patch("*** Update File: blob", "*** Move to: blob2")})
	check.Equal(t, r.Details()["rule"], "binary")
	b.Call("read_file", args{"session": s, "path": "blob"})
	b.OK("apply_patch", args{"session": s, "patch": patch("*** Delete File: blob")})
}

// A rule that does not compile is a mistake in the file: changes stop, with its place, and reads go on.
func TestARuleThatDoesNotCompile(t *testing.T) {
	t.Parallel()
	b := ruledBench(t, "rules: []")
	s := b.Selects("INT-001")
	check.Write(t, b.dir, ".orchestration/active_intents.yaml", "active_intents:\n  - {id: INT-001, name: a, status: IN_PROGRESS, rules: [{name: r,\n      when: 'efect.path == 3'}]}\n")
	r := b.Refused("INTENTS_UNREADABLE", "write_to_file", args{"session": s, "path": "n.txt", "content": "x"})
	d := r.Details()
	check.That(t, d["line"] == 3.0 && d["column"] == 13.0 && strings.Contains(r.Str("error"), "at 1:6: undeclared reference"), "%s", r.Text)
	b.OK("read_file", args{"session": s, "path": "old.js"})
	_, err := server.New(server.Options{Dir: b.dir, Settings: badRule()})
	check.That(t, err != nil && strings.Contains(err.Error(), `rule "bad"`), "settings with a rule that does not compile: %v", err)
}

func badRule() settings.Settings {
	s := settings.Defaults()
	s.Rules = []settings.Rule{{Name: "bad", When: "1 +", Action: settings.Refuse}}
	return s
}

// takesForRepository reports whether git, run in a directory of the workspace, obeys a configuration that an agent put there.
func takesForRepository(t *testing.T, dir string) bool {
	t.Helper()
	cmd := exec.Command("git", "config", "planted.by")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull)
	out, _ := cmd.CombinedOutput()
	return strings.Contains(string(out), "agent")
}

// plantings are ways to make a directory one that git takes for a repository, by file tools: lists of calls.
func plantings(dir string, i int, random *rand.Rand) map[string][][]args {
	p := func(name string) string { return dir + "/" + name }
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = true\n[planted]\n\tby = agent\n"
	files := map[string]string{"HEAD": "ref: refs/heads/main\n", "config": config, "objects/info/x": "x\n", "refs/heads/x": "x\n"}
	linked := map[string]string{"HEAD": "ref: refs/heads/main\n", "commondir": "../common\n", "config": config}
	write := func(name, content string) args {
		return args{"tool": "write_to_file", "path": p(name), "content": content}
	}
	add := func(name, content string) string {
		return "*** Add File: " + p(name) + "\n+" + strings.ReplaceAll(strings.TrimSuffix(content, "\n"), "\n", "\n+")
	}
	made := func(name string) string { return "made-" + strings.ReplaceAll(name, "/", "-") }
	move := func(name string) string {
		return "*** Update File: " + p(made(name)) + "\n*** Move to: " + p(name)
	}
	ways := map[string][][]args{}
	order := func(of map[string]string) []string {
		names := []string{}
		for name := range of {
			names = append(names, name)
		}
		slices.Sort(names)
		random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		return names
	}
	of := files
	if i%2 == 1 {
		of = linked
	}
	var calls, before, redirected []args
	var sections, moves, paths []string
	for _, name := range order(of) {
		calls = append(calls, write(name, of[name]))
		sections = append(sections, add(name, of[name]))
		moves, before = append(moves, move(name)), append(before, write(made(name), of[name]))
		redirected = append(redirected, args{"tool": "execute_command", "command": fmt.Sprintf("mkdir -p '%s'; printf '%s' > '%s'", filepath.Dir(p(name)), strings.ReplaceAll(of[name], "\n", `\n`), p(name))})
		paths = append(paths, name)
	}
	half := 1 + random.IntN(len(sections)-1)
	shape := fmt.Sprint(paths)
	ways[shape+" one by one"] = [][]args{calls}
	ways[shape+" in one patch"] = [][]args{{{"tool": "apply_patch", "patch": patch(sections...)}}}
	ways[shape+" in two patches"] = [][]args{{{"tool": "apply_patch", "patch": patch(sections[:half]...)}, {"tool": "apply_patch", "patch": patch(sections[half:]...)}}}
	ways[shape+" by moves"] = [][]args{append(before, args{"tool": "apply_patch", "patch": patch(moves...)})}
	ways[shape+" by redirections"] = [][]args{redirected}
	var beside [][]args
	for _, call := range calls {
		beside = append(beside, []args{call})
	}
	ways[shape+" at the same time"] = beside
	return ways
}

// makes carries calls out, lists of them beside each other.
func (b *bench) makes(lists [][]args) {
	var all sync.WaitGroup
	for _, calls := range lists {
		all.Go(func() {
			for _, call := range calls {
				rest := args{}
				for key, value := range call {
					if key != "tool" {
						rest[key] = value
					}
				}
				b.Call(call["tool"].(string), rest)
			}
		})
	}
	all.Wait()
}

// No order of calls to file tools makes a directory that git takes for a repository without asking.
func TestFileToolsMakeNoRepository(t *testing.T) {
	t.Parallel()
	many := check.Rounds(2, 60)
	b, _ := start(t, newWorkspace(t), unsandboxed, withoutSandbox).under("INT-005")
	made, through := 0, 0
	for i := range many {
		for _, kind := range []string{"there", "new", "link"} {
			dir := fmt.Sprintf("src/%s-%d", kind, i)
			for name := range plantings(dir, i, rand.New(rand.NewPCG(1, uint64(i)))) {
				// Each in a place of its own: what a session has seen it may not make again.
				at := fmt.Sprintf("%s/%d", dir, made)
				place := filepath.Join(b.dir, at)
				switch kind {
				case "there":
					check.Write(t, place, "a.txt", "one\n")
				case "link":
					check.Write(t, place+"-real", "a.txt", "one\n")
					link(t, filepath.Base(at)+"-real", place)
				}
				check.Write(t, filepath.Dir(place), "common/objects/x", "x\n")
				check.Write(t, filepath.Dir(place), "common/refs/x", "x\n")
				check.Write(t, filepath.Dir(place), "common/config", "[planted]\n\tby = agent\n")
				b.makes(plantings(at, i, rand.New(rand.NewPCG(1, uint64(i))))[name])
				made++
				if _, err := os.Stat(place); err == nil && takesForRepository(t, place) {
					through++
					t.Errorf("%s, %s: git takes it for a repository", kind, name)
				}
			}
		}
	}
	t.Logf("%d repositories planted, %d got through", made, through)
}

// What git runs of a repository that is there is program configuration; other files with such names are not.
func TestFilesOfARepositoryInTheScope(t *testing.T) {
	t.Parallel()
	b, _ := start(t, newWorkspace(t)).under("INT-005")
	check.Git(t, b.dir, "init", "-q", "--bare", "--template=", "testdata/repo")
	for _, path := range []string{"testdata/repo/config", "testdata/repo/hooks/post-update", "testdata/repo/info/attributes", "testdata/repo/CONFIG", "testdata/repo/commondir", "testdata/repo/modules/x/config"} {
		b.Refused("APPROVAL_REQUIRED", "write_to_file", args{"path": path, "content": "x\n"})
	}
	b.OK("apply_patch", args{"patch": patch("*** Add File: src/hooks/useTime.ts", "+x", "*** Add File: src/config", "+x", "*** Add File: src/refs/a", "+x", "*** Add File: objects/a", "+x",
		"*** Add File: HEAD", "+x", "*** Add File: testdata/repo.expected", "+x", "*** Add File: testdata/repo/notes.txt", "+x")})
	r := b.Refused("APPROVAL_REQUIRED", "write_to_file", args{"path": "refs/a", "content": "x\n"})
	check.That(t, strings.Contains(r.Text, "what git takes for a repository (the workspace itself)"), "it does not say why: %s", r.Text)
}

// What git left half done stays usable, and what a git command did to refs of any kind stands in its result.
func TestWhatGitLeftHalfDone(t *testing.T) {
	b, _ := start(t, newWorkspace(t), unsandboxed, withoutSandbox).under("INT-005")
	t.Setenv("GIT_AUTHOR_NAME", "a")
	t.Setenv("GIT_AUTHOR_EMAIL", "a@example.org")
	t.Setenv("GIT_COMMITTER_NAME", "a")
	t.Setenv("GIT_COMMITTER_EMAIL", "a@example.org")
	check.Write(t, b.dir, ".gitignore", ".orchestration/\n")
	for i, text := range []string{"one\n", "two\n", "three\n"} {
		check.Write(t, b.dir, "src/a.txt", text)
		check.Git(t, b.dir, "add", ".")
		check.Git(t, b.dir, "commit", "-qm", fmt.Sprint(i))
	}
	check.Git(t, b.dir, "branch", "-M", "main")
	check.Git(t, b.dir, "branch", "topic", "HEAD~1")
	check.Git(t, b.dir, "switch", "-q", "topic")
	check.Write(t, b.dir, "src/a.txt", "other\n")
	check.Git(t, b.dir, "commit", "-qam", "other")
	check.Git(t, b.dir, "commit", "-q", "--allow-empty", "-m", "more")

	r := b.OK("execute_command", args{"command": "git replace HEAD HEAD~1; git notes add -m x; git replace -d HEAD"})
	check.That(t, strings.Contains(r.Text, ".git/refs/notes/commits"), "the notes are not told of: %s", r.Text)
	if r = b.OK("execute_command", args{"command": "git replace HEAD HEAD~1"}); !strings.Contains(r.Text, ".git/refs/replace/") {
		t.Errorf("the replacement is not told of: %s", r.Text)
	}
	b.OK("execute_command", args{"command": "git replace -d HEAD"})
	check.Shell(t, b.dir, "git rebase main || true") // which a person does: below the level full agents do not
	check.Must(t, b.exists(".git/rebase-merge/git-rebase-todo"), "the rebase does not stop")
	if r = b.Call("execute_command", args{"command": "git status -s; echo 'exec id' | tee -a .git/rebase-merge/git-rebase-todo"}); r.Object["error_type"] != "COMMAND_OUT_OF_SCOPE" || !strings.Contains(r.Text, "--continue") {
		t.Errorf("a planted program is not told of: %s", r.Text)
	}
	b.OK("execute_command", args{"command": "sed -i /exec/d .git/rebase-merge/git-rebase-todo; git status -s"})
	check.Shell(t, b.dir, "echo both > src/a.txt; git add src/a.txt; GIT_EDITOR=true git rebase --continue")
	check.That(t, !b.exists(".git/rebase-merge"), "the rebase did not go on")
}
