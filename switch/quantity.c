// SPDX-License-Identifier: BSD-3-Clause
/* quantity.c - numbers with units: strtod() and printf("%g") have the locale's idea of a point. */
#include "switch/quantity.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
	QUANTITY_DIGITS = 18, /* that a number may have; more would not change it */
	QUANTITY_EXPONENT = 300,
	QUANTITY_DECIMALS = 13, /* of a percentage */
};
#define QUANTITY_ONE UINT64_C(1000000000000000) /* a fraction of 1 */

static bool quantity_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits and a point: *mantissa x 10^*exponent.  NULL: there is no digit. */
static const char *quantity_decimal(const char *text, uint64_t *mantissa, int *exponent)
{
	unsigned nr = 0, nr_used = 0;
	bool point = false;

	*mantissa = 0;
	*exponent = 0;
	for (; quantity_is_digit(*text) || (*text == '.' && !point); text++) {
		if (*text == '.') {
			point = true;
			continue;
		}
		nr++;
		if (nr_used < QUANTITY_DIGITS) {
			*mantissa = *mantissa * 10 + (uint64_t)(*text - '0');
			nr_used += *mantissa > 0;
			*exponent -= point;
		} else {
			*exponent += !point;
		}
	}
	return nr ? text : NULL;
}

/* An exponent, if there is one.  NULL: an e without a number. */
static const char *quantity_exponent(const char *text, int *exponent)
{
	int value = 0;
	bool minus;

	if (*text != 'e' && *text != 'E')
		return text;
	text++;
	minus = *text == '-';
	text += *text == '-' || *text == '+';
	if (!quantity_is_digit(*text))
		return NULL;
	for (; quantity_is_digit(*text); text++)
		value = value < QUANTITY_EXPONENT ? value * 10 + (*text - '0') : value;
	*exponent += minus ? -value : value;
	return text;
}

/* Both are exact up to 10^22, so that one rounding is all there is for what people write. */
static double quantity_scale(double value, int exponent)
{
	double power = 1;

	if (exponent > QUANTITY_EXPONENT)
		exponent = QUANTITY_EXPONENT;
	if (exponent < -QUANTITY_EXPONENT)
		exponent = -QUANTITY_EXPONENT;
	for (int i = 0; i < (exponent < 0 ? -exponent : exponent); i++)
		power *= 10;
	return exponent < 0 ? value / power : value * power;
}

int quantity_parse(const char *text, const struct quantity_unit *units, double *out)
{
	uint64_t mantissa;
	int exponent;

	text = quantity_decimal(text, &mantissa, &exponent);
	text = text ? quantity_exponent(text, &exponent) : NULL;
	if (!text)
		return -1;
	for (; units->name; units++) {
		if (strcmp(text, units->name) != 0)
			continue;
		*out = quantity_scale((double)mantissa, exponent + units->exponent) * units->factor;
		return 0;
	}
	return -1;
}

int quantity_parse_fraction(const char *text, double *out)
{
	static const struct quantity_unit units[] = { { "", 0, 1 },
						      { "%", -2, 1 },
						      { NULL, 0, 0 } };
	double value;

	if (quantity_parse(text, units, &value) || value > 1)
		return -1;
	*out = value;
	return 0;
}

int quantity_parse_whole(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	uint64_t value = 0;

	if (!*text)
		return -1;
	for (; quantity_is_digit(*text); text++) {
		const uint64_t digit = (uint64_t)(*text - '0');

		if (value > (UINT64_MAX - digit) / 10)
			return -1;
		value = value * 10 + digit;
	}
	if (*text || value < min || value > max)
		return -1;
	*out = value;
	return 0;
}

void quantity_print(char *buf, size_t size, const struct quantity_unit *units, uint64_t value)
{
	for (; units->name; units++) {
		uint64_t unit = (uint64_t)quantity_scale(units->factor, units->exponent);

		if (unit == 1 || (value && value % unit == 0)) {
			snprintf(buf, size, "%llu%s", (unsigned long long)(value / unit),
				 units->name);
			return;
		}
	}
	snprintf(buf, size, "%llu", (unsigned long long)value);
}

void quantity_print_fraction(char *buf, size_t size, double fraction)
{
	uint64_t value = (uint64_t)(fraction * (double)QUANTITY_ONE + 0.5), whole = 1;
	char decimals[QUANTITY_DECIMALS + 8];
	size_t len = QUANTITY_DECIMALS;

	for (unsigned i = 0; i < QUANTITY_DECIMALS; i++)
		whole *= 10;
	snprintf(decimals, sizeof(decimals), "%0*llu", QUANTITY_DECIMALS,
		 (unsigned long long)(value % whole));
	while (len && decimals[len - 1] == '0')
		len--;
	snprintf(buf, size, "%llu%s%.*s%%", (unsigned long long)(value / whole), len ? "." : "",
		 (int)len, decimals);
}
