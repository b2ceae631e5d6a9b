#include "protocol/http/head_parser.h"

#include <algorithm>
#include <array>

namespace http {

namespace {

// Longer first words are no methods.
constexpr size_t kMaxMethod = 23;

enum Kind : uint8_t { kOfMethod = 1, kOfTarget = 2, kOfName = 4, kOfValue = 8 };

constexpr std::array<uint8_t, 256> kKinds = [] {
    std::array<uint8_t, 256> kinds{};
    for (unsigned c = 0; c < 256; ++c) {
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        const bool is_token =
            std::string_view("!#$%&'*+-.^_`|~0123456789").find(static_cast<char>(c)) != std::string_view::npos;
        if (c >= 'A' && c <= 'Z') kinds[c] |= kOfMethod;
        if (c > ' ' && c != 0x7f) kinds[c] |= kOfTarget;
        if (is_letter || (is_token && c != 0)) kinds[c] |= kOfName;
        if (c == '\t' || (c >= ' ' && c != 0x7f)) kinds[c] |= kOfValue;
    }
    return kinds;
}();

// How many bytes of one kind are at the beginning.
size_t run(std::string_view in, Kind kind) {
    size_t i = 0;
    while (i < in.size() && kKinds[static_cast<uint8_t>(in[i])] & kind) ++i;
    return i;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr std::string_view kBareLineFeed = "line that ends in LF without CR";

}  // namespace

void HeadParser::reset(size_t already) {
    state_ = State::kBegin;
    failure_ = Step::kNeedMore;
    error_text_ = {};
    first_line_ended_ = false;
    bytes_ = already;
    method_.clear();
    target_.clear();
    in_version_ = 0;
    major_ = minor_ = status_ = status_digits_ = 0;
    headers_ = Headers();
}

HeadParser::Step HeadParser::feed(std::span<const uint8_t> bytes, const Limits& limits, size_t& used) {
    // No more than is needed to see that it is too large.
    const size_t room = limits.header_bytes - std::min(limits.header_bytes, bytes_) + 1;
    const std::string_view in(reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), room));
    used = 0;
    while (used < in.size() && state_ != State::kDone && failure_ == Step::kNeedMore)
        used += take(in.substr(used), limits);
    bytes_ += used;
    if (failure_ != Step::kNeedMore) return failure_;
    if (bytes_ > limits.header_bytes) return Step::kTooLarge;
    if (!done()) return Step::kNeedMore;
    headers_.trim_values();
    return Step::kDone;
}

size_t HeadParser::fail(Step failure, std::string_view text) {
    failure_ = failure;
    error_text_ = text;
    return 0;
}

// Returns how many bytes it took; none: only the state has changed.
size_t HeadParser::take(std::string_view in, const Limits& limits) {
    switch (state_) {
        case State::kBegin:
            // Empty lines before the first line are skipped (2.2).
            state_ = in[0] == '\r' ? State::kEmptyLine : type_ == Type::kRequest ? State::kMethod : State::kVersion;
            return state_ == State::kEmptyLine;
        case State::kEmptyLine:
            return expect_line_feed(in[0], State::kBegin);
        case State::kMethod:
            return take_method(in);
        case State::kTarget:
            return take_target(in, limits);
        case State::kVersion:
            return take_version(in);
        case State::kStatus:
        case State::kReason:
            return take_status(in);
        case State::kLineEnd:
            return expect_line_feed(in[0], State::kLineStart);
        case State::kLineStart:
            return take_line_start(in[0], limits);
        case State::kName:
            return take_name(in);
        case State::kBeforeValue: {
            const size_t spaces = std::min(in.find_first_not_of(" \t"), in.size());
            if (spaces < in.size()) state_ = State::kValue;
            return spaces;
        }
        case State::kValue:
            return take_value(in);
        case State::kLastLineEnd:
            return expect_line_feed(in[0], State::kDone);
        case State::kDone:
            break;
    }
    return 0;
}

size_t HeadParser::expect_line_feed(char byte, State next) {
    if (byte != '\n') return fail(Step::kMalformed, "CR without LF");
    first_line_ended_ |= next == State::kLineStart;
    state_ = next;
    return 1;
}

size_t HeadParser::take_method(std::string_view in) {
    const size_t letters = run(in.substr(0, kMaxMethod + 1 - method_.size()), kOfMethod);
    method_.append(in, 0, letters);
    if (method_.size() > kMaxMethod) return fail(Step::kUnknownMethod);
    if (letters == in.size()) return letters;
    if (in[letters] == '\n') return fail(Step::kMalformed, kBareLineFeed);
    if (in[letters] != ' ' || method_.empty())
        return fail(Step::kMalformed, "the request does not begin with a method");
    state_ = State::kTarget;
    return letters + 1;
}

size_t HeadParser::take_target(std::string_view in, const Limits& limits) {
    const size_t size = run(in, kOfTarget);
    if (size > limits.target_bytes - std::min(limits.target_bytes, target_.size())) return fail(Step::kTargetTooLong);
    target_.append(in, 0, size);
    if (size == in.size()) return size;
    if (in[size] == '\r') return fail(Step::kMalformed, "the request line has no HTTP version");
    if (in[size] == '\n') return fail(Step::kMalformed, kBareLineFeed);
    if (in[size] != ' ') return fail(Step::kMalformed, "control character in the URL");
    if (target_.empty()) return fail(Step::kMalformed, "the request line has no URL");
    state_ = State::kVersion;
    return size + 1;
}

size_t HeadParser::take_version(std::string_view in) {
    constexpr std::string_view kForm = "HTTP/0.0";
    size_t i = 0;
    for (; i < in.size() && in_version_ < kForm.size(); ++i, ++in_version_) {
        const char byte = in[i], wanted = kForm[in_version_];
        if (wanted == '0' ? !is_digit(byte) : byte != wanted) return fail(Step::kMalformed, "malformed HTTP version");
        if (wanted == '0') (in_version_ + 1 == kForm.size() ? minor_ : major_) = byte - '0';
    }
    if (i == in.size()) return i;
    if (in[i] == '\n') return fail(Step::kMalformed, kBareLineFeed);
    if (in[i] != (type_ == Type::kRequest ? '\r' : ' ')) return fail(Step::kMalformed, "malformed first line");
    state_ = type_ == Type::kRequest ? State::kLineEnd : State::kStatus;
    return i + 1;
}

// And the phrase behind it, which means nothing.
size_t HeadParser::take_status(std::string_view in) {
    constexpr int kDigits = 3;
    const char byte = in[0];
    if (state_ == State::kReason) {
        const size_t size = run(in, kOfValue);
        if (size > 0) return size;
    } else if (is_digit(byte) && status_digits_ < kDigits) {
        ++status_digits_;
        status_ = status_ * 10 + (byte - '0');
        return 1;
    } else if (byte == ' ' && status_digits_ == kDigits) {
        state_ = State::kReason;
        return 1;
    }
    if (byte == '\n') return fail(Step::kMalformed, kBareLineFeed);
    if (byte != '\r' || status_digits_ < kDigits) return fail(Step::kMalformed, "malformed first line");
    state_ = State::kLineEnd;
    return 1;
}

size_t HeadParser::take_line_start(char first, const Limits& limits) {
    if (first == '\r') {
        state_ = State::kLastLineEnd;
        return 1;
    }
    if (first == ' ' || first == '\t') return fail(Step::kMalformed, "folded header line");
    if (first == '\n') return fail(Step::kMalformed, kBareLineFeed);
    if (headers_.size() >= limits.header_count) return fail(Step::kTooManyFields);
    headers_.add({}, {});
    state_ = State::kName;
    return 0;
}

size_t HeadParser::take_name(std::string_view in) {
    std::string& name = headers_.back().first;
    const size_t size = run(in, kOfName);
    name.append(in, 0, size);
    if (size == in.size()) return size;
    switch (in[size]) {
        case ':':
            if (name.empty()) return fail(Step::kMalformed, "a header field without a name");
            state_ = State::kBeforeValue;
            return size + 1;
        case ' ':
        case '\t':
            return fail(Step::kMalformed, "space in or behind the name of a header field");
        case '\r':
            return fail(Step::kMalformed, "header line without a colon");
        case '\n':
            return fail(Step::kMalformed, kBareLineFeed);
        default:
            return fail(Step::kMalformed, "a character that is not allowed in the name of a header field");
    }
}

size_t HeadParser::take_value(std::string_view in) {
    std::string& value = headers_.back().second;
    const size_t size = run(in, kOfValue);
    value.append(in, 0, size);
    if (size == in.size()) return size;
    if (in[size] == '\n') return fail(Step::kMalformed, kBareLineFeed);
    if (in[size] != '\r') return fail(Step::kMalformed, "control character in a header field");
    state_ = State::kLineEnd;
    return size + 1;
}

}  // namespace http
