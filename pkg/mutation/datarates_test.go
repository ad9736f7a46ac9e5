package mutation_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"
)

// format is a data format with what reads it as programs do: the oracle.
type format struct {
	name, extension string
	write           func(*rand.Rand, map[string]any) []byte // in a layout of its own each time
	read            func([]byte) (any, error)
}

func formats() []format {
	return []format{
		{"json", ".json", writeJSON, func(b []byte) (v any, err error) {
			d := json.NewDecoder(bytes.NewReader(b))
			d.UseNumber()
			return v, decodeAll(d.Decode, &v)
		}},
		{"yaml", ".yaml", writeYAML, func(b []byte) (v any, err error) { return v, yaml.Unmarshal(b, &v) }},
		{"toml", ".toml", writeTOML, func(b []byte) (v any, err error) {
			var m map[string]any
			err = toml.Unmarshal(b, &m)
			return m, err
		}},
	}
}

func decodeAll(decode func(any) error, v *any) error {
	if err := decode(v); err != nil {
		return err
	}
	var more any
	if decode(&more) == nil {
		return fmt.Errorf("there is more than one value")
	}
	return nil
}

// TestRatesData mutates documents by one token, and writes them anew in another layout.
func TestRatesData(t *testing.T) {
	documents, mutants := 40, 25
	if long() {
		documents, mutants = 400, 50
	}
	for _, f := range formats() {
		t.Run(f.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 4))
			layouts, count, same, falsely := rate{}, 0, 0, 0
			for range documents {
				doc := randomObject(r, 3)
				before, after := f.write(r, doc), f.write(r, doc)
				if !bytes.Equal(before, after) {
					v := judgeOne(t, "a"+f.extension, before, after)
					layouts.add(isRefactor(v))
					if !isRefactor(v) {
						t.Logf("not recognised: %s\n%s\n%s", v.Reason, before, after)
					}
				}
				for range mutants {
					mutant := mutateText(r, before)
					if bytes.Equal(mutant, before) {
						continue
					}
					count++
					if v := judgeOne(t, "a"+f.extension, before, mutant); isRefactor(v) {
						same++
						if why := differs(f, before, mutant); why != "" {
							falsely++
							t.Errorf("falsely %s: %s\n%s\n%s", v.Evidence, why, before, mutant)
						}
					}
				}
			}
			t.Logf("%s: %d mutations, %d falsely proven, %d changed only the layout", f.name, count, falsely, same-falsely)
			t.Logf("%s: reformat and reorder: %s", f.name, layouts)
			if !layouts.atLeast(95) {
				t.Error("the bar is 95 %")
			}
		})
	}
}

func differs(f format, before, after []byte) string {
	b, err := f.read(before)
	if err != nil {
		return err.Error()
	}
	a, err := f.read(after)
	if err != nil {
		return err.Error()
	}
	if !reflect.DeepEqual(b, a) {
		return fmt.Sprintf("%v became %v", b, a)
	}
	return ""
}

var piece = regexp.MustCompile(`[A-Za-z_]+|[0-9]+|\s+|.`)

// mutateText changes one word, number or mark of a text.
func mutateText(r *rand.Rand, text []byte) []byte {
	pieces := piece.FindAllIndex(text, -1)
	at := pieces[r.IntN(len(pieces))]
	other := pieces[r.IntN(len(pieces))]
	old := text[at[0]:at[1]]
	var put []byte
	switch r.IntN(5) {
	case 0: // deleted
	case 1:
		put = slices.Concat(old, old)
	case 2:
		put = text[other[0]:other[1]]
	case 3:
		put = []byte([]string{"yes", "no", "on", "off", "true", "null", "~", "1", "0x1", "1.0", "1:2", "\"", "'", "#", ":", ",", "- ", " ", "\n", "&a ", "*a", "!x ", "|", ">"}[r.IntN(24)])
	default:
		put = slices.Clone(old)
		put[r.IntN(len(put))] ^= byte(1 << r.IntN(5))
	}
	return slices.Concat(text[:at[0]], put, text[at[1]:])
}

func randomObject(r *rand.Rand, depth int) map[string]any {
	doc := map[string]any{}
	for range 1 + r.IntN(5) {
		doc[randomWord(r)] = randomValue(r, depth-1)
	}
	return doc
}

func randomWord(r *rand.Rand) string {
	words := []string{"name", "version", "on", "yes", "steps", "run", "uses", "path", "1", "a b", "x-y", "enabled", "null", "deps", "é", "build_tags"}
	return words[r.IntN(len(words))]
}

func randomValue(r *rand.Rand, depth int) any {
	switch n := r.IntN(9); {
	case n < 2 && depth > 0:
		return randomObject(r, depth)
	case n < 4 && depth > 0:
		var list []any
		for range 1 + r.IntN(4) {
			list = append(list, randomValue(r, depth-1))
		}
		return list
	case n < 5:
		return int64(r.IntN(2000) - 1000)
	case n < 6:
		return r.IntN(2) == 0
	case n < 7:
		return float64(r.IntN(1000)) / 8
	}
	texts := []string{"", "make test", "yes", "0644", "2026-01-01", "1.10", "a: b", "#x", "line one\nline two\n", "it's", "\"q\"", "src/main.go", "é", "~", "- x", "12:30"}
	return texts[r.IntN(len(texts))]
}

// shuffled gives the keys of an object in any order.
func shuffled(r *rand.Rand, doc map[string]any) []string {
	keys := slices.Sorted(maps.Keys(doc))
	r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys
}

func gap(r *rand.Rand) string { return []string{"", " ", "\n", "\t  "}[r.IntN(4)] }

func writeJSON(r *rand.Rand, doc map[string]any) []byte { return []byte(jsonOf(r, doc) + gap(r)) }

func jsonOf(r *rand.Rand, v any) string {
	var parts []string
	switch v := v.(type) {
	case map[string]any:
		for _, key := range shuffled(r, v) {
			parts = append(parts, gap(r)+jsonText(r, key)+gap(r)+":"+gap(r)+jsonOf(r, v[key])+gap(r))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		for _, item := range v {
			parts = append(parts, gap(r)+jsonOf(r, item)+gap(r))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case string:
		return jsonText(r, v)
	}
	text, _ := json.Marshal(v)
	return string(text)
}

// jsonText spells a string with escapes, now and then.
func jsonText(r *rand.Rand, s string) string {
	if r.IntN(2) == 0 {
		text, _ := json.Marshal(s)
		return string(text)
	}
	var b strings.Builder
	for _, c := range s {
		fmt.Fprintf(&b, `\u%04x`, c)
	}
	return `"` + b.String() + `"`
}

func writeYAML(r *rand.Rand, doc map[string]any) []byte {
	if r.IntN(3) == 0 {
		return []byte(jsonFlow(r, doc) + " # flow\n")
	}
	return []byte("# A document.\n" + yamlBlock(r, doc, ""))
}

// jsonFlow is YAML's flow style, one space behind each colon.
func jsonFlow(r *rand.Rand, v any) string {
	var parts []string
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, yamlText(r, key)+": "+jsonFlow(r, v[key]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		for _, item := range v {
			parts = append(parts, jsonFlow(r, item))
		}
		return "[" + strings.Join(parts, ",  ") + "]"
	case string:
		return yamlText(r, v)
	}
	text, _ := json.Marshal(v)
	return string(text)
}

func yamlText(r *rand.Rand, s string) string {
	if r.IntN(2) == 0 && !strings.Contains(s, "\n") {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return strconv.Quote(s)
}

func yamlBlock(r *rand.Rand, doc map[string]any, indent string) string {
	var b strings.Builder
	for _, key := range shuffled(r, doc) {
		b.WriteString(indent + yamlText(r, key) + ":")
		switch v := doc[key].(type) {
		case map[string]any:
			b.WriteString(" # nested\n" + yamlBlock(r, v, indent+strings.Repeat(" ", 1+r.IntN(4))))
		case []any:
			b.WriteString("\n")
			for _, item := range v {
				b.WriteString(indent + "- " + jsonFlow(r, item) + "\n")
			}
		default:
			b.WriteString(" " + jsonFlow(r, v) + "\n")
		}
		if r.IntN(3) == 0 {
			b.WriteString("\n")
		}
	}
	return b.String()
}

func writeTOML(r *rand.Rand, doc map[string]any) []byte {
	var b, tables strings.Builder
	for _, key := range shuffled(r, doc) {
		if table, ok := doc[key].(map[string]any); ok && r.IntN(2) == 0 {
			fmt.Fprintf(&tables, "\n[%s] # a table\n", strconv.Quote(key))
			for _, inner := range shuffled(r, table) {
				fmt.Fprintf(&tables, "%s = %s\n", strconv.Quote(inner), tomlOf(r, table[inner]))
			}
			continue
		}
		fmt.Fprintf(&b, "%s%s = %s\n", gap(r), strconv.Quote(key), tomlOf(r, doc[key]))
	}
	return []byte(b.String() + tables.String())
}

func tomlOf(r *rand.Rand, v any) string {
	var parts []string
	switch v := v.(type) {
	case map[string]any:
		for _, key := range shuffled(r, v) {
			parts = append(parts, strconv.Quote(key)+" = "+tomlOf(r, v[key]))
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	case []any:
		for _, item := range v {
			parts = append(parts, gap(r)+tomlOf(r, item)+gap(r))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case string:
		if r.IntN(2) == 0 && !strings.ContainsAny(v, "'\n") {
			return "'" + v + "'"
		}
		return strconv.Quote(v)
	case float64:
		return strconv.FormatFloat(v, 'f', 3+r.IntN(3), 64)
	case int64:
		if v >= 0 && r.IntN(2) == 0 {
			return fmt.Sprintf("0x%x", v)
		}
	}
	return fmt.Sprint(v)
}

// rate counts what was recognised.
type rate struct{ recognised, all int }

func (r *rate) add(recognised bool) {
	r.all++
	if recognised {
		r.recognised++
	}
}

func (r rate) String() string { return fmt.Sprintf("%d of %d", r.recognised, r.all) }

func (r rate) atLeast(percent float64) bool {
	return r.all > 0 && 100*float64(r.recognised) >= percent*float64(r.all)
}
