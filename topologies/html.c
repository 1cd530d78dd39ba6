// SPDX-License-Identifier: BSD-3-Clause
// Text and numbers for a page that is both HTML and XML.
#include "topologies/html.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The bytes of a character in UTF-8, 0: it is none, or none that XML has. */
static size_t character_length(const unsigned char *s, size_t len)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc0 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	uint32_t code = n > 1 ? s[0] & (0x7fu >> n) : s[0];

	if (!n || n > len)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < 0x20 && code != '\n' && code != '\t')
		return 0;
	return code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ||
			       (code >= 0x7f && code < 0xa0) || code == 0xfffe || code == 0xffff
		       ? 0
		       : n;
}

void html_text_n(FILE *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len;) {
		const size_t n = character_length((const unsigned char *)text + i, len - i);

		if (n == 1 && strchr("<>&\"'", text[i]))
			fprintf(out, "&#%d;", text[i]);
		else if (n)
			fwrite(text + i, 1, n, out);
		else
			fputs("\xef\xbf\xbd", out);
		i += n ? n : 1;
	}
}

void html_text(FILE *out, const char *text)
{
	html_text_n(out, text, strlen(text));
}

static struct html_unit unit_of(double most, const struct html_unit *unit, size_t nr)
{
	while (nr > 1 && most < unit[nr - 1].factor)
		nr--;
	return unit[nr - 1];
}

struct html_unit html_unit(double most)
{
	static const struct html_unit units[] = {
		{ 1, "" }, { 1e3, "k" }, { 1e6, "M" }, { 1e9, "G" }
	};

	return unit_of(most, units, sizeof(units) / sizeof(units[0]));
}

struct html_unit html_unit_time(double most)
{
	static const struct html_unit units[] = {
		{ 1e-9, "ns" }, { 1e-6, "\xc2\xb5s" }, { 1e-3, "ms" }, { 1, "s" }
	};

	return unit_of(most, units, sizeof(units) / sizeof(units[0]));
}

static struct html_number number(double value, struct html_unit unit, int digits)
{
	struct html_number n;

	value /= unit.factor;
	/* Not 1.23e+03. */
	if (fabs(value) >= pow(10, digits))
		snprintf(n.text, sizeof(n.text), "%.0f", value);
	else
		snprintf(n.text, sizeof(n.text), "%.*g", digits, value);
	if (*unit.name) {
		strncat(n.text, " ", sizeof(n.text) - strlen(n.text) - 1);
		strncat(n.text, unit.name, sizeof(n.text) - strlen(n.text) - 1);
	}
	return n;
}

struct html_number html_number(double value, int digits)
{
	return number(value, html_unit(value), digits);
}

struct html_number html_time(double seconds, int digits)
{
	return number(seconds, html_unit_time(seconds), digits);
}
