// SPDX-License-Identifier: BSD-3-Clause
/* tallyctl_show.c - ports, counters and stations as tables. */
#include "switch/tallyctl.h"

#include <string.h>

int show_ports(struct tallyctl *ctl, char **args)
{
	json_t *answer = link_list(&ctl->link, "/tally/ports", "ports", NULL), *port;
	struct table table;
	size_t i;

	(void)args;
	if (!answer)
		return -1;
	if (tallyctl_pass(ctl, answer))
		return 0;
	table_start(&table, ">port|name|driver|>mtu|>rx|>tx|>rx MB|>tx MB|>tx drops|>rx missed");
	json_array_foreach(json_object_get(answer, "ports"), i, port)
	{
		table_cell(&table, "%llu", field_u64(port, "number"));
		table_cell(&table, "%s", field_text(port, "name"));
		table_cell(&table, "%s", field_text(port, "driver"));
		table_cell(&table, "%llu", field_u64(port, "mtu"));
		table_cell(&table, "%llu", field_u64(port, "rx"));
		table_cell(&table, "%llu", field_u64(port, "tx"));
		table_cell(&table, "%.1f", (double)field_u64(port, "rx_bytes") / 1e6);
		table_cell(&table, "%.1f", (double)field_u64(port, "tx_bytes") / 1e6);
		table_cell(&table, "%llu", field_u64(port, "tx_dropped"));
		table_cell(&table, "%llu", field_u64(port, "missed") + field_u64(port, "errors"));
	}
	table_end(&table, "nothing is there");
	json_decref(answer);
	return 0;
}

int show_counters(struct tallyctl *ctl, char **args)
{
	json_t *answer = link_ask(&ctl->link, "/tally/counters"), *counter;
	unsigned long long rx = field_u64(answer, "rx"), verdicts = field_u64(answer, "verdicts");
	struct table table;
	size_t i;

	(void)args;
	if (!answer)
		return -1;
	if (tallyctl_pass(ctl, answer))
		return 0;
	table_start(&table, ">packets|counter|class|meaning");
	json_array_foreach(json_object_get(answer, "counters"), i, counter)
	{
		if (field_u64(counter, "value") == 0)
			continue;
		table_cell(&table, "%llu", field_u64(counter, "value"));
		table_cell(&table, "%s", field_text(counter, "name"));
		table_cell(&table, "%s", field_text(counter, "class"));
		table_cell(&table, "%s", field_text(counter, "text"));
	}
	table_end(&table, "nothing is there");
	printf("rx %llu %s sum of verdicts %llu\n", rx, rx == verdicts ? "=" : "IS NOT THE",
	       verdicts);
	json_decref(answer);
	return 0;
}

int show_fdb(struct tallyctl *ctl, char **args)
{
	json_t *answer = link_list(&ctl->link, "/tally/fdb", "fdb", NULL), *station;
	char age[TALLYCTL_TEXT];
	struct table table;
	size_t i;

	(void)args;
	if (!answer)
		return -1;
	if (tallyctl_pass(ctl, answer))
		return 0;
	table_start(&table, "station|>port|>heard before");
	json_array_foreach(json_object_get(answer, "fdb"), i, station)
	{
		age_text(field_real(station, "age_s"), age);
		table_cell(&table, "%s", field_text(station, "mac"));
		table_cell(&table, "%llu", field_u64(station, "port"));
		table_cell(&table, "%s", age);
	}
	table_end(&table, "no station has been heard (udp ports have none)");
	json_decref(answer);
	return 0;
}
