package staging_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/staging"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

func open(t *testing.T) (*workspace.Workspace, string) {
	dir := t.TempDir()
	check.OK(t, os.Mkdir(filepath.Join(dir, ".orchestration"), 0o700))
	w := check.Value(workspace.Open(dir))(t)
	t.Cleanup(func() { w.Close() })
	return w, filepath.Join(dir, ".orchestration", "state", "layers")
}

func keep(t *testing.T, w *workspace.Workspace, bytes int64) string {
	t.Helper()
	l := check.Value(staging.Open(w))(t)
	check.OK(t, l.Keep(bytes, "a note"))
	return l.ID()
}

func ids(t *testing.T, w *workspace.Workspace) (all []string) {
	t.Helper()
	for _, k := range check.Value(staging.List(w))(t) {
		all = append(all, k.ID)
	}
	return all
}

func TestLayersAreKeptForADay(t *testing.T) {
	w, at := open(t)
	id := keep(t, w, 1)
	l, k, err := staging.Take(w, id)
	check.OK(t, err)
	check.Equal(t, string(k.Note), `"a note"`)
	_, _, err = staging.Take(w, id)
	check.Is(t, err, staging.ErrHeld)
	check.OK(t, l.Leave())

	k.At = time.Now().Add(-staging.KeptFor - time.Minute)
	check.Write(t, at, id+".json", string(check.Value(json.Marshal(k))(t)))
	check.Equal(t, len(ids(t, w)), 0)
	_, _, err = staging.Take(w, id)
	check.Is(t, err, staging.ErrUnknown)

	check.OK(t, check.Value(staging.Open(w))(t).Close())
	check.Equal(t, len(check.Value(os.ReadDir(at))(t)), 0, "files after the next command")
}

func TestTheOldestLayersGo(t *testing.T) {
	w, _ := open(t)
	var made []string
	for range staging.MaxKept + 3 {
		made = append(made, keep(t, w, 1))
	}
	check.Equal(t, len(ids(t, w)), staging.MaxKept)
	_, _, err := staging.Take(w, made[0])
	check.Is(t, err, staging.ErrUnknown)

	big := keep(t, w, staging.MaxKeptBytes)
	check.Equal(t, len(ids(t, w)), 1)
	check.OK(t, check.Value(staging.Open(w))(t).Close())
	l, _, err := staging.Take(w, big)
	check.OK(t, err)
	check.OK(t, l.Close())
	check.Equal(t, len(ids(t, w)), 0)
}

func TestTakeNamesNoPath(t *testing.T) {
	w, _ := open(t)
	for _, id := range []string{"", "stg_", "stg_../x", "../stg_x", "stg_x/y", "stg_none"} {
		_, _, err := staging.Take(w, id)
		check.Is(t, err, staging.ErrUnknown, id)
	}
}
