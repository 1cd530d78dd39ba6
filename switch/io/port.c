// SPDX-License-Identifier: BSD-3-Clause
/* port.c - the forms of a port that users write, and sentences about them. */
#include "switch/io/port.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/wire.h"

int port_fail(struct port_error *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return -1;
}

int port_refuse(const struct port *port, struct port_error *err, const char *fmt, ...)
{
	va_list ap;
	int n = snprintf(err->text, sizeof(err->text), "port %u (%.160s): ", port->spec.number,
			 port->spec.text);

	va_start(ap, fmt);
	vsnprintf(err->text + n, sizeof(err->text) - (size_t)n, fmt, ap);
	va_end(ap);
	return -1;
}

static int number_parse(const char *text, size_t len, unsigned max)
{
	unsigned v = 0;

	if (!len || len > 5)
		return -1;
	for (size_t i = 0; i < len; i++) {
		if (!isdigit((unsigned char)text[i]))
			return -1;
		v = v * 10 + (unsigned)(text[i] - '0');
	}
	return v <= max ? (int)v : -1;
}

/* IP[:PORT][,gso=off] */
static int udp_parse(struct port_spec *spec, const char *text, struct port_error *err)
{
	char ip[INET_ADDRSTRLEN + 1];
	size_t len = strcspn(text, ":,");
	const char *rest = text + len;
	struct in_addr addr;
	int port = WIRE_PORT;

	if (len >= sizeof(ip))
		return port_fail(err, "\"%s\" is no IPv4 address", text);
	memcpy(ip, text, len);
	ip[len] = '\0';
	if (inet_pton(AF_INET, ip, &addr) != 1)
		return port_fail(err, "\"%s\" is no IPv4 address", ip);
	if (addr.s_addr == htonl(INADDR_ANY))
		return port_fail(
			err,
			"a udp port binds one specific address, not 0.0.0.0: the switch answers "
			"from the address that workers name in TALLY_SWITCH");
	if (*rest == ':') {
		len = strcspn(rest + 1, ",");
		port = number_parse(rest + 1, len, 65535);
		if (port < 1)
			return port_fail(err, "\"%.*s\" is no UDP port (1 to 65535)", (int)len,
					 rest + 1);
		rest += 1 + len;
	}
	if (*rest && strcmp(rest, ",gso=off") != 0 && strcmp(rest, ",gso=on") != 0)
		return port_fail(err,
				 "unknown setting \"%s\" of a udp port (known: gso=on, gso=off)",
				 rest + 1);
	spec->no_gso = strcmp(rest, ",gso=off") == 0;
	spec->ip = ntohl(addr.s_addr);
	spec->udp_port = (uint16_t)port;
	return 0;
}

/* DEV[,ARGS]: both parts kept. */
static int pair_parse(struct port_spec *spec, const char *text, const char *what,
		      struct port_error *err)
{
	size_t len = strcspn(text, ",");

	if (!len)
		return port_fail(err, "%s is missing", what);
	memcpy(spec->dev, text, len);
	spec->dev[len] = '\0';
	strcpy(spec->args, text[len] ? text + len + 1 : "");
	return 0;
}

static int memif_parse(struct port_spec *spec, const char *text, struct port_error *err)
{
	if (pair_parse(spec, text, "the path of the memif socket", err))
		return -1;
	/* sun_path */
	if (strlen(spec->dev) > 107)
		return port_fail(err, "the path of the memif socket is longer than 107 bytes");
	return 0;
}

static int pcap_parse(struct port_spec *spec, const char *text, struct port_error *err)
{
	if (pair_parse(spec, text, "the capture to read", err))
		return -1;
	if (!spec->args[0] || strchr(spec->args, ','))
		return port_fail(err, "a pcap port needs two files, pcap:IN,OUT");
	return 0;
}

static int vdev_parse(struct port_spec *spec, const char *text, struct port_error *err)
{
	if (pair_parse(spec, text, "the name of the driver", err))
		return -1;
	if (strlen(spec->dev) > 63)
		return port_fail(err, "the device name \"%.20s...\" is longer than 63 bytes",
				 spec->dev);
	return 0;
}

/* [DDDD:]BB:DD.F in hexadecimal digits. */
static bool pci_looks(const char *text)
{
	static const char *const patterns[] = { "xxxx:xx:xx.x", "xx:xx.x" };

	for (unsigned k = 0; k < 2; k++) {
		const char *p = patterns[k], *t = text;

		while (*p && *t && (*p == 'x' ? isxdigit((unsigned char)*t) != 0 : *t == *p)) {
			p++;
			t++;
		}
		if (!*p && !*t)
			return true;
	}
	return false;
}

static int netdev_parse(struct port_spec *spec, const char *text, struct port_error *err)
{
	if (strpbrk(text, ":/, \t") || !*text)
		return port_fail(err, "\"%s\" is no form of port; use " PORT_FORMS, text);
	if (strlen(text) >= IFNAMSIZ)
		return port_fail(err, "\"%s\" is no interface name: these have at most %d bytes",
				 text, IFNAMSIZ - 1);
	strcpy(spec->dev, text);
	return 0;
}

int port_spec_parse(struct port_spec *spec, const char *text, struct port_error *err)
{
	static const struct {
		const char *prefix;
		enum port_form form;
		int (*parse)(struct port_spec *spec, const char *text, struct port_error *err);
	} forms[] = {
		{ "udp:", PORT_UDP, udp_parse },
		{ "memif:", PORT_MEMIF, memif_parse },
		{ "pcap:", PORT_PCAP, pcap_parse },
		{ "vdev:", PORT_VDEV, vdev_parse },
	};
	const char *at = strchr(text, '@');
	int number = at ? number_parse(text, (size_t)(at - text), PORT_NUMBER_MAX) : -1;

	if (!at)
		return port_fail(err, "a port is written NUMBER@DEVICE: " PORT_FORMS);
	if (number < 0)
		return port_fail(err, "\"%.*s\" is no port number (0 to %d)", (int)(at - text),
				 text, PORT_NUMBER_MAX);
	if (strlen(at + 1) >= PORT_TEXT)
		return port_fail(err, "the device is longer than %d bytes", PORT_TEXT - 1);
	*spec = (struct port_spec){ .number = (uint16_t)number, .mtu = PORT_MTU_DEFAULT };
	strcpy(spec->text, at + 1);
	for (unsigned i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		size_t len = strlen(forms[i].prefix);

		if (strncmp(spec->text, forms[i].prefix, len) == 0) {
			spec->form = (uint8_t)forms[i].form;
			return forms[i].parse(spec, spec->text + len, err);
		}
	}
	spec->form = pci_looks(spec->text) ? PORT_PCI : PORT_NETDEV;
	if (spec->form == PORT_NETDEV)
		return netdev_parse(spec, spec->text, err);
	/* Without a domain it is domain 0. */
	snprintf(spec->dev, sizeof(spec->dev), "%s%.12s", strlen(spec->text) < 12 ? "0000:" : "",
		 spec->text);
	return 0;
}

bool port_spec_same(const struct port_spec *a, const struct port_spec *b)
{
	if (a->form != b->form)
		return false;
	if (a->form == PORT_UDP)
		return a->ip == b->ip && a->udp_port == b->udp_port;
	return strcmp(a->dev, b->dev) == 0;
}
