package mutation_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
)

// memory is a workspace by path.
type memory map[string][]byte

func (m memory) Mention(_ context.Context, words *mutation.Words, skip func(string) bool) (*mutation.Mention, error) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if skip(name) {
			continue
		}
		if at, word, found := words.Find(m[name]); found {
			return &mutation.Mention{Path: name, Line: 1 + bytes.Count(m[name][:at], []byte("\n")), Word: word}, nil
		}
	}
	return nil, nil
}

func (m memory) Read(name string) ([]byte, error) {
	if content, ok := m[name]; ok {
		return content, nil
	}
	return nil, fs.ErrNotExist
}

// unreadable is a workspace that cannot be looked into.
type unreadable struct {
	memory
	wait bool
}

func (u unreadable) Mention(ctx context.Context, _ *mutation.Words, _ func(string) bool) (*mutation.Mention, error) {
	if u.wait {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return nil, errors.New("a/b: permission denied\nby somebody")
}

// What keeps a renaming from being proven is said in one line.
func TestNamesThatOtherFilesCouldUse(t *testing.T) {
	source := func(name string) []byte { return []byte("package a\n\nfunc " + name + "() int { return 1 }\n") }
	file := mutation.File{Path: "src/a.go", Before: source("first"), After: source("second")}
	many := mutation.File{Path: "src/a.go", Before: []byte("package a\n"), After: []byte("package a\n")}
	for i := range 30 {
		many.Before = fmt.Appendf(many.Before, "var v%d = %d\n", i, i)
		many.After = fmt.Appendf(many.After, "var w%d = %d\n", i, i)
	}
	limits := patient()
	for name, c := range map[string]struct {
		files  []mutation.File
		around mutation.OtherFiles
		limits mutation.Limits
		want   mutation.Evidence
		reason string
	}{
		"nobody":         {[]mutation.File{file}, memory{"b.go": []byte("package a")}, limits, mutation.Proven, "; no other file names it"},
		"itself":         {[]mutation.File{file}, memory{"src/a.go": file.Before}, limits, mutation.Proven, "; no other file names it"},
		"the old name":   {[]mutation.File{file}, memory{"README.md": []byte("a\n\nCall `first`.")}, limits, mutation.ProvenLocal, "; README.md:3 has the word first"},
		"the new name":   {[]mutation.File{file}, memory{"b.go": []byte("package a\n\nvar x = second()")}, limits, mutation.ProvenLocal, "; b.go:3 has the word second"},
		"another word":   {[]mutation.File{file}, memory{"b.go": []byte("var x = second_2")}, limits, mutation.Proven, "; no other file names it"},
		"no workspace":   {[]mutation.File{file}, nil, limits, mutation.ProvenLocal, "; other files that use these names were not looked at"},
		"no permission":  {[]mutation.File{file}, unreadable{}, limits, mutation.ProvenLocal, "; not all other files were looked at: a/b: permission denied by somebody"},
		"no time":        {[]mutation.File{file}, unreadable{wait: true}, mutation.Limits{Size: 1e6, Total: 1e6, Time: time.Hour, Depth: 100, Search: time.Nanosecond}, mutation.ProvenLocal, "; looking for the names in other files took too long and was given up"},
		"too many names": {[]mutation.File{many}, memory{}, limits, mutation.ProvenLocal, "; 60 names are more than are looked for in other files"},
		"another language of the call": {[]mutation.File{file, {Path: "x.yaml", Before: []byte("run: first\n"), After: []byte("run:  first\n")}}, memory{}, limits,
			mutation.ProvenLocal, "; x.yaml:1 has the word first"},
		"unchanged beside it": {[]mutation.File{file, {Path: "x.yaml", Before: []byte("run: first\n"), After: []byte("run: first\n")}}, memory{"x.yaml": []byte("run: first\n")}, limits,
			mutation.ProvenLocal, "; x.yaml:1 has the word first"},
	} {
		t.Run(name, func(t *testing.T) {
			v := mutation.JudgeAmong(t.Context(), c.files, c.around, c.limits)
			if v.Evidence != c.want || !strings.HasSuffix(v.Reason, c.reason) {
				t.Errorf("%s: %q, want %s: …%q", v.Evidence, v.Reason, c.want, c.reason)
			}
			check.That(t, !strings.ContainsAny(v.Reason, "\r\n"), "more than one line: %q", v.Reason)
		})
	}
}
