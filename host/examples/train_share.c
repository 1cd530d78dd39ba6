// SPDX-License-Identifier: BSD-3-Clause
// train_share.c - all-reduces of the training example: several outstanding at once, or a few
// integers.
#include "host/examples/train.h"

/* Who had a number that is none: all ranks are told the same. */
static int train_look(struct train_posts *posts, tally_request_t *request)
{
	struct tally_result result = { .size = sizeof(result) };
	int err = tally_get_result(request, &result);

	if (err == TALLY_OK && result.nonfinite_rank >= 0 &&
	    (posts->nonfinite_rank < 0 || result.nonfinite_rank < posts->nonfinite_rank))
		posts->nonfinite_rank = result.nonfinite_rank;
	return err;
}

int train_share(tally_t *comm, struct train_posts *posts)
{
	tally_request_t *requests[TRAIN_POSTS] = { NULL };
	struct tally_args args = { .size = sizeof(args) };
	int err = TALLY_OK, failed = TALLY_OK;
	uint32_t i;

	posts->nonfinite_rank = -1;
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
		if (err == TALLY_OK)
			err = train_look(posts, requests[i]);
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
