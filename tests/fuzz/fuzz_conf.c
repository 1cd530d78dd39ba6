// SPDX-License-Identifier: BSD-3-Clause
// fuzz_conf.c - any text as options: of the switch's command line, of a communicator, of its file.
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/config.h"
#include "host/config_source.h"
#include "switch/conf.h"
#include "tests/fuzz/fuzz.h"

enum { WORDS = 64, TEXT = 4096 };

/* A line is a word. */
static int split(char *text, char **words)
{
	int nr = 0;
	char *save = NULL;

	for (char *word = strtok_r(text, "\n", &save); word && nr < WORDS - 1;
	     word = strtok_r(NULL, "\n", &save))
		words[nr++] = word;
	words[nr] = NULL;
	return nr;
}

/* One error is one sentence. */
static void sentence(const char *text)
{
	fuzz_check(text[0] && !strchr(text, '\n'));
}

static void switch_options(char *text)
{
	static char program[] = "tally-switch";
	char *argv[WORDS + 1] = { program };
	struct port_error error = { "" };
	static struct conf conf;
	int argc = 1 + split(text, argv + 1);

	if (conf_parse(&conf, argc, argv, &error) < 0) {
		fuzz_check(error.text[0] != '\0');
		return;
	}
	fuzz_check(conf.nr_ports <= PORT_MAX && conf.nr_impairs <= CONF_IMPAIRS);
	for (unsigned i = 0; i < conf.nr_ports; i++) {
		struct impair_params params;

		conf_faults(&conf, conf.ports[i].number, i & 1, &params);
		fuzz_check(params.loss >= 0 && params.loss <= 1);
	}
}

static void host_options(char *text)
{
	struct tally_config config = { { NULL } };
	struct config_error error = { "" };
	char *words[WORDS];
	struct config values;
	int nr = split(text, words);

	for (int i = 0; i < nr; i++) {
		char *value = strchr(words[i], '=');

		if (!value || strncmp(words[i], "conf=", 5) == 0) /* opens no file but ours */
			continue;
		*value++ = '\0';
		if (config_set(&config, words[i], value, &error) < 0)
			fuzz_check(error.text[0] != '\0');
	}
	if (config_resolve(&values, &config, &error) < 0)
		fuzz_check(error.text[0] != '\0');
	else
		fuzz_check(values.size == 0 || values.rank < values.size);
	config_clear(&config);
}

static void host_file(const uint8_t *data, size_t size)
{
	struct config_error error = { "" };
	static struct config_file file;
	char path[64];
	int fd = memfd_create("conf", MFD_CLOEXEC);

	fuzz_check(fd >= 0 && (size == 0 || write(fd, data, size) == (ssize_t)size));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	memset(&file, 0, sizeof(file));
	if (config_file_read(&file, path, &error) < 0)
		sentence(error.text);
	config_file_free(&file);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[TEXT];

	if (size < 1 || size > sizeof(text))
		return -1;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	switch (data[0] % 3) {
	case 0:
		switch_options(text);
		break;
	case 1:
		host_options(text);
		break;
	default:
		host_file(data + 1, size - 1);
	}
	return 0;
}
