package settings_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

var update = flag.Bool("update", false, "write docs/settings.md")

func TestEveryKeyIsDescribed(t *testing.T) {
	variables := map[string]bool{}
	for _, info := range settings.Keys() {
		if len(info.Doc) < 20 || !strings.HasSuffix(info.Doc, ".") || info.Values == "" || info.Default == "" && info.Values == "text" || info.Workspace == "" {
			t.Errorf("%+v", info)
		}
		check.That(t, !variables[info.Variable], "%s stands for two keys", info.Variable)
		variables[info.Variable] = true
	}
	check.That(t, !variables[command.MarkerVariable], "%s is a setting and the marker of commands", command.MarkerVariable)
}

// uncommented takes the # away from every setting.
func uncommented(example []byte) string {
	return regexp.MustCompile(`(?m)^#([a-z_.]+: )`).ReplaceAllString(string(example), "$1")
}

func TestExampleIsTheDefaults(t *testing.T) {
	example := settings.Example()
	for line := range bytes.Lines(example) {
		check.That(t, len(line) <= 130, "%d characters: %s", len(line), line)
	}
	for name, content := range map[string]string{"as it is": string(example), "uncommented": uncommented(example)} {
		m := newMachine(t)
		m.setWorkspace(content)
		loaded := m.load()
		got, want := loaded.Settings, settings.Defaults()
		emptyToNil(reflect.ValueOf(&got).Elem())
		check.That(t, reflect.DeepEqual(got, want) && len(loaded.Withheld) == 0,
			"%s:\n got %+v\nwant %+v\nwithheld %v", name, got, want, loaded.Withheld)
		set := len(loaded.Origins)
		check.That(t, (name == "uncommented") == (set == len(settings.Keys())), "%s: %d keys are set", name, set)
	}
}

func emptyToNil(value reflect.Value) {
	for i := range value.NumField() {
		switch field := value.Field(i); field.Kind() {
		case reflect.Struct:
			emptyToNil(field)
		case reflect.Slice:
			if field.Len() == 0 {
				field.SetZero()
			}
		}
	}
}

func TestExamplesOfListsAreValid(t *testing.T) {
	m := newMachine(t)
	var content strings.Builder
	for _, info := range settings.Keys() {
		if info.Example != "" {
			fmt.Fprintf(&content, "%s: [%s]\n", info.Name, info.Example)
		}
	}
	m.setUser(content.String())
	loaded := m.load()
	check.That(t, len(loaded.Origins) >= 10, "%d examples", len(loaded.Origins))
}

// TestLimitsAreDocumented takes a very small and a very large value for each number, size and duration: it is taken, or the
// key says from where to where; and the limits that it says are taken.
func TestLimitsAreDocumented(t *testing.T) {
	fromTo := regexp.MustCompile(`, from (\S+) to (\S+)$`)
	m := newMachine(t)
	takes := func(variable, value string) bool {
		m.environ = []string{variable + "=" + value}
		_, err := m.tryLoad()
		return err == nil
	}
	for _, info := range settings.Keys() {
		if !regexp.MustCompile(`^a (number|whole number|size|duration)`).MatchString(info.Values) {
			continue
		}
		limits := fromTo.FindStringSubmatch(info.Values)
		switch {
		case limits != nil && (!takes(info.Variable, limits[1]) || !takes(info.Variable, limits[2])):
			t.Errorf("%s does not take its limits: %s", info.Name, info.Values)
		case limits != nil:
		case !takes(info.Variable, "0") && !strings.HasSuffix(info.Values, ", at least 1"), !takes(info.Variable, "1000000"):
			t.Errorf("%s has limits that it does not say: %s", info.Name, info.Values)
		}
	}
}

func document() []byte {
	var out bytes.Buffer
	out.WriteString(documentHeader)
	short := strings.NewReplacer("a duration such as 30s, 5m or 24h, ", "", "a size such as 512KiB, 64MiB or 1GiB, ", "", "a whole number, ", "", "a number, ", "")
	for _, info := range settings.Keys() {
		fmt.Fprintf(&out, "\n### `%s`\n\n%s\n\n`%s`; %s; %s\n", info.Name, info.Doc, info.Default, short.Replace(info.Values), info.Workspace)
		if info.Example != "" {
			fmt.Fprintf(&out, "Example: `[%s]`\n", info.Example)
		}
	}
	return out.Bytes()
}

const documentHeader = `# Settings

<!-- Generated from pkg/settings by: go test ./pkg/settings -run TestDocument -update -->

` + "```yaml" + `
# ~/.config/orchestra-mcp/config.yaml
sandbox: require
commands: {deny: [git push], ask: [npm install]}
approvals.wait: 2m
` + "```" + `

Settings come from these places, each over the one before:

1. ` + "`/etc/orchestra-mcp/config.yaml`" + `, the system's
2. ` + "`$XDG_CONFIG_HOME/orchestra-mcp/config.yaml`" + ` or ` + "`~/.config/orchestra-mcp/config.yaml`" + `, yours
3. ` + "`.orchestration/config.yaml`" + `, the workspace's
4. environment variables: ` + "`approvals.wait`" + ` is ` + "`ORCHESTRA_APPROVALS_WAIT`" + `
5. flags of the command line

Keys can be written with dots or nested. Lists of several places add up; in a variable they are split at commas, or are
YAML if they begin with ` + "`[`" + `. Durations are ` + "`30s`, `5m`, `24h`" + ` or seconds, sizes ` + "`512KiB`, `64MiB`, `1GiB`" + ` or bytes. An unknown key
or a wrong type stops the server and says where.

**Locks.** The first two files can have ` + "`lock:`" + ` with a list of keys or groups. What comes after can then only tighten them.

**Trust.** A cloned repository is not the operator. Its file may set what is free, tighten, and add to lists that restrict; the rest is withheld
and reported until you run ` + "`orchestra-mcp trust`" + ` on that very content. The ` + "`verify`" + ` commands of intents need no trust: they run
under the same rules as the agent's commands.

## Keys

The line below each key has its default, what it can be, and what a workspace that is not trusted may do.
`

func TestDocument(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "settings.md")
	if *update {
		check.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check.OK(t, os.WriteFile(path, document(), 0o644))
	}
	written := check.Value(os.ReadFile(path))(t)
	check.That(t, bytes.Equal(written, document()),
		"docs/settings.md is out of step; run: go test ./pkg/settings -run TestDocument -update")
}

func FuzzFile(f *testing.F) {
	f.Add([]byte("sandbox: off\napprovals: {wait: 3s}\n"))
	f.Add(settings.Example())
	f.Add([]byte(uncommented(settings.Example())))
	f.Add([]byte("a: &a [*a]\nlock: {}\n? [x]\n: y\n<<: *a"))
	f.Add([]byte("? {a: b}\n: c\nhooks: [[]]\nrules: [{when: !!binary x}]"))
	f.Add([]byte(hostile))
	f.Add([]byte("servers: [{name: a, command: x, effects: [{tool: x, reads: [\"a[]\"]}], safe: [\"!x\"]}, {name: b, url: \"https://h/\", prefix: ''}]"))
	f.Fuzz(func(t *testing.T, content []byte) {
		m := newMachine(t)
		m.setWorkspace(string(content))
		loaded, err := m.tryLoad()
		check.That(t, err != nil || loaded.Settings.Sandbox != settings.Off, "an untrusted file turned off the sandbox")
	})
}
