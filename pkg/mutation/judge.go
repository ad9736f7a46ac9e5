package mutation

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/data"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/prose"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/syntax"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// DefaultLimits are the usual ones. Within them a comparison takes well under a second on a present-day machine.
func DefaultLimits() Limits {
	return Limits{Size: 2 << 20, Total: 8 << 20, Time: 2 * time.Second, Search: 250 * time.Millisecond, Depth: 2000}
}

// JudgeAmong compares the files of one call together, among those around them; nil for none. Reaching a limit of the
// comparison is Unproven, and so is the end of ctx; reaching that of the search is ProvenLocal. It keeps nothing and may be
// called concurrently.
func JudgeAmong(ctx context.Context, files []File, around OtherFiles, limits Limits) Verdict {
	v := compare(ctx, files, around, limits)
	if v.Evidence == ProvenLocal {
		searchOthers(ctx, &v, files, around, limits)
	}
	if v.Evidence == Proven && len(v.Inside) > 0 {
		searchInside(ctx, &v, files, around, limits)
	}
	return v
}

// compare judges the files by themselves.
func compare(ctx context.Context, files []File, around OtherFiles, limits Limits) Verdict {
	changed, total := make([]File, 0, len(files)), 0
	for _, f := range files {
		if !changes(f) {
			continue
		}
		changed = append(changed, f)
		total += len(f.Before) + len(f.After)
	}
	switch {
	case len(files) == 0:
		return Verdict{Evidence: Unsupported, Reason: "no file changed"}
	case len(changed) == 0:
		return Verdict{Evidence: Proven, Reason: "the content is the same as before"}
	case total > limits.Total:
		return verdict.Unprovenf(changed[0].Path, 0, "%d bytes are more than are compared together (%d)", total, limits.Total)
	}
	// What a language needs once is not part of the time of a comparison.
	for _, f := range changed {
		if !f.Created() && !f.Deleted() {
			syntax.Prepare(ctx, languageOf(f))
		}
	}
	ctx, cancel := context.WithTimeout(ctx, limits.Time)
	defer cancel()
	return combine(ctx, changed, around, limits)
}

// expected bounds the texts that wait to be made ready for: of more, those that come later are judged without.
var expected = make(chan struct{}, 8)

// Expect makes ready to judge changes of a file that an agent has just read: it loads the parser of its language, and
// notes where the parts of the text are. It returns at once, and nothing depends on it but how long the first verdict takes.
func Expect(path string, text []byte) {
	language := languageOf(File{Path: path})
	if syntax.Family(language) == "" || judges[language] != nil || len(text) > DefaultLimits().Size {
		return
	}
	select {
	case expected <- struct{}{}:
	default:
		return
	}
	go func() {
		defer func() { <-expected }()
		ctx, cancel := context.WithTimeout(context.Background(), DefaultLimits().Time)
		defer cancel()
		syntax.Expect(ctx, language, text)
	}()
}

func changes(f File) bool {
	return !bytes.Equal(f.Before, f.After) || f.Created() || f.Deleted() || f.Moved()
}

// combine judges the files of each language together.
func combine(ctx context.Context, files []File, around OtherFiles, limits Limits) Verdict {
	var order []string
	groups := map[string][]File{}
	for _, f := range files {
		name := syntax.Family(languageOf(f))
		if groups[name] == nil {
			order = append(order, name)
		}
		groups[name] = append(groups[name], f)
	}
	total, failed := Verdict{Evidence: Proven}, Verdict{Evidence: Proven}
	for _, name := range order {
		v := judgeLanguage(ctx, name, groups[name], around, limits)
		switch v.Evidence {
		case Proven, ProvenLocal:
			total.Add(outside(v, files, groups[name]))
			continue
		}
		if v.Evidence.Outranks(failed.Evidence) {
			failed = Verdict{Evidence: v.Evidence, Reason: v.Reason}
		}
	}
	if failed.Evidence != Proven {
		return failed
	}
	total.Reason = verdict.Summary(total)
	return total
}

// judgeLanguage judges the files of one family of languages.
func judgeLanguage(ctx context.Context, name string, files []File, around OtherFiles, limits Limits) (v Verdict) {
	judge := judges[name]
	switch {
	case judge != nil:
	case name != "":
		var read verdict.Reader
		if around != nil {
			read = around.Read
		}
		judge = syntax.Judge(read)
	default:
		return Verdict{Evidence: Unsupported, Reason: "there is no parser for " + files[0].Path}
	}
	for _, f := range files {
		for _, side := range [][]byte{f.Before, f.After} {
			switch {
			case len(side) > limits.Size:
				return verdict.Unprovenf(f.Path, 0, "%d bytes are more than are compared (%d)", len(side), limits.Size)
			case !utf8.Valid(side) || bytes.IndexByte(side, 0) >= 0:
				return verdict.Unprovenf(f.Path, 0, "it is not UTF-8 text")
			}
		}
	}
	defer func() {
		// A fault of a parser is a fault of this program, but the input is somebody else's, and the server must go on.
		if fault := recover(); fault != nil {
			v = verdict.Unprovenf(files[0].Path, 0, "the parser failed: %v", fault)
		}
	}()
	v = judge(ctx, files, limits)
	switch err := ctx.Err(); {
	case err == nil, v.Evidence == Unproven:
		return v
	case errors.Is(err, context.DeadlineExceeded):
		return verdict.Unprovenf(files[0].Path, 0, "the comparison took too long and was given up")
	default:
		return verdict.Unprovenf(files[0].Path, 0, "the comparison was given up: %v", err)
	}
}

// judges are those of the languages that are no programs; internal/syntax has all others.
var judges = map[string]verdict.Judge{
	"json":     data.JSON,
	"yaml":     data.YAML,
	"toml":     data.TOML,
	"markdown": prose.Markdown,
	"text":     prose.Text,
}

// extensions give the language of such a file by the end of its name, in lower case.
var extensions = map[string]string{
	".json": "json", ".jsonc": "json", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml",
	".md": "markdown", ".markdown": "markdown", ".txt": "text",
}

// languageOf is the language of a file; one that changed its extension has none that both sides could be compared in.
func languageOf(f File) string {
	if path.Base(f.Path) == "CMakeLists.txt" {
		return "" // a program, whatever its name says
	}
	of := func(name string) string {
		return cmp.Or(extensions[strings.ToLower(path.Ext(name))], syntax.Of(name))
	}
	after := of(f.Path)
	if before := of(cmp.Or(f.From, f.Path)); before != after {
		return ""
	}
	return after
}
