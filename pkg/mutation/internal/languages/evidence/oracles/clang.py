"""Renames by clangd: clang.py FILE...

clangd says which names are declared in a function, a class or the file, and
makes the renaming; what it refuses (names in macros) is left out, and so are
files that it does not compile without errors: it misses uses there. Writes one
JSON object a line, as oracle_test.go reads them.
"""
import json
import os
import random
import subprocess
import sys

MOST = int(os.environ.get("ORACLE_RENAMES", "12"))


class Server:
    def __init__(self):
        self.process = subprocess.Popen(["clangd", "--log=error", "--background-index=false", "-j=1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.number, self.faults = 0, {}

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def read(self):
        length = 0
        while (line := self.process.stdout.readline().strip()):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        message = json.loads(self.process.stdout.read(length))
        if message.get("method") == "textDocument/publishDiagnostics":
            p = message["params"]
            self.faults[p["uri"]] = sum(d.get("severity") == 1 for d in p["diagnostics"])
        return message

    def call(self, method, params):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        while True:
            message = self.read()
            if message.get("id") == self.number and "method" not in message:
                return message.get("result")

    def open(self, path, text):
        uri = "file://" + path
        language = "c" if path.endswith(".c") else "cpp"
        self.send({"method": "textDocument/didOpen", "params": {"textDocument": {"uri": uri, "languageId": language, "version": 1, "text": text}}})
        while uri not in self.faults:
            self.read()
        return uri


def kind_of(token_type, scopes):
    if token_type in ("property", "method", "enumMember"):
        return "member"
    if token_type == "parameter":
        return "parameter"
    if token_type == "typeParameter":
        return "type parameter"
    if token_type == "variable" and "functionScope" in scopes:
        return "local"
    if token_type in ("variable", "function") and ("fileScope" in scopes or "globalScope" in scopes):
        return "file"
    return ""


def renames(server, legend, path, chance):
    text = open(path, "rb").read()
    if any(byte > 127 for byte in text):
        return  # offsets are bytes
    text = text.decode()
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    uri = server.open(path, text)
    if server.faults[uri] > 0:
        print("%s: %d errors" % (os.path.basename(path), server.faults[uri]), file=sys.stderr)
        return
    data = server.call("textDocument/semanticTokens/full", {"textDocument": {"uri": uri}})["data"]
    line = column = 0
    found = []
    for i in range(0, len(data), 5):
        down, right, length, kind, modifiers = data[i:i + 5]
        line, column = line + down, right if down else column + right
        scopes = [m for bit, m in enumerate(legend["tokenModifiers"]) if modifiers >> bit & 1]
        kind = kind_of(legend["tokenTypes"][kind], scopes)
        if kind and "declaration" in scopes:
            found.append((line, column, length, kind))
    chance.shuffle(found)
    made = 0
    for line, column, length, kind in found:
        if made == MOST:
            break
        old = text[starts[line] + column:starts[line] + column + length]
        fresh = old + "_renamed"
        answer = server.call("textDocument/rename", {"textDocument": {"uri": uri}, "position": {"line": line, "character": column}, "newName": fresh})
        changes = (answer or {}).get("changes", {})
        if list(changes) != [uri] or fresh in text:
            continue
        made += 1
        edits = []
        for e in changes[uri]:
            start, end = e["range"]["start"], e["range"]["end"]
            edits.append({"start": starts[start["line"]] + start["character"], "end": starts[end["line"]] + end["character"], "text": e["newText"]})
        print(json.dumps({"path": path, "name": old, "fresh": fresh, "kind": kind, "edits": edits}))
        sys.stdout.flush()
    server.send({"method": "textDocument/didClose", "params": {"textDocument": {"uri": uri}}})


server = Server()
answer = server.call("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
legend = answer["capabilities"]["semanticTokensProvider"]["legend"]
server.send({"method": "initialized", "params": {}})
for path in sys.argv[1:]:
    renames(server, legend, path, random.Random(os.path.basename(path)))
server.process.kill()
