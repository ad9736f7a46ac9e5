package packages_test

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
)

// registry is a registry of npm's kind on the loopback address, which knows no other.
func registry(t *testing.T) (url string) {
	t.Helper()
	verdaccio := tool(t, "verdaccio")
	needs(t, "node", "npm")
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yaml")
	check.OK(t, os.WriteFile(config, []byte("storage: "+dir+"/storage\nauth: {htpasswd: {file: "+dir+"/users}}\nuplinks: {}\n"+
		"packages: {'**': {access: $all, publish: $all, unpublish: $all}}\nmax_body_size: 500mb\nweb: {enable: false}\nlog: {type: stdout, format: pretty, level: warn}\n"), 0o600))
	free := check.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	address := free.Addr().String()
	free.Close()
	cmd := home(t, exec.Command("node", verdaccio, "--config", config, "--listen", address))
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	check.OK(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	url = "http://" + address + "/"
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		answer, err := http.Get(url + "-/ping")
		if err == nil {
			answer.Body.Close()
			return url
		}
		check.Must(t, time.Now().Before(deadline), "the registry does not answer: %v", err)
	}
}

// byNPX is what setup writes for npx, without a version.
func byNPX() clientsetup.Launch {
	return clientsetup.Find(clientsetup.Origin{Executable: "/_npx/0/node_modules/@intentgov/orchestra-mcp-linux-x64/bin/orchestra-mcp"})
}

// TestNpx: whoever has Node and a client gets the server by one line in the client's configuration.
func TestNpx(t *testing.T) {
	url := registry(t)
	users := filepath.Join(t.TempDir(), "npmrc")
	check.OK(t, os.WriteFile(users, []byte("registry="+url+"\n"+strings.TrimPrefix(url, "http:")+":_authToken=anybody\n"), 0o600))
	npm := func(args ...string) *exec.Cmd {
		cmd := home(t, exec.Command(args[0], args[1:]...), "npm_config_userconfig="+users)
		cmd.Dir = t.TempDir()
		return cmd
	}
	for _, pattern := range []string{"intentgov-orchestra-mcp-" + runtime.GOOS + "-*.tgz", "intentgov-orchestra-mcp-[0-9]*.tgz"} {
		does(t, npm("npm", "publish", "--tag", "latest", made(t, packed, pattern)))
	}
	dir := workspace(t)
	serve(t, npm("npx", "-y", "@intentgov/orchestra-mcp", "serve", "--workspace", dir)).works(dir)
	t.Run("among planted programs", func(t *testing.T) {
		t.Parallel()
		cmd := npm("/bin/sh", "-c", byNPX().Line()+" version")
		for _, name := range []string{"sh", "node", "env", "readlink", "uname", "chmod", "orchestra-mcp", "orchestra-mcp-linux-x64"} {
			planted := filepath.Join(cmd.Dir, "node_modules", ".bin", name)
			check.OK(t, os.MkdirAll(filepath.Dir(planted), 0o755))
			check.OK(t, os.WriteFile(planted, []byte("#!/bin/sh\necho planted\nexit 0\n"), 0o755))
		}
		out := does(t, cmd)
		check.That(t, strings.HasPrefix(out, "orchestra-mcp ") && !strings.Contains(out, "planted"), "got %s", out)
	})

	t.Run("setup", func(t *testing.T) { trySetup(t, npm) })

	install := npm("npm", "install", "@intentgov/orchestra-mcp")
	does(t, install)
	launcher := filepath.Join(install.Dir, "node_modules", ".bin", "orchestra-mcp")
	t.Run("exit code", func(t *testing.T) {
		t.Parallel()
		out, err := home(t, exec.Command(launcher, "verfy")).CombinedOutput()
		failed, is := errors.AsType[*exec.ExitError](err)
		check.That(t, is && failed.ExitCode() == 2, "got %v", err)
		contains(t, string(out), "did you mean verify?")
	})
	t.Run("signal", func(t *testing.T) {
		t.Parallel()
		s := serve(t, home(t, exec.Command(launcher, "serve", "--workspace", dir)))
		check.OK(t, s.cmd.Process.Signal(syscall.SIGTERM))
		s.ends()
	})
	t.Run("platform package missing", func(t *testing.T) {
		t.Parallel()
		install := npm("npm", "install", "--omit=optional", "@intentgov/orchestra-mcp")
		does(t, install)
		out, err := home(t, exec.Command(filepath.Join(install.Dir, "node_modules", ".bin", "orchestra-mcp"), "version")).CombinedOutput()
		failed, is := errors.AsType[*exec.ExitError](err)
		check.That(t, is && failed.ExitCode() == 3, "got %v", err)
		contains(t, string(out), "is missing", "npm install --include=optional @intentgov/orchestra-mcp")
	})
	t.Run("no program for the machine", func(t *testing.T) {
		t.Parallel()
		needs(t, "setarch")
		out, err := home(t, exec.Command("setarch", "i686", launcher)).CombinedOutput() // which uname believes
		check.That(t, err != nil, "it starts")
		contains(t, string(out), "there is no program for Linux-i686")
	})
}

// TestNpmPackagesNameTheirPlatforms: npm installs the one for the machine, and the MCP registry finds whose package it is.
func TestNpmPackagesNameTheirPlatforms(t *testing.T) {
	needs(t, "tar")
	var main, platform struct {
		Name, Version, McpName string
		OS, CPU                []string
		Scripts                map[string]string
		OptionalDependencies   map[string]string
	}
	for pattern, into := range map[string]any{"intentgov-orchestra-mcp-[0-9]*.tgz": &main, "intentgov-orchestra-mcp-" + runtime.GOOS + "-*.tgz": &platform} {
		check.OK(t, json.Unmarshal([]byte(does(t, exec.Command("tar", "xzOf", made(t, packed, pattern), "package/package.json"))), into))
	}
	check.Equal(t, main.McpName, "io.github.intentgov/orchestra-mcp")
	check.That(t, len(main.Scripts)+len(platform.Scripts) == 0, "something runs at installation")
	check.Equal(t, main.OptionalDependencies[platform.Name], main.Version)
	check.That(t, slices.Equal(main.OS, []string{runtime.GOOS}) && len(main.CPU) == 0, "%s is for %v on %v", main.Name, main.OS, main.CPU)
	check.That(t, len(platform.OS) == 1 && platform.OS[0] == runtime.GOOS && len(platform.CPU) == 1, "%s is for %v on %v", platform.Name, platform.OS, platform.CPU)
}
