#include "write.h"
int write_svg(const struct profile *profile, FILE *stream)
{
	(void)profile;
	(void)stream;
	return 0;
}
