// SPDX-License-Identifier: BSD-3-Clause
// Switches an interface's offloads off, which only ethtool can.
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "topologies/netns.h"
#include "topologies/say.h"

static int ethtool(int fd, const char *ifname, void *command)
{
	struct ifreq ifr = { .ifr_data = command };

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", ifname);
	return ioctl(fd, SIOCETHTOOL, &ifr);
}

static int feature_count(int fd, const char *ifname, uint32_t *nr)
{
	struct ethtool_sset_info *info = calloc(1, sizeof(*info) + sizeof(info->data[0]));
	int rc;

	if (!info)
		return -1;
	info->cmd = ETHTOOL_GSSET_INFO;
	info->sset_mask = UINT64_C(1) << ETH_SS_FEATURES;
	rc = ethtool(fd, ifname, info);
	if (!rc)
		*nr = info->data[0];
	free(info);
	return rc;
}

static int feature_clear(int fd, const char *ifname, uint32_t nr, const char *feature)
{
	uint32_t nr_blocks = (nr + 31) / 32, i = 0;
	struct ethtool_gstrings *names = calloc(1, sizeof(*names) + (size_t)nr * ETH_GSTRING_LEN);
	struct ethtool_sfeatures *set =
		calloc(1, sizeof(*set) + nr_blocks * sizeof(set->features[0]));
	int rc = -1;

	if (!names || !set)
		goto out_free;
	names->cmd = ETHTOOL_GSTRINGS;
	names->string_set = ETH_SS_FEATURES;
	names->len = nr;
	if (ethtool(fd, ifname, names))
		goto out_free;
	while (i < nr &&
	       strncmp((char *)names->data + i * ETH_GSTRING_LEN, feature, ETH_GSTRING_LEN) != 0)
		i++;
	if (i == nr) { // a kernel without the feature does not need it off
		rc = 0;
		goto out_free;
	}
	set->cmd = ETHTOOL_SFEATURES;
	set->size = nr_blocks;
	set->features[i / 32].valid = UINT32_C(1) << (i % 32); // requested stays 0: off
	rc = ethtool(fd, ifname, set) < 0 ? -1 : 0; // > 0 says that more bits follow: no error
out_free:
	free(names);
	free(set);
	return rc;
}

int netns_offloads_off(const struct netns *n, const char *ifname)
{
	static const char *const features[] = { "tx-checksum-ip-generic", "tx-udp-segmentation" };
	uint32_t nr;
	int fd, rc;

	if (netns_enter(n))
		return -1;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC,
		    0); // belongs to the namespace where it is made
	if (fd < 0)
		return say_error("%s: socket: %s", n->name, say_errno(errno));
	rc = feature_count(fd, ifname, &nr);
	for (size_t i = 0; !rc && i < sizeof(features) / sizeof(features[0]); i++)
		rc = feature_clear(fd, ifname, nr, features[i]);
	if (rc)
		say_error("%s: cannot switch the offloads of %s off: %s", n->name, ifname,
			  strerror(errno));
	close(fd);
	return rc;
}
