package upstreams_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// Where nothing holds the program, what an argument names is judged all the same, in whatever form it names it.
func TestWaysToASecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "sandbox: off\n"+files+"read\n")
	check.OK(t, os.Symlink(filepath.Join(w.dir, ".env"), filepath.Join(w.dir, "src/link")))
	check.OK(t, os.Symlink(w.dir, filepath.Join(w.home, "outside")))
	c := w.connects()
	env := w.dir + "/.env"
	for _, path := range []string{
		".env", "./.env", "src/../.env", ".env/", env, w.dir + "//.env", w.dir + "/./src/../.env", "src/link", w.dir + "/src/./link", w.home + "/outside/.env", "~/work/.env",
		"/proc/self/root" + env, "file://" + env, "FILE:" + env, "file://localhost" + w.dir + "/%2eenv",
	} {
		for _, tool := range []string{"read_text_file", "read_media_file", "get_file_info"} {
			c.refused("INTENTIGNORE_PATH_BLOCKED", "files_"+tool, args{"path": path})
		}
		c.refused("INTENTIGNORE_PATH_BLOCKED", "files_read_multiple_files", args{"paths": []string{"src/a.txt", path}})
	}
	// What leads elsewhere, or what no two would read in one way, is refused or not there.
	for _, path := range []string{"/proc/self/cwd/.env", "../.ssh/id_rsa", "~/.ssh/id_rsa", "/etc/passwd", ".env\x00", ".env\n", " .env", ".env ", `".env"`, "'.env'", ".e\u200bnv", "\uff0eenv"} {
		answer, whole := c.call("files_read_text_file", args{"path": path})
		check.That(t, answer.Error && !strings.Contains(string(whole), "not-for-you"), "%q: %s", path, whole)
	}
}
