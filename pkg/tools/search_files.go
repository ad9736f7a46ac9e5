package tools

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

const (
	// matchCap bounds the matches of one search_files result.
	matchCap = 300
	// searchFileLimit bounds a file that is searched, in bytes.
	searchFileLimit = 4 << 20
	// matchLine bounds a line that is shown, in bytes.
	matchLine = 500
)

type searchArgs struct {
	located
	Session     string `json:"session"`
	Regex       string `json:"regex"`
	FilePattern string `json:"file_pattern"`
}

func searchFiles(d *Deps) hooks.Tool {
	match := open([]string{"path", "line", "text"}, schema{
		"path":   text("Workspace-relative."),
		"line":   number("1-based.", 1),
		"text":   text("The line."),
		"before": list("The line before, if there is one and no other match has it.", schema{"type": "string"}),
		"after":  list("The line behind, if there is one and it is no match itself.", schema{"type": "string"}),
	})
	spec := hooks.Spec{
		Name: "search_files", Title: "Search in files", Class: hooks.Safe, ReadOnly: true, Idempotent: true,
		Description: "Search the files below a directory for a regular expression (RE2 syntax), line by line, without what .gitignore hides. " +
			"Finding a line here does not count as having read the file.",
		InputSchema: input([]string{"regex"}, schema{
			"path": place("The directory, relative to the workspace root; the root if left out."), "file_path": place("Another name for path."),
			"regex":        pattern("RE2; start with (?i) to ignore case."),
			"file_pattern": pattern("A glob for the files, such as *.ts (any depth) or src/**/*.go."),
		}),
		OutputSchema: output(open([]string{"path", "matches", "truncated"}, schema{
			"path":      text("The directory."),
			"matches":   list("In the order of paths and lines.", match),
			"truncated": flag(fmt.Sprintf("Whether there are more than %d matches.", matchCap)),
			"skipped":   number("Files that were too large or binary.", 0),
		})),
	}
	return &treeTool[searchArgs]{d, spec, &arguments{name: spec.Name, source: spec.InputSchema}, runSearch}
}

type searchMatch struct {
	Path   string   `json:"path"`
	Line   int      `json:"line"`
	Text   string   `json:"text"`
	Before []string `json:"before,omitempty"`
	After  []string `json:"after,omitempty"`
}

type searchResult struct {
	Path      string        `json:"path"`
	Matches   []searchMatch `json:"matches"`
	Truncated bool          `json:"truncated"`
	Skipped   int           `json:"skipped"`
}

// search is one run of search_files.
type search struct {
	regex   *regexp.Regexp
	pattern *intent.Scope
	secret  func(string) bool
	result  searchResult
}

func runSearch(ctx context.Context, c *treeCall[searchArgs]) (string, any, error) {
	s := &search{secret: c.secret, result: searchResult{Path: c.effect.Path, Matches: []searchMatch{}}}
	var err error
	if s.regex, err = regexp.Compile(c.args.Regex); err != nil {
		return "", nil, refusal.Newf(refusal.InvalidArguments, "regex: %s (RE2 syntax).", clip(err.Error(), 500))
	}
	if s.pattern, err = filePattern(c.args.FilePattern); err != nil {
		return "", nil, refusal.Newf(refusal.InvalidArguments, "file_pattern: %s.", clip(err.Error(), 500))
	}
	if err := c.tool.deps.walk(ctx, c.target, true, s.visit); err != nil {
		return "", nil, readProblem(c.effect.Path, err)
	}
	return s.text(), s.result, nil
}

// secret holds search to the rule that step 4 of the gate applies to a path
// that is named.
func (c *treeCall[A]) secret(name string) bool {
	_, ok := c.call.Ignore.Secret(name)
	return ok
}

// filePattern: a pattern without a slash matches at any depth.
func filePattern(glob string) (*intent.Scope, error) {
	if glob == "" {
		return nil, nil
	}
	if !strings.Contains(glob, "/") {
		glob = "**/" + glob
	}
	return intent.CompileScope([]string{glob})
}

func (s *search) visit(e workspace.Entry) error {
	name := e.Path
	if e.Kind != workspace.Regular || s.secret(name) || (s.pattern != nil && !s.pattern.Match(name)) {
		return nil
	}
	lines, ok := linesOf(e)
	if !ok {
		s.result.Skipped++
		return nil
	}
	given, next := -1, len(lines) > 0 && s.regex.MatchString(lines[0])
	for i, line := range lines {
		matches := next
		next = i+1 < len(lines) && s.regex.MatchString(lines[i+1])
		if !matches {
			continue
		}
		if len(s.result.Matches) == matchCap {
			s.result.Truncated = true
			return fs.SkipAll
		}
		m := searchMatch{Path: name, Line: i + 1, Text: clipLine(line)}
		// Matches that are neighbours share context, which is given once.
		if i-1 > given {
			m.Before = []string{clipLine(lines[i-1])}
		}
		given = i
		if i+1 < len(lines) && !next {
			m.After = []string{clipLine(lines[i+1])}
			given = i + 1
		}
		s.result.Matches = append(s.result.Matches, m)
	}
	return nil
}

func linesOf(e workspace.Entry) ([]string, bool) {
	content, err := e.Read(searchFileLimit)
	if err != nil {
		return nil, false
	}
	decoded, err := workspace.Decode(content.Bytes)
	if err != nil {
		return nil, false
	}
	return edit.Lines(workspace.Shown(decoded.String)), true
}

func clipLine(line string) string {
	line = strings.TrimRight(line, "\r\n")
	if len(line) <= matchLine {
		return line
	}
	return strings.ToValidUTF8(line[:matchLine], "") + "…"
}

func (s *search) text() string {
	var b strings.Builder
	last, line := "", 0
	for _, m := range s.result.Matches {
		switch {
		case m.Path != last:
			if last != "" {
				b.WriteString("----\n")
			}
			fmt.Fprintf(&b, "# %s\n", quoteName(path.Clean(m.Path)))
			last = m.Path
		case m.Line-len(m.Before) != line+1:
			b.WriteString("----\n")
		}
		line = m.Line + len(m.After)
		for i, line := range m.Before {
			fmt.Fprintf(&b, "%6d   %s\n", m.Line-len(m.Before)+i, line)
		}
		fmt.Fprintf(&b, "%6d > %s\n", m.Line, m.Text)
		for i, line := range m.After {
			fmt.Fprintf(&b, "%6d   %s\n", m.Line+i+1, line)
		}
	}
	if len(s.result.Matches) == 0 {
		b.WriteString("[no match]\n")
	}
	if s.result.Truncated {
		fmt.Fprintf(&b, "[more than %d matches: narrow the regex, the path or the file_pattern]\n", matchCap)
	}
	return strings.TrimRight(b.String(), "\n")
}
