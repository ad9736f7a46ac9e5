package review_test

import (
	"cmp"
	"strconv"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/review"
)

// tally compares what the gate says with the truth, over lines that stand nowhere else.
type tally struct{ runs, agents, known, persons, wrong, changed, traced int }

func (a *tally) add(b tally) {
	a.agents, a.known, a.persons, a.wrong = a.agents+b.agents, a.known+b.known, a.persons+b.persons, a.wrong+b.wrong
	a.runs, a.changed, a.traced = a.runs+b.runs, a.changed+b.changed, a.traced+b.traced
}

func (a *tally) count(isAgents, traced bool) {
	switch {
	case isAgents && traced:
		a.agents, a.known = a.agents+1, a.known+1
	case isAgents:
		a.agents++
	case traced:
		a.persons, a.wrong = a.persons+1, a.wrong+1
	default:
		a.persons++
	}
}

// show tells what the gate says wrong.
func (g *lived) show(path string, n int, text, owner string, untraced bool) {
	if (owner == "agent") == untraced {
		g.t.Logf("%s:%d %q is of the %s, untraced %v; %s", path, n, text, owner, untraced, strings.Join(g.log, " "))
	}
}

func (g *lived) compare(report *review.Report) (sum tally) {
	sum.runs, sum.changed, sum.traced = 1, report.Lines.Changed(), report.Lines.Traced
	for _, f := range report.Files {
		path := strings.TrimPrefix(f.Path, "ws/")
		after, before := g.lines(path), []told(nil)
		if f.Status != "added" {
			before = g.parse(g.git("show", report.MergeBase+":"+strings.Replace(cmp.Or(f.From, f.Path), "ws/", "twin/", 1)))
		}
		untraced := map[int]bool{}
		for _, run := range f.Untraced {
			for n := run.Start; n <= run.End; n++ {
				untraced[n] = true
			}
		}
		removed, copies := map[string]int{}, map[string]int{}
		for _, l := range after {
			copies[strings.TrimSpace(l.text)]++
		}
		for _, h := range edit.Hunks(plain(before), plain(after)) {
			for n := h[2]; n < h[2]+h[3]; n++ {
				if l := after[n-1]; isUnique(l) && copies[strings.TrimSpace(l.text)] == 1 {
					sum.count(g.owner[l.id] == "agent", !untraced[n])
					g.show(path, n, l.text, g.owner[l.id], untraced[n])
				}
			}
			for n := h[0]; n < h[0]+h[1]; n++ {
				if l := before[n-1]; isUnique(l) {
					removed[cmp.Or(g.taker[l.id], "person")]++ // nobody took out what was only indented
				} else {
					removed["common"]++
				}
			}
		}
		missed := max(0, f.Removed-removed["person"]-removed["common"]) // which of them are untraced is not said
		wrong := max(0, removed["person"]-f.Removed)
		for n := range removed["agent"] {
			sum.count(true, n >= missed)
		}
		for n := range removed["person"] {
			sum.count(false, n < wrong)
		}
		if missed+wrong > 0 {
			g.t.Logf("%s: %d removed lines are untraced of %v; %s", path, f.Removed, removed, strings.Join(g.log, " "))
		}
	}
	return sum
}

func isUnique(l told) bool { return strings.Contains(l.text, "value") }

// TestGenerated holds the gate to the truth of each line after random work of agents, people and git.
func TestGenerated(t *testing.T) {
	ownHome(t)
	runs := check.Rounds(4, 400)
	sums := make([]tally, runs)
	t.Cleanup(func() {
		var all tally
		for _, sum := range sums {
			all.add(sum)
		}
		t.Logf("%d runs, %d changed lines, %d traced; of %d lines of agents %d are known, of %d of people %d are wrong", all.runs, all.changed, all.traced,
			all.agents, all.known, all.persons, all.wrong)
		// What two people or an agent and a person did to a content that git never had leaves no trace of the order.
		if float64(all.wrong) > 0.01*float64(all.persons) || float64(all.known) < 0.97*float64(all.agents) {
			t.Error("too few lines of agents are known, or lines of people are taken for theirs")
		}
	})
	for seed := range runs {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			t.Parallel()
			g := newLived(t, seed)
			for range 14 {
				g.log = append(g.log, g.step())
			}
			g.commit("the end")
			if g.known(); g.parted {
				t.Logf("git did something else to the twin: %s", strings.Join(g.log, " "))
				return
			}
			report := check.Value(review.Run(t.Context(), g.root, review.Options{Base: "main"}))(t)
			if report.Count("", review.Error) > 0 {
				t.Errorf("%s: %s", strings.Join(g.log, " "), strings.Join(said(report), "\n"))
			}
			sums[seed] = g.compare(report)
		})
	}
}
