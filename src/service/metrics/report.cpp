#include "service/metrics/report.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <vector>

#include "base/clock.h"
#include "live/hub/input_faults.h"
#include "net/admission/tls_pair.h"
#include "net/http/http2_counters.h"
#include "runtime/diagnose/machine.h"
#include "runtime/diagnose/watchdog.h"
#include "runtime/disk/disk.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/cpu_slice.h"
#include "runtime/senders/senders.h"
#include "runtime/socket/udp.h"
#include "service/metrics/config.h"
#include "service/stream_view.h"

namespace service::metrics {

using prometheus::Labels;
using prometheus::Text;
using prometheus::Type;

namespace {

// Number of sessions between two checks of the clock.
constexpr size_t kClockCheckInterval = 64;
// Maximum age of accounts.
constexpr int64_t kCountFreshMs = 250;
// Shorter intervals give no meaningful CPU usage.
constexpr int64_t kLeastCpuUs = 500'000;

double seconds_of_us(double us) { return us / 1e6; }
double seconds_of_ms(int64_t ms) { return static_cast<double>(ms) / 1e3; }
double number(uint64_t value) { return static_cast<double>(value); }

uint64_t resident_kb() {
    uint64_t pages = 0;
    if (std::sscanf(runtime::read_small_file("/proc/self/statm").c_str(), "%*u %lu", &pages) != 1) return 0;
    return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) / 1024;
}

struct LabelledStream {
    Labels labels;
    StreamView view;
    int64_t lag_ms = 0;
};

}  // namespace

// Counters of both are one sum. Of gauges those that count clients and streams; what is measured of a stream is
// measured where its publisher is. The others are of this process.
prometheus::Addition Report::addition(std::string_view family, Type type) {
    using prometheus::Addition;
    static constexpr std::string_view kSums[] = {"srs_streams",         "srs_clients",
                                                 "srs_vhost_streams",   "srs_vhost_clients",
                                                 "srs_connections",     "srs_unserved_players",
                                                 "srs_waiting_players", "srs_waiting_requests",
                                                 "srs_hls_viewers",     "srs_standby_publishers",
                                                 "srs_stream_viewers",  "srs_stream_memory_all_bytes"};
    if (type != Type::kGauge || std::ranges::find(kSums, family) != std::end(kSums)) return Addition::kSum;
    return family.starts_with("srs_stream_") ? Addition::kMissing : Addition::kNone;
}

base::Result<std::string> Report::make(const Identity& identity, const ServerConfig& exporter,
                                       const prometheus::Families* earlier) {
    TRY(sessions_.count(kCountFreshMs));
    Text text;
    if (earlier) text.add(*earlier, addition);
    about(text, identity, exporter);
    process(text);
    totals(text);
    TRY(clients(text));
    closed(text);
    loop(text);
    operations(text);
    earlier_process(text);
    standbys(text);
    input_faults(text);
    latency(text);
    disk(text);
    for (const auto& write_metrics : offers_.metrics) write_metrics(text);
    udp(text);
    senders(text);
    TRY(streams(text, static_cast<size_t>(exporter.stream_limit)));
    return text.take();
}

// The first two are as in SRS.
void Report::about(Text& text, const Identity& identity, const ServerConfig& exporter) const {
    utsname system{};
    if (uname(&system) == 0) {
        text.family("srs_node_uname_info", Type::kGauge, "Identification of this machine by the kernel (uname).");
        text.sample({{"sysname", system.sysname},
                     {"nodename", system.nodename},
                     {"release", system.release},
                     {"version", system.version},
                     {"machine", system.machine}},
                    1);
    }
    text.family("srs_build_info", Type::kGauge, "Identification of this server.");
    Labels labels{
        {"server", identity.server},
        {"service", identity.service},
        {"pid", identity.pid},
        {"build_date", identity.date},
        {"major", std::string_view(identity.interface_version).substr(0, identity.interface_version.find('.'))},
        {"version", identity.interface_version},
        {"server_version", identity.version},
        {"code", identity.signature}};
    if (!exporter.label.empty()) labels.add("label", exporter.label);
    if (!exporter.tag.empty()) labels.add("tag", exporter.tag);
    text.sample(labels, 1);
}

void Report::process(Text& text) {
    const int64_t now_us = base::monotonic_us(), cpu_us = runtime::process_cpu_us();
    if (cpu_at_us_ == 0 || now_us - cpu_at_us_ >= kLeastCpuUs) {
        if (cpu_at_us_ > 0)
            cpu_percent_ = 100.0 * static_cast<double>(cpu_us - cpu_us_) / static_cast<double>(now_us - cpu_at_us_);
        cpu_at_us_ = now_us;
        cpu_us_ = cpu_us;
    }
    text.single("srs_cpu_percent", Type::kGauge, "Processor time since the last sample, percent of one processor.",
                cpu_percent_);
    text.single("srs_cpu_seconds_total", Type::kCounter, "Processor time of this process.",
                seconds_of_us(static_cast<double>(cpu_us)));
    text.single("srs_memory", Type::kGauge, "Resident memory, kB.", number(resident_kb()));
}

void Report::totals(Text& text) const {
    const net::Traffic& traffic = sessions_.traffic();
    text.single("srs_send_bytes_total", Type::kCounter, "Bytes sent to clients.", number(traffic.sent_bytes));
    text.single("srs_receive_bytes_total", Type::kCounter, "Bytes received from clients.",
                number(traffic.received_bytes));
    text.single("srs_clients_total", Type::kCounter, "Clients that have published or played.",
                number(sessions_.clients_total()));
    text.single("srs_clients_errs_total", Type::kCounter,
                "Clients whose session ended by an error; a client that leaves, and the end of a stream, "
                "are no errors.",
                number(sessions_.closed().errors()));
    const net::Admission& admission = sessions_.admission();
    text.single("srs_connections", Type::kGauge,
                "Transport connections of all kinds, including those that only use the API: the value "
                "limited by max_connections.",
                number(admission.connections()));
    text.single("srs_connections_refused_total", Type::kCounter,
                "Connections refused by max_connections or address_limits.", number(admission.refused_total()));
    text.single("srs_connections_refused_descriptors_total", Type::kCounter,
                "Of these: for want of descriptors (ulimit -n), of which the server keeps some for itself.",
                number(admission.refused_for_descriptors()));
    text.family("srs_connections_made_room_total", Type::kCounter,
                "Connections closed at max_connections in favour of new ones, by state.");
    text.sample({{"state", "new"}}, number(admission.embryonic().ended_total()));
    text.sample({{"state", "idle"}}, number(admission.idle().ended_total()));
    text.single("srs_unserved_players", Type::kGauge,
                "RTMP and RTSP players that get nothing: of streams that are not published, and paused ones.",
                number(sessions_.unserved().size()));
    text.single("srs_unserved_players_ended_total", Type::kCounter,
                "Such players closed by waiting_timeout, at a limit, or in favour of new connections.",
                number(sessions_.unserved().ended_total()));
    text.single("srs_waiting_players", Type::kGauge,
                "Players that wait for their stream before they are answered: by HTTP for a publisher, by any protocol "
                "for a stream that is fetched.",
                number(sessions_.waiting().count()));
    write_refused(text, "srs_waiting_players_refused_total",
                  "Such players refused by max_waiting_players or address_limits.", sessions_.waiting());
    text.single("srs_waiting_requests", Type::kGauge, "HTTP requests that wait for an answer that comes later.",
                number(sessions_.deferred().count()));
    write_refused(text, "srs_waiting_requests_refused_total",
                  "Such requests refused by max_waiting_requests or address_limits.", sessions_.deferred());
    const net::Http2Counters& http2 = net::http2_counters();
    text.single("srs_http2_connections_total", Type::kCounter, "Connections that use HTTP/2.",
                number(http2.connections));
    text.single("srs_http2_requests_total", Type::kCounter, "Requests over HTTP/2.", number(http2.requests));
    text.family("srs_http2_ended_total", Type::kCounter, "Connections that use HTTP/2 ended for what the client did.");
    text.sample({{"reason", "frames"}}, number(http2.frame_floods));
    text.sample({{"reason", "resets"}}, number(http2.reset_floods));
    text.sample({{"reason", "fields"}}, number(http2.field_floods));
    text.sample({{"reason", "protocol"}}, number(http2.protocol_errors));
    text.sample({{"reason", "too-slow"}}, number(http2.too_slow));
    const net::InputMemory& input = sessions_.input_memory();
    text.single(
        "srs_unfinished_input_bytes", Type::kGauge,
        "Memory of messages, frames and requests whose end has not come, of clients with more than 64 kB of it.",
        number(input.bytes()));
    text.family("srs_unfinished_input_dropped_total", Type::kCounter,
                "Clients ended for their unfinished input, and what was dropped because its end did not come.");
    text.sample({{"reason", "limit"}}, number(input.counters().refused));
    text.sample({{"reason", "gave-way"}}, number(input.counters().displaced));
    text.sample({{"reason", "too-late"}}, number(input.counters().stale));
}

void Report::closed(Text& text) const {
    text.family("srs_sessions_closed_total", Type::kCounter,
                "Sessions that ended, by reason; including HTTP requests.");
    for (size_t i = 0; i < base::kCloseReasons; ++i) {
        const auto reason = static_cast<base::CloseReason>(i);
        if (const uint64_t count = sessions_.closed().count_of(reason))
            text.sample({{"reason", base::close_reason_name(reason)}}, number(count));
    }
}

base::Result<void> Report::clients(Text& text) {
    std::map<std::pair<std::string, net::SessionType>, uint64_t> clients;
    std::map<std::string, uint64_t> streams;
    uint64_t all = 0, published = 0;
    runtime::CpuSlice slice(kClockCheckInterval);
    for (size_t index = 0; index < sessions_.size(); ++index) {
        const net::Session& session = sessions_.at(index);
        if (net::is_client(session.type()) && session.stream_account() && !session.is_with_other_process()) {
            ++all;
            ++clients[{session.stream_account()->vhost().name(), session.type()}];
        }
        TRY(slice.step());
    }
    registry_.for_each([&](live::Stream& stream) {
        if (!stream.published() || stream.publisher()->is_copy()) return;
        ++published;
        ++streams[stream.key().vhost];
    });
    text.single("srs_streams", Type::kGauge, "Streams that are published.", number(published));
    text.single("srs_clients", Type::kGauge, "Clients that publish or play.", number(all));
    text.family("srs_vhost_streams", Type::kGauge, "Streams that are published.");
    for (const auto& [vhost, count] : streams) text.sample({{"vhost", vhost}}, number(count));
    text.family("srs_vhost_clients", Type::kGauge, "Clients that publish or play, by type.");
    for (const auto& [key, count] : clients)
        text.sample({{"vhost", key.first}, {"type", net::session_type_name(key.second)}}, number(count));
    const auto bytes = [&](std::string_view name, std::string_view help, uint64_t net::Traffic::*member) {
        text.family(name, Type::kCounter, help);
        sessions_.accounts().for_each_vhost([&](const net::VhostAccount& vhost) {
            for (size_t i = 0; i < net::SessionType::count(); ++i) {
                const auto type = net::SessionType::at(i);
                if (const uint64_t count = vhost.traffic_of(type).*member)
                    text.sample({{"vhost", vhost.name()}, {"type", net::session_type_name(type)}}, number(count));
            }
        });
    };
    bytes("srs_vhost_send_bytes_total", "Bytes sent, by type of the receiving client.", &net::Traffic::sent_bytes);
    bytes("srs_vhost_receive_bytes_total", "Bytes received from publishers.", &net::Traffic::received_bytes);
    return {};
}

void Report::loop(Text& text) const {
    const runtime::LoopStats& stats = runtime::loop_stats();
    text.single("srs_coroutines", Type::kGauge, "Coroutines.", number(runtime::coroutine_count()));
    text.single("srs_loop_turns_total", Type::kCounter, "Iterations of the event loop.", number(stats.iterations));
    text.single("srs_loop_stalls_total", Type::kCounter, "Iterations of the event loop that took stall_warn or longer.",
                number(stats.stalls));
    text.single("srs_loop_stalled_seconds_total", Type::kCounter, "Total duration of these iterations.",
                seconds_of_ms(stats.stalled_ms));
    text.single("srs_loop_longest_stall_seconds", Type::kGauge,
                "Duration of the longest of these iterations since the start.", seconds_of_ms(stats.longest_stall_ms));
    text.single("srs_process_pauses_total", Type::kCounter,
                "Times the whole process stood still: stopped by a signal, or its machine was suspended or moved.",
                number(stats.pauses));
    text.single("srs_process_paused_seconds_total", Type::kCounter, "Total duration of these pauses.",
                seconds_of_ms(stats.paused_ms));
    text.single("srs_log_lost_lines_total", Type::kCounter,
                "Lines of the log that were not written: the disk was full, or too slow.",
                number(base::log::dropped_lines()));
}

void Report::operations(Text& text) const {
    const net::Operations& operations = operations_;
    text.family("srs_reloads_total", Type::kCounter, "Reloads of the configuration; refused: nothing was changed.");
    text.sample({{"result", "accepted"}}, number(operations.reloads - operations.reloads_failed));
    text.sample({{"result", "refused"}}, number(operations.reloads_failed));
    text.single("srs_reload_last_timestamp_seconds", Type::kGauge,
                "Time at which the last reload began, since 1970; 0: there was none.",
                seconds_of_ms(operations.last_reload.began_ms));
    text.single("srs_reload_last_accepted", Type::kGauge, "Whether the last reload was accepted; 1 if there was none.",
                operations.reloads == 0 || operations.last_reload.ok);
    text.family("srs_tls_certificate_not_after_timestamp_seconds", Type::kGauge,
                "Time at which the certificate of these listeners ends, since 1970.");
    for (const net::TlsPair::Status& one : net::TlsPair::all())
        text.sample({{"listener", one.what}}, static_cast<double>(one.valid_until_s));
    text.single("srs_draining", Type::kGauge, "Whether a graceful shutdown has begun.", operations.draining);
    text.single("srs_loop_busy_ratio", Type::kGauge, "Fraction of the last second for which the event loop was busy.",
                operations.load.busy_percent / 100);
    text.single("srs_load_level", Type::kGauge, "circuit_breaker: 0 normal, 1 high, 2 critical, 3 dying.",
                static_cast<int>(operations.load.level));
    text.single("srs_overload_refused_total", Type::kCounter, "Players refused at the level dying.",
                number(operations.load.refused));
}

void Report::earlier_process(Text& text) const {
    const OtherProcess* other = offers_.other_process;
    const bool is_there = other && other->is_replaced();
    const ProcessFigures* figures = is_there ? other->figures() : nullptr;
    text.single("srs_earlier_process", Type::kGauge,
                "Whether the process that this one has replaced still serves clients.", is_there);
    text.single("srs_earlier_process_clients", Type::kGauge, "The clients of that process.",
                figures ? number(figures->publishers + figures->players) : 0);
}

void Report::input_faults(Text& text) {
    text.family("srs_publisher_dropped_messages_total", Type::kCounter,
                "Messages of publishers that could not be used and were dropped.");
    for (size_t i = 0; i < live::InputFaults::kKinds; ++i)
        text.sample({{"kind", live::InputFaults::name(static_cast<live::InputFaults::Kind>(i))}},
                    number(live::InputFaults::totals()[i]));
}

void Report::standbys(Text& text) const {
    const live::StandbyCounters& counters = registry_.standby_counters();
    text.single("srs_standby_publishers", Type::kGauge, "Publishers that wait for the name of a stream.",
                number(registry_.standbys()));
    text.family("srs_standby_takeovers_total", Type::kCounter,
                "Waiting publishers that took over, by what had happened to the active one.");
    for (const auto reason : {live::StandbyReason::kLeft, live::StandbyReason::kFrozen, live::StandbyReason::kPriority})
        text.sample({{"reason", live::standby_reason_name(reason)}},
                    number(counters.takeovers[static_cast<size_t>(reason)]));
    text.single("srs_standby_refused_total", Type::kCounter, "Publishers refused because too many wait.",
                number(counters.refused));
}

void Report::latency(Text& text) const {
    text.family("srs_send_latency_seconds", Type::kHistogram,
                "Time from the publication of a frame to its write to a viewer's socket; sampled, one "
                "value per write.");
    for (const auto& [protocol, latency] : registry_.delivery().latencies()) {
        const Labels labels{{"protocol", protocol}};
        uint64_t below = 0;
        for (size_t i = 0; i < live::SendLatency::kBoundsUs.size(); ++i) {
            below += latency.counts[i];
            text.part("_bucket", labels,
                      fmt::format("{}", seconds_of_us(static_cast<double>(live::SendLatency::kBoundsUs[i]))),
                      number(below));
        }
        text.part("_bucket", labels, "+Inf", number(latency.total));
        text.part("_sum", labels, "", seconds_of_us(number(latency.sum_us)));
        text.part("_count", labels, "", number(latency.total));
    }
}

void Report::disk(Text& text) const {
    const runtime::disk::Status status = runtime::disk::status();
    text.single("srs_disk_files_open", Type::kGauge, "Recordings and segments that are being written.",
                number(status.files_open));
    text.single("srs_disk_written_bytes_total", Type::kCounter, "Bytes written to recordings and segments.",
                number(status.bytes_written));
    text.single("srs_disk_writes_total", Type::kCounter, "Write operations for recordings and segments.",
                number(status.writes));
    text.single("srs_disk_waiting_bytes", Type::kGauge, "Bytes submitted to the disk and not yet written.",
                number(status.bytes_in_flight));
    text.single("srs_disk_buffer_bytes", Type::kGauge, "Memory of all file buffers.", number(status.bytes_buffered));
    text.single("srs_disk_files_failed_total", Type::kCounter, "Files that ended with an error.",
                number(status.files_failed));
    text.single("srs_disk_files_too_slow_total", Type::kCounter,
                "Of these, files that failed because the disk was too slow.", number(status.files_dropped));
}

void Report::udp(Text& text) {
    const runtime::UdpStats stats = runtime::udp_totals();
    text.family("srs_udp_datagrams_total", Type::kCounter, "Datagrams of all UDP sockets.");
    text.sample({{"direction", "in"}}, number(stats.received));
    text.sample({{"direction", "out"}}, number(stats.sent));
    text.family("srs_udp_lost_total", Type::kCounter, "Datagrams lost because a socket's buffer was full.");
    text.sample({{"direction", "in"}}, number(stats.receive_lost));
    text.sample({{"direction", "out"}}, number(stats.send_lost));
}

// Only with sender threads.
void Report::senders(Text& text) {
    if (!runtime::senders()) return;
    const runtime::SenderStats stats = runtime::senders()->stats();
    const auto each = [&](std::string_view name, std::string_view doc, auto value) {
        text.family(name, Type::kCounter, doc);
        for (size_t i = 0; i < stats.threads.size(); ++i)
            text.sample({{"thread", std::to_string(i)}}, value(stats.threads[i]));
    };
    using Thread = runtime::SenderThreadStats;
    each("srs_sender_busy_seconds_total", "Processor time of each sender thread.",
         [](const Thread& one) { return seconds_of_us(static_cast<double>(one.busy_us)); });
    each("srs_sender_calls_total", "Calls that the event loop has lent and the thread has made.",
         [](const Thread& one) { return number(one.entries); });
    each("srs_sender_datagrams_total", "Datagrams that the thread has sent.",
         [](const Thread& one) { return number(one.sent); });
    each("srs_sender_datagrams_lost_total", "Datagrams that the kernel did not take.",
         [](const Thread& one) { return number(one.lost); });
    each("srs_sender_waited_seconds_total", "Time for which the thread has waited for room in a socket.",
         [](const Thread& one) { return seconds_of_us(static_cast<double>(one.waited_us)); });
    each("srs_sender_stalls_total", "Calls of the thread that took stall_warn or longer.",
         [](const Thread& one) { return number(one.stalls.count); });
    each("srs_sender_stalled_seconds_total", "Total duration of these calls.",
         [](const Thread& one) { return seconds_of_ms(one.stalls.total_ms); });
    text.family("srs_sender_lent_total", Type::kCounter, "Calls that the event loop has lent to sender threads.");
    text.sample({{"kind", "datagram"}}, number(stats.records));
    text.sample({{"kind", "write"}}, number(stats.jobs));
    text.single("srs_sender_revoked_total", Type::kCounter, "Writes that the event loop took back.",
                number(stats.revoked));
    text.single("srs_sender_awaited_total", Type::kCounter, "Writes for whose end the event loop waited.",
                number(stats.awaited));
    text.single("srs_sender_awaited_seconds_total", Type::kCounter, "Time for which it waited.",
                seconds_of_us(static_cast<double>(stats.awaited_us)));
    text.family("srs_sender_full_total", Type::kCounter,
                "Calls that were not lent because a thread had too much to do.");
    text.sample({{"kind", "datagram"}}, number(stats.records_lost));
    text.sample({{"kind", "write"}}, number(stats.jobs_refused));
    text.single("srs_sender_retired_bytes", Type::kGauge, "Memory that is kept until no thread reads it.",
                number(stats.retired));
}

base::Result<void> Report::streams(Text& text, size_t limit) {
    std::vector<live::StreamKey> keys;
    std::set<live::StreamKey> still;
    registry_.for_each([&](live::Stream& stream) {
        if (!stream.published()) return;
        keys.push_back(stream.key());
        if (shown_.contains(stream.key())) still.insert(stream.key());
    });
    for (const live::StreamKey& key : keys) {
        if (still.size() >= limit) break;
        still.insert(key);
    }
    while (still.size() > limit) still.erase(std::prev(still.end()));  // in case the limit was lowered
    shown_ = std::move(still);
    text.single("srs_stream_memory_all_bytes", Type::kGauge, "Memory of all streams together.",
                number(registry_.memory()));
    text.single("srs_stream_memory_all_limit_bytes", Type::kGauge,
                "Limit of the memory of all streams (total_stream_memory).", number(registry_.memory_limit()));
    text.single("srs_streams_not_shown", Type::kGauge,
                "Streams without metrics of their own because of exporter.stream_limit.",
                number(keys.size() - shown_.size()));

    std::vector<LabelledStream> all;
    runtime::CpuSlice slice(1);
    for (const live::StreamKey& key : std::set(shown_)) {
        if (const auto stream = registry_.find(key))
            all.push_back({{{"vhost", key.vhost}, {"app", key.app}, {"stream", key.name}},
                           view_of(key, registry_, sessions_),
                           slowest_viewer_ms(*stream)});
        TRY(slice.step());
    }
    const auto family = [&](std::string_view name, Type type, std::string_view help,
                            auto figure) -> base::Result<void> {
        text.family(name, type, help);
        for (const LabelledStream& one : all) figure(one);
        return slice.step();
    };
    const auto plain = [&](std::string_view name, Type type, std::string_view help, auto figure) {
        return family(name, type, help, [&](const LabelledStream& one) { text.sample(one.labels, figure(one.view)); });
    };
    using F = StreamView;
    TRY(plain("srs_stream_viewers", Type::kGauge, "Players of every protocol.",
              [](const F& f) { return number(f.players); }));
    TRY(plain("srs_stream_bitrate", Type::kGauge, "Bitrate of the last GOPs, bit/s.",
              [](const F& f) { return f.bitrate; }));
    TRY(plain("srs_stream_frame_rate", Type::kGauge, "Video frames per second.",
              [](const F& f) { return f.frame_rate; }));
    TRY(plain("srs_stream_gop_seconds", Type::kGauge, "Distance between the last two keyframes; 0: not known yet.",
              [](const F& f) { return seconds_of_ms(f.gop_ms); }));
    TRY(family("srs_stream_keyframe_age_seconds", Type::kGauge, "Time since the last keyframe.",
               [&](const LabelledStream& one) {
                   if (one.view.keyframe_age_ms) text.sample(one.labels, seconds_of_ms(*one.view.keyframe_age_ms));
               }));
    TRY(family("srs_stream_audio_ahead_seconds", Type::kGauge,
               "Timestamp of audio minus timestamp of the video received at the same time.",
               [&](const LabelledStream& one) {
                   if (one.view.audio_ahead_ms) text.sample(one.labels, seconds_of_ms(*one.view.audio_ahead_ms));
               }));
    TRY(family("srs_stream_lag_seconds", Type::kGauge, "Delay of the slowest viewer.",
               [&](const LabelledStream& one) { text.sample(one.labels, seconds_of_ms(one.lag_ms)); }));
    // Of a copy they are counted where the publisher is.
    TRY(family("srs_stream_frames_total", Type::kCounter, "Frames that were published.",
               [&](const LabelledStream& one) {
                   if (one.view.is_copy) return;
                   const live::StreamCounters& counters = one.view.counters;
                   text.sample(Labels(one.labels).add("kind", "video"), number(counters.video_frames));
                   text.sample(Labels(one.labels).add("kind", "audio"), number(counters.audio_frames));
               }));
    TRY(family("srs_stream_published_bytes_total", Type::kCounter, "Bytes of frames that were published.",
               [&](const LabelledStream& one) {
                   if (!one.view.is_copy) text.sample(one.labels, number(one.view.counters.payload_bytes));
               }));
    TRY(plain("srs_stream_viewer_drops_total", Type::kCounter, "Times a viewer was too slow and skipped to a keyframe.",
              [](const F& f) { return number(f.counters.viewer_jumps); }));
    TRY(plain("srs_stream_skipped_bytes_total", Type::kCounter, "Bytes skipped by viewers that were too slow.",
              [](const F& f) { return number(f.counters.skipped_bytes); }));
    TRY(family(
        "srs_stream_memory_bytes", Type::kGauge, "Memory of the stream, by purpose.", [&](const LabelledStream& one) {
            const live::StreamMemory& held = one.view.memory;
            const std::pair<std::string_view, size_t> parts[] = {
                {"gop", held.gop}, {"mix_queue", held.mix_queue}, {"logs", held.logs},  {"viewers", held.viewers},
                {"rtp", held.rtp}, {"outputs", held.outputs},     {"input", held.input}};
            for (const auto& [held_for, bytes] : parts)
                text.sample(Labels(one.labels).add("held_for", held_for), number(bytes));
        }));
    TRY(plain("srs_stream_memory_releases_total", Type::kCounter,
              "Times the stream released memory because its own limit, or that of all streams, was "
              "reached.",
              [](const F& f) { return number(f.counters.memory_releases); }));
    return plain("srs_stream_timestamp_jumps_total", Type::kCounter, "Times the publisher's timestamps jumped.",
                 [](const F& f) { return number(f.counters.timeline_jumps); });
}

}  // namespace service::metrics
