package policies_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/policies"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// TestAPolicyIsKeptOnce, comes back as it was, and is not believed when it was changed.
func TestAPolicyIsKeptOnce(t *testing.T) {
	dir := t.TempDir()
	check.Write(t, dir, intent.FilePath, "active_intents:\n  - {id: INT-001, status: TODO}\n")
	root := check.Value(os.OpenRoot(dir))(t)
	defer root.Close()
	store, book, s := intent.Open(root), policies.Book{Root: root, Durable: true}, settings.Defaults()
	s.Auth.Token, s.Commands.Deny = "a-secret-of-sixteen", []settings.CommandRule{{Prefix: "rm"}}
	keeper := policies.NewKeeper(book, policies.Of(s), "1", store.Texts)
	set := check.Value(store.Load())(t)
	digest := check.Value(keeper.Digest(set))(t)
	check.Equal(t, check.Value(keeper.Digest(set))(t), digest, "of the same files")
	check.Equal(t, check.Value(policies.NewKeeper(book, policies.Of(s), "1", store.Texts).Digest(nil))(t), digest, "of another process")
	kept := check.Value(filepath.Glob(filepath.Join(dir, ".orchestration/state/policies/*")))(t)
	check.Must(t, len(kept) == 1, "files: %v", kept)
	p := check.Value(book.Get(digest))(t)
	want := policies.Policy{Version: "1", Intents: set.Texts(), Settings: policies.Of(s)}
	check.That(t, reflect.DeepEqual(p.Settings, want.Settings) && string(p.Intents.Files[intent.FilePath]) == string(want.Intents.Files[intent.FilePath]), "%+v", p)

	s.Commands.Deny = nil
	other := check.Value(policies.NewKeeper(book, policies.Of(s), "1", store.Texts).Digest(set))(t)
	check.Must(t, other != digest, "other settings have the same digest")
	check.OK(t, os.Rename(filepath.Join(dir, ".orchestration/state/policies", other+".json.zst"), kept[0]))
	check.Fails(book.Get(digest))(t, policies.ErrGone, "one that was put in its place")
	check.Fails(book.Get("../../x"))(t, policies.ErrGone)
}
