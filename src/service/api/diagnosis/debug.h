#pragma once
// Diagnostics of a running server, below /api/v1/debug/: a CPU profile and a heap profile in pprof's format, every
// coroutine with what it waits for, and the loop's own statistics. Available only with http_api { debug on; }, to this
// machine and to authenticated clients.
//
// pprof/ serves what `google-pprof http://HOST/api/v1/debug/pprof/profile` requests: profile, heap, cmdline, symbol.

#include <optional>
#include <string>
#include <vector>

#include "runtime/diagnose/cpu_profile.h"
#include "runtime/diagnose/symbols.h"
#include "runtime/loop/coroutine.h"
#include "service/api/table/context.h"
#include "service/api/table/endpoint.h"
#include "service/api/table/envelope.h"

namespace service::api {

class Debug {
  public:
    // It must outlive this.
    explicit Debug(const Context& context) : context_(context) {}

    std::vector<Endpoint> endpoints();

  private:
    base::Result<void> profile(Request& request, Response& response);
    base::Result<void> folded(Request& request, Response& response);
    // Records for ?seconds=. Nothing: the request has been answered.
    base::Result<std::optional<runtime::CpuProfile>> record(Request& request, Response& response, int64_t initial_s);
    base::Result<void> heap(Request& request, Response& response);
    base::Result<void> cmdline(Request& request, Response& response);
    base::Result<void> symbol(Request& request, Response& response);
    base::Result<void> runtime_figures(Request& request, Response& response);
    base::Result<void> coroutines(Request& request, Response& response);
    Json coroutine_json(const runtime::CoroutineInfo& info, const runtime::Symbols* symbols) const;

    const Context& context_;
};

// "0x4010+0x4020" -> "0x4010\tmain\n0x4020\t..."; anything that is not an address is omitted.
std::string symbolise(std::string_view addresses, const runtime::Symbols& symbols);

}  // namespace service::api
