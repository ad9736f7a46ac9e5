package console

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/insight"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

const (
	// insightDays is how far back is looked if nobody says, and insightTop how many names are told apart.
	insightDays = 30
	insightTop  = 8
)

// insight shows how the work goes over time. The counting goes through the ledger, so it is loaded behind the frame.
func (c *Console) insight(r *http.Request, p *place) (page, error) {
	since := r.URL.Query().Get("since")
	if since == "" {
		since = c.daysAgo(insightDays)
	}
	if _, err := dayOf(since); err != nil {
		return page{}, err
	}
	data := struct {
		Since, Count string
		Measures     []measure
	}{since, measureOf(r).Name, measures()}
	return page{Template: "insight", Title: "Insight", Tab: "insight", Place: p, Live: []area{records}, Data: data}, nil
}

// daysAgo is a day in UTC.
func (c *Console) daysAgo(n int) string { return c.Now().UTC().AddDate(0, 0, -n).Format(time.DateOnly) }

// chart is the numbers of one kind over time, drawn as bars that stand on each other.
type chart struct {
	Title  string
	Series []counted
	Bars   []bar
	Most   int
}

// counted is a name with its sum.
type counted struct {
	Name, Hue string
	N         int
}

// bar is one bucket.
type bar struct {
	Day   string
	Sum   int
	Parts []part
	X     int // in the drawing, of 100 in all a hundredth each
	Width int
}

// part is what one name has of a bar. Y and Height are thousandths of the tallest bar.
type part struct {
	Name      string
	Hue       string // the class of its colour
	N         int
	Y, Height int
}

func (c *Console) insightCounts(r *http.Request, p *place) (page, error) {
	since, err := dayOf(r.URL.Query().Get("since"))
	if err != nil {
		return page{}, err
	}
	if err := p.counted.Update(context.WithoutCancel(r.Context()), p.Ledger); err != nil {
		return page{}, err
	}
	t := p.counted.Timeline(insight.Range{Since: since, Top: insightTop})
	what := measureOf(r)
	byName := func(_ int, name string) string { return hue(name) }
	data := struct {
		Timeline insight.Timeline
		Charts   []chart
	}{t, []chart{
		drawn(what.Title+" by intent", t.Intents, what.of, byName), drawn(what.Title+" by model", t.Models, what.of, inTurn),
		drawn(what.Title+" by class", t.Classes, what.of, inTurn),
		drawn("Refusals by code", t.Refusals, func(c insight.Counts) int { return c.Refused }, inTurn),
	}}
	return page{Template: "counts", Part: true, Place: p, Data: data}, nil
}

// measure is what is counted.
type measure struct {
	Name, Title string
	of          func(insight.Counts) int
}

func measures() []measure {
	return []measure{
		{"changes", "Changes", func(c insight.Counts) int { return c.Changes }}, {"refused", "Refusals", func(c insight.Counts) int { return c.Refused }},
		{"asked", "Questions to you", func(c insight.Counts) int { return c.Asked }}, {"approved", "Approvals", func(c insight.Counts) int { return c.Approved }},
		{"denied", "Denials", func(c insight.Counts) int { return c.Denied }},
	}
}

// measureOf is what a request wants counted: changes, if it does not say.
func measureOf(r *http.Request) measure {
	all := measures()
	at := slices.IndexFunc(all, func(m measure) bool { return m.Name == r.URL.Query().Get("count") })
	return all[max(at, 0)]
}

// inTurn gives names colours one after the other.
func inTurn(i int, _ string) string { return fmt.Sprintf("hue-%d", i%hues) }

// drawn lays a chart out.
func drawn(title string, series []insight.Series, of func(insight.Counts) int, colour func(i int, name string) string) chart {
	c := chart{Title: title}
	at := map[string]int{}
	for _, s := range series {
		if of(s.Sum) == 0 {
			continue
		}
		shade := colour(len(c.Series), s.Name)
		c.Series = append(c.Series, counted{s.Name, shade, of(s.Sum)})
		for _, point := range s.Points {
			if of(point.Counts) == 0 {
				continue
			}
			i, known := at[point.Day]
			if !known {
				i = len(c.Bars)
				at[point.Day] = i
				c.Bars = append(c.Bars, bar{Day: point.Day})
			}
			b := &c.Bars[i]
			b.Parts = append(b.Parts, part{Name: s.Name, Hue: shade, N: of(point.Counts)})
			b.Sum += of(point.Counts)
			c.Most = max(c.Most, b.Sum)
		}
	}
	slices.SortFunc(c.Bars, func(a, b bar) int { return cmp.Compare(a.Day, b.Day) })
	for i := range c.Bars {
		b := &c.Bars[i]
		b.X, b.Width = i*1000/len(c.Bars), max(min(900/len(c.Bars), 60), 1)
		top := 1000
		for j := range b.Parts {
			part := &b.Parts[j]
			part.Height = max(part.N*1000/c.Most, 1)
			top -= part.Height
			part.Y = top
		}
	}
	return c
}

// scopes shows which intents own more than was used, with a tighter scope.
func (c *Console) scopes(r *http.Request, p *place) (page, error) {
	if err := p.counted.Update(context.WithoutCancel(r.Context()), p.Ledger); err != nil {
		return page{}, err
	}
	found, err := p.counted.Scopes(r.Context(), intent.Open(p.Root))
	return page{Template: "scopes", Part: true, Place: p, Data: found}, err
}
