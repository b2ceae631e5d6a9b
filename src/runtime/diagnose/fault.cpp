// Handles a memory fault: logs a line that names the coroutine and, if the address shows it, that its stack overflowed;
// then the default action. Runs on a stack of its own, because the coroutine's may be exhausted.

#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>

#include "base/log.h"
#include "runtime/loop/coroutine_state.h"

namespace runtime::detail {

#ifdef SRS_SANITIZER
void install_fault_handler() {}  // the sanitizer has its own
#else
namespace {

alignas(16) std::array<char, 64 * 1024> fault_stack;

// Builds text without allocating: the fault may be inside malloc.
struct Line {
    std::array<char, 512> bytes;
    size_t size = 0;
    void add(std::string_view text) {
        const size_t n = std::min(text.size(), bytes.size() - size);
        std::memcpy(bytes.data() + size, text.data(), n);
        size += n;
    }
    void add_number(size_t number) {
        std::array<char, 20> digits;
        size_t at = digits.size();
        do {
            digits[--at] = static_cast<char>('0' + number % 10);
            number /= 10;
        } while (number);
        add({digits.data() + at, digits.size() - at});
    }
};

void die(int) {
    std::signal(SIGSEGV, SIG_DFL);
    std::raise(SIGSEGV);
}

bool in_guard(const Coroutine* coroutine, const void* address) {
    if (!coroutine || !coroutine->stack || !coroutine->stack->guarded) return false;
    const char* low = coroutine->stack->low;
    const char* at = static_cast<const char*>(address);
    return at >= low - page_size() && at < low;
}

void on_fault(int signal, siginfo_t* info, void*) {
    const Coroutine* coroutine = current_or_null();
    const bool overflow = in_guard(coroutine, info->si_addr);
    Line line;
    line.add("coroutine ");
    line.add(coroutine ? std::string_view(coroutine->name) : "none");
    if (coroutine && !coroutine->context_id.empty()) {
        line.add(" [");
        line.add(coroutine->context_id);
        line.add("]");
    }
    if (overflow) {
        line.add(" overflowed its stack of ");
        line.add_number(coroutine->stack->size());
        line.add(" bytes");
    } else {
        line.add(" ended in signal ");
        line.add_number(static_cast<size_t>(signal));
    }
    // Standard error first, which cannot fail; then the log, which may hang if the fault was inside something it uses.
    Line raw = line;
    raw.add("\n");
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, raw.bytes.data(), raw.size);
    std::signal(SIGALRM, die);
    alarm(2);
    base::log::write(base::log::Level::kError, {line.bytes.data(), line.size});
    base::log::flush();
    alarm(0);
    // Returning repeats the access, which now kills the process, with the original registers in the core file.
    std::signal(signal, SIG_DFL);
}

}  // namespace

void install_fault_handler() {
    stack_t stack{};
    stack.ss_sp = fault_stack.data();
    stack.ss_size = fault_stack.size();
    sigaltstack(&stack, nullptr);
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGBUS, &action, nullptr);
}
#endif

}  // namespace runtime::detail
