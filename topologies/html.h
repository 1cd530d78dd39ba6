/* SPDX-License-Identifier: BSD-3-Clause */
/* Text and numbers for a page that is both HTML and XML. */
#ifndef TOPOLOGIES_HTML_H
#define TOPOLOGIES_HTML_H

#include <stddef.h>
#include <stdio.h>

/* What is no text, or would be markup, is not any more. */
void html_text(FILE *out, const char *text);
void html_text_n(FILE *out, const char *text, size_t len);

/* 1234567 as "1.235 M", with so many digits. */
struct html_number {
	char text[32];
};
struct html_number html_number(double value, int digits);
/* Seconds as "1.235 ms". */
struct html_number html_time(double seconds, int digits);

/* The unit that values up to this are best given in, as html_number() and html_time() choose it. */
struct html_unit {
	double factor;
	const char *name; /* "M", "ms" */
};
struct html_unit html_unit(double most);
struct html_unit html_unit_time(double most);

#endif
