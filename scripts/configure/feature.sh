# The probe: compiles, links and runs a small program per library. What the compiler said goes to objs/autoconf.err.
# shellcheck shell=sh disable=SC2034,SC2154  # the parts share their variables

feature_begin() {
    mkdir -p "$opt_objs" || exit 1
    feature_dir=$(mktemp -d "$opt_objs/autotest.XXXXXX") || exit 1
    trap 'rm -rf "$feature_dir"' EXIT
    feature_log=$opt_objs/autoconf.err
    : >"$feature_log"
    missing_packages=
    missing_test_packages=
    missing_other=
    have_gtest=yes
}

# feature NAME NEED PACKAGE LIBS HEADERS CODE: CODE is a statement that uses the library and prints its version. A header
# written c:NAME is one of C, which says nothing of C++; NAME=VALUE is a macro.
# NEED is required; or tests: its absence is told, but the server builds without it; or compiler: the caller decides.
# Sets feature_found to yes or no.
feature() {
    feature_name=$1 feature_need=$2 feature_package=$3 feature_libs=$4 feature_headers=$5 feature_code=$6
    feature_flags=${feature_flags:-}
    printf '%s' "checking for $feature_name ... "
    {
        echo "#include <cstdio>"
        for feature_header in $feature_headers; do
            case $feature_header in
                c:*) printf 'extern "C" {\n#include <%s>\n}\n' "${feature_header#c:}" ;;
                *=*) echo "#define ${feature_header%%=*} ${feature_header#*=}" ;;
                *) echo "#include <$feature_header>" ;;
            esac
        done
        echo "int main() { $feature_code return 0; }"
    } >"$feature_dir/probe.cpp"
    {
        echo "----------------------------------------"
        echo "checking for $feature_name"
        cat "$feature_dir/probe.cpp"
    } >>"$feature_log"
    feature_found=no
    feature_version=
    # The flags are words, by intent.
    # shellcheck disable=SC2086
    if $opt_cxx -std=c++23 $opt_extra_flags $feature_flags -o "$feature_dir/probe" "$feature_dir/probe.cpp" \
        $feature_libs >>"$feature_log" 2>&1 && feature_version=$("$feature_dir/probe" 2>>"$feature_log"); then
        feature_found=yes
        echo "found${feature_version:+ $feature_version}"
        return 0
    fi
    feature_missing
}

feature_missing() {
    case $feature_need in
        required)
            echo "not found (apt install $feature_package)"
            missing_packages="$missing_packages $feature_package"
            ;;
        tests)
            echo "not found (apt install $feature_package); only the tests need it"
            missing_test_packages="$missing_test_packages $feature_package"
            ;;
        *) echo "no" ;;
    esac
}

# Ends here when something that the server needs is not there: everything at once, in one line to copy.
feature_end() {
    rm -rf "$feature_dir"
    [ -n "$missing_packages$missing_other" ] || return 0
    {
        echo
        [ -z "$missing_other" ] || echo "configure: error: $missing_other"
        if [ -n "$missing_packages" ]; then
            echo "configure: error: libraries are missing (why: $feature_log). To install them:"
            echo "    ${opt_sudo:-}apt-get install -y --no-install-recommends$missing_packages$missing_test_packages"
        fi
    } >&2
    exit 1
}
