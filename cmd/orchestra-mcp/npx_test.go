package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
)

// packed is the package as a registry has it, with this program behind its launcher.
func packed(t *testing.T, version string) (manifest map[string]any, tarball []byte) {
	t.Helper()
	program := check.Value(exec.LookPath("orchestra-mcp"))(t)
	manifest = map[string]any{"name": clientsetup.NPMPackage, "version": version, "bin": map[string]string{"orchestra-mcp": "bin/orchestra-mcp"}}
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	files := tar.NewWriter(zipped)
	for name, text := range map[string]string{
		"package/package.json": string(check.Value(json.Marshal(manifest))(t)), "package/bin/orchestra-mcp": "#!/bin/sh\nexec '" + program + "' \"$@\"\n",
	} {
		check.OK(t, files.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}))
		check.Value(files.Write([]byte(text)))(t)
	}
	check.OK(t, files.Close())
	check.OK(t, zipped.Close())
	return manifest, out.Bytes()
}

// TestNPX runs, with the real npx, what setup writes: nothing that lies in the workspace takes the program's place, is asked
// for it or is run by it, and it starts while the registry does not answer, without a second attempt.
func TestNPX(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no package is for Windows")
	}
	check.Needs(t, "npx")
	const version = "1.2.3"
	manifest, tarball := packed(t, version)
	var down atomic.Bool
	var asked atomic.Int32
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch {
		case down.Load():
			panic(http.ErrAbortHandler)
		case r.URL.Path == "/t":
			_, _ = w.Write(tarball)
		case strings.HasSuffix(r.URL.Path, "/orchestra-mcp"):
			sum := sha512.Sum512(tarball)
			manifest["dist"] = map[string]string{"tarball": "http://" + r.Host + "/t", "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
			check.OK(t, json.NewEncoder(w).Encode(map[string]any{"name": clientsetup.NPMPackage, "dist-tags": map[string]string{"latest": version}, "versions": map[string]any{version: manifest}}))
		default:
			http.NotFound(w, r)
		}
	}))
	defer registry.Close()

	p := barePatient(t)
	p.env = append(p.env, "npm_config_registry="+registry.URL, "npm_config_update_notifier=false", "npm_config_audit=false")
	cache := filepath.Join(t.TempDir(), "_npx/0a/node_modules", npmPlatform())
	for name, text := range map[string]string{"bin/orchestra-mcp": "x", "package.json": `{"version": "` + version + `"}`} {
		check.OK(t, os.MkdirAll(filepath.Dir(filepath.Join(cache, name)), 0o755))
		check.OK(t, os.WriteFile(filepath.Join(cache, name), []byte(text), 0o755))
	}
	launch := clientsetup.Find(clientsetup.Origin{Executable: filepath.Join(cache, "bin/orchestra-mcp")})
	run := func(args string) string { t.Helper(); return p.sh(launch.Line() + " " + args) }

	check.That(t, strings.Contains(run("version"), "orchestra-mcp devel"), "npx does not start the program")
	mark := filepath.Join(p.base, "mark")
	evil := "#!/bin/sh\necho \"$0 $*\" >>'" + mark + "'\nexit 1\n"
	p.sh("git init -q && orchestra-mcp init --yes")
	for _, name := range []string{"sh", "git", "node", "env", "orchestra-mcp", "npx"} {
		p.write("node_modules/.bin/"+name, evil)
	}
	p.write("node_modules/"+clientsetup.NPMPackage+"/package.json", fmt.Sprintf(`{"name": %q, "version": %q, "bin": {"orchestra-mcp": "x"}}`, clientsetup.NPMPackage, version))
	p.write("node_modules/"+clientsetup.NPMPackage+"/x", evil)
	p.write("evil.js", "require('fs').appendFileSync("+fmt.Sprintf("%q", mark)+", 'node options')")
	p.write(".npmrc", "@intentgov:registry=http://127.0.0.1:1/\nscript-shell="+p.path("node_modules/.bin/sh")+"\nnode-options=--require="+p.path("evil.js")+"\n")
	p.sh("chmod -R +x node_modules")
	out := p.sh(launch.Line() + " doctor || :")
	check.That(t, strings.Contains(out, "git "), "doctor did not ask git: %s", out)
	ran, err := os.ReadFile(mark)
	check.That(t, err != nil, "what lies in the workspace was run: %s", ran)

	down.Store(true)
	asked.Store(0)
	out = run("version")
	check.That(t, strings.Contains(out, "orchestra-mcp devel") && asked.Load() <= 1, "without a registry, asked %d times: %s", asked.Load(), out)
}
