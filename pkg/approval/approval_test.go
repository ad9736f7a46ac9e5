package approval_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
)

func open(t *testing.T, clock func() time.Time) (*approval.Store, string) {
	t.Helper()
	dir := t.TempDir()
	root := check.Value(os.OpenRoot(dir))(t)
	t.Cleanup(func() { root.Close() })
	check.OK(t, os.Mkdir(filepath.Join(dir, ".orchestration"), 0o755))
	return approval.Open(root, approval.Options{UserDir: filepath.Join(t.TempDir(), "user"), Clock: clock}), dir
}

func put(store *approval.Store, r approval.Request) (approval.Request, error) {
	r, _, err := store.Put(r)
	return r, err
}

func TestRequestComesBackUntilItExpires(t *testing.T) {
	now := time.Date(2026, 2, 18, 12, 0, 0, 0, time.UTC)
	store, dir := open(t, func() time.Time { return now })
	r := check.Value(put(store, approval.Request{IntentID: "INT-001", Paths: []string{"a/**"}, Reason: "r"}))(t)
	got, err := store.Get(r.ID)
	if err != nil || got.IntentID != "INT-001" || got.Paths[0] != "a/**" || !got.ExpiresAt.Equal(now.Add(approval.Lifetime)) {
		t.Fatalf("%+v %v", got, err)
	}
	info, err := os.Stat(filepath.Join(dir, ".orchestration/state/approvals", r.ID+".json"))
	check.That(t, err == nil && info.Mode().Perm() == 0o600, "%v %v", info, err)
	now = now.Add(approval.Lifetime)
	if _, err := store.Get(r.ID); !errors.Is(err, approval.ErrUnknown) {
		t.Errorf("an expired request came back: %v", err)
	}
}

// An id is an agent's text: it must not become a path.
func TestForeignIDsAreUnknown(t *testing.T) {
	store, dir := open(t, time.Now)
	check.OK(t, os.MkdirAll(filepath.Join(dir, ".orchestration/state/approvals"), 0o700))
	for _, id := range []string{"", "apr_", "../../active_intents", "apr_" + strings.Repeat("a", 26), "apr_" + strings.Repeat("../", 9)} {
		if _, err := store.Get(id); !errors.Is(err, approval.ErrUnknown) {
			t.Errorf("%q: %v", id, err)
		}
	}
	broken := "apr_" + strings.Repeat("b", 26)
	check.OK(t, os.WriteFile(filepath.Join(dir, ".orchestration/state/approvals", broken+".json"), []byte("{"), 0o600))
	if _, err := store.Get(broken); !errors.Is(err, approval.ErrUnknown) {
		t.Errorf("half a file: %v", err)
	}
}

func TestNothingIsMadeBeforeTheFirstRequest(t *testing.T) {
	store, dir := open(t, time.Now)
	_, _ = store.Get("apr_" + strings.Repeat("a", 26))
	_, err := os.Stat(filepath.Join(dir, ".orchestration/state"))
	check.That(t, errors.Is(err, fs.ErrNotExist), "%v", err)
}

func TestConcurrentRequestsAllStand(t *testing.T) {
	store, _ := open(t, time.Now)
	var wg sync.WaitGroup
	ids := make([]string, 50)
	for i := range ids {
		wg.Go(func() {
			r, err := put(store, approval.Request{Tool: strconv.Itoa(i)})
			check.That(t, err == nil, "%v", err)
			ids[i] = r.ID
		})
	}
	wg.Wait()
	for _, id := range ids {
		if _, err := store.Get(id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
}

func TestRequestsAreBounded(t *testing.T) {
	store, dir := open(t, time.Now)
	first := check.Value(put(store, approval.Request{}))(t)
	approvals := filepath.Join(dir, ".orchestration/state/approvals")
	for i := range 4001 {
		name := filepath.Join(approvals, "apr_"+strings.Repeat("c", i%20)+time.Duration(i).String())
		check.OK(t, os.WriteFile(name, nil, 0o600))
	}
	if _, err := put(store, approval.Request{Tool: "another"}); !errors.Is(err, approval.ErrFull) {
		t.Errorf("%v", err)
	}
	if same, err := put(store, approval.Request{}); err != nil || same.ID != first.ID {
		t.Errorf("the same request is another one: %v %v", same, err)
	}
	old := time.Now().Add(-2 * approval.Lifetime)
	entries, _ := os.ReadDir(approvals)
	for _, e := range entries {
		check.OK(t, os.Chtimes(filepath.Join(approvals, e.Name()), old, old))
	}
	if _, err := put(store, approval.Request{Tool: "one more"}); err != nil {
		t.Errorf("what a crash left still counts: %v", err)
	}
}

func TestLinkedStateIsRefused(t *testing.T) {
	store, dir := open(t, time.Now)
	for _, name := range []string{".orchestration/state", "src"} {
		check.OK(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
	}
	check.OK(t, os.Symlink("../../src", filepath.Join(dir, ".orchestration/state/approvals")))
	_, err := put(store, approval.Request{})
	check.That(t, err != nil, "a linked directory was used")
	left, _ := os.ReadDir(filepath.Join(dir, "src"))
	check.That(t, len(left) == 0, "%v", left)
}
