#pragma once
// What players by datagrams (WebRTC, SRT) count, and what is reported of all players of a run.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "load/histogram.h"
#include "load/ledger.h"
#include "load/report.h"
#include "load/run.h"

namespace load {

struct PacketCounts {
    uint64_t packets = 0, bytes = 0;    // as on the wire, without UDP
    int64_t lost = 0;                   // never came in their place
    uint64_t asked = 0, recovered = 0;  // by NACK

    PacketCounts operator-(const PacketCounts& before) const {
        return {packets - before.packets, bytes - before.bytes, lost - before.lost, asked - before.asked,
                recovered - before.recovered};
    }
};

// Packets of one player: how many, and when they came.
class PacketMeter {
  public:
    explicit PacketMeter(Ledger& ledger) : ledger_(ledger) {}

    // begun_us: of the player's opening.
    void on_packet(size_t bytes, int64_t now_us, int64_t begun_us) {
        ++packets_;
        bytes_ += bytes;
        ++ledger_.messages;
        ledger_.bytes += bytes;
        if (first_packet_us_ < 0) {
            first_packet_us_ = now_us - begun_us;
            ledger_.first_frame_us.add(first_packet_us_);
        }
        if (last_us_) longest_gap_us_ = std::max(longest_gap_us_, now_us - last_us_);
        last_us_ = now_us;
    }
    // counts: packets and bytes are filled in; the rest is the player's.
    void begin_window(int64_t now_us, PacketCounts counts) {
        before_ = with_packets(counts);
        last_us_ = now_us;
        longest_gap_us_ = 0;
    }
    void end_window(int64_t now_us, PacketCounts counts) {
        after_ = with_packets(counts);
        longest_gap_us_ = std::max(longest_gap_us_, now_us - last_us_);
    }
    PacketCounts window() const { return after_ - before_; }
    int64_t longest_gap_us() const { return longest_gap_us_; }
    int64_t first_packet_us() const { return first_packet_us_; }  // from the player's opening; -1: none yet

  private:
    PacketCounts with_packets(PacketCounts counts) const {
        counts.packets = packets_;
        counts.bytes = bytes_;
        return counts;
    }

    Ledger& ledger_;
    PacketCounts before_, after_;
    uint64_t packets_ = 0, bytes_ = 0;
    int64_t last_us_ = 0, longest_gap_us_ = 0, first_packet_us_ = -1;
};

// Opens them by the ramp, lets them settle, and measures them. A player has open(), begin_window() and end_window().
template <class Player>
void measure_packet_players(Run& run, const CommonOptions& options,
                            const std::vector<std::unique_ptr<Player>>& players) {
    run.open_each(options.count, [&players](uint32_t i, runtime::Deadline deadline) {
        (void)players[i]->open(deadline);  // the ledger has the error
    });
    run.sleep(options.settle_ms);
    int64_t now = base::monotonic_us();
    for (auto& player : players) player->begin_window(now);
    run.begin_window();
    run.sleep(options.seconds * 1000);
    run.end_window();
    now = base::monotonic_us();
    for (auto& player : players) player->end_window(now);
}

// Of the players that are open. A player has is_open() and meter().
template <class Player>
void add_packet_players(Report& report, const std::vector<std::unique_ptr<Player>>& players) {
    std::vector<double> bytes;
    Histogram gaps;
    PacketCounts all;
    uint32_t without_packet = 0;
    for (const auto& player : players) {
        if (!player->is_open()) continue;
        const PacketCounts one = player->meter().window();
        bytes.push_back(static_cast<double>(one.bytes));
        gaps.add(player->meter().longest_gap_us());
        if (player->meter().first_packet_us() < 0) ++without_packet;
        all.packets += one.packets;
        all.lost += one.lost;
        all.asked += one.asked;
        all.recovered += one.recovered;
    }
    const double median = quantile(bytes, 0.5), least = quantile(bytes, 0);
    report.add("packets", all.packets);
    report.add("packets_lost", all.lost);
    report.add("packets_asked_again", all.asked);
    report.add("packets_recovered", all.recovered);
    report.add("median_viewer_bytes", static_cast<uint64_t>(median));
    report.add("slowest_viewer_bytes", static_cast<uint64_t>(least));
    report.add("slowest_viewer_percent", median > 0 ? static_cast<int>(least * 100 / median) : 0);
    report.add_times("longest_gap_ms", gaps);
    report.add("without_frame", without_packet);
}

}  // namespace load
