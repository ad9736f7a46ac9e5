package mapping

import (
	"errors"
	"net/url"
	"path"
	"runtime"
	"strings"
	"unicode"
)

// maxWrapped bounds how often one address stands in another: view-source:view-source:….
const maxWrapped = 8

// readURL reads an address as a browser does (the URL Standard of WHATWG, whose parser forgives much): one of a file gives its
// path, another its text with scheme and host in the form in which rules can compare them.
func readURL(value string) (address, file string, err error) {
	scheme, rest := cutScheme(value)
	for range maxWrapped {
		switch scheme {
		case "file":
			file, err = filePath(rest)
			return "", file, err
		case "view-source", "blob", "filesystem", "feed", "jar":
			if inner, innerRest := cutScheme(rest); inner != "" {
				scheme, rest = inner, innerRest
				continue
			}
		case "":
			if decoded, err := url.PathUnescape(value); err == nil && decoded != value {
				if hidden, hiddenRest := cutScheme(decoded); hidden == "file" { // for who decodes before it looks
					file, err = filePath(hiddenRest)
					return "", file, err
				}
			}
		}
		return plain(value), "", nil
	}
	return "", "", errors.New("has an address in an address in an address")
}

// cutScheme takes the scheme from an address, in lower case, "" if it has none. What a browser passes over is gone from the rest.
func cutScheme(value string) (scheme, rest string) {
	text := passedOver(value)
	scheme, rest, found := strings.Cut(text, ":")
	if !found || scheme == "" || !isLetter(scheme[0]) || strings.ContainsFunc(scheme, func(r rune) bool {
		return !(r < unicode.MaxASCII && (isLetter(byte(r)) || strings.ContainsRune("0123456789+-.", r)))
	}) {
		return "", text
	}
	return strings.ToLower(scheme), rest
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

// passedOver is an address without the blanks and controls around it, and without tabs and line ends, wherever they stand.
func passedOver(value string) string {
	return strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(strings.TrimFunc(value, func(r rune) bool { return r <= ' ' || r == 0xfeff || unicode.IsSpace(r) }))
}

// plain writes what a browser would take for the same scheme and host in one way.
func plain(value string) string {
	scheme, rest := cutScheme(value)
	switch scheme {
	case "http", "https", "ws", "wss", "ftp":
	default:
		return passedOver(value)
	}
	rest = strings.TrimLeft(rest, `/\`)
	host, tail := rest, ""
	if at := strings.IndexAny(rest, `/\?#`); at >= 0 {
		host, tail = rest[:at], rest[at:]
	}
	user := ""
	if at := strings.LastIndex(host, "@"); at >= 0 {
		user, host = host[:at+1], host[at+1:]
	}
	if decoded, err := url.PathUnescape(host); err == nil {
		host = decoded
	}
	before, after := tail, ""
	if at := strings.IndexAny(tail, "?#"); at >= 0 {
		before, after = tail[:at], tail[at:]
	}
	return scheme + "://" + user + strings.ToLower(host) + strings.ReplaceAll(before, `\`, "/") + after
}

// filePath is the path of a file URL, given what stands behind its scheme.
func filePath(rest string) (string, error) {
	if at := strings.IndexAny(rest, "?#"); at >= 0 {
		rest = rest[:at]
	}
	rest = strings.ReplaceAll(rest, `\`, "/")
	if below, is := strings.CutPrefix(rest, "//"); is {
		host, name, _ := strings.Cut(below, "/")
		if decoded, err := url.PathUnescape(host); err != nil || decoded != "" && !strings.EqualFold(decoded, "localhost") {
			return "", errors.New("is the address of a file on another machine")
		}
		rest = name
	}
	name, err := url.PathUnescape(rest)
	switch {
	case err != nil:
		return "", errors.New("is the address of a file that cannot be decoded")
	case strings.ContainsRune(name, 0):
		return "", errors.New("has a zero byte")
	}
	name = strings.ReplaceAll(name, `\`, "/")
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." { // two readers need not go up from the same place
			return "", errors.New("is the address of a file with .. in it; name the file itself")
		}
	}
	name = path.Clean("/" + name)
	if runtime.GOOS == "windows" && len(name) > 2 && name[2] == ':' {
		name = name[1:]
	}
	return name, nil
}
