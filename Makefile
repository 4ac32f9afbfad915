# Commands for working on singletable. `make` alone lists them.

GOLANGCI_LINT := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
ACTIONLINT    := go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

# The modules that go.work joins, and the packages of all of them.
MODULES  = $(shell go list -m -f '{{.Dir}}')
PACKAGES := github.com/singletable/singletable/...
RACE     ?= $(PACKAGES)
# The suites whose tests run within a minute each.
SUITES   := $(addprefix ./suites/,awsconformance/sweep client conformance/... internal/... middleware probes schedules soak/checker soak/nemesis soak/report)
FUZZTIME ?= 10s
SOAKTIME ?= 5m

.PHONY: help
help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-22s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: ## Run the quickstart on a local engine
	go run ./examples/quickstart

.PHONY: test
test: ## Run the tests on a local engine, of all modules: those that the gate runs
	go test ./... ./cmd/singletable/... ./table/telemetry/oteltable/... ./examples/... $(SUITES)
	go test ./suites/awsconformance -run 'Protect|Prefixes|Meter|Left|Tables|^TestSuiteUnderGuard$$/run/^(Schema|Plan|Write|Stream|Foreign)$$' # all groups: make conformance
	go test -count=1 ./suites/mutants ./suites/peers # which read files of other modules, unseen by the cache of results

.PHONY: race
race: ## Run the tests of RACE (all modules) with the race detector, except for those that measure, explore, soak and need a browser, and with SQLITE=1 those that compile SQLite, which takes minutes
	go test -race -vet=off $$(go list $(RACE) | grep -v -e /suites/benchmarks -e /suites/browser -e /suites/soak -e /suites/schedules $(if $(SQLITE),,-e '/examples/cqrs$$' -e /examples/cqrs/api -e /examples/cqrs/readmodel))

.PHONY: coverage
coverage: ## Print what the tests of the metering example cover, and fail below 95 %
	.ci/coverage

.PHONY: vet
vet: ## Run go vet alone
	go vet $(PACKAGES)
	go vet -tags dynamodblocal ./suites/conformance/...
	go vet -tags aws ./suites/awsconformance/...
	go vet -tags postgres ./examples/cqrs/readmodel
	go vet -tags chromium ./examples/shop/browser

.PHONY: platforms
platforms: ## Vet for the platforms VET and build for BUILD (all others), and test on a 32-bit one
	.ci/platforms

.PHONY: lint
lint: ## Check format and style with the pinned linters, and run go vet
	@for m in $(MODULES); do echo "lint $${m#$(CURDIR)/}"; (cd "$$m" && $(GOLANGCI_LINT) run --build-tags aws,chromium,dynamodblocal,postgres ./...) || exit 1; done
	$(ACTIONLINT) .github/workflows/*.yml examples/ledger/.github/workflows/*.yml

.PHONY: templates
templates: ## Check the SAM templates with cfn-lint (needs python)
	.ci/templates

.PHONY: fmt
fmt: ## Format the code
	@for m in $(MODULES); do (cd "$$m" && $(GOLANGCI_LINT) fmt ./...) || exit 1; done

.PHONY: api
api: ## Compare the exported API with its listing, internal/tools/api/api.txt, and find unused names
	go run ./internal/tools/api

.PHONY: api-update
api-update: ## Write that listing, for a change that is meant
	go run ./internal/tools/api -update

.PHONY: tidy
tidy: ## Tidy go.mod and go.sum of every module
	.ci/tidy

.PHONY: docs
docs: ## Update the generated parts of READMEs and guides
	go generate ./examples/... ./suites/peers

.PHONY: fuzz
fuzz: ## Run every fuzz target of FUZZ (all modules) for FUZZTIME (10s) each
	@FUZZTIME=$(FUZZTIME) .ci/fuzz

.PHONY: conformance
conformance: ## Run the conformance suite on the default engine and on DynamoDB Local (needs java)
	go test -count=1 -tags dynamodblocal ./suites/conformance/... ./suites/awsconformance/...

.PHONY: sdk
sdk: ## Run the suites whose requests are replayed with the SDK's client making every call (minutes; needs java)
	go test -count=1 -tags dynamodblocal ./suites/conformance ./suites/probes ./suites/schedules -replay=false

.PHONY: newest
newest: ## Run what depends on the inside of the AWS SDK with its newest release
	.ci/newest

.PHONY: local
local: ## Run the tests of LOCAL (./...) twice on one DynamoDB Local (needs java; half an hour)
	go run ./suites/conformance/dynamodblocal .ci/local $(or $(LOCAL),./...)

.PHONY: copies
copies: ## Copy each example system with singletable new, and run the tests of the copies
	.ci/copies

.PHONY: postgres
postgres: ## Run the tests of the relational read model on PostgreSQL (needs its server)
	.ci/postgres

.PHONY: browser
browser: ## Test the pages of singletable view and of the shop in Chromium (needs chromium)
	go test -count=1 -tags chromium ./examples/shop/browser ./suites/browser

.PHONY: pictures
pictures: ## Take the pictures of singletable view for the documentation (needs chromium)
	go test -count=1 -run '^TestPictures$$' ./suites/browser -update

.PHONY: pages
pages: ## Take pictures of all pages of singletable view, in both themes and narrow, into bin/pages (needs chromium)
	go test -count=1 -run '^TestEveryPage$$' ./suites/browser -pictures $(CURDIR)/bin/pages

.PHONY: streams
streams: ## Write 100,000 records of streams on ten engines, and compare what two consumers get (about 5 minutes)
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	go test -c -o "$$dir/conformance" ./suites/conformance && cd suites/conformance && \
	for i in 1 2 3 4 5 6 7 8 9 10; do \
		"$$dir/conformance" -test.v -test.run '^TestDefaultEngine$$/^Stream$$/delivers' -records 10000 >"$$dir/out" || { cat "$$dir/out"; exit 1; }; \
		grep ' records, ' "$$dir/out"; \
	done

.PHONY: conformance-aws
conformance-aws: ## Say what the conformance suite costs on AWS; with PREFIX=name CONFIRM=yes, run it there
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	go test -c -tags aws -o "$$dir/aws" ./suites/awsconformance && \
	cd suites/awsconformance && PREFIX='$(PREFIX)' CONFIRM='$(CONFIRM)' "$$dir/aws" -test.run '^TestAWS$$' -test.parallel 8 -test.timeout 2h

.PHONY: conformance-aws-sweep
conformance-aws-sweep: ## List the tables that killed runs with PREFIX=name left on AWS; with CONFIRM=yes, delete them
	go run ./suites/awsconformance/sweep -prefix '$(PREFIX)' -confirm '$(CONFIRM)'

.PHONY: soak
soak: ## Try every promise under faults for SOAKTIME (5m), and count how often it held
	go run ./suites/soak -duration $(SOAKTIME)

.PHONY: explore
explore: ## Run every write protocol and example path under many schedules, and count them (long)
	.ci/explore

.PHONY: plans
plans: ## Try what repo plans on 300,000 random states, without an engine (1 min)
	go test ./repo -count 1 -run TestPlans -states 100000

.PHONY: guards
guards: ## Remove each guard and fix, and show the test that fails without it (long)
	go run ./suites/mutants

.PHONY: mutants
mutants: ## Change each operator of PKG (keys), and list the changes that no test sees; FILE, TESTS, RUN (minutes)
	PKG='$(or $(PKG),keys)' FILE='$(FILE)' TESTS='$(TESTS)' RUN='$(RUN)' .ci/mutants

.PHONY: releases
releases: ## Run 0.1.0-rc.1, built from the history, and this release on one table (half a minute)
	go test -count=1 ./suites/releases

.PHONY: nightly
nightly: ## Run what the gate leaves out for time, or has a sample of (hours)
	$(MAKE) platforms
	$(MAKE) race RACE="./examples/... ./cmd/singletable/... ./suites/conformance" SQLITE=1
	$(MAKE) copies
	$(MAKE) fuzz FUZZTIME=10s
	$(MAKE) newest
	$(MAKE) conformance
	$(MAKE) sdk
	$(MAKE) local
	$(MAKE) plans
	$(MAKE) releases
	go test -count=1 -timeout 1h ./suites/soak/workload # against engines that lie
	$(MAKE) soak SOAKTIME=30m
	$(MAKE) spec
	$(MAKE) explore
	$(MAKE) guards

.PHONY: changed
changed: ## Do the same with the lines changed since BASE (HEAD~1), for MUTANTTIME (2m) a package
	.ci/changed

.PHONY: spec
spec: ## Simulate the specifications in docs/spec, and their broken variants (needs npm)
	.ci/spec

.PHONY: vuln
vuln: ## Look for known vulnerabilities (needs the network)
	.ci/vuln

.PHONY: release
release: ## Show that the commit at hand can be tagged (about a minute)
	go run ./internal/tools/release

.PHONY: bench
bench: ## Measure repo next to the SDK and its peers, and write the table in docs/performance.md (about 5 minutes)
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	go test -c -o "$$dir/bench" ./suites/benchmarks && \
	for i in $$(seq 40); do \
		"$$dir/bench" -test.run '^$$' -test.bench '^BenchmarkJob$$/./on=stub' -test.benchtime 0.05s -test.cpu 1 >>"$$dir/results" || { cat "$$dir/results"; exit 1; }; \
	done && go run ./suites/benchmarks report -into docs/performance.md <"$$dir/results" && \
	"$$dir/bench" -test.run '^$$' -test.bench 'Middleware|Stream' && \
	go test -run '^$$' -bench . ./paginate

.PHONY: coldstart
coldstart: ## Measure what the library adds to the start of a program, next to the SDK alone
	go run ./suites/benchmarks coldstart

.PHONY: load
load: ## Send a mix of requests to the payments API and to a handler on the SDK alone (about a minute)
	go run ./examples/appcore/load

.PHONY: backfill
backfill: ## Measure a backfill next to a loop with the SDK, and kill it while programs write
	go run ./suites/benchmarks backfill

.PHONY: shardcost
shardcost: ## Measure what a page over shards costs and draw shard/cost.svg
	go run ./suites/benchmarks shardcost -measure

.PHONY: network
network: ## Measure connections, fan-out and hedged reads over TLS at 5 ms (about 5 minutes)
	go run ./suites/benchmarks network
