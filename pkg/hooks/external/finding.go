package external

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/orchdir"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
)

const (
	findingsDir   = "checks" // below .orchestration/state
	findingSuffix = ".json"
	findingSize   = 16 << 10
	maxFindings   = 1000
)

// Finding is a check whose last run found problems or did not end in time. It stands in .orchestration/state/checks/,
// one JSON file for a check, until a run finds none. Nothing depends on it but what people are shown.
type Finding struct {
	Paths    string    `json:"paths"`
	Command  string    `json:"command"`
	IntentID string    `json:"intent_id"`
	RecordID string    `json:"record_id"` // of the change that it looked at
	ExitCode int       `json:"exit_code"`
	TimedOut bool      `json:"timed_out,omitempty"`
	At       time.Time `json:"at"`
}

// fileName is the same for every run of a check.
func (f Finding) fileName() string {
	sum := sha256.Sum256([]byte(f.Paths + "\x00" + f.Command))
	return hex.EncodeToString(sum[:8]) + findingSuffix
}

// keep writes down how a run ended. Where that fails, a status lacks it and the call goes on.
func (h *checkHook) keep(call *hooks.Call, outcome *hooks.Outcome, exitCode int, timedOut bool) {
	state, err := h.Workspace.State()
	if err != nil {
		return
	}
	defer state.Close()
	found := exitCode != 0 || timedOut
	perm := fs.FileMode(0)
	if found {
		perm = 0o700
	}
	dir, err := durable.OpenOwn(state, findingsDir, perm)
	if err != nil {
		return
	}
	defer dir.Close()
	f := Finding{Paths: h.Paths, Command: h.Command, RecordID: outcome.RecordID, ExitCode: exitCode, TimedOut: timedOut, At: time.Now().UTC()}
	if call.Intent != nil {
		f.IntentID = call.Intent.ID
	}
	_ = dir.Remove(f.fileName())
	if content, err := json.Marshal(f); err == nil && found && len(content) < findingSize {
		_ = dir.WriteFile(f.fileName(), append(content, '\n'), 0o600)
	}
}

// Findings lists the checks that fail, the newest first. One that is being written is left out.
func Findings(root *os.Root) ([]Finding, error) {
	dir, err := orchdir.Open(root, false, "state", findingsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return nil, err
	}
	var found []Finding
	for _, e := range entries[:min(len(entries), maxFindings)] {
		var f Finding
		content, err := durable.ReadRegularIn(dir, e.Name(), findingSize)
		if err == nil && json.Unmarshal(content, &f) == nil && f.fileName() == e.Name() {
			found = append(found, f)
		}
	}
	slices.SortFunc(found, func(a, b Finding) int { return cmp.Or(b.At.Compare(a.At), strings.Compare(a.Command, b.Command)) })
	return found, nil
}
