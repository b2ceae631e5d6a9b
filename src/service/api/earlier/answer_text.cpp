#include "service/api/earlier/answer_text.h"

#include <fmt/format.h>

#include <iterator>

#include "runtime/loop/cpu_slice.h"

namespace service::api {

using base::Code;
using base::fail;
using base::Result;

namespace {

constexpr size_t kPieceBytes = 4 * 1024;  // between looks at the clock; 0.1 ms

// The text as the parser takes it, byte by byte. It ends where it becomes too deep, or the caller is cancelled: what
// has been read until there is no JSON.
struct Source {
    explicit Source(std::string_view text) : at(text.data()), end(text.data() + text.size()) {}

    void advance() {
        const char c = *at++;
        if (is_in_text) {
            if (is_escaped || c == '\\')
                is_escaped = !is_escaped;
            else if (c == '"')
                is_in_text = false;
        } else if (c == '"') {
            is_in_text = true;
        } else if (c == '[' || c == '{') {
            if (++depth > kMaxAnswerDepth) stop(fail(Code::kLimit, "an answer that is too deep"));
        } else if ((c == ']' || c == '}') && depth > 0) {
            --depth;
        }
        if (++piece % kPieceBytes == 0) stop(slice.step());
    }
    void stop(Result<void> why) {
        if (why || !stopped) return;
        stopped = std::move(why);
        at = end;
    }

    const char *at, *end;
    bool is_in_text = false, is_escaped = false;
    size_t depth = 0, piece = 0;
    runtime::CpuSlice slice{1};
    Result<void> stopped;
};

// Null: the end.
class Position {
  public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    Position() = default;
    explicit Position(Source& source) : source_(&source) {}
    reference operator*() const { return *source_->at; }
    Position& operator++() {
        source_->advance();
        return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(const Position& other) const { return is_at_end() == other.is_at_end(); }

  private:
    bool is_at_end() const { return !source_ || source_->at == source_->end; }
    Source* source_ = nullptr;
};

}  // namespace

Result<Json> read_answer(std::string_view text) {
    if (text.size() > kMaxAnswerBytes)
        return fail(Code::kLimit, fmt::format("an answer of {} bytes is too long", text.size()));
    Source source(text);
    Json json = Json::parse(Position(source), Position(), nullptr, false);
    if (!source.stopped) return std::unexpected(std::move(source.stopped).error());
    if (!json.is_structured()) return fail(Code::kProtocol, "an answer that is no JSON");
    return json;
}

Result<std::string> write_answer(const Json& object) {
    if (!object.is_object()) return base::to_text(object);
    runtime::CpuSlice slice;
    std::string text = "{";
    for (const auto& [name, value] : object.items()) {
        text += fmt::format("{}{}:", text.size() == 1 ? "" : ",", base::to_text(name));
        if (!value.is_array()) {
            text += base::to_text(value);
            continue;
        }
        text += '[';
        for (size_t i = 0; i < value.size(); ++i) {
            if (i > 0) text += ',';
            text += base::to_text(value[i]);
            TRY(slice.step());
        }
        text += ']';
    }
    return text + "}";
}

}  // namespace service::api
