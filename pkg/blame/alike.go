package blame

import (
	"math"
	"slices"
)

// chooseAlike decides between places that are alike, where not all of the older content is known: an agent copies a function
// that nobody recorded, and both the function and its copy look like what the record says. The copy stands as far from
// its neighbours as it did then.
func (m *match) chooseAlike() {
	s := chooser{match: m, places: m.now.placesOf(m.lineTable), partners: make([]int, len(m.old.lines)), last: -1}
	for now, from := range m.from {
		if from >= 0 {
			s.partners[from] = now
		}
	}
	s.below = append(s.findAnchors(), anchor{len(m.old.lines), len(m.now.lines)})
	s.above = anchor{-1, -1}
	for first := 0; first < len(m.old.lines); {
		for s.below[0].from < first {
			s.above, s.below = s.below[0], s.below[1:]
		}
		last := first
		for last < s.below[0].from && !m.isVague(m.old.lines[last]) {
			last++
		}
		if last > first {
			s.matchRun(span{first, last})
		}
		first = max(last, first+1)
	}
}

type chooser struct {
	*match
	places   map[lineID][]int // of the newer content's lines, by their loose text
	partners []int            // by line of the older content, as they were aligned
	above    anchor           // the last one before the run at hand, or the beginning
	below    []anchor         // those behind it, and the end
	last     int              // the last place that was chosen
}

// anchor is a place of a line that stands once, so that nothing else can have been meant.
type anchor struct{ from, to int }

func (s *chooser) findAnchors() (all []anchor) {
	for now, from := range s.from {
		if from >= 0 && s.isLandmark(s.now, s.now.lines[now]) {
			all = append(all, anchor{from, now})
		}
	}
	return all
}

// isLandmark reports whether a content has a line once, and no record had it more often.
func (t *lineTable) isLandmark(c *cells, id lineID) bool {
	return !t.isVague(id) && t.weight(id) > weakWeight && len(c.placesOf(t)[t.loose(id)]) == 1 && !t.all[t.loose(id)].twin
}

// placing says where the lines of a run could stand: how many have a place, and how far the run is from where it is expected.
type placing struct {
	at       []int // by line of the run; -1 for those that have no place
	fit, far int
}

// matchRun puts lines that are known side by side where most of them fit for how far it is. Where about as many fit
// nearer, it is not known where they stand.
func (s *chooser) matchRun(run span) {
	var all []placing
	best, value := placing{}, 0.0
	for _, to := range s.candidates(run) {
		p := s.place(run, to)
		all = append(all, p)
		if v := float64(p.fit) * farUnit / float64(farUnit+p.far); v > value {
			best, value = p, v
		}
	}
	if len(all) == 0 {
		return
	}
	for from := run.first; from < run.last; from++ {
		if now := s.partners[from]; s.from[now] == from {
			s.from[now], s.kind[now] = -1, exact
		}
	}
	others := func(p placing) bool { return rivalPart*p.fit >= best.fit && p.disagrees(best) }
	if value == 0 || best.far > farUnit && s.allTwins(run) && !slices.ContainsFunc(all, others) {
		return
	}
	if !slices.ContainsFunc(all, func(p placing) bool { return p.rivals(best) }) {
		s.put(run, best)
	}
}

// farUnit is how many lines away a place counts half, and rivalPart what part of the lines has to fit in a nearer place to
// put it in doubt.
const (
	farUnit   = 8
	rivalPart = 4
)

// rivals reports whether a placing puts the best one in doubt.
func (p placing) rivals(best placing) bool {
	if p.far == best.far {
		return p.fit == best.fit && p.disagrees(best)
	}
	return p.far < best.far && rivalPart*p.fit >= best.fit && p.disagrees(best)
}

// disagrees reports whether a placing has some line elsewhere than another.
func (p placing) disagrees(other placing) bool {
	for i, to := range p.at {
		if to >= 0 && to != other.at[i] {
			return true
		}
	}
	return false
}

// maxDrift bounds how many lines somebody put between two that stood side by side.
const maxDrift = 4

// place gives the lines of a run their places, from a place on, also where a few lines were put between them since.
func (s *chooser) place(run span, to int) placing {
	p := placing{far: s.distance(run.first, to)}
	last := s.last
	for from := run.first; from < run.last; from++ {
		drift, ok := s.drift(from, to, last)
		if !ok {
			p.at = append(p.at, -1)
			to++
			continue
		}
		last = to + drift
		p.at = append(p.at, last)
		p.fit++
		to = last + 1
	}
	s.close(run, &p)
	return p
}

// close gives lines without a place that of the line before the next one, if it is theirs: a brace goes with what it stands
// before, where something was put between it and what it stood behind.
func (s *chooser) close(run span, p *placing) {
	k := len(p.at) // behind the nearest line above that has a place
	for i := len(p.at) - 2; i >= 0; i-- {
		if p.at[i] >= 0 || p.at[i+1] < 0 {
			continue
		}
		last := s.last
		for k = min(k, i); k > 0 && p.at[k-1] < 0; k-- {
		}
		if k > 0 {
			last = p.at[k-1]
		}
		if to := p.at[i+1] - 1; s.fits(run.first+i, to, last) {
			p.at[i] = to
			p.fit++
		}
	}
}

func (s *chooser) put(run span, p placing) {
	sum := 0
	for i, to := range p.at {
		if to >= 0 {
			s.pair(run.first+i, to)
			sum += s.weight(s.old.lines[run.first+i])
			s.last = to
		}
	}
	for _, to := range p.at {
		if to >= 0 {
			s.sure[to] = p.far == 0 && !s.now.adrift || sum >= blockWeight
		}
	}
}

// drift is how much farther down than to a line stands.
func (s *chooser) drift(from, to, last int) (int, bool) {
	if s.fits(from, to, last) {
		return 0, true
	}
	for n := 1; n <= maxDrift && s.weight(s.old.lines[from]) > weakWeight; n++ {
		for _, d := range []int{n, -n} {
			if s.fits(from, to+d, last) {
				return d, true
			}
		}
	}
	return 0, false
}

// allTwins reports whether a run has nothing but what stood elsewhere too: if it stands once, that can be the other.
func (s *chooser) allTwins(run span) bool {
	return !slices.ContainsFunc(s.old.lines[run.first:run.last], func(id lineID) bool {
		return s.weight(id) > weakWeight && !s.mayBeTwin(id)
	})
}

// distance is how much farther from its neighbours, or nearer to them, a line would stand; 0 if nothing tells.
func (s *chooser) distance(from, to int) int {
	near := s.around(from)
	if len(near) == 0 {
		return 0
	}
	d := math.MaxInt
	for _, a := range near {
		d = min(d, abs(to-a.to-(from-a.from)))
	}
	return d
}

// around gives what tells where a line is expected: the anchors beside it, else the beginning, if it is that of the older
// content too.
func (s *chooser) around(from int) (near []anchor) {
	if s.above.from >= 0 {
		near = append(near, s.above)
	}
	if len(s.below) > 1 {
		near = append(near, s.below[0])
	}
	if len(near) == 0 && !s.now.adrift {
		return []anchor{s.above}
	}
	return near
}

// fits reports whether a line of the older content can stand in a place behind the last one and between the anchors.
func (s *chooser) fits(from, to, last int) bool {
	return to > max(s.above.to, last) && to < s.below[0].to && s.now.lines[to] != unknown && s.loose(s.old.lines[from]) == s.loose(s.now.lines[to])
}

// candidates gives places where a run could begin: where some of its lines that are more than a brace stand nearest to
// where they are expected.
func (s *chooser) candidates(run span) (all []int) {
	var heavy []int
	for from := run.first; from < run.last; from++ {
		if s.weight(s.old.lines[from]) > weakWeight {
			heavy = append(heavy, from)
		}
	}
	for i := 0; i < len(heavy); i += 1 + len(heavy)/maxPlaces {
		from := heavy[i]
		around := s.around(from)
		if len(around) == 0 {
			around = []anchor{s.above}
		}
		for _, a := range around {
			for _, to := range nearest(s.places[s.loose(s.old.lines[from])], a.to+from-a.from) {
				if to > s.above.to && to < s.below[0].to {
					all = append(all, to-(from-run.first))
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// nearest gives up to maxPlaces of ascending places around one.
func nearest(places []int, at int) []int {
	i, _ := slices.BinarySearch(places, at)
	return places[max(0, i-maxPlaces/2):min(len(places), i+maxPlaces/2)]
}

func abs(n int) int { return max(n, -n) }
