//go:build commits

package mutation_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
)

// TestCommits judges the commits of testdata/commits.tsv, which have labels, and prints what it came to.
// ORCHESTRA_COMMITS is a directory that has a git directory at owner+name, or at most two levels below it, for each
// repository. With ORCHESTRA_CLASSIFY, an orchestra-mcp, that program's classify judges; it sees a moved file as one
// that went and one that came.
//
//	ORCHESTRA_COMMITS=DIR go test -tags commits -run TestCommits -v ./pkg/mutation
func TestCommits(t *testing.T) {
	root, binary := os.Getenv("ORCHESTRA_COMMITS"), os.Getenv("ORCHESTRA_CLASSIFY")
	table, err := os.ReadFile("testdata/commits.tsv")
	check.Must(t, err == nil && root != "", "ORCHESTRA_COMMITS is %q, commits.tsv: %v", root, err)
	recognised, all := map[string]int{}, map[string]int{}
	_, rows, _ := strings.Cut(string(table), "\tnote\n")
	for row := range strings.Lines(rows) {
		f := strings.Split(row, "\t") // repository, commit, languages, kinds, preserving, note
		files, without := changedFiles(t, gitDir(t, filepath.Join(root, strings.ReplaceAll(f[0], "/", "+"))), f[1])
		evidence, reason := judgeCommit(t, binary, files)
		fmt.Printf("%s %s\t%s\t%s\t%s\t%s%s\n", f[0], f[1][:10], f[3], f[4], evidence, reason, without)
		for _, group := range groupsOf(f[2], f[3], f[4]) {
			all[group]++
			if evidence == mutation.Proven || evidence == mutation.ProvenLocal {
				recognised[group]++
			}
		}
	}
	fmt.Println("\nproven or proven-local, of all; a commit of several kinds or languages counts in each of them")
	for _, group := range slices.Sorted(maps.Keys(all)) {
		fmt.Printf("%-55s %3d of %3d\n", group, recognised[group], all[group])
	}
}

var plainKinds = regexp.MustCompile(`^(\+?(layout|comments|order|rename-\w+))+$`)

func groupsOf(languages, kinds, preserving string) []string {
	if preserving != "yes" {
		return []string{"3 preserving: " + preserving}
	}
	groups := []string{"0 preserving: yes", "0 preserving: yes, others"}
	if plainKinds.MatchString(kinds) {
		groups[1] = "0 preserving: yes, only layout, comments, order, names"
	}
	for kind := range strings.SplitSeq(kinds, "+") {
		groups = append(groups, "1 "+kind)
	}
	for _, language := range regexp.MustCompile(`[^+]+(\+\+)?`).FindAllString(languages, -1) { // C++ is one
		groups = append(groups, "2 "+language)
	}
	return groups
}

func gitDir(t *testing.T, below string) string {
	for _, level := range []string{"", "*", "*/*"} {
		if found, _ := filepath.Glob(filepath.Join(below, level, "HEAD")); found != nil {
			return filepath.Dir(found[0])
		}
	}
	t.Fatalf("there is no git directory in %s", below)
	return ""
}

var lockFile = regexp.MustCompile(`(-lock\.(json|yaml)|\.lock|npm-shrinkwrap\.json|go\.sum)$`)

// changedFiles reads both sides of a commit, and says which files it left out.
func changedFiles(t *testing.T, git, commit string) (files []mutation.File, without string) {
	blob := func(id string) []byte {
		if strings.Trim(id, "0") == "" {
			return nil // what stands for no file
		}
		return output(t, "git", "--git-dir", git, "cat-file", "blob", id)
	}
	fields := strings.Split(string(output(t, "git", "--git-dir", git, "diff-tree", "-r", "-M", "-z", "--no-commit-id", commit)), "\x00")
	for len(fields) > 1 {
		meta := strings.Fields(fields[0]) // :mode mode blob blob status
		f := mutation.File{Path: fields[1], Before: blob(meta[2]), After: blob(meta[3])}
		fields = fields[2:]
		if strings.HasPrefix(meta[4], "R") {
			f.From, f.Path, fields = f.Path, fields[0], fields[1:]
		}
		probe := mutation.File{Path: f.Path, From: f.From, Before: []byte("a"), After: []byte("b")}
		switch {
		case lockFile.MatchString(f.Path), slices.Contains(f.Before, 0), slices.Contains(f.After, 0):
			without += "; left out, a lock file or binary: " + f.Path
		case mutation.JudgeAmong(t.Context(), []mutation.File{probe}, nil, mutation.DefaultLimits()).Evidence == mutation.Unsupported:
			without += "; left out, no parser: " + f.Path
		default:
			files = append(files, f)
		}
	}
	return files, without
}

func judgeCommit(t *testing.T, binary string, files []mutation.File) (mutation.Evidence, string) {
	if binary == "" || len(files) == 0 {
		v := mutation.JudgeAmong(t.Context(), files, nil, patient())
		return v.Evidence, v.Reason
	}
	before, after, dir := fstest.MapFS{}, fstest.MapFS{}, t.TempDir()
	for _, f := range files {
		if f.Before != nil {
			before[cmp.Or(f.From, f.Path)] = &fstest.MapFile{Data: f.Before}
		}
		if f.After != nil {
			after[f.Path] = &fstest.MapFile{Data: f.After}
		}
	}
	old, young := filepath.Join(dir, "before"), filepath.Join(dir, "after")
	if err := errors.Join(os.CopyFS(old, before), os.CopyFS(young, after)); err != nil {
		t.Fatal(err)
	}
	var v struct{ Verdict, Reason string }
	if err := json.Unmarshal(output(t, binary, "classify", "--json", old, young), &v); err != nil {
		t.Fatal(err)
	}
	return mutation.Evidence(v.Verdict), v.Reason
}

// output of a program that ended with 0, or 1: as classify does for what is not proven.
func output(t *testing.T, name string, args ...string) []byte {
	out, err := exec.CommandContext(t.Context(), name, args...).Output()
	var exit *exec.ExitError
	check.Must(t, err == nil || errors.As(err, &exit) && exit.ExitCode() == 1, "%s %v: %v", name, args, err)
	return out
}
