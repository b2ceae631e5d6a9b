#pragma once
// Rules on who may publish and play, by client address (vhost security) and by referring web page (vhost refer). Pure:
// configuration and facts in, a result out. Tokens and hooks are elsewhere.

#include <string>
#include <string_view>

#include "base/ip.h"
#include "base/result.h"
#include "config/snapshot.h"
#include "net/access/gate.h"
#include "protocol/http/headers.h"

namespace net {

// A matching deny refuses. Otherwise, if there is any allow (for whichever action), one must match. Without any rule
// every client is refused. Text that is not an IP address matches only "all". The error names the rule.
base::Result<void> check_address(const config::VhostSecurity& security, Action action, std::string_view ip);

// The page's host must be one of the domains in `all`, and one of the action's, where those lists are given; or a
// subdomain of one. Ports and letter case are ignored. Without a page (encoders, most players) there is no host.
// kRefused.
base::Result<void> check_refer(const config::VhostRefer& refer, Action action, std::string_view page_url);

// Both, for a player by HTTP. Applied to every request, not only to a viewer's first: a URL that one address was
// admitted to must not be usable from another.
base::Result<void> check_play(const config::Vhost& vhost, std::string_view ip, std::string_view page_url);
// The page that an HTTP request comes from: its Referer, otherwise its Origin, which is all that WebSockets have.
std::string_view page_of(const http::Headers& headers);

// Whether the name is that of a recording, a segment, a playlist or a key: fetching such a file counts as play.
bool is_media_file(std::string_view path);

// The host of a page's address, in lower case; empty when there is none: "http://a.example:80/x?y" -> "a.example".
std::string page_host(std::string_view page_url);

}  // namespace net
