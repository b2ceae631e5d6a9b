#include "server/doctor/read.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "base/clock.h"
#include "config/listeners.h"
#include "runtime/senders/senders.h"
#include "runtime/socket/tcp.h"
#include "runtime/threads/process.h"
#include "runtime/threads/processors.h"
#include "server/process/directories.h"
#include "server/services.h"

namespace server::doctor {
namespace {

namespace fs = std::filesystem;

std::string read_text(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

std::vector<int64_t> read_numbers(const std::string& path) {
    std::istringstream text(read_text(path));
    std::vector<int64_t> numbers;
    for (int64_t number; text >> number;) numbers.push_back(number);
    return numbers;
}

std::vector<std::string> words_of(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

std::optional<int64_t> read_number(const std::string& path) {
    const auto numbers = read_numbers(path);
    return numbers.empty() ? std::nullopt : std::optional(numbers.front());
}

// ---- Ports

// Finds the process that has the socket with that inode open, as far as this user's permissions allow.
int find_holder(uint64_t inode) {
    const std::string wanted = fmt::format("socket:[{}]", inode);
    std::error_code error;
    const fs::directory_iterator end;
    for (fs::directory_iterator process("/proc", error); !error && process != end; process.increment(error)) {
        const int pid = std::atoi(process->path().filename().c_str());
        if (pid <= 0) continue;
        std::error_code hidden;  // the process of another user
        for (fs::directory_iterator fd(process->path() / "fd", hidden); !hidden && fd != end; fd.increment(hidden)) {
            std::error_code gone;
            if (fs::read_symlink(fd->path(), gone) == wanted) return pid;
        }
    }
    return 0;
}

Port read_port(std::string what, const config::ListenAddress& address, config::Transport transport) {
    const bool is_tcp = transport == config::Transport::kTcp;
    const auto bound = runtime::try_to_bind({address.host, address.port, address.ipv6_only, address.reuse_port},
                                            is_tcp ? SOCK_STREAM : SOCK_DGRAM);
    Port port{std::move(what), address, bound ? 0 : bound.error().system_errno(), "", 0};
    if (port.error != EADDRINUSE || !is_tcp) return port;
    for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
        const uint64_t inode = parse_listener_inode(read_text(table), address.port);
        if (inode == 0) continue;
        port.holder_pid = find_holder(inode);
        if (port.holder_pid == 0) continue;
        port.holder = read_text(fmt::format("/proc/{}/comm", port.holder_pid));
        while (port.holder.ends_with('\n')) port.holder.pop_back();
        break;
    }
    return port;
}

// ---- Certificates

template <class T, void (*kFree)(T*)>
struct Freed {
    void operator()(T* object) const { kFree(object); }
};

int64_t to_seconds(const ASN1_TIME* time) {
    tm parts{};
    return ASN1_TIME_to_tm(time, &parts) == 1 ? timegm(&parts) : 0;
}

Certificate read_certificate(service::KeyPair files) {
    Certificate c{std::move(files.block), std::move(files.cert), std::move(files.key), "", 0, 0};
    const std::unique_ptr<FILE, int (*)(FILE*)> cert(std::fopen(c.cert.c_str(), "re"), std::fclose);
    if (!cert) return c.error = std::strerror(errno), c;
    const std::unique_ptr<X509, Freed<X509, X509_free>> x509(PEM_read_X509(cert.get(), nullptr, nullptr, nullptr));
    if (!x509) return c.error = "is no PEM certificate", c;
    c.not_before_s = to_seconds(X509_get0_notBefore(x509.get()));
    c.not_after_s = to_seconds(X509_get0_notAfter(x509.get()));
    const std::unique_ptr<FILE, int (*)(FILE*)> key(std::fopen(c.key.c_str(), "re"), std::fclose);
    if (!key) return c.error = fmt::format("its key {}: {}", c.key, std::strerror(errno)), c;
    auto no_password = [](char*, int, int, void*) { return 0; };
    const std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY, EVP_PKEY_free>> pair(
        PEM_read_PrivateKey(key.get(), nullptr, no_password, nullptr));
    if (!pair) return c.error = fmt::format("its key {} cannot be read, or has a password", c.key), c;
    if (X509_check_private_key(x509.get(), pair.get()) != 1) c.error = fmt::format("{} is not its key", c.key);
    return c;
}

// ---- Disks

// Returns MB per second, or 0 with errno set.
double write_speed(const std::string& directory) {
    constexpr size_t kPiece = 1024 * 1024;
    constexpr int64_t kMaxUs = 500'000;
    constexpr size_t kMost = 64 * kPiece;
    const int fd = ::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0) return 0;
    const std::vector<char> piece(kPiece, 'x');
    const int64_t began_us = base::monotonic_us();
    size_t written = 0;
    bool good = true;
    while (good && written < kMost && base::monotonic_us() - began_us < kMaxUs) {
        good = ::write(fd, piece.data(), piece.size()) == static_cast<ssize_t>(piece.size());
        written += kPiece;
    }
    good = good && fdatasync(fd) == 0;
    const int error = errno;
    ::close(fd);
    errno = error;
    return good ? static_cast<double>(written) / static_cast<double>(base::monotonic_us() - began_us) : 0;
}

Disk read_disk(std::string what, std::string directory) {
    Disk disk{std::move(what), directory.empty() ? "." : std::move(directory), 0, 0, 0, 0};
    struct statvfs info {};
    if (statvfs(disk.directory.c_str(), &info) != 0) return disk.error = errno, disk;
    disk.free_bytes = uint64_t{info.f_bavail} * info.f_frsize;
    disk.total_bytes = uint64_t{info.f_blocks} * info.f_frsize;
    if (access(disk.directory.c_str(), W_OK) != 0) return disk.error = errno, disk;
    disk.written_mb_per_s = write_speed(disk.directory);
    // A file system without support for unnamed files is not an error.
    if (disk.written_mb_per_s == 0 && errno != EOPNOTSUPP && errno != EISDIR) disk.error = errno;
    return disk;
}

// The disks of the services' outputs; of several in one directory the first one stands for all.
void read_outputs(const config::Snapshot& s, Facts& facts) {
    if (s.global.srs_log_tank == config::LogTank::kFile)
        facts.disks.push_back(read_disk("srs_log_file", fs::path(s.global.srs_log_file).parent_path()));
    facts.disks.push_back(read_disk("work_dir", "."));
    for (const service::Description* service : services()) {
        if (!service->outputs) continue;
        for (service::OutputFile& output : service->outputs(s)) {
            std::string directory = existing_directory_of(output.path);
            if (std::ranges::find(facts.disks, directory, &Disk::directory) == facts.disks.end())
                facts.disks.push_back(read_disk(std::move(output.what), std::move(directory)));
        }
    }
}

void read_config(const config::Snapshot& s, Facts& facts) {
    facts.max_connections = s.global.max_connections;
    config::for_each_address(s, [&](const config::Listener& listener, const config::ListenAddress& address) {
        facts.ports.push_back(read_port(listener.path, address, listener.transport));
    });
    for (const service::Description* service : services()) {
        if (!service->key_pairs) continue;
        for (service::KeyPair& pair : service->key_pairs(s))
            facts.certificates.push_back(read_certificate(std::move(pair)));
    }
    for (const service::Description* service : services()) {
        if (!service->programs) continue;
        for (service::Program& program : service->programs(s)) {
            std::string path = runtime::find_program(program.program);
            facts.programs.push_back({std::move(program.what), std::move(program.program), std::move(path)});
        }
    }
    read_outputs(s, facts);
}

void read_processors(const config::Snapshot& s, Facts& facts) {
    facts.cpus_online = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    facts.cpus_allowed = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : facts.cpus_online;
    const size_t usable = runtime::usable_processors();
    facts.cpus_usable = static_cast<int>(usable);
    facts.sender_threads = static_cast<int>(runtime::sender_threads(s.global.sender_threads, usable));
    for (int cpu = 0; cpu < facts.cpus_online; ++cpu) {
        for (std::string& governor :
             words_of(read_text(fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor", cpu)))) {
            if (std::ranges::find(facts.governors, governor) == facts.governors.end())
                facts.governors.push_back(std::move(governor));
        }
    }
    facts.network_softirqs = parse_network_softirqs(read_text("/proc/softirqs"));
}

void read_clock(Facts& facts) {
    const std::string folder = "/sys/devices/system/clocksource/clocksource0/";
    const auto current = words_of(read_text(folder + "current_clocksource"));
    if (!current.empty()) facts.clock_source = current.front();
    facts.clock_sources = words_of(read_text(folder + "available_clocksource"));
    timex ask{};
    const int state = adjtimex(&ask);
    if (state >= 0) facts.clock_synchronised = state != TIME_ERROR && !(ask.status & STA_UNSYNC);
}

}  // namespace

Facts read_facts(const config::Snapshot& snapshot) {
    Facts facts;
    facts.now_s = base::wall_ms() / 1000;
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    facts.open_files = files.rlim_max;
    facts.rmem_max = read_number("/proc/sys/net/core/rmem_max");
    facts.wmem_max = read_number("/proc/sys/net/core/wmem_max");
    facts.somaxconn = read_number("/proc/sys/net/core/somaxconn");
    facts.max_map_count = read_number("/proc/sys/vm/max_map_count");
    const auto range = read_numbers("/proc/sys/net/ipv4/ip_local_port_range");
    if (range.size() == 2) facts.local_ports = std::pair(range[0], range[1]);
    read_config(snapshot, facts);
    read_processors(snapshot, facts);
    read_clock(facts);
    return facts;
}

std::vector<uint64_t> parse_network_softirqs(std::string_view text) {
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string name;
        words >> name;
        if (name != "NET_RX:") continue;
        std::vector<uint64_t> counts;
        for (uint64_t count; words >> count;) counts.push_back(count);
        return counts;
    }
    return {};
}

// Columns: "sl local_address rem_address st ... inode". The address is hexadecimal ip:port, state 0A means listening,
// the inode is the tenth column.
uint64_t parse_listener_inode(std::string_view text, uint16_t port) {
    const std::string ending = fmt::format(":{:04X}", port);
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        const auto words = words_of(line);
        if (words.size() < 10 || words[3] != "0A" || !words[1].ends_with(ending)) continue;
        return std::strtoull(words[9].c_str(), nullptr, 10);
    }
    return 0;
}

}  // namespace server::doctor
