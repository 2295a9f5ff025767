/* SPDX-License-Identifier: MIT */
#include "writable.h"

_Atomic uintptr_t writable_pages[WRITABLE_SLOTS];
