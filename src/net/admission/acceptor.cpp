#include "net/admission/acceptor.h"

#include "runtime/loop/log_limit.h"

namespace net {

base::Result<void> Acceptor::listen(const runtime::SocketAddress& address) {
    socket_ = TRY(runtime::listen_tcp(address));
    task_ = runtime::spawn(name_, [this] { run(); });
    if (!task_) return base::fail(base::Code::kSystem, "no coroutine for the listener");
    return {};
}

void Acceptor::stop() {
    if (task_) task_.cancel_and_join();
}

void Acceptor::run() {
    runtime::LogCondition failing;
    while (true) {
        auto stream = socket_->accept(runtime::Deadline::never());
        if (!stream) {
            if (stream.error().code() == base::Code::kCancelled) return;
            runtime::log_failure(failing, what_, stream.error());
            // Most likely the descriptors are exhausted; retrying at once would only burn CPU time.
            if (!runtime::sleep_ms(100)) return;
            continue;
        }
        runtime::log_recovery(failing, what_);
        const std::string ip = (*stream)->peer_ip();
        sessions_.admission().saw_descriptor((*stream)->plain_fd());
        auto admitted = sessions_.admission().admit(ip);
        if (admitted) {
            handlers_.take(*std::move(stream));
            continue;
        }
        sessions_.log_refusal(what_, ip, admitted.error());
        if (handlers_.refuse) handlers_.refuse(*std::move(stream), admitted.error());
    }
}

}  // namespace net
