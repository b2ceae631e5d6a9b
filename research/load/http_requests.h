#pragma once
// HttpRequests: a connection on which a player of the load asks for one resource after another, by HTTP/1.1, or by
// HTTP/2 over TLS. Parked, without a coroutine.

#include <memory>
#include <string_view>

#include "base/result.h"
#include "load/ledger.h"
#include "load/target.h"
#include "runtime/loop/deadline.h"
#include "runtime/socket/byte_stream.h"
#include "runtime/socket/tls.h"

namespace load {

struct HttpAnswer {
    int status = 0;
    std::string_view location{};  // of a redirect
    std::string_view body{};      // if it was to be kept; until the call returns
};

class HttpRequests {
  public:
    class User {
      public:
        // All of the answer has come. An error: the connection is of no use any more, and on_lost() follows.
        virtual base::Result<void> on_answer(const HttpAnswer& answer) = 0;
        // The last call. May destroy the connection.
        virtual void on_lost(const base::Error& error) = 0;

      protected:
        ~User() = default;
    };
    virtual ~HttpRequests() = default;

    // One at a time. keeps_body: otherwise it is counted only. Never yields.
    virtual base::Result<void> get(std::string_view path, bool keeps_body) = 0;
};

// Connects, with TLS and HTTP/2 where the target is https://, and parks the connection. user and ledger must outlive
// it. tls: for that, with "h2" as its protocol. Yields.
base::Result<std::unique_ptr<HttpRequests>> connect_http(const Target& target,
                                                         const std::shared_ptr<runtime::TlsContext>& tls,
                                                         HttpRequests::User& user, Ledger& ledger,
                                                         runtime::Deadline deadline);

}  // namespace load
