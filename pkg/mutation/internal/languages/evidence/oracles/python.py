"""Renames by jedi: python.py FILE...

Each is held to Python's own compiler: the two programs must have the same
bytecode but for the one name, or jedi missed a use, and the renaming is left
out. Writes one JSON object a line, as oracle_test.go reads them.
"""
import dis
import json
import os
import random
import sys
import types

import jedi

MOST = int(os.environ.get("ORACLE_RENAMES", "12"))


def shape(code, old, new):
    """What a code object does, with the new name written as the old."""
    def name(text):
        return old if text == new else text
    consts = []
    for const in code.co_consts:
        consts.append(shape(const, old, new) if isinstance(const, types.CodeType) else (type(const).__name__, repr(const)))
    instructions = []
    for i in dis.get_instructions(code):
        value = i.argval
        if isinstance(value, types.CodeType):
            value = "code"
        # Names are ordered by first use, cells by their spelling: by name, not number.
        instructions.append((i.opname, name(value) if isinstance(value, str) and i.opname not in ("LOAD_CONST", "KW_NAMES") else repr(value) if i.opname in ("LOAD_CONST", "KW_NAMES") and value != "code" and not isinstance(value, tuple) else None))
    return (name(code.co_name), [name(x) for x in code.co_varnames[:code.co_argcount]], tuple(map(str, consts)), tuple(map(str, instructions)))


def both(code, old, new):
    """Whether a function has variables of both names: a use was missed."""
    variables = set(code.co_varnames) | set(code.co_cellvars) | set(code.co_freevars)
    for i in dis.get_instructions(code):
        if i.opname in ("LOAD_GLOBAL", "STORE_GLOBAL", "LOAD_NAME", "STORE_NAME"):
            variables.add(i.argval)
    return {old, new} <= variables or any(both(c, old, new) for c in code.co_consts if isinstance(c, types.CodeType))


def kind_of(name):
    parent = name.parent()
    if name.type == "param":
        return "parameter"
    if parent is None or parent.type == "module":
        return "file" if not name.is_definition() or name.type != "module" else ""
    if parent.type == "class":
        return "member"
    return "local"


def renames(path, chance):
    text = open(path, "rb").read()
    if any(byte > 127 for byte in text):
        return  # offsets are bytes
    text = text.decode()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    script = jedi.Script(text, path=path)
    # Nobody renames self.
    names = [n for n in script.get_names(all_scopes=True, definitions=True) if n.type in ("statement", "param", "function", "class") and n.name not in ("self", "cls")]
    chance.shuffle(names)
    made = 0
    before = compile(text, "file", "exec", dont_inherit=True)
    for n in names:
        if made == MOST:
            return
        old = n.name
        fresh = old + "_renamed"
        if fresh in text or n.full_name is None and n.parent() is None:
            continue
        try:
            places = script.get_references(n.line, n.column, scope="file")
        except Exception:
            continue
        edits = []
        for place in places:
            at = starts[place.line - 1] + place.column
            if text[at:at + len(old)] == old:
                edits.append({"start": at, "end": at + len(old), "text": fresh})
        edits.sort(key=lambda e: e["start"])
        after, at = "", 0
        for e in edits:
            after += text[at:e["start"]] + fresh
            at = e["end"]
        after += text[at:]
        try:
            renamed = compile(after, "file", "exec", dont_inherit=True)
            same = shape(before, old, old) == shape(renamed, old, fresh) and not both(renamed, old, fresh)
        except SyntaxError:
            same = False
        # Who lists its names as texts has to change them, too.
        same = same and not any(quote + old + quote in text for quote in "'\"")
        at = starts[n.line - 1] + n.column
        kind = "member" if text[at - 1:at] == "." else kind_of(n)
        if not edits or not same or not kind:
            continue
        made += 1
        print(json.dumps({"path": path, "name": old, "fresh": fresh, "kind": kind, "edits": edits}))
        sys.stdout.flush()


for path in sys.argv[1:]:
    renames(path, random.Random(os.path.basename(path)))
