#include "service/cluster/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/json.h"
#include "base/text.h"
#include "protocol/rtmp/url.h"

namespace service::cluster {

using base::Code;
using base::fail;
using base::Json;
using base::Result;

namespace {

void append_part(std::string& key, std::string_view part) {
    for (const char c : part) {
        if (c == '/' || c == '%')
            base::append_format(key, "%{:02X}", static_cast<unsigned char>(c));
        else
            key += c;
    }
}

// Empty: it is not there, or no text.
std::string text_of(const Json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

bool is_address(std::string_view url, std::string_view scheme, std::string_view other_scheme) {
    const size_t end = url.find("://");
    if (end == url.npos || (url.substr(0, end) != scheme && url.substr(0, end) != other_scheme)) return false;
    const std::string_view rest = url.substr(end + 3);
    const auto is_not_printable = [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; };
    return !rest.empty() && rest.size() <= 300 && rest.find_first_of("/?#@\\\"") == rest.npos &&
           std::ranges::none_of(rest, is_not_printable) &&
           ::rtmp::parse_url(fmt::format("rtmp://{}/a/s", rest)).has_value();
}

std::string to_text(const Record& record) {
    const base::OrderedJson json = {{"rtmp", record.rtmp},
                                    {"http", record.http},
                                    {"api", record.api},
                                    {"fence", record.fence},
                                    {"since", record.since_ms}};
    return base::to_text(json);
}

Result<Record> parse_record(std::string_view text) {
    if (text.size() > kMaxRecord) return fail(Code::kProtocol, "a record that is too long");
    const Json json = base::parse_json(text);
    if (!json.is_object()) return fail(Code::kProtocol, "a record that is no JSON object");
    Record record{text_of(json, "rtmp"), text_of(json, "http"), text_of(json, "api"), text_of(json, "fence"), 0};
    if (const auto since = json.find("since"); since != json.end() && since->is_number_integer())
        record.since_ms = since->get<int64_t>();
    if ((record.rtmp.empty() && record.http.empty()) || record.fence.empty())
        return fail(Code::kProtocol, "a record without an address or a fence");
    if (!record.rtmp.empty() && !is_address(record.rtmp, "rtmp", "rtmps"))
        return fail(Code::kProtocol, "a record whose address for RTMP is none");
    if (!record.http.empty() && !is_address(record.http, "http", "https"))
        return fail(Code::kProtocol, "a record whose address for HTTP is none");
    return record;
}

std::string key_of(std::string_view prefix, const base::StreamKey& stream) {
    std::string key = fmt::format("{}:stream:", prefix);
    append_part(key, stream.vhost);
    key += '/';
    append_part(key, stream.app);
    key += '/';
    append_part(key, stream.name);
    return key;
}

bool is_of_server(const Record& record, const Record& self) {
    return record.fence == self.fence || (!self.where().empty() && record.where() == self.where());
}

bool is_before(const Record& one, const Record& other) {
    return std::tie(one.since_ms, one.fence) < std::tie(other.since_ms, other.fence);
}

Result<Record> parse_coworker_answer(std::string_view text) {
    const Json json = base::parse_json(text);
    const auto code = json.is_object() ? json.find("code") : json.end();
    if (!json.is_object() || code == json.end() || !code->is_number_integer() || code->get<int64_t>() != 0)
        return fail(Code::kProtocol, "the answer is no {\"code\":0, ...}");
    const auto data = json.find("data");
    if (data == json.end() || !data->is_object()) return fail(Code::kProtocol, "the answer has no data");
    const auto origin = data->find("origin");
    if (origin == data->end() || origin->is_null()) return Record();
    if (!origin->is_object()) return fail(Code::kProtocol, "the answer's origin is no object");
    const auto port = origin->find("port");
    if (port == origin->end() || !port->is_number_integer() || port->get<int64_t>() < 1 || port->get<int64_t>() > 65535)
        return fail(Code::kProtocol, "the answer's origin has no port");
    const std::string ip = text_of(*origin, "ip");
    const bool needs_brackets = ip.find(':') != ip.npos && !ip.starts_with('[');
    Record record;
    record.rtmp =
        fmt::format("rtmp://{}{}{}:{}", needs_brackets ? "[" : "", ip, needs_brackets ? "]" : "", port->get<int64_t>());
    if (ip.empty() || !is_address(record.rtmp, "rtmp", "rtmp"))
        return fail(Code::kProtocol, "the answer's origin has no address");
    record.fence = record.rtmp;
    return record;
}

}  // namespace service::cluster
