#pragma once
// For tests: an HTTP server that answers hooks as a test says, on the test's loop.

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/coroutine.h"
#include "runtime/socket/tcp.h"

namespace service::hook {

// Answers each request of a path with what was set for it; "": it never answers.
class HookServer {
  public:
    HookServer() : listener_(*runtime::listen_tcp({"127.0.0.1", 0})) {
        acceptor_ = runtime::spawn("hook-accept", [this] { accept(); });
    }
    ~HookServer() {
        acceptor_.cancel_and_join();
        for (auto& task : tasks_) task.cancel_and_join();
    }
    std::string url(const std::string& path) const {
        return fmt::format("http://127.0.0.1:{}/{}", listener_->port(), path);
    }
    static std::string status(int code, std::string_view body) {
        return fmt::format("HTTP/1.1 {} X\r\nContent-Length: {}\r\n\r\n{}", code, body.size(), body);
    }

    std::map<std::string, std::string> answers;  // by path; others are "0"
    std::string calls;                           // "play on_play c1;": path, action and client, of each report
    std::vector<std::string> ids;                // report_id of each report
    std::string last_head, last_body;
    std::vector<int64_t> times;  // by the loop's clock, of the calls, ms

  private:
    void accept() {
        while (auto socket = listener_->accept(runtime::Deadline::never()))
            tasks_.push_back(runtime::spawn("hook-peer", [this, socket = std::move(*socket)]() mutable {
                while (serve(*socket)) {
                }
            }));
    }
    bool serve(runtime::ByteStream& socket) {
        std::string request;
        size_t end = request.npos, size = 0;
        while (end == request.npos || request.size() < end + size) {
            auto bytes = runtime::read_shared(socket, runtime::Deadline::never());
            if (!bytes || bytes->empty()) return false;
            request.append(bytes->begin(), bytes->end());
            end = request.find("\r\n\r\n");
            if (end == request.npos) continue;
            end += 4;
            const size_t length = request.find("Content-Length: ");
            if (length < end) size = std::stoul(request.substr(length + 16));
        }
        const std::string path = request.substr(request.find('/') + 1, request.find(" HTTP") - request.find('/') - 1);
        const auto body = base::parse_json(request.substr(end));
        times.push_back(runtime::now_ms());
        last_head = request.substr(0, end);
        last_body = request.substr(end);
        for (const base::Json& report : body.is_array() ? body : base::Json::array({body})) {
            calls += path;
            if (report.is_object()) {
                calls += " " + report.value("action", "") + " " + report.value("client_id", "");
                ids.push_back(report.value("report_id", ""));
            }
            calls += ";";
        }
        const auto found = answers.find(path);
        const std::string answer = found == answers.end() ? status(200, "0") : found->second;
        if (answer.empty()) return runtime::sleep_until(runtime::Deadline::never()).has_value();
        return socket
            .write({reinterpret_cast<const uint8_t*>(answer.data()), answer.size()}, runtime::Deadline::never())
            .has_value();
    }

    std::unique_ptr<runtime::TcpListener> listener_;
    std::vector<runtime::Task> tasks_;
    runtime::Task acceptor_;
};

}  // namespace service::hook
