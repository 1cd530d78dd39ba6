/* SPDX-License-Identifier: BSD-3-Clause */
/* transport_cases.h - what every transport must do; each transport's test opens one and runs them. */
#ifndef TESTS_UNIT_TRANSPORT_CASES_H
#define TESTS_UNIT_TRANSPORT_CASES_H

#include "host/transport/transport.h"

/* Each is given an open transport with a real switch behind it, P = 1408, 64 slots. */
void transport_case_join(struct transport *transport);
void transport_case_burst(struct transport *transport);
void transport_case_sizes(struct transport *transport);
void transport_case_few(struct transport *transport);
void transport_case_room(struct transport *transport);
void transport_case_too_large(struct transport *transport);
void transport_case_wait(struct transport *transport);
void transport_case_wake(struct transport *transport);

#endif
