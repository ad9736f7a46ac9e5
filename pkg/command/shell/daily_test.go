package shell_test

import (
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
)

// Lines of daily work are judged: where a rule denies something else, nobody is
// asked about them. Each that is not has its reason beside it.
func TestDailyLines(t *testing.T) {
	known := map[string]bool{
		// Without declare -A, which may not have run, the text of k is evaluated.
		`declare -A m=([a]=1 [b]=2); for k in "${!m[@]}"; do echo "$k ${m[$k]}"; done`: true,
	}
	for _, line := range daily() {
		r := shell.Read(line, shell.Bash)
		if len(r.Unjudged) > 0 && !known[line] {
			t.Errorf("%q is unjudged: %q", line, r.Unjudged)
		}
	}
	if n := len(daily()); n < 150 {
		t.Errorf("only %d lines", n)
	}
}

func daily() []string {
	return append(strings.Split(strings.TrimSpace(dailyLines), "\n"), dailyTexts...)
}

const dailyLines = `
ls -la
cat "$f" | grep x
go build ./...
go test ./... -race -count=1
go test ./pkg/x -run 'TestA|TestB' -v 2>&1 | tail -50
go vet ./... && gofmt -l .
GOFLAGS=-mod=mod go mod tidy
GOOS=linux GOARCH=arm64 CGO_ENABLED=0 go build -o bin/app ./cmd/app
for f in *.go; do gofmt -l "$f"; done
for f in $(git ls-files '*.go'); do gofmt -l "$f"; done
for i in 1 2 3; do go test ./... || break; done
for i in $(seq 1 10); do echo "run $i"; go test -run Flaky ./x; done
for d in */; do (cd "$d" && npm test); done
while read -r line; do echo "$line"; done < list.txt
while IFS= read -r line; do printf '%s\n' "$line"; done < list.txt
git ls-files | while IFS= read -r f; do wc -l "$f"; done
find . -name '*.go' -not -path './vendor/*' | xargs grep -n TODO
find . -type f -name "*.ts" -exec grep -l foo {} +
find . -name '*.pyc' -delete
find . -name node_modules -prune -o -name '*.js' -print0 | xargs -0 wc -l
find src -name '*.rs' -exec rustfmt --check {} \;
grep -rn "func main" --include='*.go' . | head -20
grep -rIl 'old' src | xargs sed -i 's/old/new/g'
rg -n 'foo|bar' src -g '!*.test.ts'
sed -n '10,40p' main.go
sed -n '/start/,/end/p' file.txt
sed -i 's/foo/bar/g' src/a.txt
sed -i "s|$old|$new|g" src/a.txt
sed -E 's/([a-z]+)-([0-9]+)/\2-\1/' in > out
sed -e 's/a/b/' -e '/^#/d' -e 's/e$//' f
sed -i '/^import/a import x' f
sed '$!N;P;D' f
sed 's/[/]/e/; y/abc/xyz/; s,e,f,2' f
sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml
sed ':a;N;$!ba;s/\n/ /g' f
sed '1i #!/bin/sh' f
sed -n '$=' f
sed 's/;e x//' f
awk '{print $1}' f
awk -F: '{print $1, $NF}' /etc/passwd
awk -F'|' '$2 == "x" || $3 ~ /a|b/ {s += $4/2; n++} END {print s/n}' t.csv
awk 'NR==FNR{a[$1]=$2; next} $1 in a {print $0, a[$1]}' a b
awk -v n="$n" 'NR<=n' f
awk '/start/{p=1} p; /end/{exit}' f
awk "NR==$n" f
awk 'BEGIN{FS="|"; OFS="\t"} {gsub(/\|/, "/"); print $1 > "out.txt"}' f
awk '{ print length($0) " " "a|b" }' f | sort -rn | head
jq '.dependencies | keys[]' package.json
jq -r '.scripts["test"] // empty' package.json | cat
curl -fsSL https://example.com/api | jq .
curl -s -o /dev/null -w '%{http_code}\n' http://localhost:8080/health
npm ci
npm install --save-dev typescript
npm test -- --watch=false
npm run build && npm run lint
npx tsc --noEmit
npx --yes prettier --check .
npx -y eslint src --ext .ts
npx -p typescript tsc --version
npm exec -- eslint .
pnpm install --frozen-lockfile
pnpm -r build
pnpm exec vitest run
pnpm --filter web test
yarn workspace web build
yarn && yarn test
bun test
node -e 'console.log(1)'
node scripts/build.js
NODE_ENV=production node server.js &
NODE_OPTIONS=--max-old-space-size=4096 npm run build
python3 -m pytest -q
pytest tests/test_a.py::test_b -x -q 2>&1 | tail -20
python -m venv .venv && . .venv/bin/activate && pip install -r requirements.txt
source .venv/bin/activate && python -m pytest
source "$HOME/.cargo/env" && cargo test
source ~/.nvm/nvm.sh && nvm use 20
. ./scripts/env.sh
PYTHONPATH=. python3 scripts/x.py --flag
python3 -c 'import sys; print(sys.version)'
uv run pytest -q
uv run --with httpx python x.py
uv pip install -e .
poetry run pytest
poetry install --no-root
pipenv run python x.py
ruff check . --fix && ruff format .
mypy src
cargo build --release
cargo test -- --nocapture
cargo clippy --all-targets -- -D warnings
RUST_BACKTRACE=1 cargo test foo
RUSTFLAGS="-D warnings" cargo build
cargo fmt --all -- --check
make
make -j8 test
make V=1 all PREFIX=/usr
MAKEFLAGS=-j8 make
make -C sub clean
make test 2>&1 | tee make.log
CC=clang make
cmake -S . -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build -j
ninja -C build
ctest --test-dir build --output-on-failure
gcc -O2 -Wall -o a a.c && ./a
g++ -std=c++20 -I include x.cc -o x
mvn -q test
./mvnw -B verify
./gradlew test --info
gradle build -x test
dotnet test
bundle exec rspec
bundle install
rake test
ruby -Itest test/a_test.rb
composer install && vendor/bin/phpunit
php artisan migrate
mix test
docker build -t app .
docker compose up -d && docker compose logs --tail=50
docker run --rm -v "$PWD":/w -w /w node:20 npm test
docker ps -a --format '{{.Names}}'
kubectl get pods -n dev
terraform plan -out=p
git status --short
git diff --stat HEAD~1
git log --oneline -10
git log --format='%h %s' | head
git add -A && git commit -m "a message" && git status
git commit -qm "fix: $(date +%F)"
git checkout -b feature/x
git stash && git pull --rebase && git stash pop
git rebase -i HEAD~3
git grep -n 'foo' -- '*.go'
git -C sub log -1
git config user.name
git config user.email me@example.com
git config --get remote.origin.url
git show HEAD:main.go | head -50
git diff --name-only | xargs -r gofmt -l
git blame -L 10,20 main.go
git bisect start HEAD v1.0
git clone --depth 1 https://example.com/x.git
git -c color.ui=false diff
GIT_PAGER=cat git log -3
PAGER=cat man ls
mkdir -p a/b && touch a/b/c
cp -r src/. dst/ && rm -rf tmp
mv a b || true
rm -f "$tmp"
chmod +x scripts/*.sh && ./scripts/run.sh
bash scripts/test.sh --fast
sh -c 'echo hi; ls | wc -l'
bash -c 'set -e; go build ./... && go test ./...'
set -euo pipefail; go test ./...
set -o pipefail; go test ./... | tee out.log
export NODE_ENV=test; npm test
export FOO="$(pwd)/x" BAR=1; ./run
cd web && npm ci && npm run build
cd "$(git rev-parse --show-toplevel)" && ls
(cd sub && make)
pushd sub >/dev/null && ls && popd >/dev/null
if [ -f go.mod ]; then go test ./...; else echo none; fi
if [[ -d node_modules && -n "$CI" ]]; then npm test; fi
if [ "$(uname)" = Darwin ]; then echo mac; fi
if [ $? -eq 0 ]; then echo ok; fi
if ! grep -q foo f; then echo missing; fi
[ -z "$X" ] && echo empty
[ "$a" = "$b" ] || echo differ
[[ "$x" =~ ^[0-9]+$ ]] && echo number
[[ $branch == main ]] && echo main
test -n "$(git status --porcelain)" && echo dirty
[ "$(wc -l < f)" -gt 10 ] && echo long
x=$(grep -c foo f); echo "$x"
n=$(ls | wc -l); [ "$n" -gt 3 ] && echo many
i=0; while [ $i -lt 3 ]; do i=$((i+1)); echo $i; done
for ((i=0; i<3; i++)); do echo $i; done
count=0; for f in *.txt; do count=$((count+1)); done; echo $count
total=0; ((total += 3)); echo $total
echo $((1 + 2 * 3)) $(( 10 / 3 ))
start=$SECONDS; make; echo $((SECONDS - start))
start=$(date +%s); make; end=$(date +%s); echo $((end - start))
arr=(a b c); echo "${arr[@]}" "${#arr[@]}" "${arr[1]}"
declare -A m=([a]=1 [b]=2); for k in "${!m[@]}"; do echo "$k ${m[$k]}"; done
f() { local x="$1"; echo "$x"; }; f hi
f() { local -r n=$1; shift; go test "$@"; }; f 1 ./...
files=$(git ls-files); echo "$files" | wc -l
tmp=$(mktemp -d); cp -r src "$tmp"; ls "$tmp"
base="${f%.go}"; echo "${base##*/}" "${x:-none}" "${y:0:3}" "${z//a/b}"
case "$1" in a|b) echo ab;; *) echo other;; esac
trap 'rm -rf "$tmp"' EXIT; tmp=$(mktemp -d); ls
timeout 60 go test ./...
timeout -k 5 30s npm test
time go build ./...
nohup node server.js > server.log 2>&1 &
sleep 2; kill %1; wait
./server & pid=$!; sleep 1; curl localhost:1; kill $pid; wait $pid
env | sort | head
env FOO=1 node x.js
xargs -n1 -P4 gofmt -l < files.txt
ls | sort | uniq -c | sort -rn | head -5
diff <(sort a) <(sort b)
comm -12 <(sort a) <(sort b) | wc -l
tee out.txt < in.txt | wc
printf '%s\n' "$a" "$b"
printf "%-10s %s\n" "$name" "$value"
echo "$HOME" '$x' "a\"b" | tr a-z A-Z
read -r a b <<< "1 2"; echo "$a$b"
mapfile -t files < <(git ls-files); echo "${#files[@]}"
IFS=, read -r a b c < row.csv
tar czf out.tgz -C dist .
tar -xzf a.tgz --strip-components=1
tar cf - src | gzip > s.tgz
zip -r a.zip src -x '*.log'
unzip -o a.zip -d out
rsync -a --delete src/ dst/
openssl rand -hex 16
psql -h localhost -U app -c 'select 1'
sqlite3 db.sqlite 'select count(*) from t'
ps aux | grep node | grep -v grep
lsof -i :3000 || true
which go node python3
command -v rg >/dev/null || echo no
type -a git
du -sh * | sort -h
head -c 100 f | xxd
wc -l $(git ls-files '*.go') | tail -1
basename "$PWD"; dirname x/y
ssh-keygen -l -f key.pub
gh pr list --limit 5
gh pr view 12 --json title -q .title
protoc --go_out=. x.proto
sqlc generate && buf lint
golangci-lint run ./...
staticcheck ./...
helm template chart | head
act -l
xargs -I{} cp {} dst < files
ls -1 | xargs -I % echo "file %"
yes | head -3
! grep -rn 'FIXME' src
: > empty.log
exec 3>&1; echo a >&3
>out.txt echo a
node --test && node --check x.js
deno test -A
swift build
flutter test
zig build test
less +G log.txt < /dev/null | tail -3 || true
`

var dailyTexts = []string{
	"cat > src/a.txt <<'EOF'\nif x { $(y) }\nEOF",
	"cat <<EOF > src/b.txt\nhello $USER\nEOF",
	"python3 - <<'EOF'\nimport os\nprint(os.getcwd())\nEOF",
	"git commit -F - <<'EOF'\nsubject\n\nbody with `code` and $(x)\nEOF",
	"git commit -m \"$(cat <<'EOF'\nsubject\n\nbody\nEOF\n)\"",
	"for t in a b; do\n  echo \"== $t\"\n  go test -run \"$t\" ./... || exit 1\ndone",
	"awk '\nBEGIN { n = 0 }\n/func / { n++ }\nEND { print n }\n' main.go",
	"jq -n --arg v \"$v\" '{v: $v}' > out.json",
	"if [ -d build ]; then\n  rm -rf build\nfi\nmkdir build && cd build && cmake .. && make -j4",
	"bash -lc 'nvm use && npm test'",
	"while true; do curl -sf localhost:3000 && break; sleep 1; done",
	"until nc -z localhost 5432; do sleep 1; done",
	"select_x=1; [ \"$select_x\" -eq 1 ] && echo one",
	"# build it\ngo build ./... # all of it\ngo test ./...",
	"go test ./... \\\n  -run TestX \\\n  -count=1",
}
