# Targets for people who work on orchestra-mcp. Users need none of them.

.PHONY: build test long race lint bench fuzz-short machines clients packages grammars grammars-check rename-module

build:
	go build -o bin/orchestra-mcp ./cmd/orchestra-mcp

test:
	go test ./...

# The tests in their long form, for hours: each table whole, and many more rounds.
long:
	ORCHESTRA_LONG=1 go test -timeout 6h ./...

# The tests with the race detector, in their smallest form, also inside the program that e2e drives.
race:
	go test -race ./...

lint:
	@unformatted="$$(gofmt -l .)"; [ -z "$$unformatted" ] || { echo "gofmt these:"; echo "$$unformatted"; exit 1; }
	go vet ./...

# The promised numbers, as ratios in one run.
bench:
	go run ./bench

# Every fuzz target for FUZZTIME.
FUZZTIME ?= 10s
fuzz-short:
	@set -e; for package in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
			echo "$$package $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package; \
		done; \
	done

# The boundary of commands on other kernels, in virtual machines (e2e/machines): for hours, as root.
#   make machines MACHINES="--list"
machines:
	e2e/machines/machines.sh $(MACHINES)

# The clients and agents that the tests in e2e drive.
clients:
	npm --prefix e2e/clients ci
	npm --prefix e2e/agents ci
	npm --prefix e2e/conformance ci
	npm --prefix e2e/packages ci

# Every package of the commit that is checked out, in dist/ (packaging/). It takes mmdebstrap, and the first time minutes to
# build goreleaser. Variables of the environment, such as SOURCE_DATE_EPOCH, go in.
packages:
	go run ./packaging

# The parsers of pkg/mutation, from C to WebAssembly (README.md beside build.sh).
GRAMMARS = pkg/mutation/internal/treesitter/build/build.sh
grammars:
	$(GRAMMARS)

grammars-check:
	$(GRAMMARS) --check

# The module's path is provisional: this changes it wherever it stands.
#   make rename-module MODULE=example.org/you/orchestra-mcp
rename-module: OLD = $(shell go list -m)
rename-module:
	@[ -n "$(MODULE)" ] || { echo "name the new path: make rename-module MODULE=example.org/you/orchestra-mcp"; exit 2; }
	go mod edit -module "$(MODULE)"
	grep -rlF --null --exclude-dir=.git --exclude-dir=node_modules --exclude-dir=bin -e "$(OLD)" . \
		| xargs -0 sed -i.renamed 's|$(subst .,\.,$(OLD))|$(MODULE)|g'
	find . -name '*.renamed' -type f -delete
	gofmt -w .
