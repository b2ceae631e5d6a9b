#include "server/process/privileges.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <optional>

namespace server {
namespace {

constexpr uid_t kSame = static_cast<uid_t>(-1);
uid_t lowered_to = kSame;  // between lower() and drop()

std::optional<uint32_t> number(std::string_view text) {
    uint32_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size() || value == kSame) return std::nullopt;
    return value;
}

base::Result<gid_t> find_group(const std::string& name) {
    if (const group* entry = getgrnam(name.c_str())) return entry->gr_gid;
    if (auto id = number(name)) return *id;
    return base::fail(base::Code::kConfig, fmt::format("there is no group {}", name));
}

// Changes only this thread: the others stay with the user's id.
void set_own_effective(uid_t uid) { CHECK(syscall(SYS_setresuid, kSame, uid, kSame) == 0); }

// A process that changes its ids otherwise writes no core file and cannot read its own /proc.
void stay_dumpable() { prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); }

}  // namespace

base::Result<Privileges> Privileges::find(const std::string& user) {
    Privileges out;
    if (user.empty()) return out;
    const size_t colon = user.find(':');
    out.name_ = user.substr(0, colon);
    const passwd* entry = getpwnam(out.name_.c_str());
    if (!entry) {
        auto id = number(out.name_);
        if (!id) return base::fail(base::Code::kConfig, fmt::format("there is no user {}", out.name_));
        entry = getpwuid(*id);
        out.uid_ = *id;
        if (entry) out.name_ = entry->pw_name;
        if (!entry && colon == user.npos)
            return base::fail(base::Code::kConfig, fmt::format("user {} has no name here: write UID:GID", *id));
    }
    if (entry) {
        out.uid_ = entry->pw_uid;
        out.gid_ = entry->pw_gid;
    }
    if (colon != user.npos) out.gid_ = TRY(find_group(user.substr(colon + 1)));
    if (out.uid_ == 0) return base::fail(base::Code::kConfig, "user must not be root");
    if (out.uid_ == geteuid() && out.gid_ == getegid()) return Privileges();
    if (geteuid() != 0)
        return base::fail(base::Code::kConfig,
                          fmt::format("only root can become {}, and the server was started by uid {}: start it as root "
                                      "or as that user, or leave the directive out",
                                      user, geteuid()));
    out.change_ = true;
    return out;
}

std::string Privileges::text() const { return fmt::format("user {} (uid {}, gid {})", name_, uid_, gid_); }

base::Result<void> Privileges::lower() const {
    if (!change_) return {};
    // Its supplementary groups can only be looked up by name.
    if (initgroups(name_.c_str(), gid_) != 0) return base::fail_errno("its groups", errno);
    if (setresgid(gid_, gid_, gid_) != 0) return base::fail_errno("its group", errno);
    if (setresuid(uid_, uid_, 0) != 0) return base::fail_errno("becoming it", errno);
    lowered_to = uid_;
    stay_dumpable();
    return {};
}

base::Result<void> Privileges::drop() const {
    if (!change_) return {};
    lowered_to = kSame;
    if (setresuid(uid_, uid_, uid_) != 0) return base::fail_errno("becoming it for good", errno);
    if (setresuid(kSame, 0, kSame) == 0) return base::fail(base::Code::kSystem, "the process can still become root");
    stay_dumpable();
    return {};
}

RootScope::RootScope() {
    if (lowered_to != kSame) set_own_effective(0);
}

RootScope::~RootScope() {
    if (lowered_to == kSame) return;
    set_own_effective(lowered_to);
    stay_dumpable();
}

}  // namespace server
