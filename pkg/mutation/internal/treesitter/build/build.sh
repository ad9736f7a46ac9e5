#!/usr/bin/env bash
# Builds the parsing modules from the sources that package-lock.json pins.
#
#   build.sh          write ../modules: NAME.wasm.zst and SHA256SUMS
#   build.sh --check  build them elsewhere and compare with ../modules/SHA256SUMS
#
# The sums are of the modules before compression, so that another zstd does not
# matter. Another clang does: the committed modules are Debian 12's clang 14
# (apt-get install clang lld libc6-dev wasi-libc libclang-rt-dev-wasm32 zstd npm).
set -euo pipefail
export LC_ALL=C
build=$(cd "$(dirname "$0")" && pwd)
modules=$build/../modules

for tool in clang wasm-ld zstd npm sha256sum; do
  command -v "$tool" >/dev/null || {
    echo "$tool is missing: apt-get install clang lld libc6-dev wasi-libc libclang-rt-dev-wasm32 zstd npm" >&2
    exit 3
  }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$build/package.json" "$build/package-lock.json" "$work"
# Only the sources are wanted: no install script of any package runs.
npm --prefix "$work" ci --ignore-scripts --legacy-peer-deps --no-audit --no-fund --loglevel=error >/dev/null
sources=$work/node_modules
core=$sources/tree-sitter/vendor/tree-sitter/lib

# Speed before size: the tables are most of a module. But only what is meant to
# be inlined is: the time that wazero takes for a function grows faster than it.
compile=(clang --target=wasm32-wasi -O2 -finline-hint-functions -DNDEBUG -fvisibility=hidden -ffunction-sections -fdata-sections -w "-I$core/include")
# What counts its steps (fuel.c): the core each function that is entered, the
# scanners, which people write by hand, each block. Linking them together (lto)
# makes that a decrement in place. The lexers loop only through the core.
functions=(-flto -fsanitize-coverage=func,trace-pc)
blocks=(-flto -fsanitize-coverage=bb,trace-pc)
# The stack comes first in memory, so that running over it is a trap. No -O2
# here: with it clang runs wasm-opt, where there is one, and the module, smaller
# by a fifth, is larger by a third once it is compressed.
link=(clang --target=wasm32-wasi -flto -nostartfiles -Wl,--lto-O2 -Wl,--no-entry -Wl,--gc-sections -Wl,--strip-all
  -Wl,-z,stack-size=1048576 -Wl,--stack-first)

# module NAME FUNCTION DIRECTORY: DIRECTORY has src/parser.c and perhaps src/scanner.c.
module() {
  local name=$1 function=$2 src=$sources/$3/src objects=("$work/core.o" "$work/fuel.o" "$work/$1.export.o" "$work/$1.parser.o")
  # The parser's tables, which come behind the lexers, are no C++.
  sed '/^static const uint16_t ts_parse_table/,$d' "$src/parser.c" >"$work/lexers.inc"
  clang++ -x c++ -O1 -w -ffunction-sections -fdata-sections -Wl,--gc-sections "-I$core/include" "-I$src" \
    "-DPARSER=\"$work/lexers.inc\"" "$build/tables.cc" -o "$work/tables"
  "$work/tables" >"$work/tables.h"
  "${compile[@]}" "${functions[@]}" "-I$src" "-DPARSER=\"$src/parser.c\"" "-DTABLES=\"$work/tables.h\"" \
    -c "$build/lexer.c" -o "$work/$name.parser.o"
  if [[ -f $src/scanner.c ]]; then
    "${compile[@]}" "${blocks[@]}" "-I$src" -c "$src/scanner.c" -o "$work/$name.scanner.o"
    objects+=("$work/$name.scanner.o")
  fi
  "${compile[@]}" "${functions[@]}" "-DLANGUAGE=$function" -c "$build/export.c" -o "$work/$name.export.o"
  "${link[@]}" -o "$work/out/$name.wasm" "${objects[@]}"
  rm "$work/$name".*.o
}

mkdir "$work/out"
"${compile[@]}" "${functions[@]}" "-I$core/src" -c "$core/src/lib.c" -o "$work/core.o"
"${compile[@]}" -flto -c "$build/fuel.c" -o "$work/fuel.o"
module c tree_sitter_c tree-sitter-c
module cpp tree_sitter_cpp tree-sitter-cpp
module csharp tree_sitter_c_sharp tree-sitter-c-sharp
module java tree_sitter_java tree-sitter-java
module javascript tree_sitter_javascript tree-sitter-javascript
module kotlin tree_sitter_kotlin @tree-sitter-grammars/tree-sitter-kotlin
module php tree_sitter_php tree-sitter-php/php
module python tree_sitter_python tree-sitter-python
module ruby tree_sitter_ruby tree-sitter-ruby
module rust tree_sitter_rust tree-sitter-rust
module tsx tree_sitter_tsx tree-sitter-typescript/tsx
module typescript tree_sitter_typescript tree-sitter-typescript/typescript

cd "$work/out"
sha256sum -- *.wasm >SHA256SUMS
if [[ ${1-} == --check ]]; then
  if ! diff "$modules/SHA256SUMS" SHA256SUMS; then
    echo "the modules that this machine builds are not the committed ones; its compiler: $(clang --version | head -n 1)" >&2
    exit 1
  fi
  echo "the committed modules are what their sources build to"
  exit 0
fi
{
  echo "The modules here contain code of these projects. They are linked with wasi-libc"
  echo "(MIT, Apache-2.0 with LLVM exception) and ICU's tables (Unicode licence)."
  for license in "$sources"/tree-sitter*/LICENSE "$sources"/@tree-sitter-grammars/*/LICENSE; do
    package=$(dirname "$license")
    printf '\n== %s\n\n' "${package#"$sources/"}"
    cat "$license"
  done
} >LICENSES
rm -f "$modules"/*.wasm.zst
zstd -q --ultra -22 --no-progress -- *.wasm
mkdir -p "$modules"
mv -- *.wasm.zst SHA256SUMS LICENSES "$modules"
du -cb "$modules"/*.zst
