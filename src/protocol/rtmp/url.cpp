#include "protocol/rtmp/url.h"

#include "base/authority.h"
#include "base/stream_name.h"
#include "base/text.h"

namespace rtmp {

using base::check_name;
using base::Code;
using base::fail;
using base::for_log;
using base::Result;

namespace {

constexpr size_t kLoggedBytes = 64;

std::string_view trim_slashes(std::string_view text) {
    while (text.starts_with('/')) text.remove_prefix(1);
    while (text.ends_with('/')) text.remove_suffix(1);
    return text;
}

// "name?k=v&..." or "name...k...v...": returns the name and appends the parameters to params, separated by '&'.
std::string_view split_parameters(std::string_view text, std::string& params) {
    size_t question = text.find('?');
    size_t dots = text.find("...");
    auto add = [&params](std::string_view part) {
        if (part.empty()) return;
        if (!params.empty()) params += '&';
        params += part;
    };
    if (dots != text.npos && (question == text.npos || dots < question)) {
        std::string_view rest = text.substr(dots + 3);
        std::string_view more;
        if (size_t q = rest.find('?'); q != rest.npos) {
            more = rest.substr(q + 1);
            rest = rest.substr(0, q);
        }
        while (!rest.empty()) {
            size_t next = rest.find("...");
            std::string pair(rest.substr(0, next));
            rest = next == rest.npos ? std::string_view() : rest.substr(next + 3);
            next = rest.find("...");
            pair += '=';
            pair += rest.substr(0, next);
            rest = next == rest.npos ? std::string_view() : rest.substr(next + 3);
            add(pair);
        }
        add(more);
        return text.substr(0, dots);
    }
    if (question == text.npos) return text;
    add(text.substr(question + 1));
    return text.substr(0, question);
}

// Removes vhost= and domain= from the parameters. The last one is used: the stream's parameters follow the app's. A
// vhost= takes precedence over a domain=.
std::string take_vhost(std::string& params) {
    std::string vhost, domain;
    std::string rest;
    std::string_view left = params;
    while (!left.empty()) {
        size_t end = left.find('&');
        std::string_view pair = left.substr(0, end);
        left = end == left.npos ? std::string_view() : left.substr(end + 1);
        if (pair.starts_with("vhost=")) {
            if (pair.size() > 6) vhost = pair.substr(6);
        } else if (pair.starts_with("domain=")) {
            if (pair.size() > 7) domain = pair.substr(7);
        } else if (!pair.empty()) {
            if (!rest.empty()) rest += '&';
            rest += pair;
        }
    }
    params = std::move(rest);
    return vhost.empty() ? domain : vhost;
}

Result<Url> parse_behind_scheme(std::string_view text, bool tls, bool has_stream) {
    Url url;
    url.tls = tls;
    size_t host_end = text.find_first_of("/?");
    const base::Authority authority = TRY(base::split_authority(text.substr(0, host_end)));  // a user is ignored
    TRY(check_name("host", authority.host));
    url.host = authority.host;
    url.port = authority.port.value_or(url.tls ? 443 : kDefaultPort);
    if (url.port == 0) return fail(Code::kProtocol, "the port is 0");
    std::string_view path = host_end == text.npos ? std::string_view() : trim_slashes(text.substr(host_end));
    if (!has_stream) {
        url.app = path;
        return url;
    }
    // Parameters of the stream may contain slashes; those of the app end at one.
    size_t question = path.find('?');
    size_t slash = path.substr(0, question).rfind('/');
    if (size_t behind = path.find('/', question == path.npos ? path.size() : question);
        slash == path.npos && behind != path.npos)
        slash = behind;
    if (slash == path.npos) {
        url.app = path;
    } else {
        url.app = path.substr(0, slash);
        url.stream = path.substr(slash + 1);
    }
    if (url.app.empty()) return fail(Code::kProtocol, "the address has no app");
    return url;
}

}  // namespace

std::string Url::tc_url() const {
    std::string text = tls ? "rtmps://" : "rtmp://";
    bool v6 = host.find(':') != host.npos;
    text += v6 ? "[" + host + "]" : host;
    if (port != (tls ? 443 : kDefaultPort)) text += fmt::format(":{}", port);
    return text + "/" + app;
}

Result<Url> parse_url(std::string_view text, bool has_stream) {
    // rtmpt, rtmpe and similar are not supported, but a client behind its own tunnel may still use them in its tcUrl.
    size_t scheme_end = text.find("://");
    if (scheme_end == text.npos || !text.starts_with("rtmp") || scheme_end > 6)
        return fail(Code::kProtocol,
                    fmt::format("'{}' is no rtmp:// or rtmps:// address", for_log(text, kLoggedBytes)));
    const bool tls = text.substr(0, scheme_end) == "rtmps";
    return parse_behind_scheme(text.substr(scheme_end + 3), tls, has_stream);
}

Result<Url> parse_any_url(std::string_view text, bool has_stream) {
    const size_t scheme_end = text.find("://");
    // "://" in the parameters does not count: "host/app?url=http://other".
    if (scheme_end != text.npos && text.find_first_of("/?") > scheme_end) text.remove_prefix(scheme_end + 3);
    return parse_behind_scheme(text, false, has_stream);
}
Result<StreamAddress> resolve_stream(std::string_view tc_url, std::string_view app, std::string_view stream,
                                     std::string_view default_host) {
    StreamAddress address;
    std::string params;
    address.vhost = default_host;
    if (!tc_url.empty()) {
        Url url = TRY(parse_any_url(tc_url, false), "tcUrl");
        address.vhost = url.host;
        // The tcUrl has more information than app when the client removed the parameters from app.
        std::string ignored;
        std::string_view of_url = split_parameters(url.app, params);
        if (app.empty()) address.app = trim_slashes(of_url);
        if (app.find('?') == app.npos && app.find("...") == app.npos) {
            if (address.app.empty()) address.app = trim_slashes(split_parameters(app, ignored));
        } else {
            params.clear();
        }
    }
    if (address.app.empty()) address.app = trim_slashes(split_parameters(trim_slashes(app), params));
    std::string_view name = trim_slashes(split_parameters(stream, params));
    if (params.size() > kMaxParameters)
        return fail(Code::kLimit,
                    fmt::format("{} bytes of parameters, at most {} are allowed", params.size(), kMaxParameters));
    for (char c : params)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            return fail(Code::kProtocol, "the parameters have a forbidden character");
    if (std::string vhost = take_vhost(params); !vhost.empty()) address.vhost = std::move(vhost);
    if (!params.empty()) address.params = "?" + params;
    // "a" and "b/c" are the same stream as "a/b" and "c": the last level is the stream, as in every URL.
    if (size_t slash = name.rfind('/'); slash != name.npos) {
        if (!address.app.empty()) address.app += '/';
        address.app += trim_slashes(name.substr(0, slash));
        name.remove_prefix(slash + 1);
    }
    address.stream = name;
    TRY(check_name("vhost", address.vhost));
    TRY(check_name("app", address.app));
    TRY(check_name("stream name", address.stream));
    return address;
}

std::string tc_url_of(std::string_view vhost, std::string_view app, std::string_view params) {
    std::string rest(params.substr(params.starts_with('?') ? 1 : 0));
    (void)take_vhost(rest);
    return fmt::format("rtmp://{}/{}{}{}", vhost, app, rest.empty() ? "" : "?", rest);
}

}  // namespace rtmp
