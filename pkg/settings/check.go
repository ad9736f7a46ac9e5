package settings

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/pathglob"
	"github.com/intentgov/orchestra-mcp/pkg/auth"
)

// checkOf is what the tag check names, nil for nothing.
func checkOf(name string) func(value any) error {
	check, known := map[string]func(any) error{
		"": nil, "token": validToken, "tokens": validTokens, "identifier": validIdentifier, "listen": validListen, "brain": validBrainFile, "withheld": validWithheld, "commands": validCommandRules,
		"rules": validRules, "checks": validChecks, "hooks": validHooks, "notify": validNotices, "tools": validTools, "endpoint": validEndpoint,
	}[name]
	if !known {
		panic("settings: there is no check " + name)
	}
	return check
}

func validToken(value any) error {
	token := value.(string)
	if token == "" {
		return nil
	}
	if len(token) < 16 {
		return errors.New("has less than 16 characters; leave it empty to have one generated")
	}
	for _, r := range token {
		if r <= ' ' || r > '~' {
			return errors.New("has a character that cannot stand in a header; use letters, digits and punctuation")
		}
	}
	return nil
}

// validTokens names tokens by their names, and shows none.
func validTokens(value any) error {
	var all []auth.Token
	for i, t := range value.([]AuthToken) {
		if err := auth.CheckName(t.Name); err != nil {
			return fmt.Errorf("token %d: %v", i+1, err)
		}
		if err := validToken(t.Token); err != nil || t.Token == "" {
			return fmt.Errorf("the token of %s needs 16 characters or more, letters, digits and punctuation alone", t.Name)
		}
		if t.Role != "" && !slices.Contains(auth.Roles(), auth.Role(t.Role)) {
			return fmt.Errorf("the role of %s must be agent, operator or auditor", t.Name)
		}
		all = append(all, t.Auth())
	}
	_, err := auth.NewTokens(all, nil)
	return err
}

func validIdentifier(value any) error {
	if value.(string) == "" {
		return nil
	}
	return auth.CheckURL(value.(string))
}

func validListen(value any) error {
	_, port, err := net.SplitHostPort(value.(string))
	if err != nil {
		return fmt.Errorf("want ADDRESS:PORT: %v", err)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("%q is not a port", port)
	}
	return nil
}

// validBrainFile keeps record_lesson, which writes without a scope, to a file of notes.
func validBrainFile(value any) error {
	file := value.(string)
	switch {
	case file == "" || path.IsAbs(file) || path.Clean(file) != file || strings.HasPrefix(file, "../") || strings.ContainsAny(file, "\\\x00"):
		return errors.New("want a path relative to the workspace, without . and ..")
	case !strings.EqualFold(path.Ext(file), ".md"):
		return errors.New("want a Markdown file, *.md")
	case strings.EqualFold(strings.Split(file, "/")[0], ".git"):
		return errors.New("must not be below .git")
	}
	return nil
}

// WithholdKinds are what ledger.withhold can name.
func WithholdKinds() []string { return []string{"reads", "decisions", "lessons", "marks"} }

func validWithheld(value any) error {
	for _, kind := range value.([]string) {
		if !slices.Contains(WithholdKinds(), kind) {
			return fmt.Errorf("%.80q cannot be kept back; these can: %s", kind, strings.Join(WithholdKinds(), ", "))
		}
	}
	return nil
}

func validCommandRules(value any) error {
	for _, rule := range value.([]CommandRule) {
		if _, err := rule.Compile(); err != nil {
			return err
		}
	}
	return nil
}

func validRules(value any) error {
	for _, r := range value.([]Rule) {
		if r.Action != Refuse && r.Action != Ask {
			return fmt.Errorf("rule %s: action must be refuse or ask", r.Name)
		}
	}
	return nil
}

func validChecks(value any) error {
	for _, check := range value.([]Check) {
		if check.Paths == "" || check.Command == "" {
			return errors.New("a check needs paths and command")
		}
		if _, err := pathglob.CompileAll(check.Paths); err != nil {
			return fmt.Errorf("the paths of a check are a scope glob: %v", err)
		}
	}
	return nil
}

func validHooks(value any) error {
	for _, hook := range value.([]Hook) {
		switch {
		case hook.Command == "":
			return errors.New("a hook needs a command")
		case hook.Event != EventPre && hook.Event != EventPost:
			return errors.New("the event of a hook must be pre or post")
		case hook.Timeout < 0 || hook.Timeout > 10*time.Minute:
			return errors.New("the timeout of a hook must be between 0s, for the default of 1m, and 10m")
		}
		for _, pattern := range hook.Tools {
			if _, err := regexp.Compile("^(?:" + pattern + ")$"); err != nil && pattern != "*" {
				return fmt.Errorf("the tools of a hook are names or patterns of names: %v", err)
			}
		}
	}
	return nil
}

func validNotices(value any) error {
	for _, n := range value.([]Notice) {
		if err := n.Check(); err != nil {
			return err
		}
	}
	return nil
}

// Check holds a notice to what can be told: one of a command and an address that nobody on the way reads.
func (n Notice) Check() error {
	if (n.Command == "") == (n.URL == "") {
		return errors.New("want one of command and url")
	}
	if n.Command != "" {
		return nil
	}
	return n.URL.check()
}

func validEndpoint(value any) error {
	if u := value.(URL); u != "" {
		return u.check()
	}
	return nil
}

// check holds an address to what nobody on the way reads.
func (u URL) check() error {
	parsed, err := url.Parse(string(u))
	switch {
	case err != nil || parsed.Host == "" || parsed.Opaque != "":
		return errors.New("the url is no address")
	case parsed.Scheme == "https", parsed.Scheme == "http" && auth.IsLoopback(parsed.Hostname()):
		return nil
	}
	return errors.New("the url must be https, or http on this machine")
}
