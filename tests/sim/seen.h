/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * seen.h - what can happen in a run, each with how it reads in a table: so that nobody need believe
 * that it is drawn.
 */
#ifndef TESTS_SIM_SEEN_H
#define TESTS_SIM_SEEN_H

#define SEEN_MAP(X)                                                                                \
	X(LOSS, "packet lost")                                                                     \
	X(BURST, "packet lost in a burst")                                                         \
	X(DUP, "packet duplicated")                                                                \
	X(REORDER, "packet overtaken")                                                             \
	X(JITTER, "packet delayed at random")                                                      \
	X(CORRUPT, "packet corrupted")                                                             \
	X(FLIP, "packet corrupted, and the UDP checksum does not show it")                         \
	X(SPOILT, "memory of a switch changes")                                                    \
	X(QUEUE, "queue of a slow link overflows")                                                 \
	X(CUT, "packet lost at a link that is down")                                               \
	X(CUT_ONE, "link down in one direction")                                                   \
	X(CUT_BOTH, "link down in both directions")                                                \
	X(LINK_SWITCH, "packet lost between switches")                                             \
	X(INBOX, "socket buffer overflows")                                                        \
	X(UNREACHABLE, "port unreachable")                                                         \
	X(CRASH, "rank crashes")                                                                   \
	X(SAME_PORT, "rank restarts at its old port")                                              \
	X(SWITCH_CRASH, "switch crashes, alone")                                                   \
	X(LEAF_CRASH, "leaf crashes")                                                              \
	X(ROOT_CRASH, "root of a tree crashes")                                                    \
	X(PAUSE, "rank stops for a while")                                                         \
	X(SWITCH_PAUSE, "switch stops for a while")                                                \
	X(SLOW, "slow rank")                                                                       \
	X(QUIT, "rank leaves in the middle")                                                       \
	X(ABORT, "rank aborts")                                                                    \
	X(FAIL, "deadline of a rank passes")                                                       \
	X(SILENCE, "rank computes for long")                                                       \
	X(CLOCK_AHEAD, "clock of a restarted switch ahead")                                        \
	X(CLOCK_BACK, "clock of a restarted switch back")                                          \
	X(OP_DIFFERS, "rank differs in an operation")                                              \
	X(WORLD_DIFFERS, "rank differs in the world")                                              \
	X(CHUNK_DIFFERS, "rank insists on another chunk")                                          \
	X(CHECK_DIFFERS, "rank differs in CHECK")                                                  \
	X(NO_SLOTS, "refused for want of slots")                                                   \
	X(DUPLICATE, "refused because the rank is taken")                                          \
	X(AGAIN, "job comes a second time")                                                        \
	X(LEAVES_EARLY, "rank leaves before others are through")                                   \
	X(JOBS, "several jobs")                                                                    \
	X(RANKS_1, "world of 1")                                                                   \
	X(RANKS_2, "world of 2 to 8")                                                              \
	X(RANKS_9, "world of 9 to 31")                                                             \
	X(RANKS_32, "world of 32 to 63")                                                           \
	X(RANKS_64, "world of 64")                                                                 \
	X(DEPTH_2, "two levels of switches")                                                       \
	X(DEPTH_3, "three levels of switches")                                                     \
	X(STRICT, "strict ports")                                                                  \
	X(S_1, "S of 1")                                                                           \
	X(S_SMALL, "S of 2 to 4")                                                                  \
	X(S_DIFFERS, "ranks that want different S")                                                \
	X(P_DIFFERS, "ranks that want different P")                                                \
	X(CHECK, "job with CHECK")                                                                 \
	X(CLOSED, "sum that CLOSE verified")                                                       \
	X(CLOSED16, "16-bit sum that CLOSE verified")                                              \
	X(E_WRAPS, "lane E in its second round")                                                   \
	X(D_WRAPS, "lane D in its second round")                                                   \
	X(SEGMENTS, "operation of two segments")                                                   \
	X(OPS_MANY, "more operations than can be outstanding")                                     \
	X(EMPTY_OP, "operation without elements")                                                  \
	X(BARRIER, "barrier")                                                                      \
	X(FLOAT, "float sum")                                                                      \
	X(ADD32, "32-bit sum")                                                                     \
	X(ADD32SAT, "saturating sum")                                                              \
	X(ADD16, "16-bit sum")                                                                     \
	X(MAX32, "maximum")                                                                        \
	X(SATURATED, "sum that saturated")                                                         \
	X(ORIGIN, "value that is no number")                                                       \
	X(OVER_RESTARTED, "epoch ended: RESTARTED")                                                \
	X(OVER_MISMATCH, "epoch ended: MISMATCH")                                                  \
	X(OVER_ABORTED, "epoch ended: ABORTED")                                                    \
	X(OVER_LEFT, "epoch ended: LEFT")                                                          \
	X(OVER_PROTOCOL, "epoch ended: PROTOCOL")                                                  \
	X(OVER_ROUNDS, "epoch ended: ROUNDS")                                                      \
	X(OVER_RESET, "epoch ended: RESET")                                                        \
	X(OVER_GONE, "epoch ended: GONE")                                                          \
	X(OVER_CORRUPTED, "epoch ended: CORRUPTED")                                                \
	X(FOE_WID, "stranger: rank outside the job")                                               \
	X(FOE_STRANGER, "stranger: contribution, address its own")                                 \
	X(FOE_SPOOF, "stranger: contribution, address of a member")                                \
	X(FOE_JOB, "member of another job")                                                        \
	X(FOE_EPOCH, "stranger: another epoch")                                                    \
	X(FOE_LENGTH, "stranger: length that lies")                                                \
	X(FOE_HEADER, "stranger: header that is not valid")                                        \
	X(FOE_SEAL, "stranger: seal that is missing, wrong, or not wanted")                        \
	X(FOE_TALK, "stranger: END, LEAVE, KEEPALIVE")                                             \
	X(FOE_JOIN, "stranger: JOIN of a job of others")                                           \
	X(FOE_OWN, "stranger: JOIN of a job that never forms")                                     \
	X(FOE_TAKE, "stranger: JOIN that would enter")                                             \
	X(FOE_UP, "stranger: RESULT, STATUS")                                                      \
	X(FOE_REPLAY, "stranger: packet seen on the way")                                          \
	X(FOE_NOISE, "stranger: noise")                                                            \
	X(FOE_FLOOD, "stranger: flood")                                                            \
	X(BROKEN, "rank sends what is dropped by name")                                            \
	X(BROKEN_SEAL, "rank's seal is missing, wrong, or not wanted")                             \
	X(BROKEN_EARLY, "rank contributes before the epoch begins")                                \
	X(BROKEN_AHEAD, "rank contributes before the round before is complete")                    \
	X(BROKEN_ROUND, "rank sends a round beyond the last")                                      \
	X(BROKEN_GAP, "rank sends a round too early")                                              \
	X(BROKEN_DESC, "rank sends another descriptor")

enum seen {
#define X(name, text) SEEN_##name,
	SEEN_MAP(X)
#undef X
		SEEN_NR
};

extern const char *const seen_names[SEEN_NR];

#endif
