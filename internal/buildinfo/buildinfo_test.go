package buildinfo_test

import (
	"runtime/debug"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/buildinfo"
	"github.com/intentgov/orchestra-mcp/internal/check"
)

func TestFrom(t *testing.T) {
	build := &debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Version: "v0.1.0"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"},
	}}
	want := buildinfo.Info{Version: "v0.1.0", Commit: "abc", Time: "2026-01-02T03:04:05Z", Modified: true, Go: "go1.26.0"}
	if got := buildinfo.From(build); got != want {
		t.Errorf("got %+v", got)
	}
	for _, version := range []string{"", "(devel)"} {
		if got := buildinfo.From(&debug.BuildInfo{Main: debug.Module{Version: version}}).Version; got != "devel" {
			t.Errorf("%q: got %q", version, got)
		}
	}
}

func TestRead(t *testing.T) {
	got := buildinfo.Read()
	check.That(t, got.Version != "", "got %+v", got)
}
