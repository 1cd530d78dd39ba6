// SPDX-License-Identifier: BSD-3-Clause
// membership.c - a communicator joins its job, is thrown out of an epoch, joins anew, and leaves.
#include "host/engine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/failure.h"
#include "host/log.h"
#include "host/venue.h"
#include "proto/print.h"

#define MEMBERSHIP_RTO_MAX_NS UINT64_C(100000000)
/* Inside a process nothing is lost but what overflows a ring, and a rank may have to wait for a core:
 * sending again early only makes others wait longer. */
#define MEMBERSHIP_RTO_INPROC_NS UINT64_C(20000000)
#define MEMBERSHIP_RTO_UDP_NS UINT64_C(1000000)
#define MEMBERSHIP_WARN_NS UINT64_C(2000000000)
#define MEMBERSHIP_OVERDUE_NS UINT64_C(500000000)
#define MEMBERSHIP_LINK_NS UINT64_C(50000000)
/* Enough in flight for a network; inside a process, as much as stays in the cache. */
enum { MEMBERSHIP_SLOTS_UDP = 512, MEMBERSHIP_SLOTS_INPROC = 64 };

/* --- What the session says ---------------------------------------------------------------------- */

static void membership_log(const struct engine *engine)
{
	const struct wire_status *status = session_status(&engine->session);
	const struct config *config = &engine->config;

	log_print(TALLY_LOG_INFO,
		  "job %s rank %" PRIu64 " of %" PRIu64
		  ": switch %s, transport %s, window %u, slots %u, "
		  "chunk %u, check %" PRIu64 ", wire int32, kernels %s, epoch %" PRIu64,
		  config->job, config->rank, config->size, config->sw.text, engine->transport->text,
		  coll_window(engine->coll), engine->slots, status->p, config->check,
		  engine->quantizer.ops->name, engine->session.epoch);
	if (engine->slots < config->slots)
		log_print(TALLY_LOG_INFO, "job %s: %u slots instead of the %" PRIu64 " asked for",
			  config->job, engine->slots, config->slots);
	if (config->window > engine->slots)
		log_print(TALLY_LOG_INFO,
			  "job %s: window %" PRIu64 " is reduced to the %u slots there are",
			  config->job, config->window, engine->slots);
}

static void membership_begin(struct engine *engine)
{
	const struct wire_status *status = session_status(&engine->session);
	const struct coll_epoch epoch = {
		.job = engine->session.job,
		.epoch = engine->session.epoch,
		.wid = engine->session.rank,
		.slots = status->slots,
		.p = status->p,
		.check = engine->config.check != 0,
	};

	if (status->slots < 1 || status->slots > engine->config.slots ||
	    status->p > engine->p_asked || status->p < WIRE_P_MIN || status->p % WIRE_P_MIN) {
		snprintf(engine->text, ENGINE_TEXT,
			 "the switch %s granted %u slots of %u bytes, which was not asked for",
			 engine->config.sw.text, status->slots, status->p);
		session_abort(&engine->session, WIRE_CAUSE_PROTOCOL, engine->now_ns);
		engine_fail(engine, TALLY_PROTOCOL);
		return;
	}
	coll_begin(engine->coll, &epoch);
	engine->header = (struct wire_msg){
		.type = WIRE_DATA,
		.job = epoch.job,
		.epoch = epoch.epoch,
		.wid = epoch.wid,
	};
	engine->slots = status->slots;
	engine->status = TALLY_OK;
	engine->text[0] = '\0';
	engine->since_ns = engine->now_ns;
	engine->asked_ns = 0;
	engine->awaited = (struct wire_range){ 0, 0 };
	memset(engine->probes, 0, sizeof(engine->probes));
	membership_log(engine);
}

static struct failure membership_failure(struct engine *engine, char op[128])
{
	const int oldest = engine->header.epoch ? coll_oldest(engine->coll) : -1;

	if (oldest >= 0)
		print_desc(op, 128, coll_desc(engine->coll, oldest));
	return (struct failure){
		.text = engine->text,
		.cap = ENGINE_TEXT,
		.config = &engine->config,
		.op = oldest >= 0 ? op : NULL,
		.refused = engine->transport->refused,
		.joined = engine->joined,
		.awaited = engine->awaited,
		.above = engine->lost_above,
		.unsent = engine->unsent,
	};
}

/* What was missing may be in by now: only what is long overdue is worth a word. */
static void membership_overdue(const struct engine *engine, struct failure *failure)
{
	const uint64_t for_ns = engine->now_ns - engine->since_ns;
	uint64_t missing, silent;
	uint16_t slot;

	if (!failure->op || for_ns < MEMBERSHIP_OVERDUE_NS ||
	    !coll_stall(engine->coll, &missing, &silent, &slot))
		return;
	failure->missing = missing & ~failure_bit(&engine->config, engine->session.rank);
	failure->missing_ns = failure->missing || failure->awaited.nr ? for_ns : 0;
}

void engine_event(struct engine *engine, enum session_event event, bool forgotten)
{
	char op[128];
	struct failure failure = membership_failure(engine, op);

	failure.forgotten = forgotten;
	switch (event) {
	case SESSION_BEGUN:
		membership_begin(engine);
		break;
	case SESSION_OVER:
		membership_overdue(engine, &failure);
		engine_fail(engine, failure_over(&failure, session_status(&engine->session)));
		break;
	case SESSION_GAVE_UP:
		engine_fail(engine, failure_join(&failure, &engine->session));
		break;
	case SESSION_SMALLER:
		log_print(TALLY_LOG_INFO,
			  "job %s: the path to %s does not carry chunks of %u bytes: trying %u",
			  engine->config.job, engine->config.sw.text, engine->p_asked,
			  session_chunk(&engine->session));
		break;
	case SESSION_NOTHING:
	case SESSION_REPLY:
	case SESSION_GONE:
		break;
	}
}

/* Exchanges control messages as long as the session stays in this state. */
static void membership_drive(struct engine *engine, enum session_state state)
{
	while (engine->session.state == state)
		if (!engine_exchange(engine) && engine->session.state == state)
			engine_sleep(engine, UINT64_MAX);
}

/* --- Joining ------------------------------------------------------------------------------------ */

/* Long before the join timeout: whoever started the ranks may have forgotten the switch. */
static void membership_waits(struct engine *engine)
{
	const struct session *session = &engine->session;

	if (!engine->warn_at_ns || engine_clock() < engine->warn_at_ns)
		return;
	engine->warn_at_ns = 0;
	if (session->answered && !engine->config.sw.named && engine->config.size > 1)
		log_print(
			TALLY_LOG_WARN,
			"rank %u: still waiting for other ranks of job %s: no TALLY_SWITCH is set, so only "
			"threads of this process can join it",
			session->rank, engine->config.job);
	if (session->answered)
		return;
	log_print(TALLY_LOG_WARN, "rank %u: %s %s; asking on", session->rank,
		  engine->transport->refused ? "nothing listens at the switch's address"
					     : "no answer yet from the switch",
		  engine->config.sw.text);
}

/* An epoch that began and is over again by the time we look is joined: the next call tells what ended it. */
static int membership_join(struct engine *engine)
{
	const uint64_t before = engine->header.epoch;

	engine->warn_at_ns = engine_clock() + MEMBERSHIP_WARN_NS;
	while (engine->session.state == SESSION_JOINING) {
		membership_waits(engine);
		if (atomic_load_explicit(&engine->abort_asked, memory_order_acquire)) {
			snprintf(engine->text, ENGINE_TEXT, "aborted by tally_abort()");
			engine_fail(engine, TALLY_ABORTED);
			return engine->status;
		}
		if (!engine_exchange(engine) && engine->session.state == SESSION_JOINING)
			engine_sleep(engine, engine->warn_at_ns ? engine->warn_at_ns : UINT64_MAX);
	}
	engine_farewell(engine);
	return engine->header.epoch != before ? TALLY_OK : engine->status;
}

int engine_rejoin(struct engine *engine)
{
	engine->now_ns = engine_clock();
	atomic_store_explicit(&engine->abort_asked, false, memory_order_relaxed);
	snprintf(engine->text, ENGINE_TEXT, "given up by tally_rejoin()");
	if (engine->session.state == SESSION_RUNNING)
		session_fail(&engine->session, engine->now_ns);
	engine_fail(engine, TALLY_ABORTED);
	engine->joined = 0;
	engine_gpu_drain(engine, true);
	if (engine->session.state != SESSION_JOINING)
		session_rejoin(&engine->session, engine->now_ns);
	return membership_join(engine);
}

static void membership_note(const char *text)
{
	log_print(TALLY_LOG_INFO, "%s", text);
}

/* A link that is down takes the way to the switch with it: asked for as long as an answer would be. */
static int membership_connect(struct engine *engine, const struct transport_ops *ops,
			      const struct transport_params *params, struct transport_error *why)
{
	const uint64_t begin_ns = engine_clock(), limit_ns = engine->config.join_timeout_ns;
	bool said = false;
	int rc;

	for (;;) {
		rc = ops->open(&engine->transport, params, why);
		if (rc != -ENETUNREACH && rc != -EHOSTUNREACH && rc != -ENETDOWN)
			return rc;
		if (limit_ns && engine_clock() - begin_ns >= limit_ns)
			return rc;
		if (!said)
			log_print(TALLY_LOG_WARN, "rank %" PRIu64 ": %s; trying on",
				  engine->config.rank, why->text);
		said = true;
		venue.pause(MEMBERSHIP_LINK_NS);
	}
}

static int membership_transport(struct engine *engine, struct engine_error *error)
{
	const struct config *config = &engine->config;
	const struct transport_ops *ops = venue.transport		    ? venue.transport
					  : config->transport == CONFIG_UDP ? &transport_udp
									    : &transport_inproc;
	const struct transport_params params = {
		.switch_ip = config->sw.ip,
		.switch_port = config->sw.port,
		.name = config->sw.name,
		.ifname = config->ifname,
		.local_port = (uint16_t)config->port,
		.p = (uint16_t)config->chunk,
		.slots = (uint16_t)config->slots,
		.trailer = config->check ? WIRE_CRC : 0,
		.note = membership_note,
	};
	struct transport_error why;
	int rc;

	rc = membership_connect(engine, ops, &params, &why);
	if (rc < 0) {
		snprintf(error->text, sizeof(error->text), "%s", why.text);
		return rc == -ENOMEM ? TALLY_NOMEM : TALLY_SYSTEM;
	}
	engine->p_asked = config->chunk ? (uint16_t)config->chunk : engine->transport->p;
	return TALLY_OK;
}

static uint64_t membership_rto(const struct config *config)
{
	if (venue.transport && venue.rto_min_ns)
		return venue.rto_min_ns;
	return config->transport == CONFIG_INPROC ? MEMBERSHIP_RTO_INPROC_NS
						  : MEMBERSHIP_RTO_UDP_NS;
}

static int membership_coll(struct engine *engine, struct engine_error *error)
{
	const struct config *config = &engine->config;
	const struct coll_params params = {
		.slots = (uint16_t)config->slots,
		.p = engine->p_asked,
		.window = (uint16_t)config->window,
		.rto_min_ns = config->rto_min_ns ? config->rto_min_ns : membership_rto(config),
		.rto_max_ns = MEMBERSHIP_RTO_MAX_NS,
	};
	const size_t bytes = (coll_size(&params) + 63) / 64 * 64;

	engine->coll_mem = aligned_alloc(64, bytes);
	if (!engine->coll_mem) {
		snprintf(error->text, sizeof(error->text), "out of memory for %" PRIu64 " slots",
			 config->slots);
		return TALLY_NOMEM;
	}
	engine->coll = coll_init(engine->coll_mem, &params);
	if (!engine->coll) {
		snprintf(error->text, sizeof(error->text),
			 "slots %u, chunk %u, rto_min %" PRIu64 " ns do not go together",
			 params.slots, params.p, params.rto_min_ns);
		return TALLY_INVALID;
	}
	return TALLY_OK;
}

static int membership_session(struct engine *engine, struct engine_error *error)
{
	const struct config *config = &engine->config;
	struct session_params params = {
		.name = config->job,
		.rank = (uint16_t)config->rank,
		.world = (uint16_t)config->size,
		.slots = (uint16_t)config->slots,
		.p = engine->p_asked,
		.p_fixed = config->chunk != 0,
		.check = config->check != 0,
		.port = engine->transport->port,
		.nr_ports = 1,
		.join_timeout_ns = config->join_timeout_ns,
	};

	/* Never the same for two opens, also in a child process: a reused one would give wrong sums. */
	if (venue.random(&params.inc, sizeof(params.inc))) {
		snprintf(error->text, sizeof(error->text), "getrandom: %s", strerror(errno));
		return TALLY_SYSTEM;
	}
	engine->now_ns = engine_clock();
	session_init(&engine->session, &params, engine->now_ns);
	engine->session.join.nr_ranges = (uint16_t)config->ranges.nr;
	memcpy(engine->session.join.ranges, config->ranges.range, sizeof(config->ranges.range));
	return TALLY_OK;
}

static int membership_quantizer(struct engine *engine, struct engine_error *error)
{
	const char *name = config_kernels(&engine->config);

	engine->quantizer.world = (uint32_t)engine->config.size;
	engine->quantizer.ops = quant_select(name);
	if (engine->quantizer.ops)
		return TALLY_OK;
	snprintf(error->text, sizeof(error->text),
		 "TALLY_KERNELS=%s: this CPU or build does not have these "
		 "instructions; leave it unset for the best there are",
		 name);
	return TALLY_UNSUPPORTED;
}

static void membership_free(struct engine *engine)
{
	if (engine->transport)
		engine->transport->ops->close(engine->transport);
	gpu_close(engine->gpu);
	free(engine->coll_mem);
	free(engine);
}

int engine_open(struct engine **out, const struct config *config, struct engine_error *error)
{
	struct engine *engine = aligned_alloc(64, (sizeof(*engine) + 63) / 64 * 64);
	int rc;

	if (!engine) {
		snprintf(error->text, sizeof(error->text), "out of memory");
		return TALLY_NOMEM;
	}
	memset(engine, 0, sizeof(*engine));
	engine->config = *config;
	if (!engine->config.slots)
		engine->config.slots = config->transport == CONFIG_UDP ? MEMBERSHIP_SLOTS_UDP
								       : MEMBERSHIP_SLOTS_INPROC;
	atomic_init(&engine->abort_asked, false);
	if (config->transport == CONFIG_UDP && !config->sized)
		log_print(TALLY_LOG_WARN, "TALLY_SIZE is not set: this is a job of one rank");
	rc = membership_quantizer(engine, error);
	if (rc == TALLY_OK)
		rc = membership_transport(engine, error);
	if (rc == TALLY_OK)
		rc = membership_coll(engine, error);
	if (rc == TALLY_OK)
		rc = membership_session(engine, error);
	if (rc < 0) {
		membership_free(engine);
		return rc;
	}
	rc = membership_join(engine);
	if (rc < 0) {
		snprintf(error->text, sizeof(error->text), "%s", engine->text);
		engine_close(engine);
		return rc;
	}
	*out = engine;
	return TALLY_OK;
}

/* --- Leaving ------------------------------------------------------------------------------------ */

void engine_farewell(struct engine *engine)
{
	membership_drive(engine, SESSION_ENDING);
}

void engine_abort(struct engine *engine)
{
	atomic_store_explicit(&engine->abort_asked, true, memory_order_release);
	engine->transport->ops->wake(engine->transport);
}

void engine_aborted(struct engine *engine)
{
	atomic_store_explicit(&engine->abort_asked, false, memory_order_relaxed);
	if (engine->status)
		return;
	snprintf(engine->text, ENGINE_TEXT, "aborted by tally_abort()");
	session_abort(&engine->session, WIRE_CAUSE_ABORTED, engine->now_ns);
	engine_fail(engine, TALLY_ABORTED);
	engine_farewell(engine);
}

void engine_close(struct engine *engine)
{
	engine->now_ns = engine_clock();
	if (!engine->status) {
		snprintf(engine->text, ENGINE_TEXT, "closed by tally_close()");
		engine_fail(engine, TALLY_ABORTED);
	}
	session_leave(&engine->session, engine->now_ns);
	membership_drive(engine, SESSION_LEAVING);
	membership_free(engine);
}
