/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "write.h"

const char *const gzip_missing =
	"this build has no zlib, which .pb.gz needs; the other formats do not";

int write_gzip(const void *bytes, size_t size, FILE *stream)
{
	(void)bytes;
	(void)size;
	(void)stream;
	return -ENOSYS;
}
