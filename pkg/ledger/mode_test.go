//go:build !windows

package ledger_test

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

func TestModesInRecords(t *testing.T) {
	sum := "sha256:" + strings.Repeat("0", 64)
	for name, c := range map[string]struct {
		op            change.Op
		before, after change.Mode
		line          string // "" where it is refused
	}{
		"as it was":            {change.Modified, "0644", "0644", `"before_mode":"0644"}`},
		"another":              {change.Modified, "0644", "4755", `"before_mode":"0644","after_mode":"4755"}`},
		"created":              {change.Created, "", "0600", `"after_mode":"0600"}`},
		"deleted":              {change.Deleted, "0755", "", `"before_mode":"0755"}`},
		"not known":            {change.Modified, "", "", `"after":"` + sum + `"}`},
		"created with two":     {change.Created, "0644", "0600", ""},
		"modified with one":    {change.Modified, "0644", "", ""},
		"more than is allowed": {change.Created, "", "100755", ""},
		"no digits":            {change.Deleted, "rwxr", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			changed := record.Change{Change: change.Change{Op: c.op, Path: "f", Before: change.Version{Mode: c.before}, After: change.Version{Mode: c.after}}}
			if c.op != change.Created {
				changed.Before.Hash = sum
			}
			if c.op != change.Deleted {
				changed.After.Hash = sum
			}
			line, err := record.Encode(record.Entry{ID: "x", Record: record.Record{Kind: record.KindMutation, Changes: []record.Change{changed}}})
			if c.line == "" {
				check.Must(t, errors.Is(err, record.ErrInvalidRecord), "%v, %s", err, line)
				return
			}
			check.Must(t, err == nil && bytes.Contains(line, []byte(c.line)), "%v, %s", err, line)
			e, err := record.Parse(line)
			if err != nil || e.Changes[0].Before.Mode != c.before || e.Changes[0].After.Mode != c.after {
				t.Errorf("%v, %+v", err, e.Changes)
			}
			if back := e.Changes[0].Inverse(); back.Before.Mode != c.after || back.After.Mode != c.before {
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
