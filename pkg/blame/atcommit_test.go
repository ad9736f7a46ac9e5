package blame_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/blame"
)

func TestAtCommit(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	r := newRepo(t, 1)
	r.file = nil
	r.record("A", r.fileOf("A", sixLines...), r.path)
	r.commit()
	first := r.git("rev-parse", "HEAD")
	r.clock = r.clock.Add(time.Hour)
	r.record("B", append(r.fileOf("B", "golf := seventh()"), r.file[1:]...), r.path)
	r.commit()
	r.outside(nil) // the working tree is not looked at
	r.save()
	w := blame.Workspace{Root: r.root, Ledger: r.ledger}
	for revision, want := range map[string]string{first: "A A A A A A", "HEAD~1": "A A A A A A", "HEAD": "B A A A A A", "main": "B A A A A A"} {
		result, err := w.AtCommit(context.Background(), revision, r.path)
		check.OK(t, err)
		var got []string
		for _, l := range result.Lines {
			got = append(got, l.Record.IntentID)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %v, want %s", revision, got, want)
		}
	}
	for _, revision := range []string{"nowhere", "--all", "", "HEAD:src", "main..HEAD", "a\nb", first + " " + first} {
		if _, err := w.AtCommit(context.Background(), revision, r.path); !errors.Is(err, blame.ErrNoCommit) {
			t.Errorf("%q: %v", revision, err)
		}
	}
	if _, err := w.AtCommit(context.Background(), "HEAD", "src/none.go"); !errors.Is(err, blame.ErrNotAFile) {
		t.Errorf("no such file: %v", err)
	}
}
