// A measuring stick: what one wake-up costs among N idle connections. One connection is written to and its coroutine
// woken, reads, and the writer gets its turn back; N - 1 others wait, each in a coroutine of its own.
// Usage: loop [N ...]; prints microseconds of processor time per loop, user and system: the median of 51 rounds of 400.
// Processor time, so that a busy machine disturbs it little; the thread never sleeps while it measures.

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "runtime/loop/coroutine.h"
#include "runtime/socket/tcp_stream.h"

namespace {

constexpr int kRounds = 51;
constexpr int kLoops = 400;

struct Connection {
    std::unique_ptr<runtime::ByteStream> stream;
    int other_end = -1;
    runtime::Task reader;
};

long reads = 0;

Connection connect_pair() {
    Connection connection;
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    connection.other_end = ends[1];
    auto stream = runtime::detail::TcpStream::make(ends[0], {});
    CHECK(stream.has_value());
    connection.stream = *std::move(stream);
    connection.reader = runtime::spawn("reader", [&stream = *connection.stream] {
        while (runtime::read_shared(stream, runtime::Deadline::in_ms(30'000))) ++reads;
    });
    return connection;
}

double cpu_us() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
}

double us_per_loop(int active) {
    std::vector<double> rounds;
    for (int round = 0; round < kRounds; ++round) {
        const double start = cpu_us();
        for (int i = 0; i < kLoops; ++i) {
            const long before = reads;
            CHECK(write(active, "x", 1) == 1);
            while (reads == before) CHECK(runtime::yield().has_value());
        }
        rounds.push_back((cpu_us() - start) / kLoops);
    }
    std::nth_element(rounds.begin(), rounds.begin() + kRounds / 2, rounds.end());
    return rounds[kRounds / 2];
}

void measure(int count) {
    std::vector<Connection> connections;
    for (int i = 0; i < count; ++i) connections.push_back(connect_pair());
    CHECK(runtime::sleep_ms(50).has_value());
    std::printf("%6d connections  %6.2f us per loop\n", count, us_per_loop(connections.front().other_end));
    for (auto& connection : connections) {
        connection.reader.cancel_and_join();
        close(connection.other_end);
    }
}

}  // namespace

int main(int argc, char** argv) {
    rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    if (auto started = runtime::init(); !started) {
        std::fprintf(stderr, "%s\n", started.error().describe().c_str());
        return 1;
    }
    std::vector<int> counts;
    for (int i = 1; i < argc; ++i) counts.push_back(std::atoi(argv[i]));
    if (counts.empty()) counts = {10, 1000, 4000, 9000};
    for (int count : counts) measure(count);
    runtime::shutdown();
}
