package review

import (
	"fmt"
	"path"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// brainFile is where lessons stand unless the settings name another Markdown file.
const brainFile = home + "/AGENT.md"

// isLesson tells the record of a lesson, which an agent leaves without an intent and outside of any scope.
func isLesson(rec *added) bool {
	_, lesson := rec.Detail["lesson"].(string)
	return lesson && rec.Call == "record_lesson" && (rec.Kind == record.KindLifecycle || rec.Kind == record.KindRecovered)
}

// checkLesson judges what a lesson changed: another file than the usual one is for a reviewer to look at, since agents may
// read it as their instructions, and only a Markdown file can be meant.
func (r *review) checkLesson(rec *added, changed string) {
	switch {
	case changed == brainFile:
	case writable(changed) && path.Ext(changed) == ".md":
		r.gather(rec, changed, "lesson", Finding{
			Check: CheckScope, Severity: Warning, Intent: rec.IntentID, Message: fmt.Sprintf("a lesson was written into %q", changed),
			Advice: "Check that brain.file of the settings names it, and read what was added.",
		})
	default:
		r.checkPath(rec, changed, true, false)
	}
}
