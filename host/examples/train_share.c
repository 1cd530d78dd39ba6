// SPDX-License-Identifier: BSD-3-Clause
// train_share.c - all-reduces of the training example: several outstanding at once, or a few
// integers.
#include "host/examples/train.h"

int train_share(tally_t *comm, const struct train_posts *posts)
{
	tally_request_t *requests[TRAIN_POSTS] = { NULL };
	struct tally_args args = { .size = sizeof(args) };
	int err = TALLY_OK, failed = TALLY_OK;
	uint32_t i;

	for (i = 0; i < posts->nr && failed == TALLY_OK; i++) {
		args.src = args.dst = posts->posts[i].values;
		args.count = posts->posts[i].count;
		args.dtype = posts->posts[i].dtype;
		args.op = posts->posts[i].op;
		failed = tally_allreduce(comm, &args, &requests[i]);
	}
	/*
	 * Every one posted is waited for, also after an error: until then the library may use its
	 * buffer.
	 */
	for (i = 0; i < posts->nr; i++) {
		if (requests[i] == NULL)
			continue;
		err = tally_wait(requests[i], -1);
		if (failed == TALLY_OK)
			failed = err;
		tally_release(requests[i]);
	}
	return failed;
}

int train_share_ints(tally_t *comm, int32_t *values, size_t count, enum tally_op op)
{
	struct train_posts posts = { .nr = 1 };

	posts.posts[0].values = values;
	posts.posts[0].count = count;
	posts.posts[0].dtype = TALLY_I32;
	posts.posts[0].op = op;
	return train_share(comm, &posts);
}
