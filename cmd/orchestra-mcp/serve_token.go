package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/privatefile"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

const (
	// tokenFile is in the user's directory: what a client's configuration holds has to be good at the next start too.
	tokenFile = "token"
	// minToken is what auth.token needs too, in characters.
	minToken = 16
)

// bearerToken is what clients have to show, made now if there is none. It is shown, unless the operator chose it.
func (a *app) bearerToken(workspace string, s settings.Settings) (string, error) {
	if s.Auth.Token != "" {
		return s.Auth.Token, nil
	}
	name, err := a.tokenFile(workspace)
	if err == nil {
		err = keepToken(name)
	}
	if err != nil {
		token := rand.Text()
		fmt.Fprintf(a.err, "bearer token: %s\nit is of this start alone, for it cannot be kept (%v); set auth.token in your settings for one that stays\n", token, err)
		return token, nil
	}
	token, err := keptToken(name)
	if err != nil {
		return "", fmt.Errorf("read the bearer token for HTTP: %w", err)
	}
	fmt.Fprintf(a.err, "bearer token: %s\nit is kept in %s; clients send it as the header Authorization: Bearer TOKEN\n", token, name)
	return token, nil
}

// tokenFile is a place out of the reach of agents.
func (a *app) tokenFile(workspace string) (string, error) {
	dir := settings.UserDir(a.environ())
	if dir == "" {
		return "", errors.New("there is no directory for your own settings: HOME and XDG_CONFIG_HOME are not set")
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if outside(root, dir) != nil {
		return "", fmt.Errorf("your configuration directory %s is inside the workspace", dir)
	}
	return filepath.Join(dir, tokenFile), nil
}

func keepToken(name string) error {
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return privatefile.Create(name, rand.Text()+"\n")
}

func keptToken(name string) (string, error) {
	content, err := privatefile.ReadPrivate(name)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(content))
	if len(token) < minToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s holds no token, which has %d characters or more and no space; remove it to have one made", name, minToken)
	}
	return token, nil
}
