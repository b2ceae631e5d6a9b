#include "server/lifecycle.h"

namespace server {

Lifecycle::~Lifecycle() {
    stop();
    while (!modules_.empty()) modules_.pop_back();  // later ones may use earlier ones
}

base::Result<void> Lifecycle::start() {
    for (const Module& module : modules_)
        if (module.connect) module.connect();
    while (started_ < modules_.size()) {
        Module& module = modules_[started_];
        auto result = module.start();
        if (!result) {
            module.stop();  // it may be partially started
            stop();
            return std::unexpected(std::move(result.error()).with(module.name));
        }
        ++started_;
    }
    return {};
}

void Lifecycle::stop_accepting() {
    for (size_t i = 0; i < started_; ++i) modules_[i].stop_accepting();
}

bool Lifecycle::idle() const { return busy().empty(); }

std::string Lifecycle::busy() const {
    std::string names;
    for (size_t i = 0; i < started_; ++i) {
        if (!modules_[i].idle()) names += (names.empty() ? "" : ", ") + modules_[i].name;
    }
    return names;
}

Lifecycle::Prepared Lifecycle::prepare(const config::SnapshotPtr& next) {
    Prepared prepared;
    for (size_t i = 0; i < started_; ++i) {
        auto commit = modules_[i].prepare(next);
        if (commit) {
            prepared.commits.push_back(*std::move(commit));
        } else {
            prepared.refusals.push_back(std::move(commit.error()).with(modules_[i].name).text());
        }
    }
    return prepared;
}

std::vector<std::string> Lifecycle::check(const config::SnapshotPtr& next) {
    std::vector<std::string> refusals;
    for (size_t i = 0; i < started_; ++i) {
        const Module& module = modules_[i];
        base::Result<void> checked;
        if (module.check)
            checked = module.check(next);
        else if (auto commit = module.prepare(next); !commit)
            checked = std::unexpected(std::move(commit).error());
        if (!checked) refusals.push_back(std::move(checked.error()).with(module.name).text());
    }
    return refusals;
}

void Lifecycle::give_over(bool on) {
    // As they stop, and as they start.
    for (size_t i = 0; i < modules_.size(); ++i)
        if (Module& module = modules_[on ? modules_.size() - 1 - i : i]; module.give_over) module.give_over(on);
}

void Lifecycle::stop() {
    while (started_ > 0) modules_[--started_].stop();
}

}  // namespace server
