package tools

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/schema"
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
	sessionArg
	Path string `json:"path,omitempty" is:"path" doc:"The directory, relative to the workspace root; the root if left out."`
	pathAlias
	Regex       string `json:"regex" is:"pattern" doc:"RE2; start with (?i) to ignore case."`
	FilePattern string `json:"file_pattern,omitempty" is:"pattern" doc:"A glob for the files, such as *.ts (any depth) or src/**/*.go."`
}

type searchMatch struct {
	Path   string   `json:"path" doc:"Workspace-relative."`
	Line   int      `json:"line" min:"1" doc:"1-based."`
	Text   string   `json:"text" doc:"The line."`
	Before []string `json:"before,omitempty" doc:"The line before, if there is one and no other match has it."`
	After  []string `json:"after,omitempty" doc:"The line behind, if there is one and it is no match itself."`
}

type searchResult struct {
	Path      string        `json:"path" doc:"The directory."`
	Matches   []searchMatch `json:"matches" doc:"In the order of paths and lines."`
	Truncated bool          `json:"truncated" doc:"Whether there are more than {cap} matches."`
	Skipped   int           `json:"skipped" min:"0" optional:"true" doc:"Files that were too large or binary."`
}

func searchFiles(files *Files) hooks.Tool {
	spec := looking("search_files", "Search in files", "Search the files below a directory for a regular expression (RE2 syntax), line by line, without what .gitignore hides. "+
		"Finding a line here does not count as having read the file.")
	return define[searchArgs, searchResult](spec, func(call *hooks.Call, args searchArgs) (hooks.Targeted, error) {
		return files.lookAt(args.Path, args.pathAlias, func(ctx context.Context, dir onTarget) (string, any, error) {
			// Search is held to the rule that step 4 of the gate applies to a path that is named.
			s := &search{secret: func(path string) bool { _, is := call.Ignore.Secret(path); return is }}
			return s.run(ctx, files, dir, args)
		})
	}, schema.Numbers{"cap": matchCap})
}

// search is one run of search_files.
type search struct {
	regex   *regexp.Regexp
	pattern *intent.Scope
	secret  func(string) bool
	result  searchResult
}

func (s *search) run(ctx context.Context, files *Files, dir onTarget, args searchArgs) (string, any, error) {
	s.result = searchResult{Path: dir.effect.Path, Matches: []searchMatch{}}
	var err error
	if s.regex, err = regexp.Compile(args.Regex); err != nil {
		return "", nil, refusal.Newf(refusal.InvalidArguments, "regex: %s (RE2 syntax).", clip(err.Error(), 500))
	}
	if s.pattern, err = filePattern(args.FilePattern); err != nil {
		return "", nil, refusal.Newf(refusal.InvalidArguments, "file_pattern: %s.", clip(err.Error(), 500))
	}
	if err := files.walk(ctx, dir.target, true, s.visit); err != nil {
		return "", nil, readProblem(dir.effect.Path, err)
	}
	return s.text(), s.result, nil
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

func clipLine(line string) string { return clip(strings.TrimRight(line, "\r\n"), matchLine) }

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
