// Fuzzes the parser of hook answers: for any input there is a verdict, and only 200 and 201 accept.

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "service/hook/verdict.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view body(reinterpret_cast<const char*>(data), size);
    auto verdict = service::hook::judge(200, body);
    CHECK((verdict.kind == service::hook::Verdict::Kind::kAccepted) == verdict.why.empty());
    CHECK(service::hook::judge(302, body).kind == service::hook::Verdict::Kind::kFailed);
    CHECK(service::hook::judge(403, body).kind == service::hook::Verdict::Kind::kRefused);
    return 0;
}
