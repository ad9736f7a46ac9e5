"""Renames by rustc: rust.py REGISTRY, where REGISTRY holds crates.

The names are those of rustc's saved analysis (-Zsave-analysis, which Debian's
rustc 1.63 still has; RUSTC names it). Crates that need others are left out. A
renaming that touches what a macro made is left out by rustc itself; what does
not compile afterwards, here. Writes one JSON object a line.
"""
import collections
import glob
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

MOST = int(os.environ.get("ORACLE_RENAMES", "12"))
RUSTC = os.environ.get("RUSTC", "/usr/bin/rustc")
KINDS = {"Local": "local", "Field": "member", "Const": "file", "Static": "file", "Function": "file", "Method": "member", "Struct": "file", "Enum": "file",
         "Type": "file", "Trait": "file"}


def compiled(crate, out, *options):
    edition = re.search(r'(?m)^edition = "(\d+)"', open(crate + "/Cargo.toml").read())
    command = [RUSTC, *options, "--crate-type", "lib", "--emit", "metadata", "--cap-lints", "allow", "--edition",
               edition.group(1) if edition else "2015", "-o", out + "/lib.rmeta", os.path.abspath(crate) + "/src/lib.rs"]
    for feature in ("std", "alloc", "unicode"):
        command += ["--cfg", 'feature="%s"' % feature]
    return subprocess.run(command, cwd=out, env={**os.environ, "RUSTC_BOOTSTRAP": "1"}, capture_output=True, text=True)


def still_compiles(crate, file, edits):
    """Whether the crate compiles with a renaming: the analysis knows no `S { field }` as a use of two names."""
    with tempfile.TemporaryDirectory() as out:
        copy = out + "/crate"
        shutil.copytree(crate, copy)
        path = os.path.join(copy, os.path.relpath(file, os.path.abspath(crate)))
        body, at, after = open(path, "rb").read(), 0, b""
        for e in edits:
            after += body[at:e["start"]] + e["text"].encode()
            at = e["end"]
        open(path, "wb").write(after + body[at:])
        return compiled(copy, out).returncode == 0


def analysis(crate):
    with tempfile.TemporaryDirectory() as out:
        done = compiled(crate, out, "-Zsave-analysis")
        found = glob.glob(out + "/save-analysis-temp/*.json")
        if done.returncode != 0 or not found:
            print("%s: %s" % (crate, done.stderr[:300]), file=sys.stderr)
            return None
        return json.load(open(found[0]))


def renames(crate):
    data = analysis(crate)
    if data is None:
        return
    places = collections.defaultdict(set)
    declared = collections.defaultdict(list)

    texts = {}

    def text_of(name):
        if name not in texts:
            path = os.path.join(crate, name)
            texts[name] = open(path, "rb").read() if os.path.exists(path) else b""
        return texts[name]

    def offset(span):
        # Bytes count over all files of the crate: by line and column instead.
        body = text_of(span["file_name"])
        lines = body.split(b"\n")
        if span["line_start"] > len(lines):
            return None
        start = sum(len(x) + 1 for x in lines[:span["line_start"] - 1]) + span["column_start"] - 1
        return (span["file_name"], start, start + span["byte_end"] - span["byte_start"])
    names = {}
    for d in data["defs"]:
        kind, at = KINDS.get(d["kind"]), offset(d["span"])
        if kind is None or at is None or text_of(at[0])[at[1]:at[2]].decode(errors="replace") != d["name"]:
            continue
        key = (d["id"]["krate"], d["id"]["index"])
        names[key] = (d["name"], kind, at[0])
        places[key].add(at)
        declared[at[0]].append(key)
    bad = set()
    for r in data["refs"]:
        key, at = (r["ref_id"]["krate"], r["ref_id"]["index"]), offset(r["span"])
        if key in names and at is not None:
            if text_of(at[0])[at[1]:at[2]].decode(errors="replace") == names[key][0]:
                places[key].add(at)
            else:
                bad.add(key)
    for file, keys in declared.items():
        body = text_of(file)
        if any(byte > 127 for byte in body) or not 100 <= body.count(b"\n") <= 2000:
            continue
        chance = random.Random(file)
        chance.shuffle(keys)
        made = 0
        for key in keys:
            name, kind, _ = names[key]
            fresh = name + "_renamed"
            if made == MOST or key in bad or name in ("self", "Self") or fresh.encode() in body or any(p[0] != file for p in places[key]):
                continue
            edits = [{"start": s, "end": e, "text": fresh} for _, s, e in sorted(places[key])]
            if not still_compiles(crate, file, edits):
                continue
            made += 1
            print(json.dumps({"path": os.path.join(crate, file), "name": name, "fresh": fresh, "kind": kind, "edits": edits}))


for manifest in sorted(glob.glob(sys.argv[1] + "/*/usr/share/cargo/registry/*/Cargo.toml")):
    renames(os.path.dirname(manifest))
