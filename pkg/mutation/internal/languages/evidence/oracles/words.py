"""Renames by words alone, for C# and Kotlin: words.py FILE...

Texts and comments are taken out; a name that a function declares with `val`,
`var`, `for`, a type or as a parameter, that stands in that function only, and
is nowhere a member (after a dot), a named argument or in a text, is renamed
there. It knows no scopes. Writes one JSON object a line, as oracle_test.go reads them.
"""
import json
import os
import random
import re
import sys

MOST = int(os.environ.get("ORACLE_RENAMES", "12"))
NOISE = re.compile(r'"""(?:.|\n)*?"""|@"(?:[^"]|"")*"|\$?"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*(?:.|\n)*?\*/')
FUNCTION = {
    ".kt": re.compile(r"\bfun\b[^={\n]*\([^{=}]*?\)[^{=\n]*\{"),
    ".cs": re.compile(r"\b(?:public|private|protected|internal|static)\b[\w<>\[\],.? ]*\b\w+\s*\([^;{]*?\)\s*\{"),
}
DECLARED = {
    ".kt": [(re.compile(r"\b(?:val|var)\s+([a-z]\w*)"), "local"), (re.compile(r"\bfor\s*\(\s*([a-z]\w*)"), "local"),
            (re.compile(r"[(,]\s*([a-z]\w*)\s*:"), "parameter"), (re.compile(r"\{\s*([a-z]\w*)\s*->"), "parameter")],
    ".cs": [(re.compile(r"\bvar\s+([a-z]\w*)"), "local"), (re.compile(r"[;{}]\s*[A-Za-z][\w<>\[\],.?]*\s+([a-z]\w*)\s*(?:=[^=>]|;)"), "local"),
            (re.compile(r"\bforeach\s*\(\s*[\w<>\[\],.?]+\s+([a-z]\w*)"), "local"), (re.compile(r"[(,]\s*[A-Za-z][\w<>\[\].?]*\s+([a-z]\w*)\s*(?=[,)])"), "parameter")],
}


def body(text, opening):
    depth = 0
    for i in range(opening, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return i + 1
    return len(text)


for path in sys.argv[1:]:
    text = open(path, "rb").read().decode()
    if not text.isascii():
        continue
    ending = os.path.splitext(path)[1]
    quiet = NOISE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    noise = " ".join(m.group() for m in NOISE.finditer(text) if not m.group().startswith("/"))
    found = set()
    for function in FUNCTION[ending].finditer(quiet):
        start, end = function.start(), body(quiet, function.end() - 1)
        for pattern, kind in DECLARED[ending]:
            for m in pattern.finditer(quiet, start, end):
                found.add((m.group(1), start, end, kind))
    found = sorted(found)
    random.Random(os.path.basename(path)).shuffle(found)
    made, done = 0, set()
    for name, start, end, kind in found:
        word = re.compile(r"(?<![\w@])%s(?!\w)" % name)
        places = [m.start() for m in word.finditer(quiet)]
        member = re.search(r"\.\s*%s\b|\b%s\s*:(?!:)\s*[^A-Z\s]|[(,]\s*%s\s*=[^=]|\b%s\s*@|::\s*%s\b" % ((name,) * 5), quiet)
        if made == MOST or name in done or len(name) < 2 or name in ("it", "value", "this", "null", "get", "set", "in", "out", "new", "return", "true", "false", "var", "val") or member:
            continue
        if any(not start <= p < end for p in places) or re.search(r"\b%s\b" % name, noise) or name + "Renamed" in text:
            continue
        made += 1
        done.add(name)
        edits = [{"start": p, "end": p + len(name), "text": name + "Renamed"} for p in places]
        print(json.dumps({"path": path, "name": name, "fresh": name + "Renamed", "kind": kind, "edits": edits}))
