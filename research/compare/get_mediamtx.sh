#!/bin/sh
# Builds MediaMTX from the Go module proxy into objs/peers/mediamtx, to be measured by research/compare.py. Needs go
# (1.25 or later) and takes a few minutes. Two things are put right on the way, neither of which is measured: the module
# lacks the generated files (its version, hls.js), and the fork of the SRT library that it asks for is not in the proxy,
# so the original is used, whose Dial() takes no context.
set -eu
version=${1:-v1.20.0}
top=$(cd "$(dirname "$0")/../.." && pwd)
out=${OBJS:-$top/objs}/peers
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
source=$(go mod download -json "github.com/bluenviron/mediamtx@$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
[ -n "$source" ] || { echo "get_mediamtx: the module proxy has no MediaMTX $version" >&2; exit 1; }
cp -r "$source/." "$work"
chmod -R u+w "$work"
cd "$work"
echo "$version" >internal/core/VERSION
echo "// HLS pages are not measured" >internal/servers/hls/hls.min.js
sed -i '/^replace github.com\/datarhei\/gosrt/d' go.mod
grep -rl DialWithContext --include=*.go internal | xargs -r sed -i 's/\(srt\|srtlib\)\.DialWithContext([a-zA-Z.]*, /\1.Dial(/'
GOFLAGS=-mod=mod go build -o "$out/mediamtx" .
echo "$out/mediamtx: $("$out/mediamtx" --version)"
