package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// fakeClaude is a client for scripts: it asks the model that it is pointed at, makes the call that this wants, and tells it what
// became of that. With the argument "obeys" it asks the hook of the workspace first, another is what it says itself.
func fakeClaude() {
	call := fakeTurn(nil)
	var write struct {
		Path    string `json:"file_path"`
		Content string `json:"content"`
	}
	must(json.Unmarshal([]byte(call), &write))
	told := os.Args[1]
	if told == "obeys" {
		told = fakeHook(call)
	}
	if told == "written" {
		must(os.WriteFile(write.Path, []byte(write.Content), 0o600))
	}
	fakeTurn(&told)
}

// fakeTurn sends a request, and gives the input of the call that comes back.
func fakeTurn(told *string) (input string) {
	body, err := json.Marshal(map[string]any{"tools": []map[string]string{{"name": "Write"}}, "result": told})
	must(err)
	response, err := http.Post(os.Getenv("ANTHROPIC_BASE_URL")+"/v1/messages", "application/json", bytes.NewReader(body))
	must(err)
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		var event struct {
			Delta struct {
				Input string `json:"partial_json"`
			}
		}
		if data, is := strings.CutPrefix(lines.Text(), "data: "); is {
			must(json.Unmarshal([]byte(data), &event))
			input += event.Delta.Input
		}
	}
	return input
}

// fakeHook asks the hook that the workspace names, and ends the server that it has started.
func fakeHook(input string) (told string) {
	type handler struct {
		Command string
		Args    []string
	}
	var settings struct {
		Hooks map[string][]struct{ Hooks []handler }
	}
	text, err := os.ReadFile(".claude/settings.json")
	must(err)
	must(json.Unmarshal(text, &settings))
	hook := settings.Hooks["PreToolUse"][0].Hooks[0]
	dir, err := os.Getwd()
	must(err)
	cmd := exec.Command(hook.Command, hook.Args...)
	cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"session_id":"6f9619ff-8b86-4d01-b42d-00c04fc964ff","cwd":%q,"hook_event_name":"PreToolUse","tool_name":"Write","tool_use_id":"toolu_1","tool_input":%s}`, dir, input))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	must(err)
	var answer struct {
		Specific struct {
			Reason string `json:"permissionDecisionReason"`
		} `json:"hookSpecificOutput"`
	}
	must(json.Unmarshal(out, &answer))
	marks, err := filepath.Glob(".orchestration/state/servers/*.json")
	must(err)
	for _, mark := range marks {
		var server struct{ PID int }
		if text, err := os.ReadFile(mark); err == nil && json.Unmarshal(text, &server) == nil && server.PID > 1 {
			process, err := os.FindProcess(server.PID)
			must(err)
			_ = process.Signal(os.Interrupt)
		}
	}
	return answer.Specific.Reason
}

func must(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
