// Headers that nearly every source file of service/ and server/ includes, itself or through others, compiled once for
// all of them, as base/precompiled.h is: when one of these changes, those sources are compiled anyhow.

#include "base/log.h"
#include "base/precompiled.h"
#include "config/listeners.h"
#include "live/hub/events.h"
#include "net/access/auth.h"
#include "net/access/gate.h"
#include "net/http/api_endpoint.h"
#include "net/http/file_body.h"
#include "net/http/http_client.h"
#include "net/http/http_router.h"
#include "net/operations.h"
#include "service/client_tls.h"
#include "service/description.h"
#include "service/locator.h"
#include "service/push_link.h"
#include "service/recorder.h"
