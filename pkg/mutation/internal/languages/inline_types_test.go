package languages_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mixture is a language in which expressions of types that do not fit are made,
// to find one that is proven and is another program for a compiler.
type mixture struct {
	language, file          string
	variables, results      []string
	numbers, around         []string
	cast, head, main, print string
	function, helper        string
	build                   []string
}

var clangNumbers = strings.Fields("1 2 7 0 255 3u 5L 2UL 9ll 1ull 'x' 0xff 32767 40000 65536 2147483647 4294967295 100000u")

var clangTypes = strings.Split("int,int,long,long,unsigned,unsigned long,long long,unsigned long long,size_t,bool,bool,char,short,unsigned char,unsigned short,signed char,int64_t,uint64_t,uint32_t,long int", ",")

var mixtures = []mixture{
	{"c", "a.c", clangTypes, clangTypes, clangNumbers, []string{"unsigned long long r = %s; return r;", "if (%s) return 1; return 2;", "return (%s) / -3;", "return (%s) < -1;",
		"unsigned long long r = 5; r += %s; return r;", "return -(%s) > 0;", "return (%s) >> 2;", "return (%s) * 3000000000ul;", "while (%s) return 4; return 5;",
		"return x0 || (%s);", "return ~(%s);", "return x0 ? (%s) : 1u;", "return shown(%s);"}, "(%[1]s)(%[2]s)",
		"#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\nstatic unsigned long long shown(unsigned long long v) { return v + 1; }\n",
		"int main(void) { static const long long v[] = {0, 1, -1, 2, 100, 127, -128, 255, 256, 65535, 2147483647, -2147483648LL, 4294967295LL, 9223372036854775807LL};\n" +
			"for (int i = 0; i < 14; i++) {\n%s} return 0; }\n", "printf(\"%%llu\\n\", f%[1]d(%[2]s));\n",
		"static unsigned long long f%[1]d(%[2]s) { %[3]s }\n", "static %[4]s h%[1]d(%[2]s) { return %[3]s; }\n",
		[]string{"gcc", "-w", "-fwrapv", "-O1"}},
	{"rust", "a.rs", strings.Fields("i8 i16 i32 i32 i64 isize u8 u8 u16 u32 u64 usize bool"), strings.Fields("bool i8 i16 i32 i64 isize u8 u16 u32 u64 usize"),
		strings.Fields("1 2 7 0 100 3u8 5i64 2usize 1i32 9u32 0x1f 1_0"), []string{"shown(%s)", "{ let v = %s; shown(v) }", "shown((%s, 1))", "shown([%s])",
			"match %s { v => shown(v) }", "shown(Some(%s))", "shown(!%s)"}, "(%[2]s) as %[1]s",
		"fn shown<T: std::fmt::Debug>(v: T) -> String { format!(\"{} {:?}\", std::any::type_name::<T>(), v) }\n",
		"fn main() { let v = [0i64, 1, -1, 2, 100, 127, -128, 255, 256, 65535, 2147483647, -2147483648, 4294967295, i64::MAX];\nfor i in 0..14 {\n%s} }\n",
		"println!(\"{}\", f%[1]d(%[2]s));\n", "fn f%[1]d(%[2]s) -> String { %[3]s }\n", "fn h%[1]d(%[2]s) -> %[4]s { %[3]s }\n",
		[]string{"rustc", "--edition", "2021", "-A", "warnings", "-A", "arithmetic_overflow", "-A", "overflowing_literals", "-C", "overflow-checks=off"}},
}

// withOverloads is C's mixture in C++, where the type of an argument tells which
// function is called.
func withOverloads(c mixture) mixture {
	c.language, c.file, c.build = "cpp", "a.cpp", []string{"g++", "-w", "-fwrapv", "-fpermissive", "-O1"}
	for i, of := range []string{"int", "long", "bool", "unsigned", "unsigned long", "long long"} {
		c.head += fmt.Sprintf("static unsigned long long shown(%s v) { return v + %d; }\n", of, i+2)
	}
	return c
}

func one(random *rand.Rand, of []string) string { return of[random.IntN(len(of))] }

// expression is one of a0, a1, … without regard to types.
func (m *mixture) expression(random *rand.Rand, variables, depth int) string {
	part := func() string { return m.expression(random, variables, depth-1) }
	if depth == 0 || random.IntN(8) == 0 {
		if random.IntN(4) == 0 {
			return one(random, m.numbers)
		}
		return fmt.Sprintf("a%d", random.IntN(variables))
	}
	switch random.IntN(10) {
	case 0:
		return fmt.Sprintf(m.cast, one(random, m.results), part())
	case 1:
		return one(random, []string{"-", "!"}) + "(" + part() + ")"
	case 2:
		return "(" + part() + ") " + one(random, []string{"/", "%"}) + " " + one(random, []string{"2", "3", "7"})
	case 3:
		return "(" + part() + ") " + one(random, []string{"<<", ">>"}) + " " + one(random, []string{"1", "2", "3"})
	case 4:
		if m.language != "rust" {
			return "((" + part() + ") ? (" + part() + ") : (" + part() + "))"
		}
	}
	return "(" + part() + ") " + one(random, strings.Fields("+ - * & | ^ < > <= == != && ||")) + " (" + part() + ")"
}

// mixed is a function with an expression, and one that calls a helper for it.
type mixed struct{ before, helper, after, call string }

func (m *mixture) mixed(random *rand.Rand, k int) mixed {
	n := 1 + random.IntN(3)
	var given, params, args, values []string
	home := one(random, m.variables)
	for i := range n {
		of := home
		if random.IntN(3) == 0 {
			of = one(random, m.variables)
		}
		wanted := of
		if random.IntN(8) == 0 {
			wanted = one(random, m.variables)
		}
		args = append(args, fmt.Sprintf("x%d", i))
		if m.language == "rust" {
			given, params = append(given, args[i]+": "+of), append(params, fmt.Sprintf("a%d: %s", i, wanted))
			values = append(values, map[bool]string{true: fmt.Sprintf("v[(i + %d) %% 14] %% 2 == 0", 5*i), false: fmt.Sprintf("v[(i + %d) %% 14] as %s", 5*i, of)}[of == "bool"])
		} else {
			given, params = append(given, of+" "+args[i]), append(params, fmt.Sprintf("%s a%d", wanted, i))
			values = append(values, fmt.Sprintf("(%s)v[(i + %d) %% 14]", of, 5*i))
		}
	}
	expression := m.expression(random, n, 1+random.IntN(2))
	result := home
	if random.IntN(2) == 0 {
		result = one(random, m.results)
	}
	inPlace := "(" + strings.NewReplacer("a0", "x0", "a1", "x1", "a2", "x2").Replace(expression) + ")"
	around := one(random, m.around)
	list := strings.Join(given, ", ")
	return mixed{
		before: fmt.Sprintf(m.function, k, list, fmt.Sprintf(around, inPlace)),
		helper: fmt.Sprintf(m.helper, k, strings.Join(params, ", "), expression, result),
		after:  fmt.Sprintf(m.function, k, list, fmt.Sprintf(around, fmt.Sprintf("(h%d(%s))", k, strings.Join(args, ", ")))),
		call:   fmt.Sprintf(m.print, k, strings.Join(values, ", ")),
	}
}

// TestInlineTypes makes functions of expressions with types by chance. What is
// proven is so in both directions; with ORCHESTRA_COMPILERS=1 it is compiled, and
// both programs must say the same.
func TestInlineTypes(t *testing.T) {
	times, compile := 60, os.Getenv("ORCHESTRA_COMPILERS") == "1"
	switch {
	case compile:
		times = 6000
	case testing.Short():
		times = 6
	}
	for i, m := range append(mixtures, withOverloads(mixtures[0])) {
		random := seeded(uint64(500 + i))
		proven := 0
		var before, after, calls strings.Builder
		for k := range times {
			x := m.mixed(random, k)
			was, is := m.head+x.before, m.head+x.helper+x.after
			if !isProven(evidence(m.language, m.file, was, is)) {
				continue
			}
			proven++
			if v := evidence(m.language, m.file, is, was); !isProven(v) {
				t.Errorf("%s: backwards it is %s\n%s", m.language, v.Reason, is)
			}
			before.WriteString(x.before)
			after.WriteString(x.helper + x.after)
			calls.WriteString(x.call)
		}
		t.Logf("%s: %d programs, %d proven", m.language, times, proven)
		if proven == 0 {
			t.Errorf("%s: nothing was proven", m.language)
		}
		if compile {
			main := fmt.Sprintf(m.main, calls.String())
			was, is := m.run(t, m.head+before.String()+main), m.run(t, m.head+after.String()+main)
			if was != is {
				t.Errorf("%s: the programs do not say the same", m.language)
			}
			t.Logf("%s: both say the same %d lines", m.language, strings.Count(was, "\n"))
		}
	}
}

// run compiles a program, and gives what it prints.
func (m *mixture) run(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	source, program := filepath.Join(dir, m.file), filepath.Join(dir, "program")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command(m.build[0], append(m.build[1:], "-o", program, source)...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%.2000s", m.language, err, said)
	}
	said, err := exec.Command(program).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(said)
}
