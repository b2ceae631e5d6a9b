"""The home of each end-to-end test: the one build on which .ci/run runs it, because it tells most there.

Bad input, faults and ends are at home under the sanitizers: what they look for is a bad access or a leak. All others are at
home on the normal build, whose times are a user's. `scripts/test` runs each of them on the build that it is told."""

UNDER_SANITIZERS = {
    "test_admission",
    "test_api_access",
    "test_api_privileges",
    "test_as_process",
    "test_attacks",
    "test_bad_input",
    "test_cluster",
    "test_dash",
    "test_disk",
    "test_drain",
    "test_dvr_faults",
    "test_file_owners",
    "test_hls_directives",
    "test_hls_faults",
    "test_limits",
    "test_log_rates",
    "test_overload",
    "test_reload_whole",
    "test_rtc_attacks",
    "test_rtc_churn",
    "test_rtc_continuity",
    "test_rtc_media_attacks",
    "test_rtc_offers",
    "test_rtc_transport",
    "test_rtsp_attacks",
    "test_senders_stress",
    "test_standby",
    "test_stream_memory",
    "test_tls_ends",
    "test_tls_reload",
    "test_tracks",
}


def is_under_sanitizers(item):
    return item.module.__name__.rpartition(".")[2] in UNDER_SANITIZERS
