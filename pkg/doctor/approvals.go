package doctor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/approval"
)

// checkApprovals counts the requests that wait. The store's own list would take away what has expired, and make a key.
func (e *examination) checkApprovals() {
	names := listed(e.root, stateDir+"/approvals")
	if len(names) == 0 {
		e.ok("nobody waits for an answer of yours")
		return
	}
	if e.UserDir == "" {
		return // said with the settings
	}
	if _, err := os.Lstat(filepath.Join(e.UserDir, "approval.key")); err != nil {
		e.warn(fmt.Sprintf("There are requests for approval, and the key that shows them to be genuine is not in %s: %v.", e.UserDir, err),
			"Requests and answers without it count for nothing; agents ask again.", "rm -rf "+stateDir+"/approvals")
		return
	}
	store := approval.Open(e.root, approval.Options{UserDir: e.UserDir, Clock: e.Now})
	waiting := 0
	for _, name := range names {
		id, ok := strings.CutSuffix(name, ".json")
		if !ok || slices.Contains(names, id+".answer.json") {
			continue
		}
		switch _, err := store.Get(id); {
		case err == nil:
			waiting++
		case !errors.Is(err, approval.ErrUnknown):
			e.fail(fmt.Sprintf("Nobody can be asked or answered: %v.", err), "Mend what is named there; agents ask again.", "")
			return
		}
	}
	if waiting == 0 {
		e.ok("nobody waits for an answer of yours")
		return
	}
	e.warn(number(waiting, "request waits", "requests wait")+" for your answer.", "See them, and answer with approve or deny.", e.self("approvals list"))
}
