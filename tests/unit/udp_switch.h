/* SPDX-License-Identifier: BSD-3-Clause */
/* udp_switch.h - a switch on a loopback socket for tests, with packets lost on demand. */
#ifndef TESTS_UNIT_UDP_SWITCH_H
#define TESTS_UNIT_UDP_SWITCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct udp_switch;

/* lose: asked for every packet in either direction, numbered from 0 in order of appearance; may be NULL. */
struct udp_switch *udp_switch_start(bool (*lose)(void *ctx, uint64_t number), void *ctx);
/*
 * Every packet that the switch sends goes through tamper on its way out; to be called before the first
 * packet comes.
 */
void udp_switch_tamper(struct udp_switch *sw, void (*tamper)(void *ctx, uint8_t *data, size_t len),
		       void *ctx);
uint16_t udp_switch_port(const struct udp_switch *sw);
uint64_t udp_switch_packets(const struct udp_switch *sw);
void udp_switch_stop(struct udp_switch *sw);

#endif
