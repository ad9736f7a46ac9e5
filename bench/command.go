package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// commandMode is a way in which commands run, by the server's environment.
type commandMode struct {
	name string
	env  []string
}

func commandModes() []commandMode {
	return []commandMode{{name: "staged"}, {"direct", []string{"ORCHESTRA_COMMANDS_STAGE=never"}}}
}

// commandScope is what a command may write. Masked has maskedPaths files of it closed, each by a rule of its own.
type commandScope struct {
	name   string
	intent string
	masked bool
}

func commandScopes() []commandScope {
	return []commandScope{
		{"`**`", intentID(0), false}, {"`src/**`", sourceIntent, false}, {fmt.Sprintf("`src/**` less %d paths", maskedPaths), sourceIntent, true},
	}
}

const (
	promisedFiles = 10_000  // of the promise for one command that runs direct
	manyFiles     = 100_000 // of that for one on a layer, and for the memory
	fewFiles      = 1_000
	filesPerDir   = 25
	dirsPerDir    = 100
	maskedPaths   = 200
	mostGrowth    = 1.3 // from fewFiles to manyFiles
	sourceIntent  = "INT-SRC"
)

// commandLine is a line that is run again and again; round has it write something else each time.
type commandLine struct {
	name  string
	line  func(round int) string
	times int
	all   bool // in all scopes, not only in the widest
}

func (s *suite) commandLines() []commandLine {
	return []commandLine{
		{"`true`", func(int) string { return "true" }, pick(s.short, 3, 50), true},
		{"one write", func(round int) string { return fmt.Sprintf("echo %d > %s", round, benchFile(1)) }, pick(s.short, 3, 30), true},
		{"1,000 writes", manyWrites, pick(s.short, 1, 7), false},
	}
}

// manyWrites changes the first files.
func manyWrites(round int) string {
	return fmt.Sprintf("i=0; while [ $i -lt %d ]; do echo %d.$i > %s/$((i/%d))/$i.txt; i=$((i+1)); done", fewFiles, round, filepath.Dir(filepath.Dir(benchFile(0))), filesPerDir)
}

// commandCase is what a row is about, but for the number of files.
type commandCase struct{ line, mode, scope string }

func (c commandCase) String() string {
	return fmt.Sprintf("execute_command of %s less a plain `sh -c`, %s, scope %s", c.line, c.mode, c.scope)
}

// measureCommand lets execute_command and a plain shell run the same lines in turn, in workspaces with few and many files, at
// the highest level that this machine has, on layers and direct.
func measureCommand(s *suite) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		s.add(notMeasured("execute_command", "", "no sh"))
		return
	}
	sizes := []int{fewFiles, promisedFiles, manyFiles, 400_000}
	taken, order := map[commandCase]map[int]float64{}, []commandCase(nil)
	for _, files := range sizes[:pick(s.short, 1, len(sizes))] {
		w := &commandWorld{suite: s, dir: s.filled(files), plain: s.filled(fewFiles), files: files, shell: shell}
		w.where = fmt.Sprintf("%s files, level %s", thousands(int64(files)), sandbox.Probe().Level)
		for _, scope := range commandScopes() {
			for _, mode := range commandModes() {
				for _, line := range w.rows(mode, scope) {
					if taken[line.commandCase] == nil {
						taken[line.commandCase], order = map[int]float64{}, append(order, line.commandCase)
					}
					taken[line.commandCase][files] = line.ms
				}
			}
		}
		if files == fewFiles || files == manyFiles {
			s.measureTakeOver(w)
			s.measureInstall(w)
		}
		s.remove(w.dir, w.plain)
	}
	if s.short {
		return
	}
	for _, c := range order {
		few, many := taken[c][fewFiles], taken[c][manyFiles]
		s.add(atMost(fmt.Sprintf("%s, growth from %s to %s files", c, thousands(fewFiles), thousands(manyFiles)), many/few, mostGrowth, times,
			fmt.Sprintf("%.1f ms; %.1f ms", few, many)))
	}
}

// commandWorld is a workspace for commands. The plain shell has a small one of its own: what it writes is not the server's
// to find.
type commandWorld struct {
	*suite
	dir, plain, shell string
	files             int
	where             string
}

type commandTook struct {
	commandCase
	ms float64
}

// rows are those of one server.
func (w *commandWorld) rows(mode commandMode, scope commandScope) (all []commandTook) {
	w.mask(scope.masked)
	if !w.short { // what the one before wrote
		w.awaitFiles()
	}
	p := w.started(w.dir, mode.env...)
	defer p.close()
	session := p.selects(scope.intent)
	where := fmt.Sprintf("%s, scope %s, %s", mode.name, scope.name, w.where)
	first, answer := p.call("execute_command", args{"command": "true", "session": session})
	if mode.name == "staged" && bytes.Contains(answer, []byte(`"direct_because"`)) {
		w.add(notMeasured("execute_command, "+where, "", "this workspace can have no layers"))
		return nil
	}
	w.add(inform("the first command, "+where, ms(first), milliseconds, "with the look at everything that is there, and a trial"))
	w.memory(p, where)
	for _, line := range w.commandLines() {
		if !line.all && scope.intent != intentID(0) {
			continue
		}
		all = append(all, w.row(p, session, commandCase{line.name, mode.name, scope.name}, line))
	}
	return all
}

func (w *commandWorld) row(p *peer, session string, c commandCase, line commandLine) commandTook {
	round := 0
	taken := w.interleave(line.times,
		func() time.Duration {
			round++
			took, _ := p.call("execute_command", args{"command": line.line(round), "session": session})
			return took
		},
		timed(func() { check(w.command(w.plain, nil, w.shell, "-c", line.line(round)).Run()) }))
	took := commandTook{c, ms(taken[0].p50() - taken[1].p50())}
	name, detail := fmt.Sprintf("%s, %s", c, w.where), fmt.Sprintf("governed %s; plain %s", taken[0], taken[1])
	if line.name == "`true`" && w.files <= pick(c.mode == "staged", manyFiles, promisedFiles) {
		w.add(atMost(name, took.ms, 25, milliseconds, detail))
	} else {
		w.add(inform(name, took.ms, milliseconds, detail))
	}
	return took
}

// memory is what the server of a workspace holds a second after a command, when what it needed is given back.
func (w *commandWorld) memory(p *peer, where string) {
	time.Sleep(time.Second)
	name := "memory after a command, " + where
	held, err := resident(p.cmd.Process.Pid)
	switch {
	case err != nil:
		w.add(notMeasured(name, "", err.Error()))
	case w.files == manyFiles:
		w.add(atMost(name, held, 64, mebibytes, "VmRSS, with the program itself"))
	default:
		w.add(inform(name, held, mebibytes, "VmRSS, with the program itself"))
	}
}

// mask closes files here and there, the second of the first directory not among them.
func (w *commandWorld) mask(masked bool) {
	var rules strings.Builder
	for i := 0; masked && i < maskedPaths; i++ {
		fmt.Fprintf(&rules, "/%s\n", filepath.ToSlash(benchFile(i*(w.files/maskedPaths))))
	}
	writeFile(filepath.Join(w.dir, ".intentignore"), rules.String())
}

// filled is a workspace with a number of files, one intent that owns everything, and one for what is in src.
func (s *suite) filled(files int) string {
	dir := s.workspace(1)
	intents := filepath.Join(dir, ".orchestration", "active_intents.yaml")
	appendFile(intents, fmt.Sprintf("  - {id: %s, name: Benchmark, status: IN_PROGRESS, description: Measure., owned_scope: [\"src/**\"]}\n", sourceIntent))
	for i := range files {
		writeFile(filepath.Join(dir, benchFile(i)), "content\n")
	}
	return dir
}

func benchFile(i int) string {
	in := i / filesPerDir
	return filepath.Join("src", fmt.Sprint(in/dirsPerDir), fmt.Sprint(in%dirsPerDir), fmt.Sprintf("%d.txt", i))
}
