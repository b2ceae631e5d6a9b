#include "protocol/http/head_parser.h"

namespace http {

// Callbacks of http-parser, called with pieces of text. The size of the head was checked before, so the appended text
// is bounded.
struct HeadParser::Callbacks {
    static HeadParser& self(http_parser* parser) { return *static_cast<HeadParser*>(parser->data); }

    static int url(http_parser* parser, const char* at, size_t n) {
        HeadParser& p = self(parser);
        p.target_.append(at, n);
        return p.target_.size() > p.limits_->target_bytes;
    }
    static int field(http_parser* parser, const char* at, size_t n) {
        HeadParser& p = self(parser);
        if (p.last_was_value_) {
            if (p.headers_.size() >= p.limits_->header_count) return 1;
            p.headers_.add({}, {});
            p.last_was_value_ = false;
        }
        p.headers_.back().first.append(at, n);
        return 0;
    }
    static int value(http_parser* parser, const char* at, size_t n) {
        HeadParser& p = self(parser);
        p.last_was_value_ = true;
        p.headers_.back().second.append(at, n);
        return 0;
    }
    // Returning 1 tells http-parser not to read the body, which BodyReader reads.
    static int head(http_parser* parser) {
        self(parser).done_ = true;
        return 1;
    }
    static const http_parser_settings& settings() {
        static const http_parser_settings table = [] {
            http_parser_settings s;
            http_parser_settings_init(&s);
            s.on_url = url;
            s.on_header_field = field;
            s.on_header_value = value;
            s.on_headers_complete = head;
            return s;
        }();
        return table;
    }
};

void HeadParser::reset(size_t already) {
    http_parser_init(&parser_, type_);
    guard_.reset();
    headers_ = Headers();
    target_.clear();
    bytes_ = already;
    done_ = false;
    last_was_value_ = true;
    error_text_ = {};
}

HeadParser::Step HeadParser::malformed(std::string_view text) {
    error_text_ = text;
    return Step::kMalformed;
}

HeadParser::Step HeadParser::feed(std::span<const uint8_t> bytes, const Limits& limits, size_t& used) {
    used = guard_.feed(bytes);
    bytes_ += used;
    if (bytes_ > limits.header_bytes) return Step::kTooLarge;
    parser_.data = this;  // set here: the object may have been moved
    limits_ = &limits;
    size_t parsed =
        http_parser_execute(&parser_, &Callbacks::settings(), reinterpret_cast<const char*>(bytes.data()), used);
    if (error() == HPE_CB_url) return Step::kTargetTooLong;
    if (error() == HPE_CB_header_field) return Step::kTooManyFields;
    if (error() != HPE_OK) return Step::kRefused;
    if (!guard_.error().empty()) return malformed(guard_.error());
    if (!guard_.done()) {
        // The two disagree about the end of the head only when the request line has no version.
        if (done_ || parsed != used) return malformed("malformed first line");
        return Step::kNeedMore;
    }
    if (!done_) return malformed("malformed head");
    headers_.trim_values();
    return Step::kDone;
}

}  // namespace http
