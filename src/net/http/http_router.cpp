#include "net/http/http_router.h"

#include <algorithm>

namespace net {

namespace {

bool is_named(std::string_view segment) { return segment.starts_with('{') && segment.ends_with('}'); }

// "a" of "/a/b", and leaves "/b".
std::string_view take_segment(std::string_view& path) {
    path.remove_prefix(path.starts_with('/') ? 1 : 0);
    size_t end = std::min(path.find('/'), path.size());
    std::string_view segment = path.substr(0, end);
    path.remove_prefix(end);
    return segment;
}

// With what each path begins that the pattern matches: "/api/v1/streams" of "/api/v1/streams/{id}".
std::string_view literal_start(std::string_view pattern) {
    const std::string_view start = pattern.substr(0, pattern.find_first_of("{*"));
    return start.substr(0, start.size() - (start.ends_with('/') ? 1 : 0));
}

// The last character is looked at first: every route is compared with every request, and nearly all differ there.
bool begins_with(std::string_view path, std::string_view start) {
    return start.empty() ||
           (path.size() >= start.size() && path[start.size() - 1] == start.back() && path.starts_with(start));
}

// One character per segment: a literal sorts before a named segment, that before the pattern's end, that before a
// wildcard.
std::string rank(const HttpRoute& route) {
    std::string out = route.is_fallback ? "e" : "";
    std::string_view pattern = route.pattern;
    while (!pattern.empty()) {
        std::string_view segment = take_segment(pattern);
        if (!segment.empty()) out.push_back(segment == "*" ? 'd' : is_named(segment) ? 'b' : 'a');
    }
    out.push_back('c');
    return out;
}

std::optional<std::vector<std::pair<std::string, std::string>>> match_pattern(std::string_view pattern,
                                                                              std::string_view path) {
    std::vector<std::pair<std::string, std::string>> captures;
    while (true) {
        std::string_view rest = path;
        std::string_view want = take_segment(pattern);
        if (want == "*") {
            rest.remove_prefix(rest.starts_with('/') ? 1 : 0);
            captures.emplace_back("*", rest);
            return captures;
        }
        std::string_view have = take_segment(path);
        if (want.empty() || have.empty()) {
            // Both have ended; a single trailing slash is ignored.
            if (want.empty() && have.empty() && pattern.size() <= 1 && path.size() <= 1) return captures;
            return std::nullopt;
        }
        if (is_named(want)) {
            captures.emplace_back(want.substr(1, want.size() - 2), have);
        } else if (want != have) {
            return std::nullopt;
        }
    }
}

bool serves(const HttpRoute& route, http::Method method) {
    auto has = [&](http::Method m) {
        return std::find(route.methods.begin(), route.methods.end(), m) != route.methods.end();
    };
    return has(method) || (method == http::Method::kHead && has(http::Method::kGet));
}

}  // namespace

void HttpRouter::add(HttpRoute route) {
    auto position = std::upper_bound(routes_.begin(), routes_.end(), route,
                                     [](const HttpRoute& a, const HttpRoute& b) { return rank(a) < rank(b); });
    starts_.emplace(starts_.begin() + (position - routes_.begin()), literal_start(route.pattern));
    routes_.insert(position, std::move(route));
}

std::optional<HttpRouter::Match> HttpRouter::match(http::Method method, std::string_view path, size_t from) const {
    for (size_t i = from; i < routes_.size(); ++i) {
        if (!begins_with(path, starts_[i]) || !serves(routes_[i], method)) continue;
        if (auto captures = match_pattern(routes_[i].pattern, path))
            return Match{&routes_[i], *std::move(captures), i + 1};
    }
    return std::nullopt;
}

std::vector<http::Method> HttpRouter::methods_of(std::string_view path) const {
    std::vector<http::Method> methods;
    for (size_t i = 0; i < routes_.size(); ++i) {
        if (!begins_with(path, starts_[i]) || !match_pattern(routes_[i].pattern, path)) continue;
        for (http::Method m : routes_[i].methods)
            if (std::ranges::find(methods, m) == methods.end()) methods.push_back(m);
    }
    return methods;
}

std::string allow_list(const std::vector<http::Method>& methods) {
    std::string out;
    for (http::Method method : methods) {
        out.append(http::method_name(method)).append(", ");
        if (method == http::Method::kGet) out.append("HEAD, ");
    }
    return out + "OPTIONS";
}

}  // namespace net
