# What must be installed for what, by the names of Debian packages, and how: sourced by scripts/run and scripts/test.
# shellcheck shell=bash
# shellcheck disable=SC2034  # the lists are for those who source this

PACKAGES_BUILD="g++ make lld libst-dev libssl-dev libhttp-parser-dev libnghttp2-dev libspdlog-dev libfmt-dev
    nlohmann-json3-dev libcli11-dev libc-ares-dev zlib1g-dev libsrtp2-dev libhiredis-dev
    libavcodec-dev libavutil-dev libswresample-dev libswscale-dev $([ "$(uname -m)" != x86_64 ] || echo libipsec-mb-dev)"
PACKAGES_DEMO="ffmpeg"
PACKAGES_TEST="python3 libgtest-dev liburing-dev clang-format valgrind"
PACKAGES_E2E="$(grep -v '^#' scripts/e2e/packages.txt 2>/dev/null | tr '\n' ' ')"
# Where Node.js came from elsewhere, npm came with it and is no package.
PACKAGES_NODE="$(command -v npm >/dev/null || echo npm)"
# The same of Go, for the WebRTC peer of the end-to-end tests.
PACKAGES_GO="$(command -v go >/dev/null || echo golang-go)"
PACKAGES_VALGRIND="valgrind libc6-dbg"
# Its compiler, and what turns addresses into names in its reports.
PACKAGES_SANITIZER="clang-19 libclang-rt-19-dev llvm-19"
PACKAGES_BUILDS="libgoogle-perftools-dev google-perftools graphviz gdb linux-perf gcovr binutils"

say() { printf '\n>> %s\n' "$*"; }

die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

is_installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# No service that comes with a package may start because we installed it.
services_forbid() {
    policy=/usr/sbin/policy-rc.d
    [ ! -e $policy ] || { policy=; return 0; }
    printf '#!/bin/sh\nexit 101\n' | as_root tee $policy >/dev/null && as_root chmod 755 $policy
}

services_allow() { [ -z "$policy" ] || as_root rm -f "$policy"; }

# install_packages NAME...: those that are not there yet, after saying which.
install_packages() {
    local missing=() package status=0
    for package in "$@"; do is_installed "$package" || missing+=("$package"); done
    [ ${#missing[@]} -gt 0 ] || return 0
    command -v apt-get >/dev/null || die "please install: ${missing[*]} (there is no apt-get to do it)"
    say "installing: ${missing[*]}"
    if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
        die "there is no sudo here; as root: apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
    fi
    services_forbid || die "cannot become root"
    as_root apt-get update -qq &&
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" \
            </dev/null || status=$?
    services_allow
    [ $status = 0 ] || die "apt-get could not install: ${missing[*]}"
}

# is_configured OBJS OPTION=VALUE...
is_configured() {
    local config=$1/config.mk option name
    shift
    for option in "$@"; do
        name=${option%%=*}
        grep -Fqsx "CONFIG_${name^^} := ${option#*=}" "$config" || return 1
    done
    ! { grep -qs '^CONFIG_GTEST := no' "$config" && is_installed libgtest-dev; }
}

# build OBJS "OPTION=VALUE..." GOAL...: configures when it must, then makes the goals. The options are configure's.
build() {
    local objs=$1 options jobs
    read -ra options <<<"$2"
    shift 2
    if ! is_configured "$objs" "${options[@]}"; then
        say "configuring $objs"
        ./configure --objs="$objs" "${options[@]/#/--}" || return 1
    fi
    jobs=$(sed -n 's/^CONFIG_JOBS := //p' "$objs/config.mk")
    say "building in $objs"
    make -j"${jobs:-1}" OBJS="$objs" "$@"
}
