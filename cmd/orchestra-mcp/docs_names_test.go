package main

import (
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/rule"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

const repository = "../.."

// sources is what the Go files of the repository say, without their comments, in which a name outlives what it named.
type sources struct {
	program  map[string]bool             // words of what is built
	all      map[string]bool             // those of tests as well
	declared map[string]map[string]bool  // identifiers of each package, by its name
	literals map[string]*strings.Builder // texts in each directory's built files, by its path
	tests    map[string]bool             // functions of tests
}

func notInName(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// readSources reads them once for all tests.
var readSources = sync.OnceValues(func() (sources, error) {
	s := sources{map[string]bool{}, map[string]bool{}, map[string]map[string]bool{}, map[string]*strings.Builder{}, map[string]bool{}}
	err := filepath.WalkDir(repository, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") && entry.Name() != ".."):
			return fs.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		return s.read(path)
	})
	if err == nil && len(s.tests) < 1000 {
		err = fmt.Errorf("only %d functions of tests were found", len(s.tests))
	}
	return s, err
})

func (s sources) read(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	built := !strings.HasSuffix(path, "_test.go")
	dir, _ := filepath.Rel(repository, filepath.Dir(path))
	dir = filepath.ToSlash(dir)
	var scan scanner.Scanner
	scan.Init(token.NewFileSet().AddFile(path, -1, len(content)), content, nil, 0)
	var last token.Token
	var identifiers map[string]bool
	for {
		_, kind, text := scan.Scan()
		if kind == token.EOF {
			return nil
		}
		switch {
		case kind == token.STRING:
			text, _ = strconv.Unquote(text)
			if built {
				if s.literals[dir] == nil {
					s.literals[dir] = &strings.Builder{}
				}
				s.literals[dir].WriteString(text + "\n")
			}
		case kind == token.IDENT && last == token.PACKAGE:
			if identifiers = s.declared[text]; identifiers == nil {
				identifiers = map[string]bool{}
				s.declared[text] = identifiers
			}
		case kind == token.IDENT:
			identifiers[text] = true
			if !built && last == token.FUNC {
				s.tests[text] = true
			}
		}
		if kind == token.IDENT || kind == token.STRING {
			for w := range strings.FieldsFuncSeq(text, notInName) {
				s.all[w] = true
				s.program[w] = s.program[w] || built
			}
		}
		last = kind
	}
}

// foreign are names of other programs, of systems and of examples, which the sources do not have.
func foreign() []string {
	return strings.Fields(`
		--no-verify --pids-limit
		LD_PRELOAD SO_PEERCRED CLONE_FILES SCM_RIGHTS NODE_PATH MAX_MCP_OUTPUT_TOKENS pidfd_send_signal io_uring open_tree mount_setattr input_required
		recovery_hint recent_history related_files
		codebase_search ask_followup_question attempt_completion update_todo_list generate_image run_slash_command
	`)
}

// named are the forms of names between backquotes, and what each is held to. The first form that fits counts.
type named struct {
	form  *regexp.Regexp
	check func(match []string) error
}

var (
	between = regexp.MustCompile("`([^`\n]+)`")
	// theirs begins the columns of tables that show names of others.
	theirs = regexp.MustCompile(`^(earlier|parameters there)`)
)

func (s sources) forms() []named {
	flags, keys := flagNames(), settingValues()
	groups, members, fields, variables := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, key := range settings.Keys() {
		variables[key.Variable] = true
	}
	for _, f := range rule.Fields() {
		fields[f.Name] = true
	}
	for key := range keys {
		if group, member, ok := strings.Cut(key, "."); ok {
			groups[group], members[member] = true, true
		}
	}
	subcommands := map[string]bool{}
	for _, c := range newRootCommand(newApp(systemStreams(), systemEnvironment())).Commands() {
		subcommands[c.Name()] = true
	}
	known := func(ok bool, what string) error {
		if ok {
			return nil
		}
		return errors.New(what)
	}
	return []named{
		{regexp.MustCompile(`^--([a-z][a-z-]*)`), func(m []string) error { return known(flags[m[1]], "no command has that flag") }},
		{regexp.MustCompile(`^((?:Test|Fuzz|Benchmark)[A-Z]\w+)$`), func(m []string) error { return known(s.tests[m[1]], "there is no such test") }},
		{regexp.MustCompile(`^(([a-z]+) [a-z-].*)$`), func(m []string) error {
			if m[2] == "git" || !subcommands[m[2]] {
				return nil
			}
			return exists(m[1])
		}},
		{regexp.MustCompile(`^((?:pkg|internal|cmd|bench|e2e|examples|docs)/[\w./-]+)$`), func(m []string) error {
			_, err := os.Stat(filepath.Join(repository, m[1]))
			return err
		}},
		{regexp.MustCompile(`^([a-z_]+(?:\.[a-z_]+)?): ([a-z-]+)$`), func(m []string) error {
			values, ok := keys[m[1]]
			return known(!ok || len(values) == 0 || slices.Contains(values, m[2]), fmt.Sprintf("it takes %v", values))
		}},
		{regexp.MustCompile(`^([a-z]+)\.([A-Z]\w*)(?:\.(\w+))?$`), func(m []string) error {
			in, ok := s.declared[m[1]]
			return known(!ok || in[m[2]] && (m[3] == "" || s.program[m[3]]), "that package has no such name")
		}},
		{regexp.MustCompile(`^([a-z]+)\.([a-z_]+)$`), func(m []string) error {
			ok := keys[m[0]] != nil || fields[m[0]] || s.declared[m[1]][m[2]] || !groups[m[1]]
			return known(ok, "there is no such setting")
		}},
		{regexp.MustCompile(`^[A-Za-z]+(?:_[A-Za-z]+)+$`), func(m []string) error {
			return known(s.program[m[0]] || variables[m[0]] || members[m[0]] || s.all[m[0]] && strings.HasPrefix(m[0], "ORCHESTRA_"), "nothing in the program has that name; one of somebody else goes into foreign()")
		}},
	}
}

// flagNames are the flags of all commands.
func flagNames() map[string]bool {
	flags := map[string]bool{"help": true, "version": true}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, set := range []*pflag.FlagSet{c.Flags(), c.PersistentFlags()} {
			set.VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRootCommand(newApp(systemStreams(), systemEnvironment())))
	return flags
}

// settingValues has what each key takes, where that is one of a few words; else an empty list.
func settingValues() map[string][]string {
	words := regexp.MustCompile(`^[a-z-]+(, [a-z-]+)+$`)
	values := map[string][]string{}
	for _, key := range settings.Keys() {
		values[key.Name] = []string{}
		if words.MatchString(key.Values) {
			values[key.Name] = strings.Split(key.Values, ", ")
		}
	}
	return values
}

// ours are the lines of a page without its blocks of code and without the columns that show names of others.
func ours(page string) (lines []string) {
	inBlock, cut := false, []int(nil)
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "```") {
			inBlock = !inBlock
		}
		cells := strings.Split(line, "|")
		if !strings.HasPrefix(line, "|") {
			cut = nil
		} else if len(lines) == 0 || !strings.HasPrefix(lines[len(lines)-1], "|") {
			for i, cell := range cells {
				if theirs.MatchString(strings.TrimSpace(cell)) {
					cut = append(cut, i)
				}
			}
		}
		for _, i := range cut {
			if i < len(cells) {
				cells[i] = ""
			}
		}
		if inBlock {
			line = ""
		} else {
			line = strings.Join(cells, "|")
		}
		lines = append(lines, line)
	}
	return lines
}

// TestDocumentedNamesExist holds what the pages name between backquotes to the program: flags, tests, paths, identifiers,
// settings and their values, and every name with an underscore, such as tools, arguments and codes of refusals.
func TestDocumentedNamesExist(t *testing.T) {
	src := check.Value(readSources())(t)
	forms := src.forms()
	checked := make([]int, len(forms))
	for _, page := range pages(t) {
		content := check.Value(os.ReadFile(page))(t)
		for i, line := range ours(string(content)) {
			for _, match := range between.FindAllStringSubmatch(line, -1) {
				for n, form := range forms {
					found := form.form.FindStringSubmatch(match[1])
					if found == nil {
						continue
					}
					checked[n]++
					err := form.check(found)
					check.That(t, err == nil || slices.Contains(foreign(), match[1]),
						"%s:%d: `%s`: %v", filepath.Base(page), i+1, match[1], err)
					break
				}
			}
		}
	}
	check.That(t, slices.Min(checked) != 0, "names of the forms were found so often: %v; are they still written so?", checked)
}

// owned is a row of the table of files in internal/orchdir/README.md, but for its head.
var owned = regexp.MustCompile("^\\| (.*) \\| (.*`.*) \\|$")

// TestOwnersWriteTheirFiles holds the table of files in internal/orchdir/README.md to the packages that it names: one of them
// has the file's name in its code.
func TestOwnersWriteTheirFiles(t *testing.T) {
	src := check.Value(readSources())(t)
	content := check.Value(os.ReadFile(filepath.Join(repository, "internal/orchdir/README.md")))(t)
	rows := 0
	for line := range strings.Lines(string(content)) {
		row := owned.FindStringSubmatch(strings.TrimSpace(line))
		if row == nil {
			continue
		}
		text, packages := "", 0
		for _, match := range between.FindAllStringSubmatch(row[2], -1) {
			if literals := src.literals[match[1]]; literals != nil {
				packages++
				text += literals.String()
			}
		}
		for _, match := range between.FindAllStringSubmatch(row[1], -1) {
			rows++
			name := fixedPart(match[1])
			check.That(t, packages != 0 && strings.Contains(text, name),
				"internal/orchdir/README.md: `%s` is said to be written by %s, which does not have %q", match[1], row[2], name)
		}
	}
	check.That(t, rows >= 20, "only %d files were found: is the table still written so?", rows)
}

// TestArchitectureHasEveryPackage: the picture leaves out only what lies deeper than the parts of a part.
func TestArchitectureHasEveryPackage(t *testing.T) {
	content := check.Value(os.ReadFile(filepath.Join(repository, "docs/architecture.md")))(t)
	src := check.Value(readSources())(t)
	for dir := range src.literals {
		parts := strings.Split(dir, "/")
		shown := parts[0] == "pkg" && (len(parts) == 2 || len(parts) == 3 && (parts[1] == "hooks" || parts[1] == "command"))
		check.That(t, !shown || regexp.MustCompile(`[ \x60]`+dir+`[ \n\x60,]`).Match(content), "architecture.md does not have %s", dir)
	}
}

// fixedPart is what of the name of a file stands in the code that writes it: torn- of state/torn-*.jsonl.
func fixedPart(name string) string {
	dir, base := filepath.Split(strings.TrimSuffix(name, "/"))
	if base, _, _ = strings.Cut(base, "*"); base == "" {
		return filepath.Base(dir)
	}
	return base
}

// TestTrustOfVerifyIsToldAlike: whoever reads of trust reads at the same place that it is not needed for what verify runs.
func TestTrustOfVerifyIsToldAlike(t *testing.T) {
	help, _, _ := run(t, t.TempDir(), "trust", "--help")
	told := map[string]string{"trust --help": help}
	for _, name := range []string{"README.md", "docs/settings.md"} {
		content := check.Value(os.ReadFile(filepath.Join(repository, name)))(t)
		told[name] = string(content)
	}
	rule := regexp.MustCompile(`verify commands of (its )?intents (need no trust|run without)[:,] (they run )?under the same rules as (an|the) agent's commands`)
	for name, text := range told {
		check.That(t, rule.MatchString(strings.Join(strings.Fields(strings.ReplaceAll(text, "`", "")), " ")),
			"%s does not say what trust means for the verify commands", name)
	}
}

func pages(t *testing.T) []string {
	t.Helper()
	found := check.Value(filepath.Glob(filepath.Join(repository, "docs", "*.md")))(t)
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "bench/README.md", "examples/rules.md", "internal/mcpbridge/README.md", "e2e/README.md", "e2e/corpus/README.md",
		"pkg/blame/README.md", "pkg/command/redact/README.md", "pkg/edit/README.md", "pkg/ledger/seal/README.md", "pkg/mutation/README.md"} {
		found = append(found, filepath.Join(repository, filepath.FromSlash(name)))
	}
	return found
}
