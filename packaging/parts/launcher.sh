#!/bin/sh
# Starts the program of this machine: npm has it in a package beside this one or below it, a bundle beside this file. Not by
# node: npx puts the workspace's node_modules/.bin first on the PATH, and what agents may write must not start what governs
# them. For the same reason every tool is the system's (command -p).
set -eu
self=$(command -p readlink -f -- "$0")
here=${self%/*}
main=${here%/*}
system=$(command -p uname -s)-$(command -p uname -m)
case $system in
Linux-x86_64) platform=linux-x64 ;;
Linux-aarch64 | Linux-arm64) platform=linux-arm64 ;;
Darwin-x86_64) platform=darwin-x64 ;;
Darwin-arm64) platform=darwin-arm64 ;;
*)
  echo "orchestra-mcp: there is no program for $system here; build it with Go from its sources" >&2
  exit 3
  ;;
esac
for binary in "$here/orchestra-mcp-$platform" "$main/node_modules/@intentgov/orchestra-mcp-$platform/bin/orchestra-mcp" "${main%/*}/orchestra-mcp-$platform/bin/orchestra-mcp"; do
  [ -f "$binary" ] || continue
  [ -x "$binary" ] || command -p chmod u+x "$binary" # some clients unpack without modes
  exec "$binary" "$@"
done
echo "orchestra-mcp: the program for $platform is missing: npm was told to leave out optional dependencies, or the files came from another machine. Install again with: npm install --include=optional @intentgov/orchestra-mcp" >&2
exit 3
