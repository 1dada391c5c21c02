# What a checkout can do. `make build` leaves everything in build/bin.

BIN := build/bin
RUNSC_VERSION := release-20260905.0-160fafc42237

GO_FILES := go.mod $(wildcard go.sum) $(shell find backend app -name '*.go')
PROGRAMS := $(patsubst backend/cmd/%/,$(BIN)/%,$(wildcard backend/cmd/*/))
IMAGE_FILES := build/image/build build/image/compile.py $(wildcard build/image/keyring/*.asc build/image/requirements*.lock) \
	$(shell find backend/runner/forevervm_runner -name __pycache__ -prune -o -print 2>/dev/null)

.PHONY: build image image-ml
.DELETE_ON_ERROR:

build: $(BIN)/runsc image $(PROGRAMS)

image: $(BIN)/image/base.json
image-ml: $(BIN)/image/ml.json

$(PROGRAMS): $(BIN)/%: $(GO_FILES)
	CGO_ENABLED=0 go build -trimpath -o $@ ./backend/cmd/$*

# Stamped, because gVisor refuses to restore what another version saved, and can only if it knows its own.
$(BIN)/runsc: build/runsc/go.mod build/runsc/go.sum
	cd build/runsc && CGO_ENABLED=0 go build -mod=readonly -trimpath \
		-ldflags '-s -w -X gvisor.dev/gvisor/runsc/version.version=$(RUNSC_VERSION)' \
		-o ../bin/runsc gvisor.dev/gvisor/runsc

# The manifest is written last: it stands for the image beside it.
$(BIN)/image/%.json: $(IMAGE_FILES)
	build/image/build --variant $*
