# What a checkout can do. `make build` leaves everything in build/bin.

BIN := build/bin
RUNSC_VERSION := release-20260905.0-160fafc42237

GO_FILES := go.mod $(wildcard go.sum) main.go $(shell find backend app -name '*.go') frontend/embed.go
PAGE := frontend/dist/index.html
PAGE_FILES := $(shell find frontend/src frontend/public -type f) $(wildcard frontend/*.html frontend/*.ts frontend/*.js frontend/*.json)
PROGRAMS := $(patsubst backend/cmd/%/,$(BIN)/%,$(wildcard backend/cmd/*/))
IMAGE_FILES := build/image/build build/image/compile.py $(wildcard build/image/keyring/*.asc build/image/requirements*.lock) \
	$(shell find backend/runner/forevervm_runner -name __pycache__ -prune -o -print 2>/dev/null)

.PHONY: build image image-ml
.DELETE_ON_ERROR:

build: $(BIN)/runsc image $(PROGRAMS) $(BIN)/forevervm-desktop

image: $(BIN)/image/base.json
image-ml: $(BIN)/image/ml.json

$(PROGRAMS): $(BIN)/%: $(GO_FILES) $(PAGE)
	CGO_ENABLED=0 go build -trimpath -o $@ ./backend/cmd/$*

$(BIN)/forevervm-desktop: $(GO_FILES) $(PAGE)
	go build -trimpath -tags desktop,production,webkit2_41 -o $@ .

# The page. npm leaves the lock file that it installed in node_modules; its date says what was installed when.
NODE_MODULES := frontend/node_modules/.package-lock.json
$(PAGE): $(PAGE_FILES) $(NODE_MODULES)
	cd frontend && npm run --silent build

$(NODE_MODULES): frontend/package.json frontend/package-lock.json
	cd frontend && npm ci --no-audit --no-fund
	touch $@

# Stamped, because gVisor refuses to restore what another version saved, and can only if it knows its own.
$(BIN)/runsc: build/runsc/go.mod build/runsc/go.sum
	cd build/runsc && CGO_ENABLED=0 go build -mod=readonly -trimpath \
		-ldflags '-s -w -X gvisor.dev/gvisor/runsc/version.version=$(RUNSC_VERSION)' \
		-o ../bin/runsc gvisor.dev/gvisor/runsc

# The manifest is written last: it stands for the image beside it.
$(BIN)/image/%.json: $(IMAGE_FILES)
	build/image/build --variant $*
