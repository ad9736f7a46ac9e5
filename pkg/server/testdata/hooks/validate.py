#!/usr/bin/env python3
"""A guard as people write them in Python: rules over content and commands."""
import json
import re
import sys

COMMANDS = [(r"\bgrep\b(?!.*\|)", "Use rg instead of grep"), (r"\bfind\s+\S+\s+-name\b", "Use rg --files instead of find -name")]
CONTENT = [(r"AKIA[0-9A-Z]{16}", "That looks like an access key")]

try:
    event = json.load(sys.stdin)
except json.JSONDecodeError as error:
    print(f"Error: Invalid JSON input: {error}", file=sys.stderr)
    sys.exit(1)

if event.get("hook_event_name") != "PreToolUse":
    sys.exit(1)
tool, given = event.get("tool_name", ""), event.get("tool_input", {})
issues = []
if tool == "Bash":
    issues = [message for pattern, message in COMMANDS if re.search(pattern, given.get("command", ""))]
elif tool in ("Write", "Edit"):
    text = given.get("content", "") + given.get("new_string", "")
    issues = [message for pattern, message in CONTENT if re.search(pattern, text)]
elif tool == "Read" and given.get("file_path", "").endswith((".md", ".txt")):
    print(json.dumps({
        "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow", "permissionDecisionReason": "Documentation"},
        "suppressOutput": True,
    }))
    sys.exit(0)

if issues:
    for message in issues:
        print(f"• {message}", file=sys.stderr)
    sys.exit(2)
