package tools

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"sync"
)

// trackedPlaces remembers, for one state of git's index, which places for the output of tools hold files that git tracks.
type trackedPlaces struct {
	mu    sync.Mutex
	index string
	known map[string]bool
}

// of gives those of some places of which git tracks something, in its index or in the last commit: an index alone forgets
// with one git command. Where git gives no answer, it may track all.
func (t *trackedPlaces) of(ctx context.Context, d *Commands, places []string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	index := d.Observer.Snapshots.IndexWritten()
	if t.known == nil || t.index != index {
		t.index, t.known = index, map[string]bool{}
	}
	fresh := slices.DeleteFunc(slices.Clone(places), func(place string) bool { _, known := t.known[place]; return known })
	if len(fresh) > 0 {
		files, sure := d.filesInGit(ctx, fresh)
		for _, place := range fresh {
			is := !sure || slices.ContainsFunc(files, func(f string) bool { return f == place || strings.HasPrefix(f, place+"/") })
			if sure || is {
				t.known[place] = is
			}
		}
		if !sure {
			defer func() { t.known = nil }() // to be asked again
		}
	}
	return slices.DeleteFunc(slices.Clone(places), func(place string) bool { return !t.known[place] })
}

// without gives the other ones.
func (t *trackedPlaces) without(ctx context.Context, d *Commands, places []string) []string {
	tracked := t.of(ctx, d, places)
	return slices.DeleteFunc(slices.Clone(places), func(place string) bool { return slices.Contains(tracked, place) })
}

func (d *Commands) filesInGit(ctx context.Context, places []string) (files []string, sure bool) {
	git := d.Observer.Git
	index, err := git.Ask(ctx, append([]string{"ls-files", "-z", "--cached", "--"}, places...)...)
	if errors.Is(err, exec.ErrNotFound) || err != nil && strings.Contains(err.Error(), "not a git repository") {
		return nil, true
	}
	if err != nil {
		return nil, false
	}
	// Fails where there is no commit yet.
	commit, _ := git.Ask(ctx, append([]string{"ls-tree", "-z", "--name-only", "HEAD", "--"}, places...)...)
	return append(strings.Split(index, "\x00"), strings.Split(commit, "\x00")...), true
}
