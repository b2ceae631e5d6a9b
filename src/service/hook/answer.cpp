#include "service/hook/answer.h"

#include <fmt/format.h>

#include "base/json.h"
#include "protocol/http/message.h"
#include "protocol/srt/key_material.h"

namespace service::hook {

namespace {

using Kind = Answer::Kind;

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kSpace = " \t\r\n";
    text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
    return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

Answer interpret_code(const base::Json& code) {
    if (!code.is_number_integer()) return {Kind::kFailed, "the answer's code is no integer"};
    if (code == 0) return {Kind::kAccepted};
    return {Kind::kRefused, fmt::format("code {}", code.get<int64_t>())};
}

void read_passphrase(const base::Json& json, Answer& answer) {
    const auto data = json.find("data");
    if (data == json.end() || !data->is_object()) return;
    const auto found = data->find("passphrase");
    if (found == data->end() || found->is_null()) return;
    if (found->is_string()) answer.passphrase = found->get<std::string>();
    const size_t size = answer.passphrase.size();
    if (size < ::srt::kMinPassphrase || size > ::srt::kMaxPassphrase)
        answer = {Kind::kFailed, "the answer's passphrase is no text of 10 to 80 bytes"};
}

}  // namespace

Answer interpret(int status, std::string_view body) {
    if (status >= 400 && status < 500) return {Kind::kRefused, fmt::format("status {}", status)};
    if (!http::is_ok_or_created(status)) return {Kind::kFailed, fmt::format("status {}", status)};
    body = trimmed(body);
    if (body.empty()) return {Kind::kFailed, "the answer is empty"};
    auto json = base::parse_json(body);
    if (json.is_discarded()) return {Kind::kFailed, "the answer is neither 0 nor JSON"};
    if (json.is_number_integer()) return interpret_code(json);
    if (!json.is_object()) return {Kind::kFailed, "the answer is neither 0 nor a JSON object"};
    auto code = json.find("code");
    if (code == json.end()) return {Kind::kFailed, "the answer has no code"};
    Answer answer = interpret_code(*code);
    if (answer.kind == Kind::kAccepted) read_passphrase(json, answer);
    return answer;
}

}  // namespace service::hook
