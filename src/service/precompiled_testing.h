// The same for tests.

#include <gtest/gtest.h>

#include "service/precompiled.h"
