package tools

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/gitread"
	"github.com/intentgov/orchestra-mcp/pkg/command/layer"
	"github.com/intentgov/orchestra-mcp/pkg/command/reach"
	"github.com/intentgov/orchestra-mcp/pkg/command/replay"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
)

// trustDir, below state/, has what package replay remembers.
const trustDir = "git"

func (d *Commands) trust() *replay.Trust {
	return &replay.Trust{Open: func() (*durable.Dir, error) { return d.Workspace.OpenOwn(stateDir, trustDir) }}
}

func (d *Commands) repository() gitread.Repository { return gitread.Repository{Dir: d.Workspace.Dir()} }

// gitRefs are what the refs of a repository say.
type gitRefs struct {
	tips    []string          // of all, HEAD included, each once, sorted
	remotes map[string]string // remote-tracking branches, by their full names
	ledger  map[string]string // refs/orchestra
	text    string            // all the others, as git shows them
}

// refs asks git for them.
func (d *Commands) refs(ctx context.Context) (gitRefs, error) {
	refs := gitRefs{remotes: map[string]string{}, ledger: map[string]string{}}
	repo := d.repository()
	out, err := repo.Ask(ctx, "show-ref", "--head", "--dereference")
	if err != nil {
		// Without any ref it answers with 1, and nothing; without a commit there is none.
		if _, plain := repo.Ask(ctx, "rev-parse", "--git-dir"); plain == nil && strings.HasSuffix(err.Error(), "exit status 1: ") {
			return refs, nil
		}
		return refs, err
	}
	var others strings.Builder
	for line := range strings.Lines(out) {
		id, name, ok := strings.Cut(strings.TrimRight(line, "\n"), " ")
		switch {
		case !ok:
		case strings.HasPrefix(name, "refs/orchestra/"):
			refs.ledger[name] = id
			continue // which says nothing of the work tree
		case strings.HasPrefix(name, "refs/remotes/"):
			refs.remotes[name] = id
		}
		refs.tips = append(refs.tips, id)
		others.WriteString(line)
	}
	refs.text = others.String()
	slices.Sort(refs.tips)
	refs.tips = slices.Compact(refs.tips)
	return refs, nil
}

// fetched are what a line that can only fetch has moved of the remote-tracking
// branches of remotes that the operator configured elsewhere than in the workspace.
func (d *Commands) fetched(ctx context.Context, line replay.Line, before, after map[string]string) (ids []string) {
	if !line.Remotes {
		return nil
	}
	remotes := d.remotes(ctx)
	for _, named := range line.Named {
		if !remotes[named] {
			return nil // a path or a URL, or a remote in the workspace
		}
	}
	for name, id := range after {
		remote, _, _ := strings.Cut(strings.TrimPrefix(name, "refs/remotes/"), "/")
		if before[name] != id && remotes[remote] {
			ids = append(ids, id)
		}
	}
	return ids
}

// remotes are the configured ones, by what a fetch from them may explain.
func (d *Commands) remotes(ctx context.Context) map[string]bool {
	out, err := d.repository().Ask(ctx, "config", "--null", "--get-regexp", `^remote\..*\.url$`)
	if err != nil {
		return nil
	}
	remotes := map[string]bool{}
	for entry := range strings.SplitSeq(out, "\x00") {
		key, url, ok := strings.Cut(entry, "\n")
		if !ok {
			continue
		}
		name := strings.TrimSuffix(strings.TrimPrefix(key, "remote."), ".url")
		elsewhere := d.elsewhere(url)
		if was, known := remotes[name]; known {
			elsewhere = elsewhere && was
		}
		remotes[name] = elsewhere
	}
	return remotes
}

// elsewhere reports whether a URL of git's leads to where no command writes.
func (d *Commands) elsewhere(url string) bool {
	if scheme, rest, is := strings.Cut(url, "://"); is {
		if scheme != "file" {
			return true
		}
		url = rest
	} else if host, _, is := strings.Cut(url, ":"); is && !strings.Contains(host, "/") {
		return true // host:path
	}
	if !filepath.IsAbs(url) {
		url = filepath.Join(d.Workspace.Dir(), url)
	}
	real, err := filepath.EvalSymlinks(url)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(append(slices.Clone(d.Confine.Writable), "."), func(place string) bool {
		if !filepath.IsAbs(place) {
			place = filepath.Join(d.Workspace.Dir(), place)
		}
		way, err := filepath.Rel(place, real)
		return err == nil && filepath.IsLocal(way)
	})
}

// judge is one of a store, whose objects are read there and in a layer over it.
func (d *Commands) judge(scratch string, store replay.Store, trusted []string, allowed func(path string) bool) (*replay.Judge, error) {
	o := replay.Options{Scratch: scratch, Trusted: trusted, Allowed: allowed, SHA256: ledger.NewGit(d.Workspace.Dir()).NewBlobHash(0).Size() != 20}
	if layered := filepath.Join(store.Common.Upper, "objects"); store.Common.Upper != "" && store.Common.Find("objects").At == layered {
		o.Objects = append(o.Objects, layered)
	}
	o.Objects = append(o.Objects, filepath.Join(store.Common.Lower, "objects"))
	o.Shallow, _ = store.Common.Read("shallow", 1<<20)
	return replay.NewJudge(o)
}

// storeOf is git's of a workspace, with layers over what these lie over.
func storeOf(where reach.Rehearsed, uppers map[string]string) replay.Store {
	view := func(dir string) layer.View {
		v := layer.View{Lower: dir}
		for lower, upper := range uppers {
			if way, err := filepath.Rel(lower, dir); err == nil && filepath.IsLocal(way) {
				v.Upper = filepath.Join(upper, way)
			}
		}
		return v
	}
	return replay.Store{Common: view(where.Common), Own: view(where.Own)}
}

// entryOf is what git would have of what stands at a place.
func entryOf(git *ledger.Git, n layer.Node) (replay.Entry, error) {
	if !n.There || n.Mode.IsDir() {
		return replay.Entry{}, nil
	}
	switch {
	case n.Mode&fs.ModeSymlink != 0:
		text, err := os.Readlink(n.At)
		return replay.Entry{Mode: "120000", ID: git.BlobID([]byte(text))}, err
	case !n.Mode.IsRegular():
		return replay.Entry{Mode: "special", ID: n.Mode.String()}, nil
	}
	file, info, err := durable.OpenRegular(n.At)
	if err != nil {
		return replay.Entry{}, err
	}
	defer file.Close()
	hash := git.NewBlobHash(info.Size())
	if _, err := io.Copy(hash, file); err != nil {
		return replay.Entry{}, err
	}
	return replay.Entry{Mode: gitread.FileMode(info.Mode()), ID: fmt.Sprintf("%x", hash.Sum(nil))}, nil
}
