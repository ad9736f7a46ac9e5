package server_test

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/gitdir"
	"github.com/intentgov/orchestra-mcp/pkg/kept"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// storedFile is one file that is, or becomes, secret: by which rule, what git knows of it, and which part of the server would
// store its content.
type storedFile struct{ match, git, writer string }

// The dimensions of the corpus. A rule makes a path of a file's name.
var (
	secretRules = map[string]struct{ rule, path string }{
		"named":           {"secret:/src/%s.env", "src/%s.env"},
		"a glob":          {"secret:*.key", "src/%s.key"},
		"a glob below":    {"secret:/src/conf/**/*.pem", "src/conf/a/b/%s.pem"},
		"a directory":     {"secret:private/", "src/private/%s"},
		"all but":         {"secret:/src/vault/**\nsecret:!/src/vault/public", "src/vault/%s"},
		"spaces, letters": {`secret:ge\ heim*`, "src/ge heim Ü %s"},
		"no UTF-8":        {"secret:bytes/", "src/bytes/%s\xff"},
	}
	secretGits    = []string{"ignored", "untracked", "tracked"}
	secretWriters = map[string]string{ // what a command does with the file; $f is it, $n a name without a rule
		"look":     ``,
		"modify":   `echo more >> "$f"`,
		"delete":   `rm "$f"`,
		"replace":  `cp "$f" "$f.n" && echo x >> "$f.n" && mv "$f.n" "$f"`,
		"mode":     `chmod 600 "$f"`,
		"rename":   `mv "$f" "src/out/$n"`,
		"rename2":  `mv "$f" "docs/$n"`,
		"copy":     `cp "$f" "src/out/$n"`,
		"copy2":    `cp "$f" "docs/$n"`,
		"link":     `ln "$f" "src/out/$n"`,
		"link2":    `ln "$f" "docs/$n"`,
		"become":   `mv "$f.not" "$f"`,
		"make":     `cat "../made/$n" > "$f"`,
		"closed":   `mkdir -p "docs/d$n" && cp "$f" "docs/d$n/f" && chmod 0 "docs/d$n"`,
		"hardlink": ``, // it has another name from the beginning
		"equal":    ``, // another file has the same content
	}
)

func (k storedFile) name() string {
	return strings.NewReplacer(" ", "").Replace(k.git + "-" + k.writer)
}

func (k storedFile) path() string { return fmt.Sprintf(secretRules[k.match].path, k.name()) }

// plain is a name without a rule for it.
func (k storedFile) plain() string {
	sum := sha256.Sum256([]byte(k.match))
	return k.name() + "-" + hex.EncodeToString(sum[:4])
}

// content is unlike any other.
func (k storedFile) content() string {
	sum := sha256.Sum256(fmt.Append(nil, k))
	return "MARK-" + hex.EncodeToString(sum[:]) + "\n"
}

// secretCorpus is every file of the corpus.
func secretCorpus() (all []storedFile) {
	for match := range secretRules {
		for _, git := range secretGits {
			for writer := range secretWriters {
				all = append(all, storedFile{match, git, writer})
			}
		}
	}
	return all
}

// secretIgnore has the rules of the corpus.
func secretIgnore(all []storedFile) string {
	lines := map[string]bool{}
	for _, k := range all {
		rule := secretRules[k.match].rule
		if strings.Contains(rule, "%s") {
			rule = fmt.Sprintf(rule, k.name())
		}
		lines[rule] = true
	}
	var text strings.Builder
	for line := range lines {
		text.WriteString(line + "\n")
	}
	return text.String()
}

// keepingWorkspace has the files of the corpus, as they are before the command.
func keepingWorkspace(t *testing.T, all []storedFile) string {
	t.Helper()
	dir := newWorkspace(t)
	check.Write(t, dir, ".gitignore", "*ignored-*\n")
	check.Write(t, dir, "src/out/there", "")
	for _, k := range all {
		path := k.path()
		switch k.writer {
		case "become":
			path += ".not"
			check.Write(t, dir, k.path()+".beside", "")
		case "make":
			path = "../made/" + k.plain()
			check.Write(t, dir, k.path()+".beside", "")
		}
		if k.git == "tracked" {
			check.Write(t, dir, path, "another content\n")
		}
	}
	check.Git(t, dir, "add", "-A", ".")
	check.Git(t, dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one")
	for _, k := range all {
		switch path := k.path(); k.writer {
		case "become":
			check.Write(t, dir, path+".not", k.content())
		case "make":
			check.Write(t, dir, "../made/"+k.plain(), k.content())
		default:
			check.Write(t, dir, path, k.content())
			switch k.writer {
			case "hardlink":
				check.OK(t, os.Link(filepath.Join(dir, path), filepath.Join(dir, "src/a-"+k.plain())))
			case "equal":
				check.Write(t, dir, "src/a-"+k.plain(), k.content())
			}
		}
	}
	check.Write(t, dir, "src/public", "nothing secret\n")
	return dir
}

// commandOn is the line that does with each file what its writer says.
func commandOn(t *testing.T, dir string, all []storedFile) string {
	var script strings.Builder
	script.WriteString("echo > ../made/began; read x < ../made/go\n")
	for _, k := range all {
		if line := secretWriters[k.writer]; line != "" {
			fmt.Fprintf(&script, "f='%s'; n='%s'; %s\n", k.path(), k.plain(), line)
		}
	}
	check.Write(t, dir, "../made/script", script.String())
	return "sh ../made/script; echo now public > src/public"
}

// everyByte is what stands below a directory, and what it is unpacked.
func everyByte(t *testing.T, dir string) []byte {
	t.Helper()
	decoder := check.Value(zstd.NewReader(nil))(t)
	defer decoder.Close()
	var all bytes.Buffer
	check.OK(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // a closed directory of the corpus, where this is an ordinary user
		}
		content, err := os.ReadFile(path)
		all.Write(content)
		if unpacked, err := decoder.DecodeAll(content, nil); err == nil {
			all.Write(unpacked)
		}
		return err
	}))
	return all.Bytes()
}

// leaked counts the files of the corpus whose content is below .orchestration, or a hash by which it can be guessed.
func leaked(t *testing.T, dir, when string, all []storedFile, hashes bool, found map[storedFile]bool) {
	t.Helper()
	stored := everyByte(t, filepath.Join(dir, ".orchestration"))
	for _, k := range all {
		content := k.content()
		sum, blob := sha256.Sum256([]byte(content)), sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(content), content))
		switch {
		case k.writer == "become" && (when == "after the first look" || when == "while a command runs"): // it is not yet
			continue
		case bytes.Contains(stored, []byte(content)):
			t.Errorf("%s: the content is stored of %+v", when, k)
		case hashes && k.writer != "become" && (bytes.Contains(stored, sum[:]) || bytes.Contains(stored, blob[:]) ||
			bytes.Contains(stored, []byte(hex.EncodeToString(sum[:]))) || bytes.Contains(stored, []byte(hex.EncodeToString(blob[:])))):
			t.Errorf("%s: a hash is stored of %+v", when, k)
		default:
			continue
		}
		found[k] = true
	}
}

// TestNoSecretIsStored has the rules in either file from the beginning, added between two calls, and added while a command
// runs; and every way in which a content comes to be stored.
func TestNoSecretIsStored(t *testing.T) {
	t.Parallel()
	corpus := secretCorpus()
	for i, file := range []string{".intentignore", ".orchestration/.intentignore"} {
		for j, when := range []string{"from the beginning", "between calls", "during a command"} {
			// A sixth of it each time, so that all of it is tried; under the race detector a quarter of that.
			all := slices.DeleteFunc(slices.Clone(corpus), func(k storedFile) bool {
				n := len(k.match) + slices.Index(secretGits, k.git) + 3*len(k.writer)
				return !check.Long() && n%6 != 3*i+j || check.Short() && n/6%4 != 0
			})
			t.Run(file+" "+when, func(t *testing.T) {
				dir := keepingWorkspace(t, all)
				if when == "from the beginning" {
					check.Write(t, dir, file, secretIgnore(all))
				}
				// What a person writes while a command runs would be taken back as the command's.
				reverts := func(o *server.Options) { o.Settings.Commands.RevertViolations = when != "during a command" }
				b, _ := start(t, dir, withoutSandbox, reverts).under("INT-001")
				first := when == "from the beginning"
				b.OK("execute_command", args{"command": "true"})
				found := map[storedFile]bool{}
				if first {
					leaked(t, dir, "after the first look", all, true, found)
				}
				line := commandOn(t, dir, all)
				began, goes := fifo(t, dir, "began"), fifo(t, dir, "go")
				done := make(chan reply)
				go func() { done <- b.Call("execute_command", args{"command": line}) }()
				check.Value(began.Read(make([]byte, 1)))(t)
				if first {
					leaked(t, dir, "while a command runs", all, true, found)
				}
				if when == "during a command" {
					check.Write(t, dir, file, secretIgnore(all))
				}
				check.Value(goes.Write([]byte("\n")))(t)
				<-done
				if when != "between calls" {
					leaked(t, dir, "after the command", all, first, found)
				} else {
					check.Write(t, dir, file, secretIgnore(all))
				}
				b.OK("list_files", args{"path": "src/out"})
				leaked(t, dir, "after a call", all, first, found)
				b.Call("execute_command", args{"command": "tar -cf src/view.tar .orchestration"})
				view := filepath.Join(dir, "../made/view")
				check.OK(t, os.Mkdir(view, 0o700))
				untar(t, filepath.Join(dir, "src/view.tar"), view)
				leaked(t, view, "in the next command", all, first, found)
				closed, _ := filepath.Glob(filepath.Join(dir, "docs/d*"))
				for _, one := range closed { // so that the directory can be removed
					_ = os.Chmod(one, 0o700)
				}
				b.wantImage("nothing secret\n", true)
				b.wantImage("now public\n", true)
				t.Logf("%d of %d variants", len(found), len(all))
			})
		}
	}
}

func untar(t *testing.T, archive, into string) {
	t.Helper()
	out, err := exec.Command("tar", "-xf", archive, "-C", into).CombinedOutput()
	check.Must(t, err == nil, "%v: %s", err, out)
}

// fifo makes one beside the workspace, which both ends can open at once.
func fifo(t *testing.T, dir, name string) *os.File {
	t.Helper()
	path := filepath.Join(dir, "../made", name)
	check.OK(t, syscall.Mkfifo(path, 0o600))
	f := check.Value(os.OpenFile(path, os.O_RDWR, 0))(t)
	t.Cleanup(func() { f.Close() })
	return f
}

// wantImage holds whether a content is kept.
func (b *bench) wantImage(content string, want bool) {
	b.t.Helper()
	root := check.Value(os.OpenRoot(b.dir))(b.t)
	defer root.Close()
	_, ok := kept.Open(root, kept.Options{}).Get(gitdir.New(b.dir).BlobID([]byte(content)))
	check.That(b.t, ok == want, "%q is kept: %v", content, ok)
}
