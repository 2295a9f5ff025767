/* SPDX-License-Identifier: MIT */
#include "palette.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "diff.h"

enum {
	HUE_NATIVE,
	HUE_CPP,
	HUE_KERNEL,
	HUE_INLINED,
	HUE_JIT,
	HUE_ROOT,
	HUE_LABEL
};

const char *const hue_words[N_HUES] = {
	[HUE_NATIVE] = "native",
	[HUE_CPP] = "C++ or Rust",
	[HUE_KERNEL] = "kernel",
	[HUE_INLINED] = "inlined",
	[HUE_JIT] = "compiled at run time",
	[HUE_ROOT] = "thread or process",
	[HUE_LABEL] = "not known",
};

/* Degrees; parts of 100. Dark ink is legible on all of them. */
static const struct {
	double hue, hue_span, saturation, light, dark_saturation, dark_light;
} hues[N_HUES] = {
	[HUE_NATIVE] = {2, 16, 84, 70, 56, 60},
	[HUE_CPP] = {47, 8, 84, 64, 52, 56},
	[HUE_KERNEL] = {27, 9, 92, 66, 62, 57},
	[HUE_INLINED] = {176, 14, 52, 66, 36, 56},
	[HUE_JIT] = {98, 30, 48, 66, 34, 55},
	[HUE_ROOT] = {214, 8, 22, 80, 14, 62},
	[HUE_LABEL] = {220, 4, 4, 82, 3, 60},
};

static unsigned int hue_of(const struct frame *frame)
{
	switch (frame->kind) {
	case FRAME_KERNEL:
		return HUE_KERNEL;
	case FRAME_INLINED:
		return HUE_INLINED;
	case FRAME_JIT:
		return HUE_JIT;
	case FRAME_ROOT:
		return HUE_ROOT;
	case FRAME_LABEL:
		return HUE_LABEL;
	default:
		return strstr(frame->name, "::") ? HUE_CPP : HUE_NATIVE;
	}
}

unsigned int palette_of(const struct frame *frame)
{
	uint32_t hash = 2166136261U; /* FNV-1a */

	for (const char *at = frame->name; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 16777619U;
	/* The low bits of it are the weak ones. */
	return hue_of(frame) * N_TONES + (hash >> 16) % N_TONES;
}

double palette_largest_change(const struct profile *profile)
{
	const struct profile_node *node = &profile->root;
	double largest = 0;

	for (; node; node = profile_next(node))
		largest =
			fmax(largest, fabs(diff_of(profile, node->before_total,
						   node->total)));
	return largest > 0 ? largest : 1;
}

unsigned int palette_of_change(const struct profile *profile,
			       const struct profile_node *node, double largest)
{
	const int middle = N_CHANGES / 2;
	double change = diff_of(profile, node->before_total, node->total);
	int step = (int)lround(middle * sqrt(fabs(change) / largest));

	return (unsigned int)(FIRST_CHANGE + middle +
			      (change < 0 ? -step : step));
}

static double hsl_part(double n, double hue, double saturation, double light)
{
	double k = fmod(n + hue / 30, 12);
	double reach = saturation * fmin(light, 1 - light);

	return light - reach * fmax(-1, fmin(fmin(k - 3, 9 - k), 1));
}

static struct colour hsl(double hue, double saturation, double light)
{
	struct colour colour;
	unsigned int rgb[3];

	for (int i = 0; i < 3; i++)
		rgb[i] = (unsigned int)lround(
			255 * hsl_part(i == 0	? 0
				       : i == 1 ? 8
						: 4,
				       hue, saturation / 100, light / 100));
	snprintf(colour.hex, sizeof(colour.hex), "#%02x%02x%02x", rgb[0] & 0xff,
		 rgb[1] & 0xff, rgb[2] & 0xff);
	return colour;
}

struct colour palette_colour(unsigned int number, bool is_dark)
{
	const double middle = (N_CHANGES - 1) / 2.0;
	double tone, change;
	unsigned int hue;

	if (number >= FIRST_CHANGE) {
		change = (number - FIRST_CHANGE - middle) / middle;
		return hsl(change > 0 ? 4 : 212,
			   fabs(change) * (is_dark ? 70 : 88),
			   is_dark ? 58 : 90 - 30 * fabs(change));
	}
	hue = number / N_TONES;
	tone = number % N_TONES / (double)(N_TONES - 1); /* 0 to 1 */
	return hsl(hues[hue].hue + tone * hues[hue].hue_span,
		   is_dark ? hues[hue].dark_saturation : hues[hue].saturation,
		   (is_dark ? hues[hue].dark_light : hues[hue].light) +
			   6 * fmod(2.5 * tone, 1));
}
