#include "service/rtc/requests/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/ip.h"
#include "service/rtc/config.h"

namespace service::rtc {
namespace {

using base::Code;
using base::fail;
using base::IpAddress;
using base::Result;

// A host, and a port that replaces ours; 0: ours.
struct Host {
    std::string name;
    uint16_t port = 0;
    friend bool operator==(const Host&, const Host&) = default;
};

bool is_domain_name(std::string_view text) {
    return !text.empty() && text.size() <= 253 && text.front() != '.' && text.front() != '-' &&
           std::ranges::all_of(text, [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                      c == '-' || c == '_';
           });
}

// "192.0.2.1", "192.0.2.1:8000", "2001:db8::1", "[2001:db8::1]:8000", "media.example.com:8000".
Result<Host> parse_host(std::string_view text) {
    auto bad = [&] { return fail(Code::kProtocol, fmt::format("'{}' is no HOST or HOST:PORT", text.substr(0, 80))); };
    Host host;
    std::string_view port;
    if (IpAddress::parse(text)) {
        host.name = text;
        return host;
    }
    if (text.starts_with('[')) {
        const size_t close = text.find(']');
        if (close == text.npos) return bad();
        host.name = text.substr(1, close - 1);
        port = text.substr(close + 1);
        if (!IpAddress::parse(host.name) || (!port.empty() && port[0] != ':')) return bad();
        if (!port.empty()) port.remove_prefix(1);
        if (port.empty() && text.ends_with(':')) return bad();
    } else {
        const size_t colon = text.find(':');
        host.name = text.substr(0, colon);
        if (colon != text.npos) port = text.substr(colon + 1);
        if ((colon != text.npos && port.empty()) || !is_domain_name(host.name)) return bad();
    }
    if (port.empty()) return host;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), host.port);
    if (error != std::errc() || end != port.data() + port.size() || host.port == 0) return bad();
    return host;
}

// An address from the client. A name would be sent to our resolver, and the answer would reveal its addresses.
Result<Host> parse_address(std::string_view text) {
    auto host = parse_host(text);
    if (host && IpAddress::parse(host->name)) return host;
    return fail(Code::kProtocol, fmt::format("'{}' is no ADDRESS or ADDRESS:PORT", text.substr(0, 80)));
}

bool is_any(std::string_view ip) { return ip == "*" || ip == "0.0.0.0" || ip == "::"; }

class Finder {
  public:
    Finder(const CandidateQuery& query, const CandidateSources& sources)
        : query_(query), rtc_(query.rtc), sources_(sources) {}

    Result<std::vector<CandidateAddress>> run() {
        if (!query_.eip.empty()) add(TRY(parse_address(query_.eip), "eip"));
        if (rtc_.api_as_candidates) add_api_host();
        bool automatic = false;
        for (const std::string& word : rtc_.candidate) automatic |= add_configured(word);
        if (automatic && rtc_.use_auto_detect_network_ip)
            add_interfaces([this](const LocalAddress& local) {
                return !local.loopback && of_family(local.ip) && listens_on(local.ip);
            });
        // Whatever the directives say, an answer without a candidate is useless.
        for (const bool loopback : {false, true})
            for (const LocalAddress& local : sources_.local)
                if (hosts_.empty() && local.loopback == loopback) add({local.ip, 0});
        return with_ports();
    }

  private:
    bool of_family(std::string_view ip) const {
        if (rtc_.ip_family == "all") return true;
        auto address = IpAddress::parse(ip);
        return address && address->is_v4() == (rtc_.ip_family == "ipv4");
    }

    // A client would try in vain an address on which none of our sockets listens.
    bool listens_on(std::string_view ip) const {
        auto address = IpAddress::parse(ip);
        auto fits = [&](const config::ListenAddress& listen) {
            if (listen.host.empty()) return true;
            auto own = IpAddress::parse(listen.host);
            if (!own || !address) return true;
            if (listen.host == "0.0.0.0") return address->is_v4();
            return listen.host == "::" || *own == *address;
        };
        return std::ranges::any_of(rtc_.listen, fits) ||
               (rtc_.tcp.enabled && std::ranges::any_of(rtc_.tcp.listen, fits));
    }

    void add(Host host) {
        if (hosts_.size() < kMaxHosts && std::ranges::find(hosts_, host) == hosts_.end())
            hosts_.push_back(std::move(host));
    }

    // An address in the configuration is used as it is; a name is resolved.
    void add_host(const Host& host, bool keep_name) {
        if (IpAddress::parse(host.name)) return add(host);
        bool found = false;
        for (const std::string& ip : sources_.resolve(host.name)) {
            if (!of_family(ip)) continue;
            add({ip, host.port});
            found = true;
        }
        if (keep_name || !found) add(host);
    }

    void add_api_host() {
        const std::string name(query_.api_host);
        if (name.empty()) return;
        if (IpAddress::parse(name)) {
            if (!is_any(name)) add({name, 0});
            return;
        }
        if (!is_domain_name(name)) return;
        if (rtc_.resolve_api_domain)
            for (const std::string& ip : sources_.resolve(name))
                if (of_family(ip)) add({ip, 0});
        if (rtc_.keep_api_domain) add({name, 0});
    }

    // Whether the word means all addresses of this machine.
    bool add_configured(const std::string& word) {
        if (is_any(word)) return true;
        if (word.starts_with('$')) {
            std::string value = sources_.environment(word.substr(1));
            if (value.empty() || value.starts_with('$')) return true;
            bool automatic = false;
            for (size_t at = 0; at < value.size();) {
                size_t end = std::min(value.find(' ', at), value.size());
                if (end > at) automatic |= add_configured(value.substr(at, end - at));
                at = end + 1;
            }
            return automatic;
        }
        bool is_interface = false;
        for (const LocalAddress& local : sources_.local) {
            if (local.interface != word) continue;
            is_interface = true;
            if (of_family(local.ip)) add({local.ip, 0});
        }
        if (is_interface) return false;
        if (auto host = parse_host(word)) add_host(*host, rtc_.keep_api_domain);
        return false;
    }

    template <class Wanted>
    void add_interfaces(Wanted wanted) {
        for (const LocalAddress& local : sources_.local)
            if (wanted(local)) add({local.ip, 0});
    }

    std::vector<CandidateAddress> with_ports() const {
        std::vector<CandidateAddress> all;
        auto add_ports = [&](std::span<const uint16_t> ports, bool tcp) {
            for (const Host& host : hosts_) {
                if (ports.empty()) continue;
                if (host.port) {
                    all.push_back({host.name, host.port, tcp});
                    continue;
                }
                for (uint16_t port : ports) {
                    CandidateAddress candidate{host.name, port, tcp};
                    if (std::ranges::find(all, candidate) == all.end()) all.push_back(std::move(candidate));
                }
            }
        };
        if (rtc_.protocol != "tcp") add_ports(query_.udp_ports, false);
        if (rtc_.protocol != "udp") add_ports(query_.tcp_ports, true);
        return all;
    }

    const CandidateQuery& query_;
    const ServerConfig& rtc_;
    const CandidateSources& sources_;
    std::vector<Host> hosts_;
};

}  // namespace

bool is_candidate(std::string_view word) {
    if (is_any(word) || (word.size() > 1 && word.starts_with('$'))) return true;
    const auto host = parse_host(word);
    if (!host || IpAddress::parse(host->name)) return host.has_value();
    // A name that ends in a number is an IPv4 address with an error: no top-level domain does.
    const std::string_view last = std::string_view(host->name).substr(host->name.rfind('.') + 1);
    const bool is_number = std::ranges::all_of(last, [](char c) { return c >= '0' && c <= '9'; });
    return !is_number;
}

Result<std::vector<CandidateAddress>> find_candidates(const CandidateQuery& query, const CandidateSources& sources) {
    return Finder(query, sources).run();
}

}  // namespace service::rtc
