package doctor

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/orchdir"
	"github.com/intentgov/orchestra-mcp/internal/scaffold"
	"github.com/intentgov/orchestra-mcp/internal/shellword"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

func (e *examination) checkWorkspace() string {
	if err := scaffold.CheckPlace(e.Dir, e.Home); err != nil {
		e.warn(fmt.Sprintf("%v.", err), "Use a project's own directory as the workspace.", "")
	}
	info, err := e.root.Lstat(orchdir.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return e.fail(e.Dir+" is not a workspace yet: agents can change nothing in it.", "Set it up.", e.self("init"))
	case err != nil:
		return e.fail(fmt.Sprintf("%s cannot be read: %v.", orchdir.Name, err), "Make it a directory that you can read.", "")
	case !info.IsDir():
		return e.fail(orchdir.Name+" is not a directory of its own, so nothing in it is read.",
			"Move it away, then set the workspace up anew.", moveAway(orchdir.Name)+" && "+e.self("init"))
	}
	e.initialized = true
	before := len(e.report.Findings)
	for _, name := range []string{"state", "cache", "trace", "archive", "seals", "state/inflight", "state/tmp", "state/approvals", "state/sessions"} {
		name = path.Join(orchdir.Name, name)
		e.isDirectory(e.root, name, name)
	}
	const intentMap = orchdir.Name + "/intent_map.md"
	if info, err := e.root.Lstat(intentMap); err == nil && !info.Mode().IsRegular() {
		e.warn(intentMap+" is not a regular file, so it is not kept.", "Move it away.", moveAway(intentMap))
	}
	e.checkSchema(scaffold.SettingsSchema, "settings", settings.Schema)
	e.checkSchema(scaffold.IntentsSchema, "intents", intent.Schema)
	if len(e.report.Findings) == before {
		e.ok("%s", e.Dir)
	}
	return ""
}

// isDirectory finds a link where this program keeps files: it is refused where it is met, with a call that fails. shown is the
// directory's name for people.
func (e *examination) isDirectory(root *os.Root, name, shown string) {
	if info, err := root.Lstat(name); err == nil && !info.IsDir() {
		e.fail(shown+" is not a directory of its own, and nothing is kept behind a link.",
			"Move it away; it is made again when it is needed.", moveAway(shown))
	}
}

func moveAway(name string) string {
	return "mv " + shellword.Show(name) + " " + shellword.Show(name+".moved")
}

// maxSchema bounds a schema that is compared, in bytes.
const maxSchema = 1 << 20

// checkSchema finds a schema for editors that an earlier version wrote: an editor would mark keys that are right.
func (e *examination) checkSchema(file, name string, make func() ([]byte, error)) {
	have, err := durable.ReadRegularIn(e.root, file, maxSchema)
	if err != nil {
		return // none, or not ours
	}
	if want, err := make(); err == nil && !bytes.Equal(bytes.TrimSpace(have), bytes.TrimSpace(want)) {
		e.warn(file+" is not the schema of this version, so editors complete and mark by another one.",
			"Write it anew.", e.self("schema "+name)+" > "+file)
	}
}

func (e *examination) checkSettings() string {
	if e.UserDir == "" {
		e.warn("There is no directory for your own settings, so nothing can be trusted and no key is found.",
			"Set HOME or XDG_CONFIG_HOME to an absolute path.", "")
	}
	loaded, err := settings.Load(settings.LoadOptions{
		WorkspaceRoot: e.root, WorkspaceDir: e.Dir, SystemDir: e.SystemDir, UserDir: e.UserDir, Environ: e.Environ,
	})
	if err != nil {
		return e.brokenSettings(err)
	}
	e.sandbox, e.carried = loaded.Settings.Confinement(e.Ability), loaded.Settings.Ledger.Git
	before := len(e.report.Findings)
	for _, text := range loaded.Warnings {
		remedy, command := "Change the settings accordingly.", ""
		if variable, unknown := strings.CutPrefix(text, "unknown environment variable "); unknown {
			variable, _, _ = strings.Cut(variable, " ")
			remedy, command = "Correct its name, or take it out of the environment of server and client.", "unset "+variable
		}
		e.warn(sentence(text), remedy, command)
	}
	for _, w := range loaded.Withheld {
		if w.NeedsTrust && w.Key == "servers" {
			continue // each is told of by itself
		}
		if w.NeedsTrust {
			e.untrusted(fmt.Sprintf("%s: %s = %s", w.Origin, w.Key, w.Value))
		} else {
			e.warn(fmt.Sprintf("%s: %s = %s has no effect: %s", w.Origin, w.Key, w.Value, sentence(w.Reason)),
				"Take it out, or ask who wrote the stricter setting.", "")
		}
	}
	if len(e.report.Findings) == before {
		trust := ""
		if loaded.WorkspaceHash != "" && loaded.WorkspaceTrusted {
			trust = "; the workspace's file is trusted"
		}
		e.ok("%s from the defaults%s", number(len(loaded.Origins), "setting differs", "settings differ"), trust)
	}
	return ""
}

// untrusted says what waits for the operator.
func (e *examination) untrusted(what string) {
	e.warn(what+" has no effect until you trust it.", "Look at it; if it is what you want, let it take effect.", e.self("trust"))
}

// brokenSettings lists each mistake of the first wrong file.
func (e *examination) brokenSettings(err error) string {
	all, positioned := []error{err}, false
	if joined, several := err.(interface{ Unwrap() []error }); several {
		all = joined.Unwrap()
	}
	for _, each := range all {
		if mistake, is := errors.AsType[*settings.PositionError](each); is {
			positioned = true
			e.fail(fmt.Sprintf("%s: no server starts with it.", strings.TrimSuffix(mistake.Error(), ".")),
				fmt.Sprintf("Correct or delete line %d of %s; docs/settings.md has every key.", mistake.Line, mistake.File), "")
		}
	}
	if !positioned {
		e.fail(fmt.Sprintf("%v: no server starts with it.", err), "Correct what is named there.", "")
	}
	return ""
}

func (e *examination) checkIntents() string {
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
	for _, w := range store.Weakenings() {
		for _, entry := range w.Entries {
			if !w.Trusted {
				e.untrusted(fmt.Sprintf("%s:%d: %s", w.File, entry.Line, entry.Text))
			}
		}
	}
	e.unreadableIntents(err)
	if ignoreErr != nil && (err == nil || err.Error() != ignoreErr.Error()) {
		e.unreadableIntents(ignoreErr)
	}
	return ""
}

func (e *examination) unreadableIntents(err error) {
	unreadable, is := errors.AsType[*intent.UnreadableError](err)
	switch {
	case is:
		e.fail(fmt.Sprintf("%v; every change is refused until it is mended.", err),
			fmt.Sprintf("Correct %s; `%s` checks both kinds of files.", unreadable.Position(), e.self("intents validate")), "")
	case err != nil:
		e.fail(fmt.Sprintf("The intents cannot be read: %v.", err), "Mend what is named there.", "")
	}
}

func (e *examination) checkSet(set *intent.Set) {
	for _, w := range set.Warnings() {
		e.warn(sentence(w.String()), fmt.Sprintf("Change line %d of %s if that is not meant.", w.Line, w.File), "")
	}
	selectable := 0
	for _, i := range set.All() {
		if set.Selectable(i) {
			selectable++
		}
	}
	intents := number(len(set.All()), "intent", "intents")
	if selectable > 0 {
		e.ok("%s, %d can be selected", intents, selectable)
		return
	}
	e.warn(intents+", and none can be selected, so agents can change nothing.",
		"Add one, with a name and a scope of your own.", e.self(`intents add --name "Next piece of work" --scope "src/**"`))
}
