/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "clockid.h"

/*
 * An id is ~value << 3 | per_thread << 2 | type and must be negative, so a
 * value has 28 bits (include/linux/posix-timers.h, clockid_to_kclock).
 */
#define CLOCKID_VALUE_MAX 0xfffffff
#define CLOCKID_LOW_BITS  7U

int cpuclock_clockid_encode(const struct cpuclock_clockid *id,
			    clockid_t *ret_clockid)
{
	bool device = id->type == CPUCLOCK_ID_FD;
	int32_t max = device ? CLOCKID_VALUE_MAX : CPUCLOCK__PID_MAX;

	if ((unsigned int)id->type > CPUCLOCK_ID_FD)
		return -EINVAL;
	if (id->value < 0 || id->value > max)
		return -EINVAL;
	if (device && id->per_thread)
		return -EINVAL;

	*ret_clockid =
		cpuclock__make_clockid(id->value, id->per_thread, id->type);
	return 0;
}

int cpuclock_clockid_decode(clockid_t clockid, struct cpuclock_clockid *ret_id)
{
	uint32_t bits = (uint32_t)clockid;

	if (clockid >= 0 || (bits & CLOCKID_LOW_BITS) == CLOCKID_LOW_BITS)
		return -EINVAL;

	ret_id->type = (enum cpuclock_clockid_type)(bits & 3U);
	ret_id->per_thread = (bits & 4U) != 0;
	ret_id->value = (int32_t)(~bits >> 3);
	return 0;
}
