package shell

import (
	"path"
	"slices"
	"strings"
)

// places are the directories that a command can run in, relative to where the line starts ("" is that one itself) or absolute.
type places struct {
	known   []string
	unknown bool
}

var elsewhere = places{unknown: true}

// flow is where the shell can be behind a command that succeeded, and behind one that failed.
type flow struct{ success, failure places }

// lost is where a shell is of which nothing is known.
var lost = flow{elsewhere, elsewhere}

func (f flow) both() places { return f.success.or(f.failure) }

func stay(in places) flow { return flow{in, in} }

func (p places) or(q places) places {
	if p.unknown || q.unknown {
		return elsewhere
	}
	all := slices.Clone(p.known)
	for _, dir := range q.known {
		if !slices.Contains(all, dir) {
			all = append(all, dir)
		}
	}
	if len(all) > maxPlaces {
		return elsewhere
	}
	return places{known: all}
}

// enter is where `cd dir` leads: by the names, as the shell follows them.
func (p places) enter(dir string) places {
	if path.IsAbs(dir) {
		return places{known: []string{path.Clean(dir)}}
	}
	var entered places
	for _, from := range p.known {
		to := path.Join(from, dir)
		if to == "." {
			to = ""
		}
		entered.known = append(entered.known, to)
	}
	entered.unknown = p.unknown
	return entered
}

// redirected is a literal target of a redirection and where it stands.
type redirected struct {
	path  string
	write bool
	in    places
	later bool // in code that runs at another time than where it stands
}

// redirected keeps a target until all is known that changes directories.
func (r *reader) redirected(path string, write bool, in places) {
	r.pending = append(r.pending, redirected{path, write, in, r.deferred > 0})
}

func (r *reader) finish() {
	for _, target := range r.pending {
		if r.roams || r.moved && target.later {
			target.in = elsewhere
		}
		r.resolve(target)
	}
	r.judge()
}

func (r *reader) resolve(target redirected) {
	switch {
	case path.IsAbs(target.path):
		r.target(target.path, target.write)
	case target.in.unknown && target.write:
		r.unjudged("the directory of the redirection to %s is not known", clip(target.path))
	default:
		for _, dir := range target.in.known {
			at := target.path
			if dir != "" {
				at = strings.TrimSuffix(dir, "/") + "/" + at
			}
			r.target(at, target.write)
		}
	}
}

func (r *reader) target(at string, write bool) {
	list := &r.out.Reads
	if write {
		list = &r.out.Writes
	}
	switch {
	case slices.Contains(*list, at):
	case len(*list) < maxTargets:
		*list = append(*list, at)
	case write:
		r.unjudged("the line redirects to more than %d files", maxTargets)
	}
}

const maxTargets = 200
