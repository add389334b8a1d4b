# The commands of this repository. `make help` lists them.

.DEFAULT_GOAL := help
.PHONY: help deps test soak generate lint bench

# Packages to test or measure: make test PKG=./runtime/...
PKG ?= ./...
# How often and how long each benchmark runs: make bench COUNT=6
COUNT ?= 1

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

deps: ## install what the tests need: servers (as root on Debian; elsewhere it says what), modules; names it first
	@.ci/install

test: deps ## run all tests with the race detector, against real servers (LOCKGEN_REQUIRE=redis is content with Redis)
	@.ci/test $(PKG)

soak: ## run the tests that take minutes: wider exploration, a million keys, days of chaos (30 at the most)
	@LOCKGEN_REQUIRE=redis .ci/install
	LOCKGEN_SOAK=1 LOCKGEN_REQUIRE=redis go test -count=1 -p=1 -timeout=$(or $(LOCKGEN_TIMEOUT),3h) ./runtime/... ./internal/cronspec ./jobs/...

generate: ## write lock_gen.go beside every //lock: directive
	go generate ./...

lint: ## go vet, gofmt, and locklint on ourselves
	@.ci/lint

bench: ## run the benchmarks beside the code of package lockrt (other libraries: see bench/README.md)
	@LOCKGEN_REQUIRE=redis .ci/install
	go test -run='^$$' -bench=. -benchmem -count=$(COUNT) ./runtime/...
