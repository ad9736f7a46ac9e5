package tools

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/command/staging"
)

// StagedCommand is what a command did on a layer that nobody has taken over yet, as operators see it.
type StagedCommand struct {
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	Expires time.Time `json:"expires_at"`
	Command string    `json:"command"`
	Cwd     string    `json:"cwd"`
	Intent  string    `json:"intent_id"`
	// ExitCode is the command's, RecordID its record, and ArtifactID its output.
	ExitCode   int    `json:"exit_code"`
	RecordID   string `json:"record_id"`
	ArtifactID string `json:"artifact_id"`
	// Files is how many files and links it changed, and Why says why it was not taken over, "" where nobody has tried.
	Files int    `json:"files"`
	Why   string `json:"why"`
}

// StagedChange is one path that such a command changed.
type StagedChange struct {
	Operation string `json:"operation"`
	Path      string `json:"path"`
	From      string `json:"from,omitempty"`
	// Diff is a unified diff, "" for what is no text or too long.
	Diff string `json:"diff,omitempty"`
	// Conflict says what stands against taking it over, "" for nothing.
	Conflict string `json:"conflict,omitempty"`
}

func stagedCommand(k staging.Kept) (c StagedCommand, n stagedNote, err error) {
	if err := json.Unmarshal(k.Note, &n); err != nil {
		return c, n, err
	}
	return StagedCommand{
		ID: k.ID, At: k.At, Expires: k.Expires(), Command: n.Command, Cwd: n.Cwd, Intent: n.Intent, ExitCode: n.ExitCode, RecordID: n.RecordID,
		ArtifactID: n.ArtifactID, Files: n.Files, Why: n.Why,
	}, n, nil
}

// Staged lists what is kept, the oldest first.
func (d *Commands) Staged() ([]StagedCommand, error) {
	all, err := staging.List(d.Workspace)
	if err != nil {
		return nil, err
	}
	kept := []StagedCommand{}
	for _, k := range all {
		if one, _, err := stagedCommand(k); err == nil {
			kept = append(kept, one)
		}
	}
	return kept, nil
}

// ShowStaged is what one of them would change now. Errors: staging.ErrUnknown, staging.ErrHeld.
func (d *Commands) ShowStaged(id string) (c StagedCommand, changes []StagedChange, err error) {
	layers, k, err := staging.Take(d.Workspace, id)
	if err != nil {
		return c, nil, err
	}
	defer func() { err = errors.Join(err, layers.Leave()) }()
	c, n, err := stagedCommand(k)
	if err != nil {
		return c, nil, err
	}
	found, err := d.lookAtLayer(layers.Upper(0), &n)
	if err != nil {
		return c, nil, err
	}
	left := maxStagedDiff
	for _, f := range found.files {
		one := StagedChange{Operation: string(f.op), Path: f.path, From: f.from}
		if diff := d.diffOf(layers.Upper(0), f); len(diff) <= left {
			one.Diff, left = diff, left-len(diff)
		}
		changes = append(changes, one)
	}
	for _, l := range found.links {
		changes = append(changes, StagedChange{Operation: string(l.op()), Path: l.path})
	}
	for _, c := range found.conflicts {
		changes = append(changes, StagedChange{Operation: string(change.Modified), Path: c.path, Conflict: c.why})
	}
	slices.SortFunc(changes, func(a, b StagedChange) int { return strings.Compare(a.Path, b.Path) })
	return c, changes, nil
}

// DiscardStaged throws one of them away. Errors: as ShowStaged.
func (d *Commands) DiscardStaged(id string) error {
	layers, _, err := staging.Take(d.Workspace, id)
	if err != nil {
		return err
	}
	return layers.Close()
}
