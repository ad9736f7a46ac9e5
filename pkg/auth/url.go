package auth

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// maxURL bounds an identifier, in bytes: the issuer's is in every record of its principals.
const maxURL = 200

// CheckURL tells what keeps a text from being the identifier of an issuer or a resource: https, or http on this machine,
// with nothing behind the path.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "" || u.Opaque != "" || !Printable(text):
		return errors.New("must be an address such as https://auth.example.com")
	case len(text) > maxURL:
		return fmt.Errorf("has more than %d characters", maxURL)
	case u.User != nil || strings.ContainsAny(text, `?#@"\`):
		return errors.New(`must have no user, query, fragment, @, " or \`)
	case u.Scheme == "https", u.Scheme == "http" && IsLoopback(u.Hostname()):
		return nil
	}
	return errors.New("must be https, or http on this machine")
}

// IsLoopback reports whether a host is this machine by its name alone.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
