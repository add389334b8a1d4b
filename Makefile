# The commands of this repository. `make help` lists them.

.DEFAULT_GOAL := help
.PHONY: help deps test soak generate lint bench

# Packages of the root module to test, in place of all modules: make test PKG=./runtime/...
PKG ?=
# How often and how long each benchmark runs: make bench COUNT=6
COUNT ?= 1

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

deps: ## install what the tests need: servers (as root on Debian; elsewhere it says what), modules; names it first
	@.ci/install

test: deps ## run the tests of all modules with the race detector and real servers (LOCKGEN_REQUIRE=redis: Redis alone)
	@.ci/test $(or $(PKG),-all)

soak: ## run the tests that take minutes: wider exploration, a million keys, chaos on every store (some hours)
	@.ci/soak
	@.ci/fuzz

generate: ## write lock_gen.go beside every //lock: directive
	go generate ./...

lint: ## go vet, gofmt, and locklint on ourselves
	@.ci/lint

bench: ## run the benchmarks beside the code of package lockrt (other libraries: see bench/README.md)
	@LOCKGEN_REQUIRE=redis .ci/install
	go test -run='^$$' -bench=. -benchmem -count=$(COUNT) ./runtime/...
