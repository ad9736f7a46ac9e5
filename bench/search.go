package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// searched is a pattern that search_files and ripgrep look for in turn.
type searched struct {
	what    string
	pattern string
	bound   float64 // over ripgrep's time
}

// searches are patterns that one line of a tree has, or none, so that both sides look into everything: with many matches
// search_files ends early.
func searches() []searched {
	return []searched{
		{"a literal that one line has", `rareName\(\w+\)`, 1.5},
		{"a literal that none has", `neverWritten`, 1.5},
		{"a literal in any case", `(?i)neverwritten`, 1.5},
		{"a class", `[A-Z]{5}[0-9]{3}`, 10},
		{"a literal that many lines have", `\b(?-u:\w){19}\s+return\b`, 1.5},
		{"one of three literals", `neverWritten|notWritten|unwritten`, 10},
	}
}

// measureSearch lets search_files and ripgrep look for the same in turn, in trees of more and more files and in one long
// file; and lists the same trees.
func measureSearch(s *suite) {
	rg, err := exec.LookPath("rg")
	if err != nil {
		s.add(notMeasured("search_files over ripgrep", "≤ 1.50 ×", "no rg"))
		return
	}
	sizes := pick(s.short, []int{100, 1_000}, []int{1_000, 10_000, 100_000, 400_000})
	taken := map[int][][]samples{} // by files and pattern, ours and ripgrep's
	for _, files := range sizes {
		dir := s.workspace(1)
		s.plant(dir, files)
		where := thousands(int64(files)) + " files"
		taken[files] = s.searchIn(dir, rg, where, pick(s.short, 3, max(5, min(50, 1_000_000/files))))
		s.listIn(dir, rg, where, pick(s.short, 3, 10))
		check(os.RemoveAll(dir))
	}
	size := pick(s.short, 16, 1024)
	dir := s.workspace(1)
	s.plantLong(filepath.Join(dir, "long.txt"), size<<20)
	s.searchIn(dir, rg, fmt.Sprintf("one file of %d MiB", size), pick(s.short, 3, 9))
	check(os.RemoveAll(dir))
	if s.short {
		return // in small trees, what ripgrep takes is its start
	}
	few, many := sizes[1], sizes[len(sizes)-1]
	for i, look := range searches() {
		from, to := taken[few][i], taken[many][i]
		grown := func(side int) float64 { return float64(to[side].p50()) / float64(from[side].p50()) }
		s.add(atMost(fmt.Sprintf("search_files, %s, growth from %s to %s files over ripgrep's", look.what, thousands(int64(few)), thousands(int64(many))),
			grown(0)/grown(1), 1.5, times, fmt.Sprintf("ours %.1f ×; ripgrep %.1f ×", grown(0), grown(1))))
	}
}

// searchIn gives, for each pattern, how long our side and ripgrep took.
func (s *suite) searchIn(dir, rg, where string, rounds int) (all [][]samples) {
	server := s.served(dir)
	for _, look := range searches() {
		ours := strings.ReplaceAll(look.pattern, `(?-u:\w)`, `\w`) // where a word has letters of ASCII only, as in RE2
		taken := s.interleave(rounds, server.caller("search_files", args{"regex": ours}), func() time.Duration {
			return s.ripgrep(dir, rg, "--line-number", "--regexp", look.pattern, ".")
		})
		s.add(atMost(fmt.Sprintf("search_files over ripgrep, %s, %s", look.what, where), float64(taken[0].p50())/float64(taken[1].p50()), look.bound, times,
			fmt.Sprintf("ours %s; ripgrep %s", taken[0], taken[1])))
		all = append(all, taken)
	}
	check(server.close())
	return all
}

// listIn lists a tree. ripgrep lists all files, list_files the first 2,000 entries.
func (s *suite) listIn(dir, rg, where string, rounds int) {
	server := s.served(dir)
	taken := s.interleave(rounds, server.caller("list_files", args{"recursive": true}), func() time.Duration {
		return s.ripgrep(dir, rg, "--files")
	})
	s.add(inform(fmt.Sprintf("list_files over ripgrep --files, %s", where), float64(taken[0].p50())/float64(taken[1].p50()), times,
		fmt.Sprintf("ours %s; ripgrep %s", taken[0], taken[1])))
	check(server.close())
}

// ripgrep is how long a run takes, from before the process is made to its end. It looks into what search_files does: hidden
// files, and not what .gitignore hides. That it finds nothing is no failure.
func (s *suite) ripgrep(dir, rg string, args ...string) time.Duration {
	cmd := s.command(dir, nil, rg, append([]string{"--no-config", "--hidden", "--no-require-git"}, args...)...)
	start := time.Now()
	err := cmd.Run()
	took := time.Since(start)
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() > 1 {
		check(fmt.Errorf("rg: %w", err))
	}
	return took
}

var vocabulary = strings.Fields("if err != nil return func range value context string int error files path name entry := = + { } ( ) , // the of a for what is not " +
	"lines found result append len make buffer Read Write Close open state index record session intent ledger workspace 12 4096 0x7f true false")

// prose writes lines of code-like words, of which each number makes others.
func prose(b *strings.Builder, size int, number uint64) {
	end := b.Len() + size
	for b.Len() < end {
		b.WriteByte('\t')
		for range 4 + number>>60%8 {
			number = number*6364136223846793005 + 1442695040888963407
			b.WriteString(vocabulary[number>>33%uint64(len(vocabulary))])
			b.WriteByte(' ')
		}
		b.WriteByte('\n')
	}
}

// plant makes a tree of text files of 1 to 8 KiB, twenty in a directory, with some that are ignored beside them.
func (s *suite) plant(dir string, files int) {
	writeFile(filepath.Join(dir, ".gitignore"), "node_modules/\n/build/\n*.log\n*.tmp\n!keep.log\n.env\n")
	for i := range files {
		check(s.ctx.Err())
		var b strings.Builder
		prose(&b, 1<<10+i*997%(7<<10), uint64(i)+1)
		if i == files*2/3 {
			b.WriteString("x := rareName(value)\n")
		}
		writeFile(filepath.Join(dir, "src", fmt.Sprint(i/4000), fmt.Sprint(i/200%20), fmt.Sprint(i/20%10), fmt.Sprintf("file%d.go", i)), b.String())
	}
}

// plantLong makes one text file.
func (s *suite) plantLong(path string, size int) {
	file := must(os.Create(path))
	defer file.Close()
	out := bufio.NewWriter(file)
	var piece strings.Builder
	for i := range size >> 20 {
		piece.Reset()
		prose(&piece, 1<<20-100, uint64(i)+1)
		must(out.WriteString(piece.String()))
	}
	must(out.WriteString("x := rareName(value)\n"))
	check(out.Flush())
}
