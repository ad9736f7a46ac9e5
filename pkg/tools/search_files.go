package tools

import (
	"context"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/intentgov/orchestra-mcp/internal/linematch"
	"github.com/intentgov/orchestra-mcp/internal/schema"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

const (
	// matchCap bounds the matches of one search_files result.
	matchCap = 300
	// matchLine bounds a line that is shown, in bytes.
	matchLine = 500
)

type searchArgs struct {
	sessionArg
	Path        string `json:"path,omitempty" alias:"file_path" is:"path" doc:"A directory."`
	Regex       string `json:"regex" is:"pattern" doc:"(?i) ignores case."`
	FilePattern string `json:"file_pattern,omitempty" is:"pattern" doc:"A glob, as *.ts or src/**/*.go."`
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
	Skipped   int           `json:"skipped" min:"0" optional:"true" doc:"Files that were binary or could not be read; 0 if truncated."`
}

func searchFiles(files *Files) hooks.Tool {
	spec := looking("search_files", "Search files", "Search files line by line for a regular expression (RE2), without what .gitignore hides. "+
		"To find a line is not to have read its file.")
	return define[searchArgs, searchResult](spec, func(call *hooks.Call, args searchArgs) (hooks.Targeted, error) {
		return files.lookAt(args.Path, func(ctx context.Context, dir onTarget) (string, any, error) {
			// Search is held to the rule that step 4 of the gate applies to a path that is named.
			s := &search{sizes: usualSizes(), secret: func(path string) bool { _, is := call.Ignore.Secret(path); return is }}
			return s.run(ctx, dir, args)
		})
	}, schema.Numbers{"cap": matchCap})
}

// search is one run of search_files. Files are looked into by several goroutines at a time; what is kept is what comes first
// in the order of a walk, whoever finds it when.
type search struct {
	matcher *linematch.Matcher
	pattern *intent.Scope
	secret  func(string) bool
	sizes   sizes
	helpers chan *looker // that have nothing to do

	skipped atomic.Int64
	last    atomic.Pointer[string] // the file that has the first match too many; what is behind it is of no interest

	mu    sync.Mutex
	found []foundIn // by path, in the order of a walk: of more matches than the cap no more files than have them
	count int       // of their matches
}

// foundIn are the matches of one file, one more than the cap at most.
type foundIn struct {
	path    string
	matches []searchMatch
}

func (s *search) run(ctx context.Context, dir onTarget, args searchArgs) (string, any, error) {
	var err error
	if s.matcher, err = linematch.Compile(args.Regex); err != nil {
		return "", nil, refusal.Newf(refusal.InvalidArguments, "regex: %s (RE2 syntax).", clip(err.Error(), 500))
	}
	if s.pattern, err = filePattern(args.FilePattern); err != nil {
		return "", nil, refusal.Newf(refusal.InvalidArguments, "file_pattern: %s.", clip(err.Error(), 500))
	}
	s.helpers = make(chan *looker, runtime.GOMAXPROCS(0)-1)
	for range cap(s.helpers) {
		s.helpers <- s.looker(ctx)
	}
	scan := workspace.Scan{Leave: ownState, Past: s.past, Visitor: func() func(workspace.Entry) { return s.visitor(s.looker(ctx)) }}
	if err := dir.target.Scan(ctx, scan); err != nil {
		return "", nil, readProblem(dir.effect.Path, err)
	}
	result := s.result(dir.effect.Path)
	return result.text(), result, nil
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

func (s *search) looker(ctx context.Context) *looker {
	return &looker{ctx: ctx, matcher: s.matcher.Clone(), sizes: s.sizes}
}

func (s *search) visitor(l *looker) func(workspace.Entry) {
	return func(e workspace.Entry) {
		if s.secret(e.Path) || (s.pattern != nil && !s.pattern.Match(e.Path)) {
			return
		}
		switch matches, err := s.look(e, l); {
		case err != nil:
			s.skipped.Add(1)
		case len(matches) > 0:
			s.add(e.Path, matches)
		}
	}
}

func (s *search) look(e workspace.Entry, l *looker) ([]searchMatch, error) {
	f, err := e.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Size > l.whole {
		return l.long(f, s.helpers)
	}
	return l.short(f)
}

func (s *search) add(path string, matches []searchMatch) {
	for i := range matches {
		matches[i].Path = path
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at, _ := slices.BinarySearchFunc(s.found, path, func(f foundIn, path string) int { return workspace.CompareWalk(f.path, path) })
	s.found = slices.Insert(s.found, at, foundIn{path, matches})
	s.count += len(matches)
	for s.count > matchCap {
		last := &s.found[len(s.found)-1]
		if rest := s.count - len(last.matches); rest <= matchCap {
			path := last.path // which does not move
			s.last.Store(&path)
			return
		}
		s.count -= len(last.matches)
		s.found = s.found[:len(s.found)-1]
	}
}

// past tells what is behind enough matches.
func (s *search) past(path string) bool {
	last := s.last.Load()
	return last != nil && workspace.CompareWalk(path, *last) > 0
}

func (s *search) result(dir string) *searchResult {
	r := &searchResult{Path: dir, Matches: []searchMatch{}, Truncated: s.count > matchCap}
	for _, f := range s.found {
		r.Matches = append(r.Matches, f.matches...)
	}
	if r.Truncated {
		r.Matches = r.Matches[:matchCap]
	} else {
		r.Skipped = int(s.skipped.Load())
	}
	return r
}

func (r *searchResult) text() string {
	var b strings.Builder
	last, line := "", 0
	for _, m := range r.Matches {
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
	if len(r.Matches) == 0 {
		b.WriteString("[no match]\n")
	}
	if r.Truncated {
		fmt.Fprintf(&b, "[more than %d matches: narrow the regex, the path or the file_pattern]\n", matchCap)
	}
	return strings.TrimRight(b.String(), "\n")
}
