/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "records.h"

/* What is behind every record but samples: TID and TIME of sample_id_all. */
#define TRAILER 16

/* Takes parts off the front of a record. */
struct reader {
	const uint8_t *bytes;
	size_t size;
};

static const void *take(struct reader *reader, size_t size)
{
	const uint8_t *taken = reader->bytes;

	if (size > reader->size)
		return NULL;
	reader->bytes += size;
	reader->size -= size;
	return taken;
}

static bool take_u64(struct reader *reader, uint64_t *ret_value)
{
	const void *taken = take(reader, sizeof(*ret_value));

	if (taken)
		memcpy(ret_value, taken, sizeof(*ret_value));
	return taken != NULL;
}

static bool take_u32(struct reader *reader, uint32_t *ret_value)
{
	const void *taken = take(reader, sizeof(*ret_value));

	if (taken)
		memcpy(ret_value, taken, sizeof(*ret_value));
	return taken != NULL;
}

static struct reader reader_of(const struct perf_event_header *record)
{
	struct reader reader = {(const uint8_t *)(record + 1),
				record->size - sizeof(*record)};

	if (record->type != PERF_RECORD_SAMPLE)
		reader.size -= reader.size < TRAILER ? reader.size : TRAILER;
	return reader;
}

static uint64_t time_of(const struct perf_event_header *record)
{
	size_t offset = record->type == PERF_RECORD_SAMPLE
				? sizeof(*record) + 8
				: (size_t)record->size - 8;
	uint64_t time = 0;

	if (offset + 8 <= record->size)
		memcpy(&time, (const uint8_t *)record + offset, sizeof(time));
	return time;
}

void records_take(struct perf_event_header *record, void *data)
{
	struct records *records = data;

	if (records->n == records->capacity) {
		size_t capacity =
			records->capacity ? records->capacity * 2 : 256;
		struct queued *queue =
			realloc(records->queue, capacity * sizeof(*queue));

		if (!queue) {
			records->session->lost++;
			free(record);
			return;
		}
		records->queue = queue;
		records->capacity = capacity;
	}
	records->queue[records->n++] =
		(struct queued){time_of(record), records->arrived++, record};
}

/* The kernel's and the user's part of a chain stand behind marks. */
static bool read_chain(struct reader *reader, struct sample *sample)
{
	uint64_t n;
	const uint64_t *chain;
	const uint64_t **part = NULL;
	size_t *count = NULL;

	if (!take_u64(reader, &n) || n > reader->size / sizeof(*chain))
		return false;
	chain = take(reader, n * sizeof(*chain));
	for (size_t i = 0; i < n; i++) {
		if (chain[i] == (uint64_t)PERF_CONTEXT_KERNEL) {
			part = &sample->kernel;
			count = &sample->n_kernel;
			*part = &chain[i + 1];
		} else if (chain[i] == (uint64_t)PERF_CONTEXT_USER) {
			part = &sample->user;
			count = &sample->n_user;
			*part = &chain[i + 1];
		} else if (chain[i] >= (uint64_t)PERF_CONTEXT_MAX) {
			part = NULL;
		} else if (part) {
			++*count;
		}
	}
	return true;
}

static bool read_registers(struct reader *reader, uint64_t mask,
			   struct sample *sample)
{
	const uint64_t *values;
	uint64_t abi;

	if (!take_u64(reader, &abi))
		return false;
	if (abi == PERF_SAMPLE_REGS_ABI_NONE)
		return true;
	values = take(reader,
		      (size_t)__builtin_popcountll(mask) * sizeof(*values));
	if (!values)
		return false;
	/* Programs of 32 bits have no names here. */
	if (abi != REGISTERS_PERF_ABI)
		return true;
	registers_from_perf(&sample->registers, values);
	sample->has_registers = true;
	return true;
}

static bool read_stack(struct reader *reader, struct sample *sample)
{
	uint64_t size, filled;

	if (!take_u64(reader, &size))
		return false;
	if (size == 0)
		return true;
	sample->stack.bytes = take(reader, size);
	if (!sample->stack.bytes || !take_u64(reader, &filled))
		return false;
	sample->stack.size = filled < size ? filled : size;
	registers_get(&sample->registers, REGISTERS_STACK,
		      &sample->stack.start);
	return true;
}

static void process_sample(struct records *records,
			   const struct perf_event_header *record)
{
	struct reader reader = reader_of(record);
	struct sample sample = {.weight = 1};
	uint64_t type = records->attr->sample_type, time;
	uint32_t pid, tid;

	if (!take_u32(&reader, &pid) || !take_u32(&reader, &tid) ||
	    !take_u64(&reader, &time) || !read_chain(&reader, &sample))
		return;
	sample.pid = (pid_t)pid;
	sample.tid = (pid_t)tid;
	if ((type & PERF_SAMPLE_REGS_USER) &&
	    !read_registers(&reader, records->attr->sample_regs_user, &sample))
		return;
	if ((type & PERF_SAMPLE_STACK_USER) && !read_stack(&reader, &sample))
		return;
	session_add(records->session, &sample);
}

/* From a record's text, which ends in NULs. */
static bool take_text(struct reader *reader, char *text, size_t size)
{
	size_t length = strnlen((const char *)reader->bytes, reader->size);

	if (length == reader->size)
		return false;
	if (length >= size)
		length = size - 1;
	memcpy(text, reader->bytes, length);
	text[length] = '\0';
	return true;
}

static void process_mmap(struct records *records,
			 const struct perf_event_header *record)
{
	struct processes *processes = &records->session->processes;
	struct reader reader = reader_of(record);
	struct build_id build_id = {0};
	struct mapping mapping = {0};
	struct process *process;
	const uint8_t *id;
	char path[4096];
	uint32_t pid, tid;
	uint64_t length;

	if (!take_u32(&reader, &pid) || !take_u32(&reader, &tid) ||
	    !take_u64(&reader, &mapping.start) || !take_u64(&reader, &length) ||
	    !take_u64(&reader, &mapping.offset))
		return;
	/* 24 bytes of device and inode, or of the build id; protection. */
	id = take(&reader, 24);
	if (!id || !take(&reader, 8) || !take_text(&reader, path, sizeof(path)))
		return;
	if ((record->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) &&
	    *id <= BUILD_ID_SIZE) {
		build_id.size = *id;
		memcpy(build_id.bytes, id + 4, build_id.size);
	}
	mapping.end = mapping.start + length;
	/* A record of the kernel's own code has PID -1. */
	if ((int)pid <= 0 || !session_wants_process(records->session, (int)pid))
		return;
	process = processes_get(processes, (pid_t)pid);
	if (!process)
		return;
	/* By its own root, which can have changed before it began this. */
	processes_look(processes, process);
	processes_map(processes, process, &mapping, path, &build_id);
}

static void process_comm(struct records *records,
			 const struct perf_event_header *record)
{
	struct processes *processes = &records->session->processes;
	struct reader reader = reader_of(record);
	struct process *process;
	char comm[COMM_SIZE];
	uint32_t pid, tid;

	if (!take_u32(&reader, &pid) || !take_u32(&reader, &tid) ||
	    !take_text(&reader, comm, sizeof(comm)) ||
	    !session_wants_process(records->session, (pid_t)pid))
		return;
	process = processes_get(processes, (pid_t)pid);
	if (process && (record->misc & PERF_RECORD_MISC_COMM_EXEC))
		processes_exec(process);
	processes_name_thread(processes, (pid_t)pid, (pid_t)tid, comm);
}

static void process_fork(struct records *records,
			 const struct perf_event_header *record)
{
	struct session *session = records->session;
	struct reader reader = reader_of(record);
	uint32_t pid, parent, tid, parent_tid;

	if (!take_u32(&reader, &pid) || !take_u32(&reader, &parent) ||
	    !take_u32(&reader, &tid) || !take_u32(&reader, &parent_tid) ||
	    !session_wants_process(session, (pid_t)pid))
		return;
	if (pid != parent) {
		processes_get(&session->processes, (pid_t)parent);
		processes_fork(&session->processes, (pid_t)pid, (pid_t)parent);
	}
	processes_name_thread(&session->processes, (pid_t)pid, (pid_t)tid,
			      processes_thread_name(&session->processes,
						    (pid_t)parent,
						    (pid_t)parent_tid));
}

/* How many samples the kernel had no room for: behind the event's id. */
static void process_lost(struct records *records,
			 const struct perf_event_header *record)
{
	struct reader reader = reader_of(record);
	uint64_t id, lost;

	if (record->type == PERF_RECORD_LOST && !take_u64(&reader, &id))
		return;
	if (take_u64(&reader, &lost))
		records->session->lost += lost;
}

static void process(struct records *records,
		    const struct perf_event_header *record)
{
	switch (record->type) {
	case PERF_RECORD_SAMPLE:
		process_sample(records, record);
		break;
	case PERF_RECORD_MMAP2:
		process_mmap(records, record);
		break;
	case PERF_RECORD_COMM:
		process_comm(records, record);
		break;
	case PERF_RECORD_FORK:
		process_fork(records, record);
		break;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		process_lost(records, record);
		break;
	case PERF_RECORD_THROTTLE:
		records->session->throttled++;
		break;
	default:
		break;
	}
}

static int compare(const void *left, const void *right)
{
	const struct queued *a = left, *b = right;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

void records_process(struct records *records, uint64_t until)
{
	size_t i = 0;

	if (records->n > 1)
		qsort(records->queue, records->n, sizeof(*records->queue),
		      compare);
	for (; i < records->n && records->queue[i].time <= until; i++) {
		process(records, records->queue[i].record);
		free(records->queue[i].record);
	}
	records->n -= i;
	if (i > 0)
		memmove(records->queue, records->queue + i,
			records->n * sizeof(*records->queue));
}

void records_free(struct records *records)
{
	for (size_t i = 0; i < records->n; i++)
		free(records->queue[i].record);
	free(records->queue);
	records->queue = NULL;
	records->n = records->capacity = 0;
}
