// SPDX-License-Identifier: Apache-2.0
// The vendor's older name of ap_utils.h.
#pragma once
#pragma GCC system_header

#include "ap_utils.h"
