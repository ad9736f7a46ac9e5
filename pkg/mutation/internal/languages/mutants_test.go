package languages_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/languages"
)

// mutant is a text in which one thing was changed.
type mutant struct {
	text, what string
	// old and new are the name that was changed and what it became, where the
	// mutation was to a name.
	old, new string
}

// mutator makes a mutant by the token at an index, or "".
type mutator func(random *rand.Rand, text string, tokens []languages.Token, i int) mutant

// mutators are as likely as each other; those for which a token is not made are
// tried at another. More of them are of a kind that leaves a program than of one
// that leaves a syntax error.
var mutators = []mutator{operator, operator, operator, literal, literal, swapName, swapName, swapName, swapName, arguments, arguments, negate, keyword,
	remove, double, neighbours, foreign}

func mutate(random *rand.Rand, text string, tokens []languages.Token) mutant {
	for range 2000 {
		i := random.IntN(len(tokens) - 1)
		if tokens[i].Comment || tokens[i+1].Comment {
			continue
		}
		m := mutators[random.IntN(len(mutators))](random, text, tokens, i)
		if m.text != "" && m.text != text {
			m.what = fmt.Sprintf("%s in line %d", m.what, 1+strings.Count(text[:tokens[i].Start], "\n"))
			return m
		}
	}
	return mutant{}
}

func replace(text string, token languages.Token, with string) mutant {
	old := text[token.Start:token.End]
	m := mutant{text: text[:token.Start] + with + text[token.End:], what: fmt.Sprintf("%q became %q", old, with)}
	if token.Name {
		m.old, m.new = old, with
	}
	return m
}

// families are operators of which one may stand where another does.
var families = [][]string{
	{"+", "-", "*", "/", "%"}, {"==", "!=", "<", ">", "<=", ">="}, {"===", "!=="}, {"&&", "||"}, {"and", "or"}, {"&", "|", "^", "<<", ">>"},
	{"+=", "-=", "*=", "/="}, {"=", "+="}, {"++", "--"}, {"is", "=="}, {"..", "..."}, {"?.", "."}, {"->", "."}, {"::", "."}, {".", "+"},
	{"in", "of"}, {"??", "||"},
}

func operator(random *rand.Rand, text string, tokens []languages.Token, i int) mutant {
	old := text[tokens[i].Start:tokens[i].End]
	for _, family := range families {
		if slices.Contains(family, old) {
			return replace(text, tokens[i], family[random.IntN(len(family))])
		}
	}
	return mutant{}
}

func literal(random *rand.Rand, text string, tokens []languages.Token, i int) mutant {
	old := text[tokens[i].Start:tokens[i].End]
	if n, err := strconv.Atoi(old); err == nil {
		return replace(text, tokens[i], strconv.Itoa(n+1+random.IntN(9)))
	}
	if other, ok := map[string]string{"true": "false", "false": "true", "True": "False", "False": "True", "null": "0", "nil": "0", "None": "0",
		"NULL": "0", "this": "null"}[old]; ok {
		return replace(text, tokens[i], other)
	}
	if kind := tokens[i].Kind; len(old) > 1 && (strings.Contains(kind, "string") || strings.Contains(kind, "char") || strings.Contains(kind, "content")) {
		at := 1 + random.IntN(len(old)-1)
		return replace(text, tokens[i], old[:at]+"x"+old[at:])
	}
	return mutant{}
}

// swapName puts another name of the same function there, or one from the file.
func swapName(random *rand.Rand, text string, tokens []languages.Token, i int) mutant {
	if !tokens[i].Named || tokens[i].Kind != "identifier" && !tokens[i].Name && !strings.Contains(tokens[i].Kind, "identifier") && tokens[i].Kind != "variable_name" {
		return mutant{}
	}
	for range 50 {
		j := i - 60 + random.IntN(120)
		if random.IntN(5) == 0 {
			j = random.IntN(len(tokens))
		}
		if j >= 0 && j < len(tokens) && tokens[j].Kind == tokens[i].Kind {
			return replace(text, tokens[i], text[tokens[j].Start:tokens[j].End])
		}
	}
	return mutant{}
}

func remove(_ *rand.Rand, text string, tokens []languages.Token, i int) mutant {
	return replace(text, tokens[i], "")
}

func double(_ *rand.Rand, text string, tokens []languages.Token, i int) mutant {
	old := text[tokens[i].Start:tokens[i].End]
	return replace(text, tokens[i], old+" "+old)
}

// neighbours change places, as two tokens or around an operator.
func neighbours(random *rand.Rand, text string, tokens []languages.Token, i int) mutant {
	j := i + 1 + random.IntN(2)
	if j >= len(tokens) || tokens[j].Comment {
		return mutant{}
	}
	return swapped(text, tokens[i].Start, tokens[i].End, tokens[j].Start, tokens[j].End)
}

func swapped(text string, start, end, start2, end2 int) mutant {
	a, b := text[start:end], text[start2:end2]
	return mutant{text: text[:start] + b + text[end:start2] + a + text[end2:], what: fmt.Sprintf("swapped %q and %q", a, b)}
}

func negate(_ *rand.Rand, text string, tokens []languages.Token, i int) mutant {
	old := text[tokens[i].Start:tokens[i].End]
	switch {
	case old == "!" || old == "not" || old == "-" || old == "~":
		return replace(text, tokens[i], "")
	case i > 0 && tokens[i].Named && tokens[i].Kind == "identifier":
		if before := text[tokens[i-1].Start:tokens[i-1].End]; before == "(" || before == "=" || before == "return" || before == "if" || before == "," {
			sign := [2]string{"!", "-"}[i%2]
			return mutant{text: text[:tokens[i].Start] + sign + text[tokens[i].Start:], what: fmt.Sprintf("%q got %q before it", old, sign)}
		}
	}
	return mutant{}
}

// arguments change places: what stands between a bracket and two commas.
func arguments(_ *rand.Rand, text string, tokens []languages.Token, i int) mutant {
	if text[tokens[i].Start:tokens[i].End] != "(" {
		return mutant{}
	}
	depth, edges := 0, []int{i}
	for j := i + 1; j < len(tokens) && len(edges) < 3; j++ {
		switch text[tokens[j].Start:tokens[j].End] {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth--; depth < 0 {
				edges = append(edges, j)
			}
		case ",":
			if depth == 0 {
				edges = append(edges, j)
			}
		}
		if depth < 0 {
			break
		}
	}
	if len(edges) < 3 || edges[1] == edges[0]+1 || edges[2] == edges[1]+1 {
		return mutant{}
	}
	return swapped(text, tokens[edges[0]+1].Start, tokens[edges[1]-1].End, tokens[edges[1]+1].Start, tokens[edges[2]-1].End)
}

// keyword puts another word of the grammar there.
func keyword(random *rand.Rand, text string, tokens []languages.Token, i int) mutant {
	word := func(token languages.Token) bool {
		return (!token.Named || token.Kind == "modifier" || strings.Contains(token.Kind, "type")) && strings.ContainsAny(text[token.Start:token.End][:1], "abcdefghijklmnopqrstuvwxyz")
	}
	if !word(tokens[i]) {
		return mutant{}
	}
	for range 50 {
		if j := random.IntN(len(tokens)); word(tokens[j]) {
			return replace(text, tokens[i], text[tokens[j].Start:tokens[j].End])
		}
	}
	return mutant{}
}

// foreign puts any token of the file there.
func foreign(random *rand.Rand, text string, tokens []languages.Token, i int) mutant {
	other := tokens[random.IntN(len(tokens))]
	if other.Comment {
		return mutant{}
	}
	return replace(text, tokens[i], text[other.Start:other.End])
}
