package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// quoted finds a command between backquotes.
var quoted = regexp.MustCompile("`orchestra-mcp ([^`\n]*)`")

// documented gives the command lines of a Markdown page: those in blocks of code that stand at the beginning of a line, and
// those between backquotes.
func documented(page string) (lines []string) {
	inBlock := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "```") {
			inBlock = !inBlock
		}
		command, isCommand := strings.CutPrefix(strings.TrimPrefix(strings.TrimSpace(line), "$ "), "orchestra-mcp ")
		if inBlock && isCommand {
			lines = append(lines, command)
			continue
		}
		for _, match := range quoted.FindAllStringSubmatch(line, -1) {
			lines = append(lines, match[1])
		}
	}
	return lines
}

// TestDocumentedCommandsExist holds every command line in the README and in docs/ to the command tree.
func TestDocumentedCommandsExist(t *testing.T) {
	pages := check.Value(filepath.Glob("../../docs/*.md"))(t)
	found := 0
	for _, page := range append(pages, "../../README.md") {
		content := check.Value(os.ReadFile(page))(t)
		for _, line := range documented(string(content)) {
			found++
			err := exists(line)
			check.That(t, err == nil, "%s: orchestra-mcp %s: %v", filepath.Base(page), line, err)
		}
	}
	check.That(t, found >= 40, "only %d commands were found: are they still written so?", found)
}

// exists finds the subcommand and parses the flags that a documented line has before a comment, a pipe or an ellipsis.
func exists(line string) error {
	line, _, _ = strings.Cut(line, "  #")
	line, _, _ = strings.Cut(line, " | ")
	words := strings.Fields(strings.NewReplacer("[", " ", "]", " ", "…", "", "'", "", `"`, "").Replace(line))
	if len(words) == 0 || strings.Contains(words[0], "|") {
		return nil // names a choice of commands
	}
	root := newRootCommand(newApp(systemStreams(), systemEnvironment()))
	command, rest, err := root.Find(words)
	if err != nil {
		return err
	}
	if command.HasSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") && !strings.Contains(rest[0], "|") {
		return fmt.Errorf("%s has no subcommand %q", command.CommandPath(), rest[0])
	}
	for _, word := range rest {
		name, isFlag := strings.CutPrefix(word, "--")
		name, _, _ = strings.Cut(name, "=")
		if !isFlag || name == "help" || name == "" {
			continue
		}
		if command.Flags().Lookup(name) == nil && root.PersistentFlags().Lookup(name) == nil {
			return fmt.Errorf("%s has no flag --%s", command.CommandPath(), name)
		}
	}
	return nil
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile("(?m)^#+ (.*)$")
	notSlug = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// TestLinksLead: what a page links to in this repository is there, its heading too.
func TestLinksLead(t *testing.T) {
	for _, page := range pages(t) {
		content := check.Value(os.ReadFile(page))(t)
		for _, match := range link.FindAllStringSubmatch(string(content), -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			name, anchor, _ := strings.Cut(match[1], "#")
			target := page
			if name != "" {
				target = filepath.Join(filepath.Dir(page), name)
			}
			err := leads(target, anchor)
			check.That(t, err == nil, "%s: (%s): %v", page, match[1], err)
		}
	}
}

func leads(target, anchor string) error {
	if anchor == "" {
		_, err := os.Stat(target)
		return err
	}
	content, err := os.ReadFile(target)
	if err != nil {
		return err
	}
	for _, match := range heading.FindAllStringSubmatch(string(content), -1) {
		if strings.ReplaceAll(notSlug.ReplaceAllString(strings.ToLower(match[1]), ""), " ", "-") == anchor {
			return nil
		}
	}
	return fmt.Errorf("it has no heading #%s", anchor)
}

// TestDocsAreShort: a reader gets through the README in five minutes, and finds a thing in docs/ by looking.
func TestDocsAreShort(t *testing.T) {
	content := check.Value(os.ReadFile("../../README.md"))(t)
	lines := strings.Count(string(content), "\n")
	check.That(t, lines <= 120, "the README has %d lines, at most 120", lines)
	all := check.Value(filepath.Glob("../../docs/*"))(t)
	total := int64(0)
	for _, page := range all {
		info := check.Value(os.Stat(page))(t)
		if !info.IsDir() { // whose size is the file system's business
			total += info.Size()
		}
		limit := map[string]int64{"classes.md": 10 << 10, "threat-model.md": 20 << 10}[filepath.Base(page)]
		check.That(t, limit == 0 || info.Size() <= limit, "%s has %d bytes, at most %d", page, info.Size(), limit)
	}
	check.That(t, total <= 120_000, "docs has %d bytes, at most 120,000: tables of cases belong beside their tests", total)
}
