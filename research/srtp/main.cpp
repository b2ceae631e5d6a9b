// A measuring stick: what encrypting an RTP packet costs, and what a viewer's context weighs. Packets of 200 and 1,200
// bytes, both profiles, from one shared plaintext into an arena, for 400 viewers in turn with bursts of four packets,
// as the server sends them; so contexts come from a cache that others have used in between.
//     srtp [--viewers=400] [--burst=4] [NAME=FILE of a libsrtp2.so]...
// Nanoseconds of processor time a packet, the median of 31 rounds, and heap bytes a context.
//     srtp --run SUBJECT cm|gcm SIZE PACKETS [NAME=FILE]...
// That and nothing else, for callgrind (instructions.sh).

#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/bytes.h"
#include "base/result.h"
#include "srtp/subjects.h"

namespace {

using namespace measure;
using srtp::Profile;

constexpr size_t kRounds = 31;
size_t viewers = 400, burst_packets = 4;

srtp::MasterKey key_of(size_t viewer) {
    srtp::MasterKey key;
    base::put_u32(key.key.data(), static_cast<uint32_t>(viewer * 2654435761u));
    base::put_u32(key.salt.data(), static_cast<uint32_t>(viewer));
    return key;
}

struct Run {
    Run(Subject& subject, Profile profile, size_t payload_size, size_t count) : payload(payload_size, 0x5a) {
        size_t before = mallinfo2().uordblks;
        for (size_t i = 0; i < count; ++i) {
            contexts.push_back(subject.make(profile, key_of(i)));
            put(*contexts.back(), 0);  // what is made with the first packet counts too
        }
        heap = (mallinfo2().uordblks - before - contexts.capacity() * sizeof contexts[0]) / count;
    }
    void put(Context& context, uint64_t index) {
        uint8_t header[12] = {0x80, 96};
        base::put_u16(header + 2, static_cast<uint32_t>(index));
        base::put_u32(base::put_u32(header + 4, static_cast<uint32_t>(index * 3000)), 0xcafe);
        if (at + payload.size() + 64 > sizeof arena) at = 0;
        at += context.protect(header, payload, index, arena + at);
    }
    void burst(Context& context, uint64_t first) {
        for (uint64_t i = 0; i < burst_packets; ++i) put(context, first + i);
    }

    std::vector<uint8_t> payload;
    std::vector<std::unique_ptr<Context>> contexts;
    size_t heap = 0;
    size_t at = 0;
    uint8_t arena[64 * 1024];
};

double cpu_ns() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

struct Figures {
    std::vector<double> ns;  // a packet, of each round
    size_t heap = 0;
};

const char* name_of(Profile profile) { return profile == Profile::kAeadAes128Gcm ? "gcm" : "cm"; }

// Rounds of all subjects alternate, so that a slow minute is everybody's.
void measure_all(std::vector<std::unique_ptr<Subject>>& subjects, Profile profile, size_t size) {
    std::vector<std::unique_ptr<Run>> runs;
    for (auto& subject : subjects) runs.push_back(std::make_unique<Run>(*subject, profile, size, viewers));
    std::vector<Figures> figures(subjects.size());
    const uint64_t passes = std::max<size_t>(1, 16'000 / (viewers * burst_packets));
    for (size_t round = 0; round < kRounds; ++round) {
        for (size_t s = 0; s < runs.size(); ++s) {
            Run& run = *runs[s];
            double begun = cpu_ns();
            for (uint64_t pass = 0; pass < passes; ++pass) {
                for (auto& context : run.contexts) run.burst(*context, 1 + (round * passes + pass) * burst_packets);
            }
            figures[s].ns.push_back((cpu_ns() - begun) / static_cast<double>(passes * viewers * burst_packets));
            figures[s].heap = run.heap;
        }
    }
    for (size_t s = 0; s < subjects.size(); ++s) {
        auto& ns = figures[s].ns;
        std::ranges::sort(ns);
        std::printf("| %-28s | %-3s | %4zu | %6.0f | %6.0f | %6zu |\n", subjects[s]->name.c_str(), name_of(profile),
                    size, ns[ns.size() / 2], ns.front(), figures[s].heap);
    }
}

int run_one(std::vector<std::unique_ptr<Subject>>& subjects, char** arguments) {
    auto subject = std::ranges::find(subjects, std::string(arguments[0]), [](auto& s) { return s->name; });
    if (subject == subjects.end()) {
        std::fprintf(stderr, "srtp: there is no %s\n", arguments[0]);
        return 1;
    }
    Profile profile = std::strcmp(arguments[1], "gcm") == 0 ? Profile::kAeadAes128Gcm : Profile::kAes128CmSha1_80;
    auto run = std::make_unique<Run>(**subject, profile, static_cast<size_t>(std::atol(arguments[2])), 1);
    for (long i = 0; i < std::atol(arguments[3]); i += burst_packets)
        run->burst(*run->contexts[0], 1 + static_cast<uint64_t>(i));
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    bool one = argc >= 6 && std::strcmp(argv[1], "--run") == 0;
    std::vector<std::unique_ptr<Subject>> subjects;
    subjects.push_back(own());
    bool complete = true;
    for (int i = one ? 6 : 1; i < argc; ++i) {
        if (std::sscanf(argv[i], "--viewers=%zu", &viewers) == 1) continue;
        if (std::sscanf(argv[i], "--burst=%zu", &burst_packets) == 1) continue;
        char* equals = std::strchr(argv[i], '=');
        if (!equals) return std::fprintf(stderr, "usage: srtp [--viewers=400] [--burst=4] [NAME=FILE]...\n"), 2;
        auto subject = libsrtp(std::string(argv[i], equals), equals + 1);
        complete = complete && subject;
        if (subject) subjects.push_back(std::move(subject));
    }
    if (one) return complete ? run_one(subjects, argv + 2) : 1;
    std::printf(
        "| who                          | pro | size |     ns | lowest |   heap |\n|---|---|---|---|---|---|\n");
    for (Profile profile : {Profile::kAeadAes128Gcm, Profile::kAes128CmSha1_80}) {
        for (size_t size : {200, 1200}) measure_all(subjects, profile, size);
    }
    return complete ? 0 : 1;
}
