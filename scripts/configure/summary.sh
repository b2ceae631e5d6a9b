# Writes config.mk and says how to go on.
# shellcheck shell=sh disable=SC2034,SC2154  # the parts share their variables

# A value as make reads it back.
summary_escape() { echo "$1" | sed 's/\$/$$/g; s/#/\\#/g'; }

summary_write() {
    summary_file=$opt_objs/config.mk
    summary_on=
    {
        echo "# Written by ./configure$(summary_escape "$opt_arguments"); change it by running that again."
        echo "CONFIGURE_ARGUMENTS := $(summary_escape "$opt_arguments")"
        echo "CONFIG_PREFIX := $opt_prefix"
        echo "CONFIG_JOBS := $opt_jobs"
        echo "CONFIG_BATCH := $opt_batch"
        echo "CONFIG_LINKER := $linker_flag"
        echo "CONFIG_SPEED_FLAGS := $speed_flags"
        echo "CONFIG_DEBUG := $opt_debug"
        for summary_name in sanitizer sanitizer-static sanitizer-log gperf gcp gmp gmc gmd gprof gcov valgrind; do
            eval "summary_value=\$opt_$(echo $summary_name | tr - _)"
            echo "CONFIG_$(echo $summary_name | tr a-z- A-Z_) := $summary_value"
            [ "$summary_value" = off ] || summary_on="$summary_on $summary_name"
        done
        echo "CONFIG_SANITIZER_LIBS := ${sanitizer_libs:-}"
        echo "CONFIG_PPROF := $pprof"
        echo "CONFIG_CC := $opt_cc"
        echo "CONFIG_CXX := $opt_cxx"
        echo "CONFIG_COMPILER := $compiler_kind"
        echo "CONFIG_EXTRA_FLAGS := $(summary_escape "$opt_extra_flags")"
        echo "CONFIG_LIBS := $libraries-pthread -ldl"
        echo "CONFIG_GTEST := $have_gtest"
        echo "CONFIG_GTEST_LIBS := $libs_gtest"
    } >"$summary_file.new"
    mv "$summary_file.new" "$summary_file"
}

summary_print() {
    summary_make="make"
    [ "$opt_objs" = objs ] || summary_make="make OBJS=$opt_objs"
    echo
    echo "Configured in $summary_file:"
    echo "    install prefix   $opt_prefix"
    echo "    compiler         $opt_cxx $compiler_version${opt_extra_flags:+, with $opt_extra_flags}"
    echo "    debug            $opt_debug"
    echo "    diagnostics     ${summary_on:- none; ./configure -h lists them}"
    echo "    unit tests       $([ "$have_gtest" = yes ] && echo yes || echo "no: GoogleTest is missing")"
    echo
    echo "To build:   $summary_make"
    echo "To start:   $(diagnostics_here)/srs -c conf/srs.conf"
    echo "To test:    $summary_make test"
    diagnostics_usage
}
