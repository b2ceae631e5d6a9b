#include "protocol/prometheus/text.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "protocol/prometheus/samples.h"

namespace prometheus {

namespace {

// The length in bytes of the first character; 0: it is not UTF-8 (RFC 3629).
size_t utf8_length(std::string_view text) {
    const auto at = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
    const uint8_t first = at(0);
    if (first < 0x80) return 1;
    const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
    for (size_t i = 1; i < length; ++i)
        if ((at(i) & 0xc0) != 0x80) return 0;
    // Overlong encodings, surrogates, code points above the last one.
    if ((first == 0xe0 && at(1) < 0xa0) || (first == 0xed && at(1) > 0x9f)) return 0;
    if ((first == 0xf0 && at(1) < 0x90) || (first == 0xf4 && at(1) > 0x8f)) return 0;
    return length;
}

void escape(std::string_view value, std::string& out) {
    while (!value.empty()) {
        const size_t length = utf8_length(value);
        if (length == 0) {
            out += "\xef\xbf\xbd";  // U+FFFD
        } else if (value[0] == '\n') {
            out += "\\n";
        } else if (value[0] == '"' || value[0] == '\\') {
            out.append(1, '\\').append(1, value[0]);
        } else {
            out.append(value.substr(0, length));
        }
        value.remove_prefix(std::max<size_t>(length, 1));
    }
}

std::string_view type_name(Type type) {
    switch (type) {
        case Type::kCounter:
            return "counter";
        case Type::kGauge:
            return "gauge";
        case Type::kHistogram:
            return "histogram";
    }
    return "untyped";
}

}  // namespace

Labels& Labels::add(std::string_view name, std::string_view value) {
    if (!text_.empty()) text_ += ',';
    text_.append(name).append("=\"");
    escape(value, text_);
    text_ += '"';
    return *this;
}

void Text::add(const Families& others, Rule rule) {
    others_ = &others;
    rule_ = std::move(rule);
}

void Text::family(std::string_view name, Type type, std::string_view help) {
    end_family();
    name_ = name;
    base::append_format(text_, "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type_name(type));
    if (!others_) return;
    const auto found = others_->find(name);
    addition_ = found == others_->end() ? Addition::kNone : rule_(name, type);
    other_ = addition_ == Addition::kNone ? nullptr : &found->second;
}

// What only the other process has.
void Text::end_family() {
    if (!other_) return;
    for (const auto& [rest, value] : other_->values)
        if (!written_.contains(rest)) write(rest, value);
    written_.clear();
    other_ = nullptr;
}

std::string Text::take() {
    end_family();
    return std::move(text_);
}

void Text::part(std::string_view suffix, const Labels& labels, std::string_view le, double value) {
    if (le.empty()) return line(suffix, labels.text(), value);
    Labels all = labels;
    all.add("le", le);
    line(suffix, all.text(), value);
}

void Text::line(std::string_view suffix, std::string_view labels, double value) {
    std::string rest(suffix);
    if (!labels.empty()) rest.append(1, '{').append(labels).append(1, '}');
    if (other_) {
        const auto found = other_->values.find(rest);
        if (found != other_->values.end() && addition_ == Addition::kSum) value += found->second;
        if (found != other_->values.end()) written_.insert(rest);
    }
    write(rest, value);
}

// rest: what is between the family's name and the value.
void Text::write(std::string_view rest, double value) {
    text_.append(name_).append(rest);
    text_ += ' ';
    if (std::isnan(value)) {
        text_ += "NaN";
    } else if (std::isinf(value)) {
        text_ += value > 0 ? "+Inf" : "-Inf";
    } else if (value == std::floor(value) && std::abs(value) < 9e15) {
        base::append_format(text_, "{}", static_cast<int64_t>(value));  // integers are printed without an exponent
    } else {
        base::append_format(text_, "{}", value);
    }
    text_ += '\n';
}

}  // namespace prometheus
