package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// measureInstall lets npm install the project of bench/node from a cache on this machine, on a layer, direct and in a plain
// shell. npm ci removes what an earlier one has installed.
func (s *suite) measureInstall(w *commandWorld) {
	name := "npm ci over a plain one, "
	cache := filepath.Join(s.place, "npm")
	if err := s.fillCache(cache); err != nil {
		s.add(notMeasured(name+w.where, "", err.Error()))
		return
	}
	w.mask(false)
	s.plantProject(w.dir)
	s.plantProject(w.plain)
	const line = "cd app && npm ci --offline --no-audit --no-fund --ignore-scripts"
	for _, mode := range commandModes() {
		p := s.started(w.dir, mode.env...)
		session := p.selects(intentID(0))
		p.givenCache(session, cache)
		taken := s.interleave(pick(s.short, 1, 5),
			func() time.Duration {
				took, _ := p.runs(line, session)
				return took
			},
			timed(func() { check(s.command(w.plain, []string{"npm_config_cache=" + cache}, w.shell, "-c", line).Run()) }))
		check(p.close())
		s.add(inform(fmt.Sprintf("%s%s, %s", name, mode.name, w.where), float64(taken[0].p50())/float64(taken[1].p50()), times,
			fmt.Sprintf("governed %s; plain %s", taken[0], taken[1])))
	}
}

// runs has a command run that must not fail.
func (p *peer) runs(line, session string) (took time.Duration, output string) {
	took, answer := p.call("execute_command", args{"command": line, "session": session})
	var a struct {
		Result struct {
			StructuredContent struct {
				ExitCode *int `json:"exit_code"`
				Output   string
			}
		}
	}
	check(json.Unmarshal(answer, &a))
	if code := a.Result.StructuredContent.ExitCode; code == nil || *code != 0 {
		check(fmt.Errorf("%s: %.600s", line, answer))
	}
	return took, a.Result.StructuredContent.Output
}

// givenCache copies a cache to where commands in the workspace have theirs.
func (p *peer) givenCache(session, cache string) {
	_, private := p.runs(`printf %s "$npm_config_cache"`, session)
	if _, err := os.Stat(private); err != nil {
		check(os.CopyFS(private, os.DirFS(cache)))
	}
}

// fillCache has npm fetch what the project needs, once.
func (s *suite) fillCache(cache string) error {
	if _, err := os.Stat(cache); err == nil {
		return nil
	}
	if _, err := exec.LookPath("npm"); err != nil {
		return err
	}
	once := filepath.Join(s.place, "npm-once")
	s.plantProject(once)
	out, err := s.command(filepath.Join(once, "app"), []string{"npm_config_cache=" + cache}, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts").CombinedOutput()
	if err != nil {
		_ = os.RemoveAll(cache)
		return fmt.Errorf("npm ci: %w: %.200s", err, out)
	}
	return nil
}

// plantProject copies the project of bench/node.
func (s *suite) plantProject(dir string) {
	for _, name := range []string{"package.json", "package-lock.json"} {
		writeFile(filepath.Join(dir, "app", name), string(must(os.ReadFile(filepath.Join(s.module, "bench", "node", name)))))
	}
}
