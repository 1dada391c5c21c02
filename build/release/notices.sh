#!/usr/bin/env bash
# Write what a package is made of and under which terms: build/release/notices.sh FOLDER VERSION
# IMAGE PROGRAM…
#
# NOTICES.txt has the licenses in full, sbom.cdx.json the list for machines (CycloneDX). The
# programs themselves say which Go modules are in them; the page's libraries are those that its lock
# file installs, the sandbox image's are in its manifest, IMAGE.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(realpath "$1") version=$2 image=$(realpath "$3")
shift 3
programs=()
for program in "$@"; do programs+=("$(realpath "$program")"); done
go mod download
(cd build/runsc && go mod download)
go -C build/release run ./shipped -project "$PWD" -image "$image" -version "$version" -out "$folder" "${programs[@]}"
