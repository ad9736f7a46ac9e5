package golang

import (
	"context"
	"fmt"
	"go/scanner"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// maxNeighbours bounds how many other files of its packages a comparison reads.
const maxNeighbours = 300

// neighbour is another file of a package of the call, which stays as it is: it
// tells types, and its uses of names hold these.
type neighbour struct {
	path          string
	before, after *source
}

// enter puts the file to its package.
func (n neighbour) enter(units map[string]*unit) {
	p := pair{file: verdict.File{Path: n.path}, before: n.before, after: n.after, still: true}
	if u := units[p.unitKey()]; u != nil {
		u.files = append(u.files, p)
	}
}

// among compares files once more, with the other files of their packages at
// hand. v is the verdict without them. All rules reckon with files that are not
// at hand, so one that was not read only tells less.
func among(ctx context.Context, v verdict.Verdict, files []verdict.File, around verdict.Around, limits verdict.Limits) verdict.Verdict {
	still := neighbours(ctx, files, around, limits)
	if len(still) == 0 || ctx.Err() != nil {
		return v
	}
	again := together(ctx, files, still, around, limits)
	if again.Evidence != verdict.Unproven {
		return again
	}
	for _, n := range still {
		if strings.HasPrefix(again.Reason, n.path+":") {
			again.Reason += "; this file did not change"
			return again
		}
	}
	return v
}

// neighbours reads the other files of the packages of a call. Left out are
// those of which it is not certain that they are built together with these.
func neighbours(ctx context.Context, files []verdict.File, around verdict.Around, limits verdict.Limits) (list []neighbour) {
	if around.Read == nil || around.List == nil {
		return nil
	}
	own, packages, room := map[string]bool{}, map[string]*wanted{}, limits.Total
	for _, f := range files {
		own[f.Path], own[f.From] = true, true
		room -= len(f.Before) + len(f.After)
		want(packages, f, limits)
	}
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		names, err := around.List(dir)
		if err != nil || packages[dir].limited {
			continue
		}
		for _, name := range names {
			full := path.Join(dir, name)
			if own[full] || path.Ext(name) != ".go" || limitedByName(name) || strings.HasSuffix(name, "_test.go") && !packages[dir].tests {
				continue
			}
			content, err := around.Read(full)
			if err != nil || len(content) > limits.Size {
				continue
			}
			if room -= 2 * len(content); room < 0 || len(list) == maxNeighbours || ctx.Err() != nil {
				return list
			}
			if n := packages[dir].neighbour(full, content, limits); n != nil {
				list = append(list, *n)
			}
		}
	}
	return list
}

// wanted is which files of a directory tell something about those of a call.
type wanted struct {
	packages map[string]bool
	// tests: a file of the call is built only for tests; limited: some builds
	// leave one out, and so may not have what others say.
	tests, limited bool
}

// want notes what a file of the call belongs to.
func want(packages map[string]*wanted, f verdict.File, limits verdict.Limits) {
	dir := path.Dir(f.Path)
	content := f.After
	if content == nil {
		content = f.Before
	}
	if path.IsAbs(dir) || dir == ".." || strings.HasPrefix(dir, "../") {
		return
	}
	if packages[dir] == nil {
		packages[dir] = &wanted{packages: map[string]bool{}}
	}
	src, err := parse(f.Path, content, limits.Depth)
	if err != nil || limitedByName(path.Base(f.Path)) || src.limited() {
		packages[dir].limited = true
		return
	}
	packages[dir].packages[src.ast.Name.Name] = true
	packages[dir].tests = packages[dir].tests || src.isTest()
}

// neighbour parses a file; nil if it does not belong to the packages.
func (w *wanted) neighbour(name string, content []byte, limits verdict.Limits) *neighbour {
	before, err := parse(name, content, limits.Depth)
	if err != nil || before.limited() || !w.packages[before.ast.Name.Name] {
		return nil
	}
	after, err := parse(name, content, limits.Depth) // its marks are taken one by one
	if err != nil {
		return nil
	}
	return &neighbour{name, before, after}
}

// limited tells whether some builds of the package leave the file out.
func (f *source) limited() bool {
	for _, spec := range f.ast.Imports {
		if spec.Path.Value == `"C"` {
			return true
		}
	}
	return slices.ContainsFunc(f.header, func(mark string) bool {
		return strings.HasPrefix(mark, "//go:build") || strings.Contains(mark, "+build")
	})
}

// platforms are the words in names of files that limit them to a system or an
// architecture.
var platforms = words(`aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd openbsd plan9 solaris wasip1 wasip2 windows zos
	386 amd64 amd64p32 arm armbe arm64 arm64be loong64 mips mipsle mips64 mips64le mips64p32 mips64p32le ppc ppc64 ppc64le riscv riscv64
	s390 s390x sparc sparc64 wasm`)

// limitedByName tells whether the name of a file keeps it out of some builds.
func limitedByName(name string) bool {
	if strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") {
		return true
	}
	parts := strings.Split(strings.TrimSuffix(name, ".go"), "_")
	return slices.ContainsFunc(parts[1:], func(part string) bool { return platforms()[part] })
}

// onlyNames tells whether the two sides have the same tokens but for names, in
// any order: what is more than that is not mended by knowing more types.
func onlyNames(files []verdict.File) bool {
	counts := map[string]int{}
	for _, f := range files {
		count(counts, f.Before, 1)
		count(counts, f.After, -1)
	}
	for _, n := range counts {
		if n != 0 {
			return false
		}
	}
	return true
}

func count(counts map[string]int, content []byte, by int) {
	fset := token.NewFileSet()
	var s scanner.Scanner
	s.Init(fset.AddFile("", fset.Base(), len(content)), content, nil, 0)
	for {
		switch _, tok, literal := s.Scan(); {
		case tok == token.EOF:
			return
		case tok == token.SEMICOLON, tok == token.COMMA: // layout has its say in these
		case tok == token.IDENT:
			counts[tok.String()] += by
		default:
			counts[fmt.Sprint(tok, " ", literal)] += by
		}
	}
}
