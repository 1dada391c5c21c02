# What a checkout can do: `make help` lists it.

BIN := build/bin
TOOLS := build/cache/tools
GVISOR := build/cache/runsc/go.work
# Where build/allow-namespaces.sh had to leave an unshare that may do its work.
export PATH := $(CURDIR)/$(TOOLS):$(PATH)
# Grows with every commit: a front end replaces the daemon of an older build.
VERSION := 0.1.$(shell git rev-list --count HEAD 2>/dev/null || echo 0)
# Programs, checks and tests are compiled in one way, so that most packages are compiled once; so,
# too, they do without C where they can.
export GOFLAGS += -trimpath -buildvcs=false
WITHOUT_C := CGO_ENABLED=0
# Without the tables for debuggers, which are a third of a program.
GO_BUILD = go build -ldflags '-s -w $(shell build/release/stamps.sh $(VERSION))'

# What is compiled, and what is embedded beside it.
GO_FILES := go.mod $(wildcard go.sum) main.go frontend/embed.go $(shell find backend app -name '*.go') \
	$(shell find backend -not -path '*/testdata/*' \( -name '*.yaml' -o -name '*.sql' -o -name '*.svg' -o -name seccomp.json -o -name compare.py -o -path '*/export/scripts/*.js' -o -path '*/descriptions/*.md' \))
PAGE := frontend/dist/index.html
NODE_MODULES := frontend/node_modules/.package-lock.json
# The help shows documents.
PAGE_FILES := $(shell find frontend/src frontend/public backend/export/scripts -type f) $(wildcard docs/*.md) $(wildcard frontend/*.html frontend/*.ts frontend/*.js frontend/*.json)
# The extension's program is only in the extension, and the guest's only in a virtual machine.
PROGRAMS := $(filter-out $(BIN)/extension $(BIN)/guest,$(patsubst backend/cmd/%/,$(BIN)/%,$(wildcard backend/cmd/*/)))
MCPB_MODULES := build/mcpb/node_modules/.package-lock.json
MCPB_FILES := $(filter-out build/mcpb/node_modules,$(wildcard build/mcpb/*))
RUNSC_FILES := $(GVISOR) build/runsc/build.sh \
	$(wildcard build/runsc/*.go build/runsc/precompile/*.go)
IMAGE_FILES := build/image/build.py build/image/compile.py $(wildcard build/image/keyring/*.asc build/image/requirements*.lock) \
	$(shell find backend/runner/forevervm_runner -name __pycache__ -prune -o -print 2>/dev/null)

.PHONY: help run dev check test test-all test-kubernetes ci soak lint bench pictures build image image-ml guest arm64 docker-image mcpb dist dist-test version
.DELETE_ON_ERROR:

help: ## This list.
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/\1|\2/p' Makefile | while IFS='|' read -r name what; do \
		printf '  make %-16s %s\n' "$$name" "$$what"; done

# make itself starts again below, because what `build` finds depends on what deps has installed.
run: ## Install what is missing, build, and start the application.
	build/deps.sh
	$(MAKE) -j2 build
	build/allow-namespaces.sh
	$(BIN)/forevervm-desktop

# The page with hot reload, in front of a daemon that is built and restarted when its sources
# change.
dev: ## Run from source with hot reload.
	build/deps.sh
	$(MAKE) $(BIN)/runsc image $(NODE_MODULES)
	build/allow-namespaces.sh
	go build -o build/cache/dev/dev ./build/dev
	build/cache/dev/dev

# build/suite says what each of these runs. It ends with what ran, how long it took, and what was
# skipped and why.
SUITE := go run ./build/suite
check: ## Formatting, linters, types, unit tests. Run it before each commit.
	build/deps.sh check
	$(MAKE) $(PAGE) $(TOOLS)/gotestsum $(GVISOR)
	$(SUITE) check

test: ## Unit tests, types, real sandboxes, the page in a browser, the published Python SDK.
	build/deps.sh test
	$(MAKE) -j2 build $(TOOLS)/gotestsum
	build/allow-namespaces.sh
	$(SUITE) test

test-all: ## test, and Docker (as root), window, tray, Wine, Kubernetes where it is built.
ci: ## test-all without what takes too long.
test-all ci:
	build/deps.sh test-all
	$(MAKE) -j2 build $(TOOLS)/gotestsum
	build/allow-namespaces.sh
	@[ "$$(id -u)" = 0 ] || [ -n "$$FOREVERVM_TEST_DOCKER" ] || sudo -n true 2>/dev/null || \
		{ echo "The tests of machines in Docker start one, as root." && sudo true; }
	$(SUITE) $@

# CI does not build Kubernetes, and runs these tests where it is built.
test-kubernetes: ## A Kubernetes of its own, as root. The first time, it builds one in 7 minutes.
	build/deps.sh kubernetes
	build/kubernetes/build.sh
	$(MAKE) -j2 build $(TOOLS)/gotestsum
	$(SUITE) $@

# What can be said of the code without running it. `make lint-go` runs one part alone.
LINTS := lint-modules lint-go lint-systems lint-shell lint-python lint-docs lint-workflows lint-page lint-generated
.PHONY: $(LINTS) fmt generate
lint: $(LINTS) ## Formatting, linters and types, without tests.

GO_MODULES := . $(addprefix build/kubernetes/,cluster cni containerd runc) build/macos/vfkit \
	build/release build/runsc build/tools
GOLANGCI = $(WITHOUT_C) $(CURDIR)/$(TOOLS)/golangci-lint
# gVisor's packages with files of ours.
WITH_GVISOR = GOWORK=$(CURDIR)/build/cache/runsc/go.work
IN_GVISOR = $(patsubst build/runsc/gvisor/%/,$(CURDIR)/build/cache/runsc/gvisor/%, \
	$(sort $(dir $(shell find build/runsc/gvisor -name '*.go'))))
PYTHON := $(TOOLS)/python/bin
PYTHON_TOOLS := $(TOOLS)/python/requirements.txt
MARKDOWNLINT := build/tools/node_modules/.package-lock.json
GO_SOURCES = $(wildcard $(shell git ls-files -co --exclude-standard '*.go'))
SHELL_FILES = $(wildcard $(shell git ls-files -co --exclude-standard '*.sh')) .ci/run
PYTHON_FILES = $(wildcard $(shell git ls-files -co --exclude-standard '*.py'))

lint-modules:
	@for module in $(GO_MODULES); do go -C $$module mod tidy -diff || exit; done

# Not build/kubernetes/cluster, for which all of Kubernetes would be compiled: 6 minutes, and 4 GB.
lint-go: $(TOOLS)/golangci-lint $(PAGE) $(GVISOR)
	@$(GOLANGCI) fmt --diff $(GO_SOURCES)
	$(GOLANGCI) run . ./app/... ./backend/... ./build/dev ./build/image/sums ./build/suite ./frontend/...
	cd build/release && $(GOLANGCI) run ./...
	cd build/macos/vfkit && $(GOLANGCI) run ./...
	cd build/tools && $(GOLANGCI) run ./...
	cd build/runsc && $(WITH_GVISOR) $(GOLANGCI) run ./...
	cd build/runsc && $(WITH_GVISOR) $(GOLANGCI) run --config golangci.yml $(IN_GVISOR)

# Whether it compiles for the systems that nothing runs on here.
lint-systems: export GOFLAGS += -tags=real,system,soak
lint-systems: $(TOOLS)/typecheck $(PAGE)
	GOOS=windows $(WITHOUT_C) $(TOOLS)/typecheck ./app/... ./backend/...
	GOOS=darwin $(WITHOUT_C) $(TOOLS)/typecheck ./backend/...
	$(WITHOUT_C) go vet -tags=dev ./frontend
	$(WITHOUT_C) go vet -tags=bindings .

lint-shell: $(TOOLS)/shfmt $(PYTHON_TOOLS)
	$(PYTHON)/shellcheck $(SHELL_FILES)
	$(TOOLS)/shfmt --diff $(SHELL_FILES)

# The runner has settings of its own, as it runs on the Python of the sandbox image.
lint-python: $(PYTHON_TOOLS)
	$(PYTHON)/ruff check --quiet --no-cache .
	$(PYTHON)/ruff format --quiet --no-cache --check .
	$(PYTHON)/mypy --cache-dir build/cache/mypy --no-error-summary $(filter-out backend/runner/%,$(PYTHON_FILES))
	cd backend/runner && $(CURDIR)/$(PYTHON)/mypy --cache-dir ../../build/cache/mypy --no-error-summary forevervm_runner tests

# The second reads sentences: words to avoid, and those that are too long.
lint-docs: $(MARKDOWNLINT)
	build/tools/node_modules/.bin/markdownlint-cli2
	cd build/tools && node_modules/.bin/textlint $(patsubst %,../../%,$(wildcard *.md) docs)

# actionlint is a tool of build/release: it does not compile with the YAML library that
# golangci-lint needs.
lint-workflows: $(PYTHON_TOOLS)
	go -C build/release tool actionlint -shellcheck $(CURDIR)/$(PYTHON)/shellcheck

lint-page: $(NODE_MODULES)
	cd frontend && npm run --silent lint && npm run --silent check

API_TYPES := $(TOOLS)/oapi-codegen --config backend/api/oapi-codegen.yaml backend/api/openapi.yaml

# Another generated file, seccomp.json, has a test (TestSeccompIsGenerated).
lint-generated: $(NODE_MODULES) $(TOOLS)/oapi-codegen
	cd frontend && npm run --silent check:types
	$(API_TYPES) | diff backend/api/types.gen.go -

fmt: $(TOOLS)/golangci-lint $(TOOLS)/shfmt $(PYTHON_TOOLS) $(NODE_MODULES) $(MARKDOWNLINT) ## Format everything.
	@$(GOLANGCI) fmt $(GO_SOURCES)
	$(TOOLS)/shfmt --write $(SHELL_FILES)
	$(PYTHON)/ruff check --quiet --no-cache --select I --fix .
	$(PYTHON)/ruff format --quiet --no-cache .
	build/tools/node_modules/.bin/markdownlint-cli2 --fix
	cd frontend && npm run --silent format

# Everything that is written by a program and kept in the repository.
generate: $(NODE_MODULES) $(TOOLS)/oapi-codegen ## Write what is generated and checked in.
	$(API_TYPES) >backend/api/types.gen.go
	cd frontend && npm run --silent types
	go test ./backend/engine/docker -run '^TestSeccompIsGenerated$$' -update
	go run ./backend/cmd/forevervm manual --page >docs/cli.md

bench: ## Measure the built programs, alone and against others.
	build/deps.sh bench
	$(MAKE) -j2 build
	build/allow-namespaces.sh
	go run ./backend/e2e/bench
	cd frontend && npm run --silent bench

pictures: ## Make the pictures of README and guide.
	build/deps.sh pictures
	$(MAKE) -j2 build
	build/allow-namespaces.sh
	cd frontend && npm run --silent pictures

soak: ## The long runs: hours of crashes, kills and fuzzing.
	build/deps.sh soak
	$(MAKE) -j2 build guest arm64 $(TOOLS)/gotestsum
	build/allow-namespaces.sh
	$(SUITE) soak

build: $(BIN)/runsc image $(PROGRAMS) $(BIN)/forevervm-desktop $(BIN)/forevervm.mcpb ## Build everything into build/bin.

# Claude Desktop's extension for each system. MCPB_CERT and MCPB_KEY, two PEM files, sign it.
mcpb: $(MCPB_MODULES)
	build/mcpb/build.sh $(VERSION) build/dist/forevervm-linux.mcpb linux amd64 arm64
	build/mcpb/build.sh $(VERSION) build/dist/forevervm-darwin.mcpb darwin amd64 arm64
	build/mcpb/build.sh $(VERSION) build/dist/forevervm-windows.mcpb windows amd64

version:
	@echo $(VERSION)

# Installers, in build/dist; those for macOS are made on a Mac (.github/workflows/release.yml), and
# are a rehearsal elsewhere. The programs are linked again, as they say which commit they are of.
dist: export SOURCE_DATE_EPOCH = $(shell git log -1 --format=%ct)
dist: ## Make the installers, into build/dist.
	build/deps.sh dist
	rm -f $(PROGRAMS) $(BIN)/forevervm-desktop $(BIN)/forevervm.mcpb
	rm -rf build/dist
	$(MAKE) build guest mcpb
	build/linux/package.sh $(VERSION)
	build/windows/package.sh $(VERSION)
	build/release/finish.sh $(VERSION)
	build/macos/package.sh $(VERSION) amd64 build/dist/rehearsal
	PARTS=none build/macos/package.sh $(VERSION) arm64 build/dist/rehearsal

# They are installed, used, upgraded and removed: the deb in a fresh Debian, as root; the MSI under
# Wine. The DMGs are opened.
dist-test: ## Install, use, upgrade and remove what `make dist` made.
	build/deps.sh dist
	build/release/test.py $(VERSION)
	build/linux/test.sh $(VERSION)
	build/windows/test.sh $(VERSION)
	build/macos/test.py $(VERSION) amd64 build/dist/rehearsal
	build/macos/test.py $(VERSION) arm64 build/dist/rehearsal

# The sandbox image for Docker as one OCI archive; more folders with the parts for other processors
# by PARTS.
docker-image: build
	go run ./backend/engine/docker/imagetool -o $(BIN)/forevervm-sandbox.oci.tar $(BIN) $(PARTS)

# The parts for ARM, in build/bin/arm64. On another processor some steps emulate one
# (qemu-user-static, binfmt-support), which takes half an hour. A release builds them on ARM.
arm64: $(patsubst %,$(BIN)/arm64/%,supervisor agent runsc image/base.json)

$(BIN)/arm64/supervisor $(BIN)/arm64/agent: $(BIN)/arm64/%: $(GO_FILES)
	GOARCH=arm64 $(WITHOUT_C) $(GO_BUILD) -o $@ ./backend/cmd/$*

$(BIN)/arm64/runsc: $(RUNSC_FILES)
	GOARCH=arm64 build/runsc/build.sh ../bin/arm64/runsc

$(BIN)/arm64/image/base.json: $(IMAGE_FILES)
	build/image/build.py --architecture aarch64 --cache build/cache/image-arm64 --out $(@D)

# What a virtual machine starts with beside the image, for both processors.
guest: $(BIN)/guest/amd64/initramfs $(BIN)/guest/arm64/initramfs ## Kernel and init of the virtual machine.
GUEST_amd64 := x86_64
GUEST_arm64 := aarch64
$(BIN)/guest/%/initramfs: build/guest/build.py build/image/build.py $(wildcard build/image/keyring/*.asc) go.mod \
	$(wildcard backend/cmd/guest/*.go backend/engine/remote/vm/control/*.go)
	build/guest/build.py --architecture $(GUEST_$*)

image: $(BIN)/image/base.json
image-ml: $(BIN)/image/ml.json

$(PROGRAMS): $(BIN)/%: $(GO_FILES) $(PAGE)
	$(WITHOUT_C) $(GO_BUILD) -o $@ ./backend/cmd/$*

$(BIN)/forevervm-desktop: $(GO_FILES) $(PAGE)
	$(GO_BUILD) -tags desktop,production,webkit2_41 -o $@ .

# The page. npm leaves the lock file that it installed in node_modules; its date says what was
# installed when.
$(PAGE): $(PAGE_FILES) $(NODE_MODULES)
	cd frontend && npm run --silent build

$(NODE_MODULES): frontend/package.json frontend/package-lock.json
	cd frontend && npm ci --no-audit --no-fund
	touch $@

# This computer's, beside the programs, which open it from there.
$(BIN)/forevervm.mcpb: $(GO_FILES) $(MCPB_FILES) $(MCPB_MODULES)
	build/mcpb/build.sh $(VERSION) $@ linux $(shell go env GOARCH)

$(MCPB_MODULES): build/mcpb/package.json build/mcpb/package-lock.json
	cd build/mcpb && npm ci --no-audit --no-fund --ignore-scripts
	touch $@

# gVisor with our patches.
$(GVISOR): build/runsc/apply.sh build/runsc/go.mod build/runsc/go.sum $(shell find build/runsc/patches build/runsc/gvisor)
	build/runsc/apply.sh

$(BIN)/runsc: $(RUNSC_FILES)
	build/runsc/build.sh

# The manifest is written last: it stands for the image beside it.
$(BIN)/image/%.json: $(IMAGE_FILES)
	build/image/build.py --variant $*

$(TOOLS)/%: build/tools/go.mod build/tools/go.sum $(wildcard build/tools/*/*.go)
	cd build/tools && go build -o ../cache/tools/ $$(go list tool | grep '/$*$$')

$(PYTHON_TOOLS): build/tools/requirements.txt build/tools/python.sh
	build/deps.sh check
	build/tools/python.sh
	touch $@

$(MARKDOWNLINT): build/tools/package.json build/tools/package-lock.json
	cd build/tools && npm ci --no-audit --no-fund --ignore-scripts
	touch $@
