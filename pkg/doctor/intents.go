package doctor

import (
	"errors"
	"fmt"

	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

func (e *examination) checkIntents() {
	store := intent.Open(e.root).TrustedBy(settings.TrustList{UserDir: e.UserDir}.Of(e.Dir))
	set, err := store.Load()
	_, ignoreErr := store.Ignore()
	switch {
	case errors.Is(err, intent.ErrNotInitialized):
		e.fail("There is no .orchestration/active_intents.yaml, so every change is refused.", "Make a first intent.", e.self("init"))
		err = nil
	case err == nil:
		e.checkSet(set)
	}
	e.untrusted(store)
	e.unreadableIntents(err)
	if ignoreErr != nil && (err == nil || err.Error() != ignoreErr.Error()) {
		e.unreadableIntents(ignoreErr)
	}
}

// untrusted says what the files grant that waits for the operator.
func (e *examination) untrusted(store *intent.Store) {
	for _, w := range store.Weakenings() {
		if w.Trusted {
			continue
		}
		for _, entry := range w.Entries {
			e.warn(fmt.Sprintf("%s:%d: %s has no effect until you trust it.", w.File, entry.Line, entry.Text),
				"Look at it; if it is what you want, let it take effect.", e.self("trust"))
		}
	}
}

func (e *examination) unreadableIntents(err error) {
	var unreadable *intent.UnreadableError
	switch {
	case err == nil:
	case errors.As(err, &unreadable):
		e.fail(fmt.Sprintf("%v; every change is refused until it is mended.", err),
			fmt.Sprintf("Correct %s; `%s` checks both kinds of files.", unreadable.Position(), e.self("intents validate")), "")
	default:
		e.fail(fmt.Sprintf("The intents cannot be read: %v.", err), "Mend what is named there.", "")
	}
}

func (e *examination) checkSet(set *intent.Set) {
	selectable := 0
	for _, i := range set.All() {
		if set.Selectable(i) {
			selectable++
		}
	}
	for _, w := range set.Warnings() {
		e.warn(sentence(w.String()), fmt.Sprintf("Change line %d of %s if that is not meant.", w.Line, w.File), "")
	}
	if selectable == 0 {
		e.warn(fmt.Sprintf("%s, and none can be selected, so agents can change nothing.", number(len(set.All()), "intent", "intents")),
			"Add one, with a name and a scope of your own.", e.self(`intents add --name "Next piece of work" --scope "src/**"`))
		return
	}
	e.ok("%s, %d can be selected", number(len(set.All()), "intent", "intents"), selectable)
}
