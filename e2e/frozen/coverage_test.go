//go:build frozen

package frozen_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// TestCoverage holds the scripts to what the old program has: a call for each error_type, a use of each command, a value
// for each setting.
func TestCoverage(t *testing.T) {
	p := install(t)
	var steps []string
	for _, group := range groups() {
		for _, s := range scripts(t, group) {
			steps = append(steps, s.steps...)
		}
	}
	w := newWorld(t, filepath.Join(p.base, "coverage"), p.dirs["old"], p.dirs["old"])

	for _, command := range w.leaves("") {
		use := regexp.MustCompile(`^(%%? |.*orchestra-mcp( --workspace \S+)? )` + command + `\b`)
		if !slices.ContainsFunc(steps, use.MatchString) {
			t.Errorf("no script uses %s", command)
		}
	}
	w.sh("rm -r .orchestration; orchestra-mcp init --yes")
	settings, err := os.ReadFile(filepath.Join(w.top, "w", ".orchestration", "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range regexp.MustCompile(`(?m)^#([a-z_.]+): `).FindAllStringSubmatch(string(settings), -1) {
		if !slices.ContainsFunc(steps, func(step string) bool { return strings.HasPrefix(step, "$ sh ../setting.sh "+key[1]+" ") }) {
			t.Errorf("no script sets %s", key[1])
		}
	}

	var told strings.Builder
	for _, s := range scripts(t, "refusals") {
		w := newWorld(t, filepath.Join(p.base, s.name), p.dirs["old"], p.dirs["old"])
		told.WriteString(w.play(s))
	}
	program, err := os.ReadFile(filepath.Join(p.dirs["old"], "orchestra-mcp"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range refusal.Catalogue() {
		if !bytes.Contains(program, []byte(entry.Code)) {
			continue // the old program does not have it
		}
		unprovoked := entry.Code == refusal.Cancelled || entry.Code == refusal.InternalError
		if strings.Contains(told.String(), `"error_type": "`+string(entry.Code)+`"`) == unprovoked {
			t.Errorf("%s: it must be provoked, or named as what cannot be, and not both", entry.Code)
		}
	}
}

// leaves are the commands that have none below them.
func (w *world) leaves(path string) (all []string) {
	help, _ := w.sh("orchestra-mcp" + path + " --help")
	below := subcommands(help)
	if len(below) == 0 {
		return []string{strings.TrimSpace(path)}
	}
	for _, name := range below {
		all = append(all, w.leaves(path+" "+name)...)
	}
	return all
}
