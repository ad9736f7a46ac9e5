package agents_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/e2e/agents"
	"github.com/intentgov/orchestra-mcp/internal/check"
)

var update = flag.Bool("update", false, "write the recorded events anew")

type object = map[string]any

func call(name string, input any) agents.Turn {
	return agents.Calling(agents.Call{Name: name, Input: input})
}

// scripts are what each client is recorded with: calls that pass and that fail. None is in the background, whose end is told
// when it comes.
func scripts(c agents.Client, p agents.Place) []agents.Turn {
	in := func(name string) string { return filepath.Join(p.Workspace, name) }
	script := []agents.Turn{agents.Calling(c.Write(in("new.txt"), "quote \" and é\n")), agents.Calling(c.Write("relative.txt", "x\n")),
		agents.Calling(c.Shell("echo out")), agents.Calling(c.Shell("exit 3"))}
	return append(script, map[string][]agents.Turn{
		"claude-code": {
			call("Read", object{"file_path": in("read.txt")}), call("Edit", object{"file_path": in("read.txt"), "old_string": "one", "new_string": "1"}),
			call("Write", object{"file_path": in("new.txt"), "content": "again\n"}), call("Read", object{"file_path": in("missing.txt")}),
			call("Bash", object{"command": "cd sub", "description": "Go"}),
		},
		"codex": {
			call("apply_patch", "*** Begin Patch\n*** Update File: read.txt\n@@\n-one\n+1\n*** Delete File: new.txt\n*** End Patch"),
			call("apply_patch", "*** Begin Patch\n*** Update File: read.txt\n*** Move to: moved.txt\n@@\n-1\n+2\n*** End Patch"),
			call("apply_patch", "*** Begin Patch\n*** Update File: missing.txt\n@@\n-1\n+2\n*** End Patch"),
			call("exec_command", object{"cmd": "pwd", "workdir": in("sub"), "tty": true}),
		},
		"gemini": {
			call("read_file", object{"file_path": in("read.txt")}), call("read_file", object{"file_path": in("missing.txt")}),
			call("replace", object{"file_path": in("read.txt"), "old_string": "one", "new_string": "1", "instruction": "One"}),
			call("replace", object{"file_path": in("read.txt"), "old_string": "none", "new_string": "1", "instruction": "None"}),
			call("run_shell_command", object{"command": "pwd", "dir_path": "sub"}),
		},
		"opencode": {
			call("read", object{"filePath": in("read.txt")}), call("read", object{"filePath": in("missing.txt")}),
			call("edit", object{"filePath": in("read.txt"), "oldString": "one", "newString": "1"}),
			call("bash", object{"command": "pwd", "workdir": "sub", "description": "Where"}),
		},
	}[c.Name]...)
}

// TestEventsAreAsRecorded holds testdata, which other tests read, to what the pinned clients say. What stands there in a
// directory once/ was recorded by hand, where a run that is the same each time cannot be had.
func TestEventsAreAsRecorded(t *testing.T) {
	each(t, func(t *testing.T, c agents.Client, p agents.Place) {
		check.Write(t, p.Workspace, "read.txt", "one\ntwo\n")
		check.OK(t, os.Mkdir(filepath.Join(p.Workspace, "sub"), 0o755))
		dir := t.TempDir()
		check.Write(t, dir, "record.sh", `cat >> "$1"; echo >> "$1"`)
		log := filepath.Join(dir, "log")
		agents.InstallHook(t, c, p, []string{"/bin/sh", filepath.Join(dir, "record.sh"), log})
		r := agents.Run(t, c, p, scripts(c, p), c.Trusting...)
		alone(t, r)
		got := recorded(t, p, check.Value(os.ReadFile(log))(t))
		golden := filepath.Join("testdata", c.Name)
		if *update {
			for _, stale := range check.Value(filepath.Glob(filepath.Join(golden, "*.json")))(t) {
				check.OK(t, os.Remove(stale))
			}
			for name, event := range got {
				check.Write(t, golden, name, event)
			}
		}
		want := check.Value(filepath.Glob(filepath.Join(golden, "*.json")))(t)
		check.Equal(t, len(got), len(want), "events", slices.Sorted(maps.Keys(got)))
		for _, file := range want {
			check.Equal(t, got[filepath.Base(file)], string(check.Value(os.ReadFile(file))(t)), file, "(-update writes it)")
		}
	})
}

// recorded is a log of events, each with its name, in their order and without what differs from run to run.
func recorded(t *testing.T, p agents.Place, log []byte) map[string]string {
	t.Helper()
	events := map[string]string{}
	numbers := map[string]string{}
	decoder := json.NewDecoder(bytes.NewReader(log))
	for decoder.More() {
		var event map[string]any
		check.OK(t, decoder.Decode(&event))
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		check.OK(t, e.Encode(event))
		names := []any{event["hook_event_name"], event["event"], event["tool_name"], event["tool"]}
		name := fmt.Sprintf("%02d", len(events)+1)
		for _, n := range names {
			if n, ok := n.(string); ok {
				name += "-" + n
			}
		}
		events[name+".json"] = scrubbed(b.String(), p, numbers)
	}
	return events
}

// changing is what differs from run to run, and what stands for it. Ids are numbered as they come.
var (
	changing = []struct{ is, becomes string }{
		{`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z`, "2026-01-02T03:04:05.678Z"},
		{`sessions/20\d\d/\d\d/\d\d/`, "sessions/2026/01/02/"},
		{`(rollout|session)-20[^"]+\.jsonl`, "$1.jsonl"},
		{`("duration_ms": |PGID: |Wall time: )[\d.]+`, "${1}7"},
	}
	ids = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\bses_\w+`)
)

func scrubbed(event string, p agents.Place, numbers map[string]string) string {
	dashed := func(path string) string { return regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(path, "-") }
	for from, to := range map[string]string{p.Workspace: "/work/space", p.Home: "/home/user"} {
		event = strings.NewReplacer(from, to, dashed(from), dashed(to), strings.TrimPrefix(from, "/"), strings.TrimPrefix(to, "/")).Replace(event)
	}
	for _, c := range changing {
		event = regexp.MustCompile(c.is).ReplaceAllString(event, c.becomes)
	}
	return ids.ReplaceAllStringFunc(event, func(found string) string {
		numbers[found] = cmp.Or(numbers[found], fmt.Sprint(len(numbers)+1))
		if strings.HasPrefix(found, "ses_") {
			return "ses_" + numbers[found]
		}
		return "00000000-0000-4000-8000-" + fmt.Sprintf("%012s", numbers[found])
	})
}
