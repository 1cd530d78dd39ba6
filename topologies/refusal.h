/* SPDX-License-Identifier: BSD-3-Clause */
/* Why a machine refuses to make namespaces, and what helps. */
#ifndef TOPOLOGIES_REFUSAL_H
#define TOPOLOGIES_REFUSAL_H

/* Says it on stderr; `err` is the errno of the refused call. */
void refusal_explain(int err);

#endif
