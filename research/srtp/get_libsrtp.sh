#!/bin/sh
# Builds libsrtp 2.5.0 with OpenSSL into objs/peers/libsrtp-openssl.so, to be measured by objs/srtp beside Debian's, which is
# built with NSS. The source is that of Debian's own package, from the package sources of this machine; its checksum is pinned.
set -eu
version=2.5.0-3
tarball=libsrtp2_2.5.0.orig.tar.gz
sha256=8a43ef8e9ae2b665292591af62aa1a4ae41e468b6d98d8258f91478735da4e09
top=$(cd "$(dirname "$0")/../.." && pwd)
out=${OBJS:-$top/objs}/peers
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir -p lists/partial
# Of the kinds of sources only those of binaries are configured as a rule.
# shellcheck disable=SC2016  # apt's own variables
apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' | sort -u |
    while read -r uri release; do
        echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $release main"
    done >sources.list
apt() {
    apt-get -qq -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::State::Lists="$work/lists" -o APT::Sandbox::User=root "$@"
}
apt update
apt source --download-only "libsrtp2=$version"
echo "$sha256  $tarball" | sha256sum -c --quiet -
tar xf "$tarball"
cd libsrtp*/
./configure --enable-openssl CFLAGS="-O2 -fPIC" >configure.log || { cat configure.log; exit 1; }
make libsrtp2.a >make.log 2>&1 || { cat make.log; exit 1; }
cc -shared -o "$out/libsrtp-openssl.so" -Wl,--whole-archive libsrtp2.a -Wl,--no-whole-archive -lcrypto
echo "$out/libsrtp-openssl.so"
