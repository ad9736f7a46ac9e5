package tools

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// Bounds of the contents that an approval of a line covers. What exceeds them is counted, so that the operator is told.
const (
	maxContents     = 64
	maxNames        = 500
	maxContent      = 4 << 20
	maxContentBytes = 32 << 20
)

// impliedBy are the files that programs read without being told. The first that is there counts, and all are looked for.
const impliedBy = `
make gmake: GNUmakefile makefile Makefile
npm npx pnpm yarn bun bunx node: package.json
just: justfile Justfile .justfile
rake: Rakefile rakefile
task: Taskfile.yml Taskfile.yaml
cargo: Cargo.toml build.rs
gradle gradlew: build.gradle build.gradle.kts settings.gradle settings.gradle.kts
mvn mvnw: pom.xml
composer: composer.json
tox: tox.ini
ninja: build.ninja
`

func implied(program string) []string {
	for line := range strings.Lines(impliedBy) {
		if programs, files, _ := strings.Cut(line, ":"); slices.Contains(strings.Fields(programs), program) {
			return strings.Fields(files)
		}
	}
	return nil
}

// contents finds what the files hold that the line names: an approval is for
// them too. It is asked for only where somebody may be asked about the line.
func (c *commandCall) contents() hooks.Contents {
	var found hooks.Contents
	left := int64(maxContentBytes)
	names, more := c.literalPaths()
	found.More = more
	for _, name := range names {
		switch file, ok := c.content(name, &left); {
		case !ok, file.Hash != "" && len(found.Files) >= maxContents:
			found.More++
		case len(found.Files) < maxContents:
			found.Files = append(found.Files, file)
		}
	}
	return found
}

// literalPaths are the workspace's paths that the line names literally, each once: as programs, as words, as values of
// options, as what is read, and by the files that programs read without being told. more counts those over the bound.
func (c *commandCall) literalPaths() (names []string, more int) {
	seen := map[string]bool{}
	add := func(dir, name string) {
		if !path.IsAbs(name) {
			name = path.Join(dir, name)
		}
		switch {
		case name == "" || len(name) > 4096 || strings.ContainsRune(name, 0) || seen[name]:
		case len(names) >= maxNames:
			more++
		default:
			seen[name] = true
			names = append(names, name)
		}
	}
	for _, p := range c.effect.Reading.Programs {
		for _, dir := range p.In {
			if strings.Contains(p.Path, "/") {
				add(dir, p.Path)
			}
			for _, file := range implied(p.Name) {
				add(dir, file)
			}
			directory := false // make -C word
			for _, a := range p.Args {
				word, ok := wordOf(a)
				if ok {
					add(dir, word)
				}
				if ok && (directory || word != a.Text) {
					for _, file := range implied(p.Name) {
						add(dir, path.Join(word, file))
					}
				}
				directory = strings.HasPrefix(a.Text, "-")
			}
		}
	}
	for _, name := range c.effect.Reading.Reads {
		add("", name)
	}
	return names, more
}

// wordOf is a literal word of a program, or the value of its option.
func wordOf(a shell.Arg) (word string, ok bool) {
	if !a.Exact || a.Text == "" {
		return "", false
	}
	if strings.HasPrefix(a.Text, "-") {
		_, word, ok = strings.Cut(a.Text, "=")
		return word, ok && word != ""
	}
	return a.Text, true
}

// content is what stands at a name. What is no file has no hash, so that a file
// that comes to be there is another call. ok is false for what is not looked at.
func (c *commandCall) content(name string, left *int64) (file hooks.NamedFile, ok bool) {
	at, problem := c.climbed(c.cwd.Path, name)
	if problem != nil {
		return hooks.NamedFile{Path: name}, true
	}
	target, effect := c.target(at)
	if target == nil {
		return hooks.NamedFile{Path: name}, true
	}
	defer target.Close()
	file.Path = effect.Path
	if target.Kind() != workspace.Regular {
		return file, true
	}
	if ignore := c.call.Ignore; ignore != nil {
		if _, secret := ignore.Secret(effect.Path); secret {
			return file, false
		}
	}
	opened, err := target.Open()
	if err != nil {
		return file, false
	}
	defer opened.Close()
	hash := sha256.New()
	n, err := io.Copy(hash, io.LimitReader(opened, min(maxContent, *left)+1))
	if *left -= n; err != nil || n > maxContent || *left < 0 {
		return file, false
	}
	file.Hash = "sha256:" + hex.EncodeToString(hash.Sum(nil))
	return file, true
}

// covers has an approval of the line be for what it names as well.
func (c *commandCall) covers() {
	c.effect.Contents = sync.OnceValue(func() hooks.Contents {
		c.known = true
		return c.contents()
	})
}

// unchanged refuses a line that somebody may have approved, where a file that it names has changed since it was looked at.
func (c *commandCall) unchanged() error {
	if !c.known {
		return nil
	}
	was, is := c.effect.Contents(), c.contents()
	if was.More == is.More && slices.Equal(was.Files, is.Files) {
		return nil
	}
	return refusal.New(refusal.Busy, "A file that the line names was changed after the line was judged, so it was not run. Nothing was changed.").
		Suggest("Make the call again.")
}
