# The libraries, one row each. All are the distribution's; libs_* end up in config.mk.
# shellcheck shell=sh disable=SC2034,SC2154  # the parts share their variables

# library NAME NEED PACKAGE LIBS HEADERS CODE: see feature. The rows are gone through twice: the first time all probes are
# started, beside each other, and the second time it is told what they found.
library() {
    library_number=$((library_number + 1))
    if [ "$libraries_pass" = probe ]; then
        feature_probe "$@" "$feature_dir/library$library_number" &
        return 0
    fi
    feature_tell "$1" "$2" "$3" "$feature_dir/library$library_number"
    [ "$feature_found" = no ] || [ "$2" != required ] || libraries="$libraries $4"
}

libraries_check() {
    libraries=
    for libraries_pass in probe tell; do
        library_number=0
        libraries_rows
        wait
    done
    diagnostics_programs
    # One library may be named by two rows; the linker wants it once, after those that use it.
    libraries=$(echo "$libraries" | tr -s ' ' '\n' | awk 'NF { name[++n] = $0; last[$0] = n }
        END { for (i = 1; i <= n; i++) if (last[name[i]] == i) printf "%s ", name[i] }')
}

# The smallest header that has the version: the whole ones take seconds.
libraries_rows() {
    libs_gtest="-lgtest_main -lgtest"
    # Without its switch callbacks the sanitizers and valgrind could not follow the coroutines.
    library state-threads required libst-dev -lst "ST_SWITCH_CB=1 st.h" \
        'st_set_eventsys(ST_EVENTSYS_POLL); st_set_switch_in_cb(nullptr); std::puts(ST_VERSION);'
    library OpenSSL required libssl-dev "-lssl -lcrypto" "openssl/ssl.h openssl/crypto.h" \
        'SSL_CTX_free(SSL_CTX_new(TLS_server_method())); std::puts(OpenSSL_version(OPENSSL_VERSION_STRING));'
    library zlib required zlib1g-dev -lz zlib.h 'std::puts(zlibVersion());'
    library http-parser required libhttp-parser-dev -lhttp_parser http_parser.h \
        'unsigned long v = http_parser_version(); std::printf("%lu.%lu.%lu", v >> 16, v >> 8 & 255, v & 255);'
    # The limits against floods are in later versions, and in the distribution's patches: what counts is that they are there.
    library nghttp2 required libnghttp2-dev -lnghttp2 nghttp2/nghttp2.h \
        'nghttp2_option* o = nullptr; nghttp2_option_new(&o); nghttp2_option_set_stream_reset_rate_limit(o, 100, 10);
         nghttp2_option_set_max_continuations(o, 8); nghttp2_option_del(o); std::puts(nghttp2_version(0)->version_str);'
    library fmt required libfmt-dev -lfmt fmt/core.h \
        'fmt::print("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100);'
    feature_flags="-DSPDLOG_COMPILED_LIB -DSPDLOG_FMT_EXTERNAL"
    library spdlog required libspdlog-dev "-lspdlog -lfmt" "spdlog/spdlog.h spdlog/version.h" \
        'spdlog::shutdown(); std::printf("%d.%d.%d", SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH);'
    feature_flags=
    library nlohmann-json required nlohmann-json3-dev "" nlohmann/json_fwd.hpp \
        'std::printf("%d.%d.%d", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                     NLOHMANN_JSON_VERSION_PATCH);'
    library CLI11 required libcli11-dev "" CLI/Version.hpp 'std::puts(CLI11_VERSION);'
    library c-ares required libc-ares-dev -lcares ares.h 'std::puts(ares_version(nullptr));'
    # research/floor and research/ideas have it.
    library liburing tests liburing-dev -luring "liburing.h liburing/io_uring.h" \
        'io_uring ring; if (io_uring_queue_init(2, &ring, 0) == 0) io_uring_queue_exit(&ring);'
    library libavcodec required libavcodec-dev "-lavcodec -lavutil" c:libavcodec/avcodec.h \
        'AVCodecContext* c = avcodec_alloc_context3(nullptr); avcodec_free_context(&c); std::puts(av_version_info());'
    library libswresample required libswresample-dev "-lswresample -lavutil" c:libswresample/swresample.h \
        'SwrContext* c = swr_alloc(); swr_free(&c); std::printf("%u", swresample_version() >> 16);'
    library libswscale required libswscale-dev "-lswscale -lavutil" c:libswscale/swscale.h \
        'SwsContext* c = sws_alloc_context(); sws_freeContext(c); std::printf("%u", swscale_version() >> 16);'
    library libsrtp required libsrtp2-dev -lsrtp2 "srtp2/srtp.h srtp2/cipher.h srtp2/auth.h" \
        'srtp_init(); srtp_replace_cipher_type(nullptr, SRTP_NULL_CIPHER); std::puts(srtp_get_version_string());'
    case $($opt_cxx -dumpmachine) in
        x86_64-*)
            library IPsec-MB required libipsec-mb-dev -lIPSec_MB intel-ipsec-mb.h \
                'free_mb_mgr(alloc_mb_mgr(0)); std::puts(imb_get_version_str());'
            ;;
    esac
    library hiredis required libhiredis-dev -lhiredis "hiredis/hiredis.h hiredis/read.h" \
        'redisReaderFree(redisReaderCreateWithFunctions(nullptr));
         std::printf("%d.%d.%d", HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH);'
    diagnostics_libraries
    library GoogleTest tests libgtest-dev "-lgtest_main -lgtest -pthread" gtest/gtest-message.h \
        'testing::Message().GetString();'
    have_gtest=$feature_found
}
