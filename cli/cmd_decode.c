/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "clockid_text.h"
#include "cmd.h"

/*
 * Accepts the id as people meet it: -6, 4294967290, 0xfffffffa, and the same
 * sign-extended to 64 bits.
 */
static bool parse_id(const char *text, clockid_t *ret_id)
{
	bool negative = *text == '-';
	const char *digits = negative ? text + 1 : text;
	unsigned long long value;
	char *end;

	if (*digits < '0' || *digits > '9')
		return false;
	errno = 0;
	value = strtoull(digits, &end,
			 digits[1] == 'x' || digits[1] == 'X' ? 16 : 10);
	if (errno || *end || end == digits || (end[-1] | 0x20) == 'x')
		return false;
	if (negative) {
		if (value > UINT64_C(0x80000000))
			return false;
		value = -value;
	} else if (value > UINT32_MAX && value < UINT64_C(0xffffffff80000000)) {
		return false;
	}
	*ret_id = (clockid_t)(uint32_t)value;
	return true;
}

static int run_decode(int argc, char **argv)
{
	const char *text = NULL;
	bool as_json = false;
	clockid_t clockid;

	/* By hand: getopt would take -6 for an option. */
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 ||
		    strcmp(argv[i], "-h") == 0)
			return cmd_help(&cmd_decode);
		if (strcmp(argv[i], "--json") == 0)
			as_json = true;
		else if (strcmp(argv[i], "--") == 0)
			continue;
		else if (argv[i][0] == '-' &&
			 (argv[i][1] < '0' || argv[i][1] > '9'))
			return cmd_usage(&cmd_decode, "unknown option '%s'",
					 argv[i]);
		else if (text)
			return cmd_usage(&cmd_decode,
					 "unexpected argument '%s'", argv[i]);
		else
			text = argv[i];
	}
	if (!text)
		return cmd_usage(&cmd_decode, "which clock id?");
	if (!parse_id(text, &clockid))
		return cmd_usage(&cmd_decode,
				 "'%s' is no clock id: a decimal or 0x number "
				 "of 32 bits",
				 text);
	if (as_json)
		clockid_explain_json(clockid);
	else
		clockid_explain(clockid);
	return CMD_OK;
}

const struct cmd cmd_decode = {
	.name = "decode",
	.summary = "explain a clockid_t bit by bit",
	.usage = "[--json] ID\n"
		 "Explains a clock id of Linux, in decimal or hexadecimal, "
		 "negative or unsigned.\n\n"
		 "      --json  print JSON\n"
		 "  -h, --help  print this help\n",
	.run = run_decode,
};
