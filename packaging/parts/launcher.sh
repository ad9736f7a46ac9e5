#!/bin/sh
# Starts the binary of this machine: a bundle says for which systems it is, not for which processors.
set -eu
case "$(uname -s)-$(uname -m)" in
Linux-x86_64) platform=linux-x64 ;;
Linux-aarch64 | Linux-arm64) platform=linux-arm64 ;;
Darwin-x86_64) platform=darwin-x64 ;;
Darwin-arm64) platform=darwin-arm64 ;;
*) platform=none ;;
esac
binary="$(dirname "$0")/orchestra-mcp-$platform"
if [ ! -f "$binary" ]; then
  echo "orchestra-mcp: this bundle has nothing for $(uname -s) on $(uname -m)" >&2
  exit 3
fi
# Some clients unpack without modes.
[ -x "$binary" ] || chmod u+x "$binary"
exec "$binary" "$@"
