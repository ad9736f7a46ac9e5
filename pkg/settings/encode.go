package settings

import (
	"strconv"
	"strings"
	"time"
)

// encode writes a value as one line of YAML.
func encode(value any) string {
	switch v := value.(type) {
	case Choice:
		return string(v)
	case string:
		return strconv.Quote(v)
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case time.Duration:
		return formatDuration(v)
	case Size:
		return v.String()
	}
	return encodeList(value)
}

func encodeList(value any) string {
	switch v := value.(type) {
	case []string:
		return listOf(v, strconv.Quote)
	case []CommandRule:
		return listOf(v, encodeCommandRule)
	case []Rule:
		return listOf(v, func(r Rule) string {
			return mapping("name", strconv.Quote(r.Name), "when", strconv.Quote(r.When), "action", string(r.Action), "message", strconv.Quote(r.Message))
		})
	case []Check:
		return listOf(v, func(c Check) string {
			return mapping("paths", strconv.Quote(c.Paths), "command", strconv.Quote(c.Command))
		})
	case []Hook:
		return listOf(v, func(h Hook) string {
			return mapping("event", string(h.Event), "command", strconv.Quote(h.Command), "tools", encodeList(h.Tools), "timeout", formatDuration(h.Timeout))
		})
	}
	return ""
}

func encodeCommandRule(r CommandRule) string {
	if r.Match == nil && r.NotMatch == nil {
		return strconv.Quote(r.Prefix)
	}
	return mapping("prefix", strconv.Quote(r.Prefix), "match", encodeList(r.Match), "not_match", encodeList(r.NotMatch))
}

func listOf[T any](values []T, one func(T) string) string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = one(value)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// mapping takes names and values in turn.
func mapping(pairs ...string) string {
	var entries []string
	for i := 0; i < len(pairs); i += 2 {
		entries = append(entries, pairs[i]+": "+pairs[i+1])
	}
	return "{" + strings.Join(entries, ", ") + "}"
}
