/* SPDX-License-Identifier: MIT */
/* What a profile tells of itself, in words: the head of text and pictures. */
#ifndef CPUCLOCK_FLAME_FACTS_H
#define CPUCLOCK_FLAME_FACTS_H

#include "profile.h"

enum { MAX_FACTS = 9 };

struct facts {
	char title[256];
	struct fact {
		const char *name;
		char text[256];
	} facts[MAX_FACTS];
	size_t n_facts;
};

void facts_of(const struct profile *profile, struct facts *ret_facts);

/* "12 samples, 121 ms, 3.4 %": of all, and with CPU time if it is known. */
void describe_samples(const struct profile *profile, uint64_t samples,
		      char *text, size_t size);

/* What is counted, in the plural. */
const char *unit_of(const struct profile *profile);

enum { COUNT_SIZE = 96 };

/* "1 sample", "12,345 samples" */
void describe_count(const struct profile *profile, uint64_t count,
		    char text[COUNT_SIZE]);

#endif
