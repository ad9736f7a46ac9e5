#!/bin/sh
# Lets other programs rename what real programs declare: renames.sh SOURCES
# ORACLES [LANGUAGE...], where SOURCES is what sources.sh left. Writes
# ORACLES/LANGUAGE.jsonl for `ORCHESTRA_ORACLES=ORACLES go test -run Oracles -v`.
#
#   javascript, typescript, tsx   TypeScript's language service (npm: typescript, in NODE_PATH)
#   python                        jedi, held to Python's compiler (Debian: python3-jedi)
#   c, cpp                        clangd (Debian: clangd)
#   java                          javac's own symbols (a JDK of 17 or later)
#   rust                          rustc's saved analysis (Debian's rustc 1.63 in RUSTC)
#   ruby                          Ruby's own parser, Ripper, held to its compiler
#   php                           PHP's own tokens, and the rule that a function has one scope
#   csharp, kotlin                names that a function declares once (words.py): no compiler can be had
set -eu
[ $# -ge 2 ] || { echo "usage: $0 SOURCES ORACLES [LANGUAGE...]" >&2; exit 2; }
sources=$(cd "$1" && pwd)
mkdir -p "$2"
to=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")/oracles" && pwd)
fetched=$sources/fetched
shift 2
[ $# -gt 0 ] || set -- javascript typescript tsx python c cpp java rust ruby php csharp kotlin

# pick LANGUAGE COUNT prints some files, always the same.
pick() {
	find "$sources/$1" -type f | LC_ALL=C sort | shuf --random-source="$here/typescript.js" -n "$2"
}

# in_place prints some files where they were fetched, with their headers.
in_place() {
	ending=$1 least=$2
	shift 2
	find "$@" -type f -name "*.$ending" -size "+$least" -size -90k ! -name '*test*' | LC_ALL=C sort |
		shuf --random-source="$here/typescript.js" -n 100
}

for language; do
	case $language in
	javascript | typescript | tsx) node "$here/typescript.js" $(pick "$language" 45) ;;
	python) python3 "$here/python.py" $(pick python 45) ;;
	c)
		vendor=$fetched/libxmljs1.0.11/package/vendor
		printf -- '-I%s\n' "$vendor/libxml2" "$vendor/libxml2/include" "$vendor/libxml2.config" "$vendor/libxml2.config/libxml" >"$vendor/compile_flags.txt"
		python3 "$here/clang.py" $(in_place c 2k "$vendor/libxml2" "$fetched/hiredis0.5.0" "$fetched/iltorb2.4.5" "$fetched/lz40.6.5" \
			"$fetched/node-expat2.4.1" "$fetched/tree-sitter0.25.0") ;;
	cpp)
		leveldb=$fetched/leveldown6.1.1/package/deps/leveldb/leveldb-1.20 vendor=$fetched/re21.22.1/package/vendor
		printf '%s\n' "-I$leveldb/include" "-I$leveldb" -DLEVELDB_PLATFORM_POSIX -DOS_LINUX -std=c++11 >"$leveldb/compile_flags.txt"
		printf '%s\n' "-I$vendor/re2" "-I$vendor/abseil-cpp" -std=c++17 >"$vendor/compile_flags.txt"
		python3 "$here/clang.py" $(in_place cc 3k "$leveldb" "$vendor") ;;
	java) java "$here/Renames.java" $(pick java 45) ;;
	rust) python3 "$here/rust.py" "$fetched" ;;
	ruby) ruby "$here/ruby.rb" $(pick ruby 45) ;;
	php) php "$here/php.php" $(pick php 45) ;;
	csharp | kotlin) python3 "$here/words.py" $(pick "$language" 60) ;;
	esac >"$to/$language.jsonl"
	echo "$language: $(wc -l <"$to/$language.jsonl") renamings"
done
