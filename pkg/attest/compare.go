package attest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

const maxDifferences = 10

// measured are the parts of a predicate that depend on the program's version and on what the records say; the others follow
// from commits and from the identities of lines.
func (p *Predicate) measured() map[string]any {
	return map[string]any{"ledger.records": p.Ledger.Records, "decisions": p.Decisions, "intents": p.Intents, "coverage": p.Coverage}
}

// fixed are the other parts, but for the tool's own name and the sentences for people.
func (st *Statement) fixed() map[string]any {
	p := st.Predicate
	p.Ledger.Records = 0
	return map[string]any{"subject": st.Subject, "range": p.Range, "ledger": p.Ledger, "seals": p.Seals, "policy": p.Policy}
}

// differences says where two values differ, as JSON has them.
func differences(said, found map[string]any) (all []string) {
	compare("", plain(said), plain(found), &all)
	if len(all) > maxDifferences {
		all = append(all[:maxDifferences], fmt.Sprintf("and %d more", len(all)-maxDifferences))
	}
	return all
}

func plain(value any) (result any) {
	if err := json.Unmarshal([]byte(asJSON(value)), &result); err != nil {
		return err.Error()
	}
	return result
}

func compare(path string, said, found any, all *[]string) {
	if reflect.DeepEqual(said, found) {
		return
	}
	one, isMap := said.(map[string]any)
	other, both := found.(map[string]any)
	if isMap && both {
		keys := slices.Sorted(maps.Keys(one))
		for key := range other {
			if _, known := one[key]; !known {
				keys = append(keys, key)
			}
		}
		for _, key := range keys {
			compare(path+"."+key, one[key], other[key], all)
		}
		return
	}
	*all = append(*all, fmt.Sprintf("%s is %.200s in the statement, and %.200s in the repository", path[min(1, len(path)):], asJSON(said), asJSON(found)))
}

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
