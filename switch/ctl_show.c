// SPDX-License-Identifier: BSD-3-Clause
/* ctl_show.c - questions about the switch itself: ports, counters, stations. */
#include <arpa/inet.h>
#include <time.h>

#include "switch/ctl.h"
#include "switch/node.h"
#include "switch/totals.h"

static void show_address(struct ctl_json *json, const char *key, uint32_t ip, uint16_t port)
{
	uint32_t be = htonl(ip);
	char text[INET_ADDRSTRLEN] = "";

	inet_ntop(AF_INET, &be, text, sizeof(text));
	if (port)
		ctl_json_format(json, key, "%s:%u", text, port);
	else
		ctl_json_text(json, key, text);
}

void ctl_info(struct ctl_call *call)
{
	const struct conf *conf = call->node->conf;
	struct ctl_json *json = &call->json;
	struct totals totals;

	totals_read(&totals, call->node);
	ctl_json_object(json, call->command);
	ctl_json_text(json, "version", TALLY_VERSION);
	show_address(json, "ip", conf->ip ? conf->ip : conf->ports[0].ip, 0);
	ctl_json_array(json, "addresses");
	if (conf->ip)
		show_address(json, NULL, conf->ip, WIRE_PORT);
	for (unsigned i = 0; i < conf->nr_ports; i++)
		if (conf->ports[i].form == PORT_UDP)
			show_address(json, NULL, conf->ports[i].ip, conf->ports[i].udp_port);
	ctl_json_close(json);
	if (conf->parent_ip)
		show_address(json, "parent", conf->parent_ip, conf->parent_port);
	ctl_json_u64(json, "ports", conf->nr_ports);
	ctl_json_u64(json, "jobs_max", conf->jobs);
	ctl_json_u64(json, "slots_max", conf->slots);
	ctl_json_u64(json, "memory_bytes", conf->memory);
	ctl_json_text(json, "add", pipe_add_name(call->node->lcore.pipe));
	ctl_json_u64(json, "jobs", totals.jobs);
	ctl_json_bool(json, "drains", pipe_drains(call->node->lcore.pipe));
	ctl_json_u64(json, "rx", totals.rx);
	ctl_json_u64(json, "results", totals.results);
	ctl_json_real(json, "run_s", totals.run_s);
	ctl_json_real(json, "busy_s", totals.busy_s);
	ctl_json_real(json, "cpu_s", totals.cpu_s);
	ctl_json_u64(json, "wall_ms", call->node->lcore.now.wall_ms);
	ctl_json_u64(json, "strangers", call->node->ctl.nr_strangers);
	ctl_json_close(json);
}

static void show_port(struct ctl_json *json, struct port *port)
{
	const struct port_stats *s = &port->stats;

	if (port->ops->read_stats)
		port->ops->read_stats(port);
	ctl_json_object(json, NULL);
	ctl_json_u64(json, "number", port->spec.number);
	ctl_json_text(json, "name", port->spec.text);
	ctl_json_text(json, "driver", port->driver);
	ctl_json_u64(json, "mtu", port->mtu);
	ctl_json_u64(json, "rx", s->rx);
	ctl_json_u64(json, "rx_bytes", s->rx_bytes);
	ctl_json_u64(json, "tx", s->tx);
	ctl_json_u64(json, "tx_bytes", s->tx_bytes);
	ctl_json_u64(json, "tx_dropped", s->tx_dropped);
	ctl_json_u64(json, "tx_too_big", s->tx_too_big);
	ctl_json_u64(json, "missed", s->dev_missed);
	ctl_json_u64(json, "errors", s->dev_errors);
	ctl_json_close(json);
}

void ctl_ports(struct ctl_call *call)
{
	struct lcore *lcore = &call->node->lcore;
	struct ctl_json *json = &call->json;
	uint64_t i;

	if (!ctl_from(call, &i))
		return;
	ctl_json_object(json, call->command);
	ctl_json_array(json, "ports");
	for (; i < lcore->nr_ports && !ctl_is_full(call); i++)
		show_port(json, &lcore->ports[i].port);
	ctl_json_close(json);
	ctl_next(call, i < lcore->nr_ports, i);
	ctl_json_close(json);
}

static const char *show_class(enum counter_class class)
{
	static const char *const names[] = {
		[COUNTER_SUM] = "sum",
		[COUNTER_TALK] = "talk",
		[COUNTER_FORWARD] = "forward",
		[COUNTER_DROP] = "drop",
	};

	return names[class];
}

void ctl_counters(struct ctl_call *call)
{
	struct ctl_json *json = &call->json;
	struct totals totals;

	totals_read(&totals, call->node);
	ctl_json_object(json, call->command);
	ctl_json_u64(json, "rx", totals.rx);
	ctl_json_u64(json, "verdicts", totals.verdicts);
	ctl_json_array(json, "counters");
	for (unsigned i = 0; i < COUNTER_NR; i++) {
		ctl_json_object(json, NULL);
		ctl_json_text(json, "name", counter_infos[i].name);
		ctl_json_text(json, "class", show_class(counter_infos[i].class));
		ctl_json_u64(json, "value", totals.counters.v[i]);
		ctl_json_text(json, "text", counter_infos[i].text);
		ctl_json_close(json);
	}
	ctl_json_close(json);
	ctl_json_close(json);
}

static void show_station(struct ctl_json *json, const struct lcore *lcore,
			 const struct fwd_station *station)
{
	const uint8_t *mac = station->mac;

	ctl_json_object(json, NULL);
	ctl_json_format(json, "mac", "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
			mac[3], mac[4], mac[5]);
	ctl_json_u64(json, "port", lcore->ports[station->port].port.spec.number);
	ctl_json_real(json, "age_s", (double)(lcore->now.now_ns - station->heard_ns) / 1e9);
	ctl_json_close(json);
}

void ctl_fdb(struct ctl_call *call)
{
	const struct lcore *lcore = &call->node->lcore;
	struct ctl_json *json = &call->json;
	struct fwd_station station;
	uint32_t place = 0;
	bool more = false;
	uint64_t from;

	if (!ctl_from(call, &from))
		return;
	ctl_json_object(json, call->command);
	ctl_json_array(json, "fdb");
	if (lcore->fwd && from < UINT32_MAX)
		place = fwd_next(lcore->fwd, (uint32_t)from, lcore->now.now_ns, &station);
	while (place && !more) {
		show_station(json, lcore, &station);
		from = place;
		more = ctl_is_full(call);
		if (!more)
			place = fwd_next(lcore->fwd, place, lcore->now.now_ns, &station);
	}
	ctl_json_close(json);
	ctl_next(call, more, from);
	ctl_json_close(json);
}
