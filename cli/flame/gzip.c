/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <zlib.h>

#include "write.h"

const char *const gzip_missing = NULL;

int write_gzip(const void *bytes, size_t size, FILE *stream)
{
	enum { GZIP_FORMAT = 16 };
	unsigned char out[1 << 14];
	z_stream zip = {.next_in = (z_const Bytef *)bytes};
	int result;

	if (deflateInit2(&zip, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
			 MAX_WBITS + GZIP_FORMAT, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	do {
		uInt part = size < UINT_MAX ? (uInt)size : UINT_MAX;

		if (zip.avail_in == 0) {
			zip.avail_in = part;
			size -= part;
		}
		zip.next_out = out;
		zip.avail_out = sizeof(out);
		result = deflate(&zip, size == 0 ? Z_FINISH : Z_NO_FLUSH);
		fwrite(out, 1, sizeof(out) - zip.avail_out, stream);
	} while (result != Z_STREAM_END);
	deflateEnd(&zip);
	return 0;
}
