package intent_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

// TestIgnoreWalkAgrees asks a walk in any order what Ignore says of each path by itself; and where nothing below is said to be
// blocked, nothing is.
func TestIgnoreWalkAgrees(t *testing.T) {
	const anchored = "/a/b/c\na/*/dist/x\n/b/**/keys\n!/b/a/keys\n"
	for name, rules := range map[string]string{"anchored": anchored, "all": ignoreSample + anchored} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t, sample)
			w.write(".orchestration/.intentignore", rules)
			w.write(".intentignore", "/c/a/\n!/c/a/b\nsecret:/b/c/.env\nsecret:!/b/c/.env/keep\n")
			walkAgrees(t, w.load().Ignore())
		})
	}
}

func walkAgrees(t *testing.T, g *intent.Ignore) {
	names := []string{"a", "b", "c", "dist", "keys", ".env", "x", "keep.gen.go", "d.gen.go", "k.key", "config", "a.yaml", "keep", "public.pem"}
	random := rand.New(rand.NewPCG(1, 2))
	walk := g.Walk()
	var blocked []string
	idle := map[string]bool{}
	for range 20_000 {
		var path []string
		for range 1 + random.IntN(4) {
			path = append(path, names[random.IntN(len(names))])
		}
		name := strings.Join(path, "/")
		if random.IntN(3) == 0 {
			idle[name] = !walk.Below(name)
		}
		if random.IntN(2) == 0 {
			name += "/"
		}
		_, want := g.PathBlocked(name)
		check.Equal(t, walk.Blocked(name), want, "%s", name)
		if want {
			blocked = append(blocked, name)
			some, open := walk.Names(cmp.Or(strings.Join(path[:len(path)-1], "/"), "."))
			check.That(t, open || slices.Contains(some, path[len(path)-1]), "%s is blocked, and can be none of %v", name, some)
		}
		_, want = g.Secret(name)
		check.Equal(t, walk.Secret(name), want, "%s", name)
	}
	check.That(t, len(blocked) > 100 && walk.Blocked("../x") && walk.Blocked("a//b") && walk.Below("../x"), "what is no path is not blocked")
	slices.Sort(blocked)
	for _, name := range slices.Compact(blocked) {
		for i := range name {
			check.That(t, i == len(name)-1 || name[i] != '/' || !idle[name[:i]], "%s is blocked, but nothing below %s", name, name[:i])
		}
	}
}

func TestIgnoreWalkFindsWhereNothingIs(t *testing.T) {
	w := newWorkspace(t, sample)
	w.write(".intentignore", "/src/1/a.txt\nsecret:/src/2/\n")
	walk := w.load().Ignore().Walk()
	for dir, want := range map[string]bool{".": true, "src": true, "src/1": true, "src/2": true, "src/2/x": true, "src/3": false, "docs": false, "src/1/b": false} {
		check.Equal(t, walk.Below(dir), want, "%s", dir)
	}
	names, open := walk.Names("src/1")
	check.That(t, slices.Equal(names, []string{"a.txt"}) && !open, "%v %v", names, open)
}
