package snapshot_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/gitdir"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
)

// TestRecover finds the changes of a command whose server is gone, from what it had saved.
func TestRecover(t *testing.T) {
	b := newBench(t)
	b.write("a", "one\n")
	b.write("dir/b", "two\n")
	b.write("dir/c", "three\n")
	b.end(b.begin())
	b.write("a", "edited between\n") // in no base, but in what goes with the entry
	b.run("rm dir/c; mkdir new; echo x > new/d")
	w := b.begin()
	saved := w.Saved
	b.run("echo four >> a; mv dir/b b; rm new/d; echo y > new/e; chmod 600 .orchestration/active_intents.yaml")
	state, err := b.state()
	b.must(err)
	defer state.Close()
	recover := func() (*snapshot.Difference, error) {
		return snapshot.Recover(context.Background(), b.options, state, saved, nil, nil)
	}
	d, err := recover()
	b.must(err)
	b.want(d, "modified .orchestration/active_intents.yaml -rw-r--r-- to -rw-------", "modified a", "moved b from dir/b", "deleted new/d", "created new/e")
	c := b.find(d, "a")
	check.That(t, c.Before.Known && string(c.Before.Bytes) == "edited between\n", "%+v", c.Before)
	// One that is in use is kept; one that nobody holds goes.
	bases, _ := filepath.Glob(filepath.Join(b.dir, ".orchestration/state/snapshots/*.base"))
	check.Must(t, len(bases) == 1, "%v", bases)
	abandoned := snapshot.FindAbandoned(state)
	abandoned.Sweep()
	abandoned.Close()
	_, err = recover()
	check.NoError(t, err)
	content, err := os.ReadFile(bases[0])
	b.must(err)
	for name, spoilt := range map[string][]byte{"cut": content[:len(content)-1], "changed": append(content[:len(content)-1:len(content)-1], 'x'), "empty": nil} {
		b.must(os.WriteFile(bases[0], spoilt, 0o600))
		if d, err := recover(); err == nil {
			t.Errorf("%s: %v", name, told(d))
		}
	}
	w.Discard()
	b.keeper.Close()
	left, _ := filepath.Glob(filepath.Join(b.dir, ".orchestration/state/snapshots/*"))
	check.That(t, len(left) == 0, "left: %v", left)
}

// TestRecoverKeepsSecrets: after a kill it is found that a secret file changed, from a state that has no hash of it, and
// nothing of the content is given or kept.
func TestRecoverKeepsSecrets(t *testing.T) {
	b := newBench(t)
	b.options.Secrets = func() (func(string) bool, string) {
		return func(path string) bool { return strings.HasPrefix(path, "s/") }, "rules"
	}
	b.keeper = snapshot.Open(b.options)
	b.write("s/a", "secret one\n")
	b.write("s/untouched", "secret two\n")
	b.write("s/moved", "secret three\n")
	b.write("copy", "secret one\n")
	b.write("open", "open\n")
	w := b.begin()
	saved := w.Saved
	b.run("echo more >> s/a; echo more >> open; mv s/moved out; cp s/untouched copy2")
	state, err := b.state()
	b.must(err)
	defer state.Close()
	d, err := snapshot.Recover(context.Background(), b.options, state, saved, nil, nil)
	b.must(err)
	// A secret that was written right before the look can be told too: nobody knows its hash any more.
	for path, secret := range map[string]bool{"copy2": false, "open": false, "out": true, "s/a": true} {
		c := b.find(d, path)
		hidden := c.After.Secret && !c.After.Known && c.After.Bytes == nil
		check.That(t, c.Secret == secret && hidden == (path != "open"), "%s: %+v %+v", path, c, c.After)
	}
	b.holds(d, "open", func(c snapshot.Change) bool { return c.Before.Known })
	w.Discard()
	bases, _ := filepath.Glob(filepath.Join(b.dir, ".orchestration/state/snapshots/*.base"))
	for _, content := range []string{"secret one\n", "secret two\n", "secret three\n"} {
		sum := sha256.Sum256([]byte(content))
		for _, base := range bases {
			if stored, err := os.ReadFile(base); err != nil || bytes.Contains(stored, sum[:]) || bytes.Contains(saved, sum[:]) {
				t.Errorf("the state has the hash of %q (%v)", content, err)
			}
		}
		_, kept := b.kept.Get(gitdir.New(b.dir).BlobID([]byte(content)))
		check.That(t, !kept, "%q is kept", content)
	}
}
