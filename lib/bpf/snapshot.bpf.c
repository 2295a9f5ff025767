/* SPDX-License-Identifier: MIT */
/*
 * Tasks as the kernel has them, into memory that the reader maps.
 *
 * Two programs look at all threads: `walk`, in one system call, by an iterator
 * in the program (since Linux 6.7); `iterate`, which the reads of a task
 * iterator's file run (since 5.8). A third one, on_exit, keeps a record of each
 * thread that ends.
 *
 * Only those fields of the kernel's structs are declared that are read; where
 * they are, the kernel finds out when it loads the programs (CO-RE, by a light
 * skeleton since Linux 5.17).
 */
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "record.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), \
			     apply_to = record)

struct rq {
	__u64 clock;
	__u64 clock_task;
};

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	__u64 exec_start;
	__u64 sum_exec_runtime;
	struct cfs_rq *cfs_rq;
};

struct sched_info {
	unsigned long long run_delay;
};

struct prev_cputime {
	__u64 utime;
	__u64 stime;
};

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct signal_struct {
	__u64 utime;
	__u64 stime;
	unsigned long long sum_sched_runtime;
};

struct thread_info {
	__u32 cpu;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	int exit_state;
	unsigned int
		on_cpu; /* 1 byte since 7.x; unsigned, or it would not fit */
	int pid;
	int tgid;
	struct sched_entity se;
	struct sched_info sched_info;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	__u64 utime;
	__u64 stime;
	struct prev_cputime prev_cputime;
	unsigned long nvcsw;
	unsigned long nivcsw;
	__u64 start_boottime;
	struct signal_struct *signal;
	char comm[16];
};

#pragma clang attribute pop

extern void *bpf_rdonly_cast(const void *object, __u32 btf_id) __ksym __weak;

/* As fresh as the memory is: neither kept, nor read in another order. */
#define FRESH(x) (*(volatile typeof(x) *)&(x))

/* Set before the programs are loaded; what a reader does not need is then no
 * work for the verifier. */
const volatile bool keeps_exits;
const volatile bool can_walk;	      /* the kernel has what walk() calls */
const volatile bool filtered;	      /* to the processes in `wanted` */
const volatile __u32 generations = 1; /* of their descendants, too */

/* How the clock of tasks goes on from that of bpf_ktime_get_ns(). */
__u64 calibrate; /* set by the reader, whose own task was just updated */
__u64 calibrated_ns;
__u64 clock_offset;
bool have_offset;

/* The reader's PID namespace. */
__u32 ns_level;
__u32 ns_inum;

/* A thread is in the pass that its TID has as its remainder. */
__u32 passes;
__u32 pass;

__u64 found; /* threads; more than there is room for are not in the records */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct snapshot_task);
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32); /* TGID */
	__type(value, __u32);
} wanted SEC(".maps");

/*
 * The same task, by a pointer that the verifier does not trust: of each pointer
 * that is read through a trusted one it looks up the type by name in all of the
 * kernel's types, which took 0.2 s in all. Kernels that cannot walk do not.
 */
static __always_inline struct task_struct *untrusted(struct task_struct *task)
{
	if (!can_walk)
		return task;
	return bpf_rdonly_cast(task,
			       bpf_core_type_id_kernel(struct task_struct));
}

/*
 * ids of other namespaces are 0; so are those of a task that is released. Not
 * inlined: for each copy the kernel would look two types up by name that have
 * the same place in its cache, and that takes milliseconds.
 */
static __noinline __u32 id_here(struct pid *pid)
{
	struct pid_namespace *ns;
	void *upid;
	int nr;

	if (!pid || BPF_CORE_READ(pid, level) < ns_level)
		return 0;
	upid = (void *)pid + bpf_core_field_offset(struct pid, numbers) +
	       ns_level * bpf_core_type_size(struct upid);
	bpf_probe_read_kernel(&ns, sizeof(ns),
			      upid + bpf_core_field_offset(struct upid, ns));
	bpf_probe_read_kernel(&nr, sizeof(nr),
			      upid + bpf_core_field_offset(struct upid, nr));
	if (BPF_CORE_READ(ns, ns.inum) != ns_inum)
		return 0;
	return nr;
}

static __always_inline __u32 tid_here(struct task_struct *task)
{
	return ns_level ? id_here(task->thread_pid) : task->pid;
}

static __always_inline __u32 tgid_here(struct task_struct *task)
{
	return ns_level ? id_here(task->group_leader->thread_pid) : task->tgid;
}

static __always_inline void find_namespace(struct task_struct *reader)
{
	struct pid *pid = reader->thread_pid;
	__u32 level = pid->level;
	struct pid_namespace *ns;

	bpf_probe_read_kernel(
		&ns, sizeof(ns),
		(void *)pid + bpf_core_field_offset(struct pid, numbers) +
			level * bpf_core_type_size(struct upid) +
			bpf_core_field_offset(struct upid, ns));
	/* In this order: on_exit takes no level for one that is not set yet. */
	FRESH(ns_level) = level;
	FRESH(ns_inum) = BPF_CORE_READ(ns, ns.inum);
}

/*
 * clock - clock_task is what interrupts and a hypervisor took of a CPU. Both
 * are written in this order (update_rq_clock, kernel/sched/core.c); false if
 * that was going on.
 */
static __always_inline bool taken_from(struct rq *rq, __u64 *ret_ns)
{
	__u64 task = FRESH(rq->clock_task);
	__u64 all = FRESH(rq->clock);

	*ret_ns = all - task;
	return FRESH(rq->clock_task) == task;
}

/*
 * The reader has just read its own CPU clock, which brought exec_start of its
 * task up to now, as the scheduler's clock has it; hence the offset of that
 * from the clock that can be read here.
 */
static __always_inline void find_offset(struct task_struct *reader)
{
	__u64 now = bpf_ktime_get_ns(), taken;

	calibrated_ns = now;
	have_offset = false;
	if (!bpf_core_field_exists(reader->se.cfs_rq))
		return;
	if (!taken_from(reader->se.cfs_rq->rq, &taken))
		return;
	clock_offset = FRESH(reader->se.exec_start) + taken - now;
	have_offset = true;
}

/* At the first task of a scan. */
static __always_inline void begin_scan(void)
{
	struct task_struct *reader;

	if (!calibrate)
		return;
	calibrate = 0;
	found = 0;
	reader = untrusted(bpf_get_current_task_btf());
	find_namespace(reader);
	find_offset(reader);
}

struct search {
	struct task_struct *process;
	bool found;
};

/* One generation of it; 1 ends it. */
static long look(__u32 generation, struct search *search)
{
	struct task_struct *process = search->process;
	__u32 tgid = ns_level ? id_here(BPF_CORE_READ(process, thread_pid))
			      : BPF_CORE_READ(process, tgid);

	if (bpf_map_lookup_elem(&wanted, &tgid)) {
		search->found = true;
		return 1;
	}
	search->process = BPF_CORE_READ(process, real_parent, group_leader);
	/* The first of all is its own parent. */
	return !search->process || search->process == process;
}

/* Is the process, or an ancestor of it, one of those asked for? */
static __always_inline bool is_wanted(struct task_struct *leader)
{
	struct search search = {leader, false};

	if (!filtered)
		return true;
	bpf_loop(generations, look, &search, 0);
	return search.found;
}

/* What it has used since the kernel last looked, if it is on a CPU. */
static __always_inline void read_running(struct snapshot_task *record,
					 struct task_struct *task)
{
	__u64 exec_start = FRESH(task->se.exec_start), now, taken;

	record->exec_ns = FRESH(task->se.sum_exec_runtime);
	record->extra_ns = 0;
	record->flags = 0;
	if (!FRESH(task->on_cpu))
		return;
	record->flags = SNAPSHOT_ON_CPU;
	if (!have_offset || !bpf_core_field_exists(task->se.cfs_rq))
		return;
	if (!taken_from(task->se.cfs_rq->rq, &taken))
		return;
	now = bpf_ktime_get_ns() + clock_offset - taken;
	/* exec_start and sum_exec_runtime change together, when it is brought
	 * up to date (update_se, kernel/sched/fair.c), or is put on a CPU. */
	if (FRESH(task->se.exec_start) != exec_start ||
	    FRESH(task->se.sum_exec_runtime) != record->exec_ns ||
	    !FRESH(task->on_cpu))
		return;
	record->flags |= SNAPSHOT_EXTRA;
	if (now > exec_start)
		record->extra_ns = now - exec_start;
}

static __always_inline void read_task(struct snapshot_task *record,
				      struct task_struct *task)
{
	struct task_struct *leader = task->group_leader;
	struct task_struct *parent = task->real_parent;
	struct signal_struct *signal = task->signal;

	record->tid = tid_here(task);
	record->tgid = tgid_here(task);
	record->ppid = parent ? tgid_here(parent) : 0;
	record->start_ns = task->start_boottime;
	record->process_start_ns = leader->start_boottime;
	record->utime = task->utime;
	record->stime = task->stime;
	record->scaled_utime = task->prev_cputime.utime;
	record->scaled_stime = task->prev_cputime.stime;
	record->run_delay = 0;
	if (bpf_core_field_exists(task->sched_info.run_delay))
		record->run_delay = task->sched_info.run_delay;
	record->nvcsw = task->nvcsw;
	record->nivcsw = task->nivcsw;
	record->ended_exec_ns = signal->sum_sched_runtime;
	record->ended_utime = signal->utime;
	record->ended_stime = signal->stime;
	record->cpu = task->thread_info.cpu;
	record->state = task->__state | task->exit_state;
	bpf_probe_read_kernel_str(record->comm, sizeof(record->comm),
				  task->comm);
	read_running(record, task);
}

/* Into the next record, if there is room. */
static __always_inline void add_task(struct task_struct *task)
{
	struct snapshot_task *record;
	__u32 tid = tid_here(task), index;

	/* Not of this namespace, or released in this moment. */
	if (tid == 0 || tid % (passes ?: 1) != pass)
		return;
	index = found++;
	record = bpf_map_lookup_elem(&records, &index);
	if (record)
		read_task(record, task);
}

/* ---- walk ---- */

enum {
	ITER_ALL_PROCS = 0,
	ITER_PROC_THREADS = 2,
};

struct bpf_iter_task {
	__u64 opaque[3];
} __attribute__((aligned(8)));

extern int bpf_iter_task_new(struct bpf_iter_task *it, struct task_struct *task,
			     unsigned int flags) __ksym __weak;
extern struct task_struct *
bpf_iter_task_next(struct bpf_iter_task *it) __ksym __weak;
extern void bpf_iter_task_destroy(struct bpf_iter_task *it) __ksym __weak;
extern struct task_struct *
bpf_task_acquire(struct task_struct *task) __ksym __weak;
extern void bpf_task_release(struct task_struct *task) __ksym __weak;
extern void bpf_rcu_read_lock(void) __ksym __weak;
extern void bpf_rcu_read_unlock(void) __ksym __weak;

static __always_inline void add_threads(struct task_struct *process)
{
	struct bpf_iter_task threads;
	struct task_struct *thread;

	bpf_iter_task_new(&threads, process, ITER_PROC_THREADS);
	while ((thread = bpf_iter_task_next(&threads)))
		add_task(untrusted(thread));
	bpf_iter_task_destroy(&threads);
}

SEC("syscall")
int walk(void *ctx)
{
	struct bpf_iter_task processes;
	struct task_struct *process;

	if (!can_walk)
		return 0;
	begin_scan();
	bpf_rcu_read_lock();
	bpf_iter_task_new(&processes, NULL, ITER_ALL_PROCS);
	while ((process = bpf_iter_task_next(&processes))) {
		if (!is_wanted(untrusted(process)))
			continue;
		process = bpf_task_acquire(process);
		if (!process)
			continue;
		add_threads(process);
		bpf_task_release(process);
	}
	bpf_iter_task_destroy(&processes);
	bpf_rcu_read_unlock();
	return 0;
}

/* ---- iterate ---- */

#pragma clang attribute push(__attribute__((preserve_access_index)), \
			     apply_to = record)
struct bpf_iter_meta {
	__u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};
#pragma clang attribute pop

SEC("iter/task")
int iterate(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	/* NULL after the last one. */
	if (can_walk || !task)
		return 0;
	task = untrusted(task);
	begin_scan();
	if (is_wanted(task->group_leader))
		add_task(task);
	return 0;
}

/* ---- on_exit ---- */

__u64 exited;	 /* threads so far */
__u64 ring_mask; /* places in the ring, less one */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct snapshot_exit);
} exits SEC(".maps");

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct snapshot_exit *slot;
	__u64 number;
	__u32 index;

	if (!keeps_exits)
		return 0;
	/* Nobody has read yet, so that the namespace is not known. */
	task = untrusted(task);
	if (!ns_inum || tid_here(task) == 0 || !is_wanted(task->group_leader))
		return 0;
	number = __sync_fetch_and_add(&exited, 1);
	index = number & ring_mask;
	slot = bpf_map_lookup_elem(&exits, &index);
	if (!slot)
		return 0;
	/* In this order also for other CPUs: a full barrier on either side. */
	__sync_lock_test_and_set(&slot->begun, number + 1);
	read_task(&slot->task, task);
	__sync_lock_test_and_set(&slot->done, number + 1);
	return 0;
}

char licence[] SEC("license") = "Dual MIT/GPL";
