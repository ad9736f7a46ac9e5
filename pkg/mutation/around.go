package mutation

import (
	"bytes"
	"context"
	"fmt"
	"path"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// OtherFiles are the files around those of a call, as they stand while the call is judged. What they say must not
// depend on the call's own files. The methods may be called concurrently.
type OtherFiles interface {
	// Mention looks for the words in all files but those that skip names, and gives a place that has one; nil if there
	// is none. An error says what could not be looked into, which is then taken to have one.
	Mention(ctx context.Context, words *Words, skip func(path string) bool) (*Mention, error)
	// Read gives the content of a small file. The error is fs.ErrNotExist where nothing stands at the path.
	Read(path string) ([]byte, error)
}

// Mention is a place that has a word.
type Mention struct {
	Path string // slash-separated, relative to the workspace
	Line int    // from 1; 0 if the word is spelled in another way there
	Word string
}

func (m Mention) String() string {
	return fmt.Sprintf("%s has the word %s", verdict.At(m.Path, m.Line), m.Word)
}

// maxOutward bounds the names that are looked for.
const maxOutward = 40

// searchOthers makes a verdict proven if no other file has one of the names because
// of which it is only proven-local, and says in the reason how that came out.
func searchOthers(ctx context.Context, v *Verdict, files []File, around OtherFiles, limits Limits) {
	v.Reason += "; " + searched(ctx, v, files, around, limits)
}

func searched(ctx context.Context, v *Verdict, files []File, around OtherFiles, limits Limits) (how string) {
	switch {
	case v.Bound != "":
		return v.Bound
	case around == nil || len(v.Outward) == 0:
		return "other files that use these names were not looked at"
	case len(v.Outward) > maxOutward:
		return fmt.Sprintf("%d names are more than are looked for in other files", len(v.Outward))
	}
	ctx, cancel := context.WithTimeout(ctx, limits.Search)
	defer cancel()
	found, err := around.Mention(ctx, NewWords(v.Outward), changedIn(files))
	switch {
	case found != nil:
		return verdict.OneLine(found.String())
	case ctx.Err() != nil:
		return "looking for the names in other files took too long and was given up"
	case err != nil:
		return verdict.OneLine(fmt.Sprintf("not all other files were looked at: %v", err))
	}
	v.Evidence = Proven
	return "no other file names it"
}

// changedIn tells which files those of a call are.
func changedIn(files []File) func(path string) bool {
	own := map[string]bool{}
	for _, f := range files {
		if changes(f) {
			own[f.Path], own[f.From] = true, true
		}
	}
	return func(path string) bool { return own[path] }
}

// searchInside makes a verdict proven-local where another file could include one
// that keeps names to itself, and has one of these.
func searchInside(ctx context.Context, v *Verdict, files []File, around OtherFiles, limits Limits) {
	ctx, cancel := context.WithTimeout(ctx, limits.Search)
	defer cancel()
	for _, in := range v.Inside {
		if why := used(ctx, in, files, around); why != "" {
			v.Evidence = ProvenLocal
			v.Reason += "; " + verdict.OneLine(why)
			return
		}
	}
}

// used says why a file could be included by another that uses its names, or "".
func used(ctx context.Context, in verdict.Inside, files []File, around OtherFiles) string {
	includes, names := NewWords([]string{path.Base(in.Path)}), NewWords(in.Names)
	found := mentionIn(files, names, func(f File, side []byte) bool {
		if f.Path == in.Path {
			return false
		}
		_, _, found := includes.Find(side)
		return found
	})
	if found != nil {
		return found.String()
	}
	switch {
	case around == nil:
		return fmt.Sprintf("whether another file includes %s was not looked at", in.Path)
	case len(in.Names) > 2*maxOutward:
		return fmt.Sprintf("%d names are more than are looked for in files that include %s", len(in.Names)/2, in.Path)
	}
	if found, err := around.Mention(ctx, includes, changedIn(files)); found == nil && err == nil {
		return ""
	}
	switch found, err := around.Mention(ctx, names, changedIn(files)); {
	case found != nil:
		return fmt.Sprintf("a file may include %s, and %v", in.Path, found)
	case err != nil:
		return fmt.Sprintf("another file can include %s, and not all were looked at: %v", in.Path, err)
	}
	return ""
}

// outside looks for the names in those files of the call that were not compared
// together with the one that declares them.
func outside(v Verdict, files, together []File) Verdict {
	if v.Evidence != ProvenLocal || v.Bound != "" {
		return v
	}
	in := map[string]bool{}
	for _, f := range together {
		in[f.Path] = true
	}
	words := NewWords(v.Outward)
	if found := mentionIn(files, words, func(f File, _ []byte) bool { return !in[f.Path] }); found != nil {
		v.Bound = found.String()
	}
	return v
}

// mentionIn looks for words in those sides of files that which takes.
func mentionIn(files []File, words *Words, which func(f File, side []byte) bool) *Mention {
	for _, f := range files {
		for _, side := range [][]byte{f.After, f.Before} {
			if !which(f, side) {
				continue
			}
			if at, word, found := words.Find(side); found {
				return &Mention{f.Path, 1 + bytes.Count(side[:at], []byte("\n")), word}
			}
		}
	}
	return nil
}
