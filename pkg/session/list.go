package session

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"
)

// Listed is a session as somebody sees it who has no handle.
type Listed struct {
	PublicID                           string
	IntentID                           string
	ClientName, ClientVersion, ModelID string
	Server                             string    // Options.Server of the process in which it last selected
	StartedAt, LastUsed                time.Time // LastUsed is at most a minute behind
	Ended                              bool      // its intent is done or blocked
}

// List lists the sessions of a workspace that are on disk, the last used first, without changing anything. A file that
// cannot be read is left out: its session has expired.
func List(workspace *os.Root) ([]Listed, error) {
	d := &disk{workspace: workspace}
	defer d.close()
	dir, err := d.confirmed(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names, err := listNames(dir)
	if err != nil {
		return nil, err
	}
	var found []Listed
	for _, name := range names {
		if _, isSelection := selectionKey(name); !isSelection {
			continue
		}
		sel, info, err := d.readSelection(name)
		if err != nil {
			continue
		}
		found = append(found, Listed{
			PublicID: sel.PublicID.String(), IntentID: sel.IntentID, ClientName: sel.ClientName,
			ClientVersion: sel.ClientVersion, ModelID: sel.ModelID, Server: sel.Server, StartedAt: sel.StartedAt,
			LastUsed: info.ModTime(), Ended: sel.Ended,
		})
	}
	slices.SortFunc(found, func(a, b Listed) int { return b.LastUsed.Compare(a.LastUsed) })
	return found, nil
}
