# Sallyport. `make` lists what there is to run.

.DEFAULT_GOAL := help
SHELL         := bash
.SHELLFLAGS   := -euo pipefail -c

FUZZTIME   ?= 20s
BENCH      ?= .
BENCHFLAGS ?=

COMMANDS := $(notdir $(wildcard cmd/*))

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build the static binaries into bin/
	go generate ./sandboxd/...
	CGO_ENABLED=0 go build -trimpath -ldflags=-s -o bin/ $(COMMANDS:%=./cmd/%)

.PHONY: setup
setup: ## install what tests and the demo need (Debian, root)
	.ci/setup

.PHONY: test
test: setup build bin/tools/gotestsum ## run every test; a skip that isn't expected fails
	.ci/test

.PHONY: demo
demo: setup build ## show the boundary at work, explained
	go run ./integration/demo

.PHONY: lint
lint: bin/tools/golangci-lint ## gofmt, vet and the linters of .golangci.yml
	go generate ./sandboxd/...
	bin/tools/golangci-lint run ./...

.PHONY: bench
bench: build ## compare the edge with other proxies (Debian, root; BENCHFLAGS=-quick)
	.ci/setup-bench
	go run ./integration/bench -readme integration/bench/README.md $(BENCHFLAGS)

.PHONY: microbench
microbench: build ## run the benchmarks of packages (BENCH=regexp)
	go test -run '^$$' -bench '$(BENCH)' -benchmem ./...

# Without a bound, making one input smaller may take a minute in which nothing
# else runs.
# Without a bound, making one input smaller may take a minute in which nothing
# else runs.
.PHONY: fuzz
fuzz: build ## fuzz each target for FUZZTIME
	@failed=0; \
	while IFS=: read -r file target; do \
		go test "$$(dirname "$$file")" -run '^$$' -fuzz "^$${target#func }\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x || failed=1; \
	done < <(grep -rHoE --include='*_test.go' '^func Fuzz\w+' . | sort); \
	exit $$failed

.PHONY: soak
soak: build ## the runs of numbers and hours at full length
	SALLYPORT_SOAK=1 go test -v -count 1 -timeout 2h ./integration/soak
	SALLYPORT_SOAK=1 go test -v -race -count 1 -timeout 1h -run TestManyBoundaries ./edge

.PHONY: client
client: bin/tools/oapi-codegen ## make the API's client anew after the API changed
	go run ./cmd/sandboxd openapi > bin/openapi.json
	mv bin/openapi.json sandboxd/apiclient/openapi.json
	cd sandboxd/apiclient && ../../bin/tools/oapi-codegen -config config.yaml -o client.gen.go openapi.json
	cd sandboxd/apiclient && sha256sum openapi.json client.gen.go > generated.sha256

.PHONY: clean
clean: ## remove what was built
	rm -rf bin

# Tools are pinned in modules of their own, so that they never weigh on the
# product's.
bin/tools/%: .ci/tools/%/go.mod
	go build -C .ci/tools/$* -o $(CURDIR)/$@ tool
