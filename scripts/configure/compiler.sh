# The compiler and make.
# shellcheck shell=sh disable=SC2034,SC2154  # the parts share their variables

compiler_check() {
    [ "$(id -u)" = 0 ] || opt_sudo='sudo '
    printf 'checking for the system ... %s\n' "$(uname -s) $(uname -r) $(uname -m)"
    printf 'checking for GNU make ... '
    if make_version=$(make --version 2>/dev/null | sed -n '1s/^GNU Make //p') && [ -n "$make_version" ]; then
        echo "found $make_version"
    else
        echo "not found (apt install make)"
        missing_packages="$missing_packages make"
    fi
    printf 'checking for a C++ compiler ... '
    # -dumpfullversion is g++'s.
    compiler_kind=gcc
    if compiler_version=$($opt_cxx --version 2>>"$feature_log" | sed -n '1s/.*clang version \([0-9.]*\).*/\1/p') &&
        [ -n "$compiler_version" ]; then
        compiler_kind=clang
    elif ! compiler_version=$($opt_cxx -dumpfullversion 2>>"$feature_log"); then
        compiler_package=${opt_cxx##*/}
        case $compiler_package in
            clang++-*) compiler_package=clang-${compiler_package#clang++-} ;;
            *) compiler_package=g++ ;;
        esac
        echo "not found: $opt_cxx (apt install $compiler_package)"
        missing_packages="$missing_packages $compiler_package"
        feature_end
    fi
    echo "found $opt_cxx $compiler_version"
    feature_flags="-fno-exceptions"
    feature "C++23 with std::expected" compiler "" "" "expected utility" \
        'std::expected<int, char> e = std::unexpected<char>(1); if (e) return 1; std::puts("");'
    if [ "$feature_found" = no ]; then
        missing_other="$opt_cxx cannot compile C++23: g++ 12 or clang++ 19 or later is needed (see $feature_log)"
        feature_end
    fi
    feature_flags=
    linker_check
    speed_check
    if [ "$opt_sanitizer" = on ]; then
        sanitizer_libs=
        if [ "$opt_sanitizer_static" = on ]; then
            sanitizer_libs="-static-libasan -static-libubsan"
            [ $compiler_kind = gcc ] || sanitizer_libs=-static-libsan
        fi
        feature_flags="-fsanitize=address,undefined $sanitizer_libs"
        feature "the sanitizers" compiler "" "" "" 'std::puts("");'
        [ "$feature_found" = yes ] || missing_other="$opt_cxx cannot build with $feature_flags (see $feature_log)"
        feature_flags=
    fi
}

# A faster linker where one is there, since tests are many programs. Not mold: in what mold 1.10 links, a stack that begins
# in a function of the C library ends there, and the watchdog cannot say who called it.
linker_check() {
    for linker in lld gold; do
        linker_flag=-fuse-ld=$linker
        feature_flags=$linker_flag
        feature "the linker $linker" compiler "" "" "" 'std::puts("");'
        feature_flags=
        [ "$feature_found" = no ] || return 0
    done
    linker_flag=
}

# What makes g++ faster and changes nothing in the code: its garbage collector runs less often where there is memory for
# it, a tenth of the time.
# Clang instantiates the templates of what is precompiled once, and not in each source that includes it.
speed_check() {
    if [ $compiler_kind = clang ]; then
        speed_flags=-fpch-instantiate-templates
        return
    fi
    speed_flags=
    speed_memory_kb=$(sed -n 's/^MemTotal: *\([0-9]*\) kB$/\1/p' /proc/meminfo 2>/dev/null)
    [ "${speed_memory_kb:-0}" -gt $((opt_jobs * 3000000)) ] || return 0
    speed_flags="--param=ggc-min-expand=400 --param=ggc-min-heapsize=400000"
    feature_flags="-Werror $speed_flags"
    feature "flags that make the compiler faster" compiler "" "" "" 'std::puts("");'
    feature_flags=
    [ "$feature_found" = yes ] || speed_flags=
}
