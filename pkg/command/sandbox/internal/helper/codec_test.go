package helper_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/helper"
)

func whole() *helper.Plan {
	return &helper.Plan{
		Devices: []string{"/dev/null"}, Layers: []helper.Layer{{Path: "/w", Upper: "/u", Work: "/k"}}, Trees: []string{"/w", "/w/a\nb"}, Kept: []string{"/tmp/w"},
		Covers: []helper.Cover{{Path: "/tmp", Tree: 1}, {Path: "/run", Tree: helper.Empty}},
		Links:  []helper.Link{{Path: "/run/shm", Target: "/dev/shm"}},
		Masks:  []helper.Mask{{Kind: helper.Writable, Path: "/w", Tree: 1}, {Kind: helper.Content, Path: "/w/x", Content: "\x00"}},
		MaxPID: 500, Loopback: 1, Landlock: helper.Landlock{Tree: 1 << 63, File: 2, Scoped: 3, Allowed: []string{"/w"}, Read: 4, Readable: []string{"/usr"}},
		Filter: []byte{1, 0, 255}, Supervised: 1, Dir: "/w", Device: 1 << 40, Inode: 7, Path: "/bin/sh", Args: []string{"sh", "-c", ""}, Env: []string{"A=b"},
	}
}

func TestPlanSurvivesItsWay(t *testing.T) {
	plan := whole()
	value := reflect.ValueOf(plan).Elem()
	for i := range value.NumField() {
		if value.Field(i).IsZero() {
			t.Errorf("the test says nothing of %s", value.Type().Field(i).Name)
		}
	}
	var got helper.Plan
	check.That(t, got.Decode(plan.Encode()) && reflect.DeepEqual(&got, plan), "%+v", got)
}

// FuzzDecode: what is no whole plan is refused, in bounded memory.
func FuzzDecode(f *testing.F) {
	encoded := whole().Encode()
	f.Add(encoded)
	f.Add(encoded[:len(encoded)-1])
	f.Add(append(bytes.Clone(encoded), 0))
	f.Add(bytes.Repeat([]byte{0xff}, 64))
	f.Fuzz(func(t *testing.T, in []byte) {
		var plan helper.Plan
		if !plan.Decode(in) {
			return
		}
		var again helper.Plan
		check.That(t, again.Decode(plan.Encode()) && reflect.DeepEqual(again, plan), "%+v %+v", plan, again)
	})
}

func TestPlanIsWhole(t *testing.T) {
	encoded := whole().Encode()
	for length := range encoded {
		var plan helper.Plan
		check.Must(t, !plan.Decode(encoded[:length]), "%d of %d bytes were taken", length, len(encoded))
	}
}

func TestSees(t *testing.T) {
	plan := whole()
	for path, want := range map[string]bool{
		"/tmp": true, "/tmp/x": false, "/tmpx": true, "/tmp/w": true, "/tmp/w/x": true, "/tmp/wx": false, "/run/x/y": false, "/": true,
	} {
		check.Equal(t, plan.Sees(path), want, "%v", path)
	}
	check.That(t, helper.Below("/a", "/") && !helper.Below("/", "/"), "what is below the root")
}
