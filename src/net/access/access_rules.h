#pragma once
// Who may publish and play by address (vhost security) and by the web page that he comes from (vhost refer). Pure:
// configuration and facts in, a verdict out. Says nothing of tokens and hooks.

#include <string>
#include <string_view>

#include "base/ip.h"
#include "base/result.h"
#include "config/snapshot.h"
#include "net/access/gate.h"
#include "protocol/http/headers.h"

namespace net {

// A deny that fits refuses. Else, where there is any allow (for whichever action), one must fit. With neither,
// everybody is refused. An address that is none of IP's fits only "all". The error names the rule.
base::Result<void> check_address(const config::VhostSecurity& security, Action action, std::string_view ip);

// The page's host must be one of the domains in `all`, and one of the action's, where those lists are given; or be
// below such a domain. Ports do not count, nor does the case. Without a page (encoders, most players) there is no host.
// kRefused.
base::Result<void> check_refer(const config::VhostRefer& refer, Action action, std::string_view page_url);

// Both, for a player by HTTP. For every request, not only a viewer's first: what one address was let in for must not be
// fetched by another.
base::Result<void> check_play(const config::Vhost& vhost, std::string_view ip, std::string_view page_url);
// The page that a request by HTTP comes from: its Referer, else its Origin, which is all that WebSockets have.
std::string_view page_of(const http::Headers& headers);

// Whether that is a recording, a segment, a playlist or a key, by its name: fetching it is play.
bool is_media_file(std::string_view path);

// The host of a page's address, in lower case; empty when there is none: "http://a.example:80/x?y" -> "a.example".
std::string page_host(std::string_view page_url);

}  // namespace net
