package settings

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// form is how values of one type are written: in files, variables and flags, and by this package.
type form struct {
	name   string // in words
	tags   string // of the YAML scalars that it is read from, so that a number is no text, and a text no boolean
	parse  func(text string) (any, error)
	format func(value any) string // as one line of YAML
	schema schema
}

func formed[T any](name, tags string, parse func(string) (T, error), format func(T) string, s schema) form {
	return form{name, tags, func(text string) (any, error) { return parse(text) }, func(value any) string { return format(value.(T)) }, s}
}

// formOf is that of a type that is no list and no object.
func formOf(t reflect.Type) form {
	const whole, real = "a whole number", "a number"
	switch reflect.Zero(t).Interface().(type) {
	case bool:
		return formed("true or false", "!!bool", parseBool, strconv.FormatBool, schema{"type": "boolean"})
	case int:
		return formed(whole, "!!int", func(text string) (int, error) {
			n, err := strconv.Atoi(text)
			return n, notA(whole, text, err)
		}, strconv.Itoa, schema{"type": "integer"})
	case float64:
		return formed(real, "!!float !!int", func(text string) (float64, error) {
			n, err := strconv.ParseFloat(text, 64)
			return n, notA(real, text, err)
		}, func(n float64) string { return strconv.FormatFloat(n, 'g', -1, 64) }, schema{"type": "number"})
	case time.Duration:
		return formed("a duration such as 30s, 5m or 24h", "!!str !!int", parseDuration, formatDuration,
			schema{"type": []string{"string", "integer"}, "examples": []string{"30s", "5m", "24h"}})
	case Size:
		return formed("a size such as 512KiB, 64MiB or 1GiB", "!!str !!int", parseSize, Size.String,
			schema{"type": []string{"string", "integer"}, "examples": []string{"512KiB", "64MiB", "1GiB"}})
	case Choice:
		return formed("text", "!!str", func(text string) (Choice, error) { return Choice(text), nil }, func(c Choice) string { return string(c) }, nil)
	case URL:
		return formed("text", "!!str", func(text string) (URL, error) { return URL(text), nil }, func(u URL) string { return strconv.Quote(u.String()) }, schema{"type": "string"})
	case Expiry:
		return formed("a date such as 2030-01-01, or a time such as 2030-01-01T12:00:00Z", "!!timestamp !!str", parseExpiry,
			func(e Expiry) string { return strconv.Quote(string(e)) }, schema{"type": "string"})
	case string:
		return formed("text", "!!str", func(text string) (string, error) { return text, nil }, strconv.Quote, schema{"type": "string"})
	}
	return form{name: "a list"}
}

func notA(kind, text string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%q is not %s", text, kind)
}

func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "1":
		return true, nil
	case "false", "0":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", text)
}

// parseDuration takes 30s, 5m, 24h and their sums; a bare number is seconds.
func parseDuration(text string) (time.Duration, error) {
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		if seconds < 0 || seconds > math.MaxInt64/int64(time.Second) {
			return 0, fmt.Errorf("%q is out of range", text)
		}
		return time.Duration(seconds) * time.Second, nil
	}
	d, err := time.ParseDuration(strings.ReplaceAll(text, " ", ""))
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a duration; write it as 30s, 5m or 24h", text)
	}
	return d, nil
}

func parseExpiry(text string) (Expiry, error) {
	if _, err := Expiry(text).Time(); err != nil || text == "" {
		return "", errors.New("it expires at no date; write it as 2030-01-01 or 2030-01-01T12:00:00Z")
	}
	return Expiry(text), nil
}

// String is the address without what may be a secret.
func (u URL) String() string {
	parsed, err := url.Parse(string(u))
	if u == "" || err != nil || parsed.Host == "" {
		return ""
	}
	return parsed.Scheme + "://" + parsed.Host + "/…"
}

// units are in the order in which String tries them.
func units() []struct {
	suffix string
	size   Size
} {
	return []struct {
		suffix string
		size   Size
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}
}

func parseSize(text string) (Size, error) {
	digits, factor := strings.TrimSpace(text), Size(1)
	for _, unit := range units() {
		if rest, ok := strings.CutSuffix(digits, unit.suffix); ok {
			digits, factor = strings.TrimSpace(rest), unit.size
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || Size(n) > math.MaxInt64/factor {
		return 0, fmt.Errorf("%q is not a size; write it as a number of bytes or as 512KiB, 64MiB or 1GiB", text)
	}
	return Size(n) * factor, nil
}

// String writes the size as files do.
func (s Size) String() string {
	for _, unit := range units() {
		if s >= unit.size && s%unit.size == 0 {
			return strconv.FormatInt(int64(s/unit.size), 10) + unit.suffix
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

func formatDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = text[:len(text)-2]
	}
	if strings.HasSuffix(text, "h0m") {
		text = text[:len(text)-2]
	}
	return text
}

// encode writes a value as one line of YAML.
func encode(value any) string {
	if format := formOf(reflect.TypeOf(value)).format; format != nil {
		return format(value)
	}
	if rule, is := value.(CommandRule); is && rule.Match == nil && rule.NotMatch == nil {
		return strconv.Quote(rule.Prefix)
	}
	v := reflect.ValueOf(value)
	var parts []string
	if v.Kind() == reflect.Slice {
		for i := range v.Len() {
			parts = append(parts, encode(v.Index(i).Interface()))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	for _, f := range fieldsOf(v.Type()) {
		if field := v.FieldByIndex(f.Index); !field.IsZero() {
			parts = append(parts, keyOf(f.Name)+": "+encode(field.Interface()))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// number is the value of one, to compare it.
func number(value any) float64 {
	switch v := reflect.ValueOf(value); {
	case v.CanInt():
		return float64(v.Int())
	case v.CanFloat():
		return v.Float()
	}
	return 0
}
