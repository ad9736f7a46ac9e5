package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// mostOverExchanges bounds a take-over over the exchanges that it cannot do without.
const mostOverExchanges = 3

// measureTakeOver lets commit_staged take 1,000 changed files over, in turn with a loop that exchanges as many: it flushes each
// new file, exchanges the names, and flushes each directory. Both find the new files written and not yet on disk.
func (s *suite) measureTakeOver(w *commandWorld) {
	w.mask(false)
	p := s.started(w.dir)
	defer p.close()
	session := p.selects(intentID(0))
	name := fmt.Sprintf("commit_staged of 1,000 changed files over a loop of exchanges, %s", w.where)
	if _, answer := p.call("execute_command", args{"command": "true", "session": session}); stagedID(answer, true) == "direct" {
		s.add(notMeasured(name, "≤ "+number(mostOverExchanges, times), "this workspace can have no layers"))
		return
	}
	round := 0
	taken := s.interleave(pick(s.short, 1, 5),
		func() time.Duration {
			round++
			_, answer := p.call("execute_command", args{"command": manyWrites(round), "session": session, "staged": true})
			took, _ := p.call("commit_staged", args{"staged_id": stagedID(answer, false), "session": session})
			return took
		},
		func() time.Duration {
			for i := range fewFiles {
				check(os.WriteFile(filepath.Join(w.plain, fmt.Sprint(i, ".new")), fmt.Appendf(nil, "%d.%d\n", round, i), 0o644))
			}
			return timed(func() { check(exchangeAll(w.plain)) })()
		})
	s.add(atMost(name, float64(taken[0].p50())/float64(taken[1].p50()), mostOverExchanges, times,
		fmt.Sprintf("governed %s; loop %s", taken[0], taken[1])))
}

// stagedID is the layer that an answer names.
func stagedID(answer []byte, may bool) string {
	var a struct {
		Result struct {
			StructuredContent struct {
				StagedID string `json:"staged_id"`
				Direct   string `json:"direct_because"`
			}
		}
	}
	err := json.Unmarshal(answer, &a)
	if err == nil && a.Result.StructuredContent.Direct != "" {
		return "direct"
	}
	if id := a.Result.StructuredContent.StagedID; err != nil || id == "" && !may {
		check(fmt.Errorf("no staged_id in %.300s", answer))
	}
	return a.Result.StructuredContent.StagedID
}

// exchangeAll puts the new files in the places of the first ones.
func exchangeAll(dir string) error {
	for i := range fewFiles {
		fresh, place := filepath.Join(dir, fmt.Sprint(i, ".new")), filepath.Join(dir, benchFile(i))
		if err := flushFile(fresh); err != nil {
			return err
		}
		if err := exchangeNames(fresh, place); err != nil {
			return err
		}
		if (i+1)%filesPerDir == 0 {
			if err := flushDir(filepath.Dir(place)); err != nil {
				return err
			}
		}
	}
	return flushDir(dir)
}

func flushFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
