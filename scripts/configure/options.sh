# The options of ./configure: one row each, NAME|DEFAULT|VALUE|HELP. VALUE is on,off for a switch (its bare name means
# on) or a word that stands for the value. The value of --some-name is in $opt_some_name.
# shellcheck shell=sh disable=SC2034,SC2154  # the parts share their variables

options_rows() {
    cat <<'ROWS'
prefix|/usr/local/srs|DIR|where `make install` puts the server
jobs|auto|N|how many compilers `make` runs at once; auto: one per processor
batch|16|N|how many sources of a folder are compiled together, which is faster; 1: each by itself
debug|off|on,off|for the debugger: not optimised, with costly checks and painted stacks
sanitizer|off|on,off|find bad memory accesses, leaks and undefined behaviour: built with the compiler's sanitizers
sanitizer-static|off|on,off|with --sanitizer: link their libraries into the server, to run it where there is no compiler
sanitizer-log|off|on,off|with --sanitizer: their reports go to the server's log too
gperf|off|on,off|link tcmalloc, the allocator of gperftools, which the next four need
gcp|off|on,off|with --gperf: a CPU profile from start to end, gperf.srs.gcp
gmp|off|on,off|with --gperf: heap profiles, gperf.srs.gmp.NNNN.heap
gmc|off|on,off|with --gperf: check for leaks at the end, when HEAPCHECK=normal is in the environment
gmd|off|on,off|with --gperf: stop at an access beyond a block's end, when TCMALLOC_PAGE_FENCE=1 is in the environment
gprof|off|on,off|count calls and sample times for gprof, gmon.out
gcov|off|on,off|count how often each line runs (make coverage)
valgrind|off|on,off|tell valgrind about coroutine stacks
extra-flags||FLAGS|more flags for every compiler call
cc|cc|COMPILER|the C compiler
cxx|c++|COMPILER|the C++ compiler, g++ 12 or clang++ 19 or later
objs|objs|DIR|where everything that is built goes
ROWS
}

options_help() {
    echo "Usage: ./configure [options]"
    echo
    options_rows | awk -F'|' '{
        printf "  %-26s %s%s\n", "--" $1 "=" ($3 == "on,off" ? "on|off" : $3), $4, ($2 == "" ? "" : " (" $2 ")")
    }'
    printf '  %-26s %s\n' "-h, --help" "this text"
}

# Prints the known option nearest to $1, by the number of letters to change.
options_nearest() {
    { options_rows; echo "help|"; } | awk -F'|' -v wrong="$1" '
        function min(a, b) { return a < b ? a : b }
        function distance(a, b,    i, j, cost, d) {
            for (i = 0; i <= length(a); i++) d[i, 0] = i
            for (j = 0; j <= length(b); j++) d[0, j] = j
            for (i = 1; i <= length(a); i++)
                for (j = 1; j <= length(b); j++) {
                    cost = substr(a, i, 1) != substr(b, j, 1)
                    d[i, j] = min(min(d[i - 1, j] + 1, d[i, j - 1] + 1), d[i - 1, j - 1] + cost)
                }
            return d[length(a), length(b)]
        }
        { here = distance(wrong, $1); if (NR == 1 || here < best) { best = here; name = $1 } }
        END { print name }'
}

options_die() {
    echo "configure: error: $1" >&2
    exit 1
}

# The name with the signs that a shell variable cannot have replaced.
options_variable() { echo "opt_$(echo "$1" | tr - _)"; }

options_set() {
    option_values=$(options_rows | awk -F'|' -v name="$1" '$1 == name { print $3 }')
    [ -n "$option_values" ] ||
        options_die "unknown option --$1, did you mean --$(options_nearest "$1")? (./configure -h lists all)"
    option_value=$2
    if [ "$option_values" = on,off ]; then
        [ "$3" = bare ] && option_value=on
        case $option_value in
            on | off) ;;
            *) options_die "--$1 takes on or off, not '$option_value'" ;;
        esac
    elif [ "$3" = bare ]; then
        options_die "--$1 needs a value: --$1=$option_values"
    fi
    eval "$(options_variable "$1")=\$option_value"
}

options_defaults() {
    for option_name in $(options_rows | cut -d'|' -f1); do
        option_default=$(options_rows | awk -F'|' -v name="$option_name" '$1 == name { print $2 }')
        eval "$(options_variable "$option_name")=\$option_default"
    done
}

options_parse() {
    options_defaults
    opt_arguments=
    for option_argument in "$@"; do
        case $option_argument in
            -h | --help)
                options_help
                exit 0
                ;;
            --*=*)
                option_name=${option_argument%%=*}
                options_set "${option_name#--}" "${option_argument#*=}" valued
                ;;
            --?*) options_set "${option_argument#--}" "" bare ;;
            *) options_die "what is '$option_argument'? (./configure -h lists the options)" ;;
        esac
        opt_arguments="$opt_arguments '$(echo "$option_argument" | sed "s/'/'\\\\''/g")'"
    done
    diagnostics_refuse
    # The options' variables are set by name above; those that are checked here are named once more.
    : "${opt_jobs:=}" "${opt_batch:=}" "${opt_objs:=}" "${opt_prefix:=}"
    [ "$opt_jobs" = auto ] && opt_jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
    case $opt_jobs in
        '' | *[!0-9]* | 0) options_die "--jobs takes a number from 1, not '$opt_jobs'" ;;
    esac
    case $opt_batch in
        '' | *[!0-9]* | 0) options_die "--batch takes a number from 1, not '$opt_batch'" ;;
    esac
    [ -n "$opt_objs" ] || options_die "--objs needs a directory"
    case $opt_objs$opt_prefix in
        *[[:space:]]*) options_die "--objs and --prefix cannot have blanks in them: make cannot take them" ;;
    esac
    case $opt_prefix in
        /*) ;;
        *) options_die "--prefix must begin with /, not '$opt_prefix'" ;;
    esac
}
