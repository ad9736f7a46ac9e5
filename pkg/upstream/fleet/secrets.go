package fleet

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"runtime"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/secretlines"
)

// maxSecrets bounds a file of secrets, in bytes.
const maxSecrets = 64 << 10

// secret is one line of a file of secrets.
type secret struct{ name, value string }

// readSecrets reads a file of secrets for a program, or for an address. One that is not there has none. No error quotes a line.
func readSecrets(name string, http bool) ([]secret, error) {
	text, err := readOwn(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSecrets, err)
	}
	parse, form := secretlines.Variable, "NAME=value"
	if http {
		parse, form = secretlines.Header, "Header-Name: value"
	}
	var all []secret
	for number, line := range strings.Split(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if !secretlines.Says(line) {
			continue
		}
		key, value, ok := parse(line)
		if !ok {
			return nil, fmt.Errorf("%w: line %d of %s is not of the form %s", ErrSecrets, number+1, name, form)
		}
		all = append(all, secret{key, value})
	}
	return all, nil
}

// readOwn reads a file that nobody but its owner, who is us, can read or write.
func readOwn(name string) (string, error) {
	file, info, err := durable.OpenRegular(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		return "", fmt.Errorf("%s has mode %04o: if nobody else has read it, run: chmod 600 '%s'", name, info.Mode().Perm(), name)
	}
	if !ours(info) {
		return "", fmt.Errorf("%s belongs to another user: make one of your own in its place, with mode 0600", name)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxSecrets+1))
	if err == nil && len(text) > maxSecrets {
		err = fmt.Errorf("%s has more than %d bytes", name, maxSecrets)
	}
	return string(text), err
}

// entries are the secrets as variables.
func entries(secrets []secret) []string {
	env := make([]string, len(secrets))
	for i, s := range secrets {
		env[i] = s.name + "=" + s.value
	}
	return env
}

// headers are the secrets of an address.
func headers(secrets []secret) http.Header {
	h := http.Header{}
	for _, s := range secrets {
		h.Add(s.name, s.value)
	}
	return h
}

// shortestHidden is how many bytes a secret must have to be looked for in texts: a shorter one would be found in every word.
const shortestHidden = 4

// hider takes secrets out of texts.
func hider(secrets []secret) *strings.Replacer {
	var pairs []string
	for _, s := range secrets {
		for _, value := range []string{s.value, strings.TrimSpace(s.value)} {
			if len(value) >= shortestHidden {
				pairs = append(pairs, value, "[secret]")
			}
		}
		if _, token, ok := strings.Cut(s.value, " "); ok && len(token) >= shortestHidden { // Authorization: Bearer …
			pairs = append(pairs, token, "[secret]")
		}
	}
	return strings.NewReplacer(pairs...)
}
