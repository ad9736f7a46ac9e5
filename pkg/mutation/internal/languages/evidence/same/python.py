"""Whether two programs are the same for Python's compiler: python.py BEFORE AFTER.

The exit code is 0 if they are: the same bytecode, in which each local variable
stands where one of the other program does.
"""
import dis
import sys
import types


def shape(code, outer):
    """What a code object does, with its variables as numbers."""
    variables = dict(outer)
    own = [*code.co_varnames, *code.co_cellvars]
    order = list(code.co_varnames[:code.co_argcount + code.co_kwonlyargcount])
    order += [i.argval for i in dis.get_instructions(code) if i.argval in own and i.opname not in ("MAKE_CELL", "LOAD_CONST")]
    for name in order + own:
        if name not in variables or name in own and variables[name][0] != id(code):
            variables[name] = (id(code), len(variables))
    numbers = {name: index for index, name in enumerate(variables)}
    named = ("FAST", "DEREF", "CLOSURE", "CLASSDEREF")
    instructions = []
    for i in dis.get_instructions(code):
        value = i.argval
        if isinstance(value, types.CodeType):
            value = shape(value, variables)
        elif i.opname.endswith(named):
            value = numbers[value]
        elif i.opname in ("MAKE_CELL", "COPY_FREE_VARS"):
            continue
        instructions.append((i.opname, type(value).__name__, repr(value)))
    return (code.co_name, code.co_flags, code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, instructions,
            [tuple(e) for e in dis._parse_exception_table(code)])


before, after = (shape(compile(open(path, "rb").read(), "file", "exec", dont_inherit=True), {}) for path in sys.argv[1:])
sys.exit(before != after)
