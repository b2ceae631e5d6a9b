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
    feature_probe "$@" "$feature_dir/probe"
    feature_tell "$1" "$2" "$3" "$feature_dir/probe"
}

# feature_probe NAME NEED PACKAGE LIBS HEADERS CODE FILE: makes FILE.found, with the version, where the program runs;
# FILE.log has what the compiler said. Needs nothing of another probe, so that several may run at once.
feature_probe() {
    feature_file=$7
    rm -f "$feature_file.found"
    {
        echo "#include <cstdio>"
        for feature_header in $5; do
            case $feature_header in
                c:*) printf 'extern "C" {\n#include <%s>\n}\n' "${feature_header#c:}" ;;
                *=*) echo "#define ${feature_header%%=*} ${feature_header#*=}" ;;
                *) echo "#include <$feature_header>" ;;
            esac
        done
        echo "int main() { $6 return 0; }"
    } >"$feature_file.cpp"
    {
        echo "----------------------------------------"
        echo "checking for $1"
        cat "$feature_file.cpp"
        # The flags are words, by intent.
        # shellcheck disable=SC2086
        $opt_cxx -std=c++23 $opt_extra_flags ${feature_flags:-} -o "$feature_file" "$feature_file.cpp" $4 2>&1 &&
            "$feature_file" 2>&1 >"$feature_file.version" && mv "$feature_file.version" "$feature_file.found"
    } >"$feature_file.log"
}

# feature_tell NAME NEED PACKAGE FILE: what the probe of that file found.
feature_tell() {
    printf '%s' "checking for $1 ... "
    cat "$4.log" >>"$feature_log"
    feature_found=no
    feature_need=$2 feature_package=$3
    if [ -e "$4.found" ]; then
        feature_found=yes
        feature_version=$(cat "$4.found")
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
