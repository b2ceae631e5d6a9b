// Fuzzes the parser of hook answers: for any input there is a result, and only 200 and 201 accept.

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "service/hook/answer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view body(reinterpret_cast<const char*>(data), size);
    auto answer = service::hook::interpret(200, body);
    CHECK((answer.kind == service::hook::Answer::Kind::kAccepted) == answer.why.empty());
    CHECK(answer.passphrase.empty() || (answer.passphrase.size() >= 10 && answer.passphrase.size() <= 80));
    CHECK(service::hook::interpret(302, body).kind == service::hook::Answer::Kind::kFailed);
    CHECK(service::hook::interpret(403, body).kind == service::hook::Answer::Kind::kRefused);
    return 0;
}
