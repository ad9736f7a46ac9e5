package insight

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// Range is a span of whole days in UTC.
type Range struct {
	Since time.Time // its day is the first; zero for the first of all
	Until time.Time // exclusive; a time within a day takes that in; zero for the last of all
	// Top is how many names of a kind are told apart; 0 for all.
	Top int
}

// Other stands for all names behind the first Range.Top.
const Other = "(other)"

// longDays is the number of days above which weeks are counted.
const longDays = 120

// Timeline are counts over time. Buckets without records are left out.
type Timeline struct {
	Unit     string   `json:"unit"` // of a bucket: day, or week where there are records of more than 120 days
	Total    Series   `json:"total"`
	Intents  []Series `json:"intents"`
	Models   []Series `json:"models"`   // of agents; an empty name is not known
	Classes  []Series `json:"classes"`  // mutation classes; an empty name is none
	Refusals []Series `json:"refusals"` // by error_type
	// Uncounted are numbers that found no room: there are too many different names and days.
	Uncounted int `json:"uncounted"`
}

// Series are the counts of one name. Lists of them have those with most records first, then by name, Other last.
type Series struct {
	Name   string  `json:"name"`
	Sum    Counts  `json:"sum"`
	Points []Point `json:"points"` // by time
}

// Point are the counts of one bucket.
type Point struct {
	Day string `json:"day"` // the bucket's first, as 2006-01-02 in UTC; of a week, the Monday
	Counts
}

const secondsOfDay = 24 * 60 * 60

// dayOf numbers the days in UTC, from 1970 on.
func dayOf(t time.Time) int { return floor(int(t.Unix()), secondsOfDay) }

func floor(n, by int) int {
	if n < 0 {
		n -= by - 1
	}
	return n / by
}

func dayText(day int) string {
	return time.Unix(int64(day)*secondsOfDay, 0).UTC().Format(time.DateOnly)
}

// mondayOf is the first day of a day's week. Day 0 was a Thursday.
func mondayOf(day int) int { return floor(day+3, 7)*7 - 3 }

// Timeline gives the counts of a range.
func (c *Collector) Timeline(r Range) Timeline {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := view{Range: r, rows: c.counts.rows, bucket: func(day int) int { return day }}
	t := Timeline{Unit: "day", Uncounted: c.counts.uncounted}
	if days := v.days(); len(days) > 0 && days[len(days)-1]-days[0] >= longDays {
		t.Unit, v.bucket = "week", mondayOf
	}
	t.Total = v.series(row{ofAll, ""})
	t.Intents, t.Models = v.all(ofIntent), v.all(ofModel)
	t.Classes, t.Refusals = v.all(ofClass), v.all(ofRefusal)
	return t
}

// view is a range of what was counted.
type view struct {
	Range
	rows   map[row]map[int]*Counts
	bucket func(day int) int
}

func (v *view) has(day int) bool {
	return (v.Since.IsZero() || day >= dayOf(v.Since)) && (v.Until.IsZero() || day <= dayOf(v.Until.Add(-1)))
}

// days are those of the range that have records.
func (v *view) days() []int {
	days := slices.Sorted(maps.Keys(v.rows[row{ofAll, ""}]))
	return slices.DeleteFunc(days, func(day int) bool { return !v.has(day) })
}

func (v *view) series(r row) Series {
	buckets, s := map[int]*Counts{}, Series{Name: r.name}
	for day, n := range v.rows[r] {
		if v.has(day) {
			at := v.bucket(day)
			if buckets[at] == nil {
				buckets[at] = &Counts{}
			}
			buckets[at].add(*n)
		}
	}
	s.Points = []Point{}
	for _, day := range slices.Sorted(maps.Keys(buckets)) {
		s.Sum.add(*buckets[day])
		s.Points = append(s.Points, Point{dayText(day), *buckets[day]})
	}
	return s
}

func (v *view) all(of kind) []Series {
	list := []Series{}
	for r := range v.rows {
		if r.of != of {
			continue
		}
		if s := v.series(r); s.Sum != (Counts{}) {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b Series) int {
		return cmp.Or(cmp.Compare(b.Sum.all(), a.Sum.all()), strings.Compare(a.Name, b.Name))
	})
	if v.Top == 0 || len(list) <= v.Top {
		return list
	}
	return append(list[:v.Top:v.Top], merged(list[v.Top:]))
}

// merged adds series up.
func merged(list []Series) Series {
	sums, s := map[string]Counts{}, Series{Name: Other}
	for _, one := range list {
		s.Sum.add(one.Sum)
		for _, p := range one.Points {
			sum := sums[p.Day]
			sum.add(p.Counts)
			sums[p.Day] = sum
		}
	}
	for _, day := range slices.Sorted(maps.Keys(sums)) {
		s.Points = append(s.Points, Point{day, sums[day]})
	}
	return s
}
