#include "config/path_match.h"

#include <algorithm>
#include <vector>

namespace config {

namespace {

char lower_letter(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_path_digit(char c) { return c >= '0' && c <= '9'; }

struct PathToken {
    enum class Kind : uint8_t { kText, kApp, kStream, kNumber };
    Kind kind;
    std::string text{};  // of kText, in lower case
};

std::optional<PathToken> path_variable(std::string_view name, std::string_view vhost) {
    static constexpr std::string_view kNumbers[] = {"seq", "duration", "timestamp", "2006", "01",
                                                    "02",  "15",       "04",        "05",   "999"};
    if (name == "app") return PathToken{PathToken::Kind::kApp};
    if (name == "stream") return PathToken{PathToken::Kind::kStream};
    if (name == "vhost") return PathToken{PathToken::Kind::kText, std::string(vhost)};
    if (std::ranges::find(kNumbers, name) != std::end(kNumbers)) return PathToken{PathToken::Kind::kNumber};
    return std::nullopt;
}

std::vector<PathToken> path_tokens(std::string_view pattern, std::string_view vhost) {
    std::vector<PathToken> tokens;
    auto add = [&](PathToken token) {
        std::ranges::transform(token.text, token.text.begin(), lower_letter);
        const bool joins = token.kind == PathToken::Kind::kText && !tokens.empty() && tokens.back().kind == token.kind;
        if (joins) {
            tokens.back().text += token.text;
        } else {
            tokens.push_back(std::move(token));
        }
    };
    while (!pattern.empty()) {
        const size_t close = pattern.starts_with('[') ? pattern.find(']') : pattern.npos;
        auto found = close == pattern.npos ? std::nullopt : path_variable(pattern.substr(1, close - 1), vhost);
        // Text in brackets that is not a variable is taken literally.
        const size_t used = found ? close + 1 : std::min(pattern.find('[', 1), pattern.size());
        add(found ? *std::move(found) : PathToken{PathToken::Kind::kText, std::string(pattern.substr(0, used))});
        pattern.remove_prefix(used);
    }
    return tokens;
}

// Tries each variable's lengths in one order, and no position of the path twice with the same token.
class PathMatcher {
  public:
    PathMatcher(const std::vector<PathToken>& tokens, std::string_view path, bool longest_first)
        : tokens_(tokens),
          path_(path),
          longest_first_(longest_first),
          failed_((tokens.size() + 1) * (path.size() + 1)) {}

    std::optional<PathNames> match() {
        if (!fits(0, 0)) return std::nullopt;
        return names_;
    }

  private:
    bool fits(size_t token, size_t at) {
        if (token == tokens_.size()) return at == path_.size();
        const size_t state = token * (path_.size() + 1) + at;
        if (failed_[state]) return false;
        if (fits_here(token, at)) return true;
        failed_[state] = true;
        return false;
    }

    bool fits_here(size_t token, size_t at) {
        const PathToken& wanted = tokens_[token];
        if (wanted.kind == PathToken::Kind::kText) {
            const std::string_view piece = path_.substr(at, wanted.text.size());
            return std::ranges::equal(piece, wanted.text, {}, lower_letter) && fits(token + 1, at + wanted.text.size());
        }
        const size_t longest = longest_run(wanted.kind, at);
        for (size_t i = 0; i < longest; ++i) {
            const size_t length = longest_first_ ? longest - i : i + 1;
            if (!fits(token + 1, at + length)) continue;
            if (wanted.kind == PathToken::Kind::kApp) names_.app = path_.substr(at, length);
            if (wanted.kind == PathToken::Kind::kStream) names_.stream = path_.substr(at, length);
            return true;
        }
        return false;
    }

    size_t longest_run(PathToken::Kind kind, size_t at) const {
        if (kind == PathToken::Kind::kApp) return path_.size() - at;
        size_t end = at;
        while (end < path_.size() && (kind == PathToken::Kind::kNumber ? is_path_digit(path_[end]) : path_[end] != '/'))
            ++end;
        return end - at;
    }

    const std::vector<PathToken>& tokens_;
    std::string_view path_;
    bool longest_first_;
    std::vector<bool> failed_;
    PathNames names_;
};

std::optional<PathNames> match_tokens(const std::vector<PathToken>& tokens, std::string_view path) {
    auto names = PathMatcher(tokens, path, true).match();
    if (!names) return std::nullopt;
    if (names->app.empty() || names->stream.empty() || PathMatcher(tokens, path, false).match() != names)
        names = PathNames();
    return names;
}

// "a/b-2.flv" -> "a/b.flv"; empty: it has no number.
std::string without_number(std::string_view path) {
    const size_t slash = path.rfind('/');
    size_t dot = path.rfind('.');
    if (dot == path.npos || (slash != path.npos && dot < slash)) dot = path.size();
    size_t at = dot;
    while (at > 0 && is_path_digit(path[at - 1])) --at;
    if (at == dot || at == 0 || path[at - 1] != '-') return "";
    return std::string(path.substr(0, at - 1)).append(path.substr(dot));
}

}  // namespace

std::optional<PathNames> match_path(std::string_view pattern, std::string_view path, std::string_view vhost) {
    while (pattern.starts_with("./")) pattern.remove_prefix(2);
    const std::vector<PathToken> tokens = path_tokens(pattern, vhost);
    if (auto names = match_tokens(tokens, path)) return names;
    const std::string plain = without_number(path);
    return plain.empty() ? std::nullopt : match_tokens(tokens, plain);
}

}  // namespace config
