//go:build !windows

package ledger_test

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

func TestModesInRecords(t *testing.T) {
	sum := "sha256:" + strings.Repeat("0", 64)
	for name, c := range map[string]struct {
		change record.Change
		line   string
	}{
		"as it was": {record.Change{
			Change: change.Change{
				Op: change.Modified, Before: change.Version{Hash: sum, Mode: "0644"}, After: change.Version{Hash: sum, Mode: "0644"},
			},
		}, `"before_mode":"0644"}`},
		"another": {record.Change{
			Change: change.Change{
				Op: change.Modified, Before: change.Version{Hash: sum, Mode: "0644"}, After: change.Version{Hash: sum, Mode: "4755"},
			},
		}, `"before_mode":"0644","after_mode":"4755"}`},
		"created": {record.Change{Change: change.Change{Op: change.Created, After: change.Version{Hash: sum, Mode: "0600"}}}, `"after_mode":"0600"}`},
		"deleted": {record.Change{Change: change.Change{Op: change.Deleted, Before: change.Version{Hash: sum, Mode: "0755"}}}, `"before_mode":"0755"}`},
		"not known": {record.Change{
			Change: change.Change{Op: change.Modified, Before: change.Version{Hash: sum}, After: change.Version{Hash: sum}},
		}, `"after":"` + sum + `"}`},
		"created with two": {record.Change{
			Change: change.Change{
				Op: change.Created, Before: change.Version{Mode: "0644"}, After: change.Version{Hash: sum, Mode: "0600"},
			},
		}, ""},
		"modified with one": {record.Change{
			Change: change.Change{
				Op: change.Modified, Before: change.Version{Hash: sum, Mode: "0644"}, After: change.Version{Hash: sum},
			},
		}, ""},
		"more than is allowed": {record.Change{Change: change.Change{Op: change.Created, After: change.Version{Hash: sum, Mode: "100755"}}}, ""},
		"no digits":            {record.Change{Change: change.Change{Op: change.Deleted, Before: change.Version{Hash: sum, Mode: "rwxr"}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.change.Path = "f"
			line, err := record.Encode(record.Entry{ID: "x", Record: record.Record{Kind: record.KindMutation, Changes: []record.Change{c.change}}})
			if c.line == "" {
				if !errors.Is(err, record.ErrInvalidRecord) {
					t.Fatalf("%v, %s", err, line)
				}
				return
			}
			if err != nil || !bytes.Contains(line, []byte(c.line)) {
				t.Fatalf("%v, %s", err, line)
			}
			e, err := record.Parse(line)
			if err != nil || e.Changes[0].Before.Mode != c.change.Before.Mode || e.Changes[0].After.Mode != c.change.After.Mode {
				t.Errorf("%v, %+v", err, e.Changes)
			}
			if back := e.Changes[0].Inverse(); back.Before.Mode != c.change.After.Mode || back.After.Mode != c.change.Before.Mode {
				t.Errorf("%+v", back)
			}
		})
	}
	for mode, want := range map[fs.FileMode]change.Mode{0: "0000", 0o44: "0044", 0o755 | fs.ModeSetuid: "4755", 0o777 | fs.ModeSticky | fs.ModeSetgid: "3777"} {
		got := change.ModeOf(mode)
		if back, ok := got.FileMode(); got != want || !ok || back != mode {
			t.Errorf("%v is %q and comes back as %v", mode, got, back)
		}
	}
}
