package snapshot

import (
	"context"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// Window is the time in which one command runs. One of End and Discard ends it.
type Window struct {
	// Began is when it was asked for.
	Began time.Time
	// Ends are those of the ledger when it opened; nil if they are not known.
	Ends []string
	// Saved is what finds the changes of the command if the server dies (Recover); nil where nothing is saved.
	Saved []byte

	keeper  *Keeper
	inScope func(path string) bool
	others  Others
	ended   bool

	// Guarded by the keeper's lock.
	begun bool
	// enclosed: see Enclosed.
	enclosed bool
	base     *base
	deltas   map[string]*pending
	writes   map[string][]*Write
	gaps     []Gap
	// given are paths whose change stands in the record of another command that overlapped.
	given []string
	// touched are entries out of scope that were, without a real change.
	touched map[string]*pending
	// back are paths that changed and are what they were before, nil for what is not there.
	back   map[string]*version
	linked *Links
}

// pending is what changed at a path since the window began.
type pending struct {
	delta
	// others ran too, while it changed.
	others []*Window
	// shared and nobodys become those of the Change.
	shared, nobodys bool
}

// Enclosed says of a command that has ended, before End, that the kernel let none of its processes outlive it, that it got no
// open file of the workspace from elsewhere, and that it gave no file one more name. Then what the kernel tells of may be all
// that End looks at.
func (w *Window) Enclosed() {
	w.keeper.mu.Lock()
	defer w.keeper.mu.Unlock()
	w.enclosed = true
}

// add notes writes of the server. The caller holds the lock.
func (w *Window) add(writes []*Write) {
	for _, one := range writes {
		w.writes[one.Path] = append(w.writes[one.Path], one)
	}
}

// merge adds what one walk found. The caller holds the lock.
func (w *Window) merge(d delta, running []*Window, ends bool) {
	if !ends && d.after != nil && d.after.bytes != nil {
		d.after = &version{stat: d.after.stat, digest: d.after.digest, also: d.after.also} // a long window would gather too much
	}
	p := w.deltas[d.path]
	if p == nil {
		p = &pending{delta: d}
		w.deltas[d.path] = p
	} else {
		p.after = d.after
	}
	for _, other := range running {
		if other != w && !slices.Contains(p.others, other) {
			p.others = append(p.others, other)
		}
	}
	if !p.real() {
		delete(w.deltas, d.path) // it was changed and changed back
		w.touch(p)
		if len(w.back) < maxTouched {
			w.back[d.path] = p.after
		}
	}
}

// Discard gives the window up: what changed in it is nobody's.
func (w *Window) Discard() {
	w.keeper.mu.Lock()
	defer w.keeper.mu.Unlock()
	w.ended = true
	delete(w.keeper.open, w)
	if w.base != nil {
		w.base.uses--
		w.base = nil
	}
}

// End finds what changed since Begin. All processes of the command are gone. It is brought to its end although ctx is
// done; that only bounds the waiting for other processes.
func (w *Window) End(ctx context.Context) (*Difference, error) {
	if w.ended {
		return &Difference{}, nil
	}
	defer w.Discard()
	if err := w.keeper.request(w); err != nil {
		return nil, err
	}
	foreign, problem := w.foreign(ctx)
	mine, given, gaps := w.claim(&foreign, problem == nil)
	d := &Difference{Gaps: gaps, Given: given, Touched: w.touches(&foreign)}
	if problem != nil {
		d.Gaps = append(d.Gaps, Gap{Reason: "what other servers on this workspace wrote is not known: " + problem.Error()})
	}
	d.Changes = w.keeper.changes(ctx, mine)
	if w.keeper.untidy.CompareAndSwap(true, false) {
		// To read and write down the whole tree takes many times the memory of what is kept of it. There may be nothing to do
		// for long that would have it collected, and given back.
		go debug.FreeOSMemory()
	}
	return d, nil
}

// foreign asks what other processes did of the paths that nothing here explains.
func (w *Window) foreign(ctx context.Context) (Foreign, error) {
	if w.others == nil {
		return Foreign{}, nil
	}
	var paths []string
	w.keeper.mu.Lock()
	for path, p := range w.deltas {
		if _, ok := explained(&p.delta, w.writes[path], w.inScope(path)); !ok {
			paths = append(paths, path)
		}
	}
	for path := range w.touched {
		paths = append(paths, path)
	}
	w.keeper.mu.Unlock()
	if len(paths) == 0 {
		return Foreign{}, nil
	}
	slices.Sort(paths)
	return w.others(ctx, slices.Compact(paths))
}

// claim takes what is this command's. What is left to others stays with them; known says whether all that run are.
func (w *Window) claim(foreign *Foreign, known bool) (mine []*pending, given []string, gaps []Gap) {
	k := w.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range foreign.Writes {
		w.add([]*Write{&foreign.Writes[i]})
	}
	for path, p := range w.deltas {
		inScope := w.inScope(path)
		last, ok := explained(&p.delta, w.writes[path], inScope)
		if ok {
			continue
		}
		if last != nil {
			p.before = written(p.before, last)
		}
		if !p.real() {
			continue
		}
		elsewhere := foreign.by(p)
		p.shared = len(p.others) > 0 || elsewhere
		if !inScope && (elsewhere || slices.ContainsFunc(p.others, func(o *Window) bool { return k.open[o] && o.inScope(path) })) {
			given = append(given, path)
			continue
		}
		if p.nobodys = !inScope && known; p.nobodys {
			w.madeBefore(p)
		}
		mine = append(mine, p)
		for _, other := range p.others {
			// What is new and nobody's stays in the account of all that can have made it, until it is gone.
			if !p.nobodys || p.before != nil || other.inScope(path) {
				other.taken(path, p.after)
			}
		}
	}
	w.forget()
	slices.SortFunc(mine, func(a, b *pending) int { return strings.Compare(a.path, b.path) })
	given = append(given, w.given...)
	slices.Sort(given)
	delete(k.open, w)
	return mine, slices.Compact(given), w.gaps
}

// madeBefore: of what is nobody's, the command that has run the longest knows what there was before: what it made when
// this one had not begun is new too, if it goes on changing it. The caller holds the lock.
func (w *Window) madeBefore(p *pending) {
	first := w
	for _, other := range p.others {
		if q := other.deltas[p.path]; w.keeper.open[other] && q != nil && q.before == nil && other.Began.Before(first.Began) {
			first = other
		}
	}
	if first != w && p.after != nil {
		p.before = nil
	}
}

// by reports whether a command of another process can have made a change, and may.
func (f *Foreign) by(p *pending) bool {
	return slices.ContainsFunc(f.Running, func(r Running) bool {
		return r.InScope(p.path) && (p.after == nil || p.after.stat.ctime == 0 || p.after.stat.ctime >= r.Began.Add(-grain).UnixNano())
	})
}

// taken: the change of a path so far stands in the record of another command. The caller holds the lock.
func (w *Window) taken(path string, now *version) {
	p := w.deltas[path]
	if p == nil {
		return
	}
	w.given = append(w.given, path)
	p.before = now
	if !p.real() {
		delete(w.deltas, path)
	}
}

// explained reports whether what is there now was left by a write of others. If it was not, last is the write that the
// command's change came on top of, nil if it came on top of none: the last that follows from the content before, or that
// was made since. A window can have opened in the middle of somebody's change, so not every chain is whole.
//
// What another command made where it may not, and is still there, explains nothing new out of scope: nobody has taken it away yet.
func explained(d *delta, writes []*Write, inScope bool) (last *Write, ok bool) {
	if d.before == nil && !inScope {
		writes = slices.DeleteFunc(slices.Clone(writes), func(one *Write) bool { return one.Wrong })
	}
	known := d.before == nil || d.before.digest != nil
	if known {
		writes = writes[older(hashOf(d.before), writes):]
	}
	if len(writes) == 0 {
		return nil, false
	}
	reached := map[string]bool{}
	if known {
		reached[hashOf(d.before)] = true
	}
	for _, one := range writes {
		if reached[one.Before] || !known || one.Since {
			reached[one.After] = true
			known, last = true, one
		}
	}
	if last == nil || d.after != nil && d.after.digest == nil || !reached[hashOf(d.after)] {
		return last, false
	}
	// A tool keeps the rights of what it replaces.
	return last, d.before == nil || d.after == nil || d.before.stat.sameRights(&d.after.stat)
}

// older counts the writes up to the last that left the content which was there when the window opened: what they did was done by then.
func older(before string, writes []*Write) int {
	for i, one := range slices.Backward(writes) {
		if one.After == before {
			return i + 1
		}
	}
	return 0
}

func hashOf(v *version) string {
	if v == nil || v.digest == nil {
		return ""
	}
	return v.digest.hash
}

// written is the version that a write left.
func written(before *version, last *Write) *version {
	if last.After == "" {
		return nil
	}
	v := &version{digest: &digest{hash: last.After, oid: last.AfterOID}}
	if before != nil {
		v.stat = before.stat
	}
	return v
}

// unrecorded is what was there before the commands that run already changed it: no record tells of that yet, and what
// one of them puts back, such as a file for a moment, none will. The caller holds the lock.
func (k *Keeper) unrecorded(begin []*Window) (states []saved) {
	running := slices.DeleteFunc(k.begun(), func(w *Window) bool { return slices.Contains(begin, w) })
	slices.SortFunc(running, func(a, b *Window) int { return b.Began.Compare(a.Began) }) // the last to say it is the first that ran
	for _, w := range running {
		for path, p := range w.deltas {
			switch last, ok := explained(&p.delta, w.writes[path], w.inScope(path)); {
			case ok || last != nil:
			case p.before == nil || k.shown(p.before.digest) != nil:
				states = append(states, k.save(path, p.before))
			}
		}
	}
	return states
}

// forget takes from the commands that began while this one ran what they found changed for a moment, out of their own
// scope: it is as it was before both. What a tool wrote meanwhile is another matter. The caller holds the lock.
func (w *Window) forget() {
	for path, now := range w.back {
		if w.deltas[path] != nil || len(w.writes[path]) > 0 {
			continue
		}
		for other := range w.keeper.open {
			p := other.deltas[path]
			if p == nil || !other.Began.After(w.Began) || other.inScope(path) || len(other.writes[path]) > 0 {
				continue
			}
			if p.before = now; !p.real() {
				delete(other.deltas, path)
			}
		}
	}
}
